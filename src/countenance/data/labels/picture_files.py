"""A JSON file for each picture (LabelMe, Supervisely, V7 Darwin), as one table."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from countenance.data.labels.exports import CORNERS, SIZED, Row, table_of
from countenance.data.labels.rows import LabelTable
from countenance.errors import DataError

LARGEST = 20_000_000
"""The largest file for one picture, in bytes: LabelMe writes the picture into it."""
ABOUT_ALL = ("card.json", "meta.json", "dataset.json", "notes.json", "package.json")
"""Files that describe a folder as a whole."""
FIRST = 4
"""How many files are read to decide the kind of a folder."""


def labelme_rows(content: Mapping[str, Any], path: Path) -> list[Row]:
    """The shapes of a LabelMe file: rectangles as they are, polygons and circles by the box around them."""
    own: Row = {"file": str(content.get("imagePath") or path.stem), **_flags(content.get("flags"))}
    rows = []
    for shape in content["shapes"]:
        box = _around(shape.get("points"), circle=shape.get("shape_type") == "circle")
        if box is not None and shape.get("shape_type") not in ("point", "line", "linestrip", "points"):
            rows.append({**own, **box, "label": shape.get("label"), **_flags(shape.get("flags"))})
    return rows or [own]


def _flags(flags: Any) -> Row:
    return {str(name): bool(value) for name, value in flags.items()} if isinstance(flags, Mapping) else {}


def supervisely_rows(content: Mapping[str, Any], path: Path) -> list[Row]:
    """The objects of a Supervisely file (`a.jpg.json`), with their tags."""
    own: Row = {"file": path.name.removesuffix(".json"), **_tags(content.get("tags"))}
    rows = []
    for thing in content["objects"]:
        box = _around((thing.get("points") or {}).get("exterior"))
        if box is not None and thing.get("geometryType") not in ("point", "line"):
            rows.append({**own, **box, "label": thing.get("classTitle"), **_tags(thing.get("tags"))})
    return rows or [own]


def _tags(tags: Any) -> Row:
    """Tags by name; a tag without a value counts as present."""
    pairs = [(tag.get("name"), tag.get("value")) for tag in tags or () if isinstance(tag, Mapping)]
    return {str(name): True if value is None else value for name, value in pairs if name}


def darwin_rows(content: Mapping[str, Any], path: Path) -> list[Row]:
    """The annotations of a V7 Darwin file, with their properties."""
    item = content["item"] if isinstance(content.get("item"), Mapping) else {}
    folder = str(item.get("path") or "").strip("/")
    own: Row = {"file": str(PurePosixPath(folder) / str(item.get("name") or path.stem))}
    rows = []
    for part in content["annotations"]:
        box = part.get("bounding_box")
        if isinstance(box, Mapping):
            about = {str(entry.get("name")): entry.get("value") for entry in part.get("properties") or ()}
            rows.append({**own, **{name: box.get(name) for name in SIZED}, "label": part.get("name"), **about})
    return rows or [own]


def _around(points: Any, circle: bool = False) -> Row | None:
    """The box around points; a circle is its centre and a point of its edge."""
    try:
        pairs = [(float(x), float(y)) for x, y in points]
    except (TypeError, ValueError):
        return None
    if circle and len(pairs) == 2:
        (x, y), (u, v) = pairs
        radius = ((x - u) ** 2 + (y - v) ** 2) ** 0.5
        pairs = [(x - radius, y - radius), (x + radius, y + radius)]
    if len(pairs) < 2:
        return None
    xs, ys = zip(*pairs, strict=True)
    return dict(zip(CORNERS, (min(xs), min(ys), max(xs), max(ys)), strict=True))


Reader = Callable[[Mapping[str, Any], Path], list[Row]]
KINDS: dict[str, tuple[tuple[str, ...], Reader]] = {
    "LabelMe": (("shapes", "imagePath"), labelme_rows),
    "Supervisely": (("objects", "size"), supervisely_rows),
    "Darwin": (("item", "annotations"), darwin_rows),
}
"""By kind: what a file contains, and the function that reads its rows."""


def picture_files_kind(root: Path) -> str | None:
    """The kind of the JSON files that a folder holds for its pictures; None where it holds none."""
    for path in _first(_json_files(root)):
        kind = _kind_of(_content(path))
        if kind is not None:
            return kind
    return None


def picture_files_table(root: Path) -> LabelTable:
    """The rows of all files of a folder; files of another kind are left out and counted."""
    kind = picture_files_kind(root)
    if kind is None:
        raise DataError(
            f"{root}: a folder without a JSON file for each picture (LabelMe, Supervisely, Darwin); labels= names a "
            "table such as CSV, or such a folder"
        )
    rows: list[Row] = []
    others = 0
    for path in _json_files(root):
        content = _content(path)
        if not isinstance(content, Mapping) or _kind_of(content) != kind:
            others += 1
            continue
        try:
            rows += KINDS[kind][1](content, path)
        except (TypeError, AttributeError, ValueError):
            raise DataError(f"{path}: not as {kind} writes it; export it again") from None
    table = table_of(root, rows)
    table.notes.append(f"{root.resolve().name}: a file of {kind} for each picture")
    if others:
        left = "1 other JSON file is" if others == 1 else f"{others:,} other JSON files are"
        table.notes.append(f"{root.resolve().name}: {left} left out")
    return table


def _json_files(root: Path) -> Iterator[Path]:
    """The JSON files of a folder that may be about a picture."""
    files = sorted(path for path in root.rglob("*.json") if path.is_file() and not path.is_symlink())
    return (path for path in files if path.name not in ABOUT_ALL)


def _first(paths: Iterator[Path]) -> Sequence[Path]:
    return list(itertools.islice(paths, FIRST))


def _content(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes()) if path.stat().st_size <= LARGEST else None
    except (ValueError, RecursionError, OSError):
        return None


def _kind_of(content: Any) -> str | None:
    if not isinstance(content, Mapping):
        return None
    for kind, (keys, _) in KINDS.items():
        listed = content.get(keys[0] if kind != "Darwin" else "annotations")
        if all(key in content for key in keys) and isinstance(listed, list):
            return kind
    return None
