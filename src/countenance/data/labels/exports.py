"""Exports of annotation tools as plain rows: CVAT, VGG VIA, Label Studio, WIDER FACE."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from countenance.data.labels.rows import LabelTable
from countenance.data.reading.label_files import parse_xml

CORNERS = ("xmin", "ymin", "xmax", "ymax")
SIZED = ("x", "y", "w", "h")
WIDER_CELLS = ("blur", "expression", "illumination", "invalid", "occlusion", "pose")
Row = dict[str, Any]


def table_of(path: Path, rows: Sequence[Row], kind: str | None = None) -> LabelTable:
    """Rows as columns of text; a row that lacks a column has an empty cell there."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [cell_text(row.get(name)) for row in rows] for name in names}
    return LabelTable(path, columns, list(range(1, len(rows) + 1)), kind=kind)


def cell_text(value: Any) -> str:
    """A value of JSON or Parquet as the text of a table's cell.

    >>> cell_text(None), cell_text(True), cell_text(2.0), cell_text([1, 2])
    ('', 'yes', '2', '[1, 2]')
    """
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return value if isinstance(value, str) else json.dumps(value) if isinstance(value, list | dict) else str(value)


def cvat_table(path: Path, text: str) -> LabelTable | None:
    """CVAT for images (`<image name=…><box label=… xtl=…><attribute name=…>`) or video (`<track>`); None for others."""
    root = parse_xml(text, path)
    if root.tag == "annotations" and root.find("track") is not None:
        return table_of(path, _cvat_tracks(root))
    if root.tag != "annotations" or root.find("image") is None:
        return None
    rows: list[Row] = []
    for image in root.iter("image"):
        own: Row = {"file": image.get("name") or "", **_split_of(image)}
        boxes = [_cvat_box(box) for box in image.iter("box")]
        tags = {
            attribute.get("name") or "": attribute.text
            for tag in image.iter("tag")
            for attribute in tag.iter("attribute")
        }
        rows += [{**own, **tags, **box} for box in boxes] or [{**own, **tags}]
    return table_of(path, rows)


def _cvat_tracks(root: ElementTree.Element) -> list[Row]:
    """CVAT for video: a track is a person, whose boxes are on frames (`frame_000007`) while nothing hides them."""
    rows: list[Row] = []
    for track in root.iter("track"):
        for box in track.iter("box"):
            if box.get("outside") != "1":
                own = {"file": f"frame_{int(box.get('frame') or 0):06d}", "person": f"track {track.get('id')}"}
                rows.append({**own, **_cvat_box(box), "label": track.get("label")})
    return rows


def _split_of(image: ElementTree.Element) -> Row:
    return {"split": image.get("subset")} if image.get("subset") else {}


def _cvat_box(box: ElementTree.Element) -> Row:
    corners = {name: box.get(key) for name, key in zip(CORNERS, ("xtl", "ytl", "xbr", "ybr"), strict=True)}
    about = {attribute.get("name") or "": attribute.text for attribute in box.iter("attribute")}
    return {**corners, "label": box.get("label"), **about}


def via_rows(entries: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Entries of VGG VIA: a file with its regions, each with a shape and attributes."""
    rows: list[Row] = []
    for entry in entries:
        regions = entry.get("regions") or []
        regions = list(regions.values()) if isinstance(regions, Mapping) else regions
        own = {"file": entry.get("filename"), **_mapping(entry.get("file_attributes"))}
        people = [
            {**own, **box, **_mapping(region.get("region_attributes"))}
            for region in regions
            if (box := _via_box(_mapping(region.get("shape_attributes")))) is not None
        ]
        rows += people or [own]
    return rows


def via_csv_rows(table: LabelTable) -> list[Row]:
    """The rows of a CSV file of VGG VIA, whose cells are JSON."""
    rows: list[Row] = []
    for i in range(len(table)):
        cells = {name: column[i] for name, column in table.columns.items()}
        own = {"file": cells["filename"], **_mapping(cells.get("file_attributes"))}
        box = _via_box(_mapping(cells["region_shape_attributes"])) or {}
        rows.append({**own, **box, **_mapping(cells.get("region_attributes"))})
    return rows


def _via_box(shape: Mapping[str, Any]) -> Row | None:
    if "width" in shape:
        return {name: shape.get(key) for name, key in zip(SIZED, ("x", "y", "width", "height"), strict=True)}
    return None


def _mapping(value: Any) -> dict[str, Any]:
    """A value as a mapping; text is read as JSON."""
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return dict(value) if isinstance(value, Mapping) else {}


def label_studio_rows(entries: Sequence[Mapping[str, Any]]) -> list[Row] | None:
    """Tasks of Label Studio, in its full or its short form; None where the entries are something else."""
    if all("data" in entry and ("annotations" in entry or "completions" in entry) for entry in entries):
        return [row for entry in entries for row in _studio_task(entry)]
    drawn = [key for key in dict.fromkeys(k for entry in entries for k in entry) if _is_drawn(entries, key)]
    if len(drawn) != 1:
        return None
    return [row for entry in entries for row in _studio_short(entry, drawn[0])]


def _is_drawn(entries: Sequence[Mapping[str, Any]], key: str) -> bool:
    values = [_listed(entry.get(key)) for entry in entries]
    regions = [region for value in values for region in value]
    return bool(regions) and all(isinstance(region, Mapping) and "rectanglelabels" in region for region in regions)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return []
    return value if isinstance(value, list) else []


def _studio_short(entry: Mapping[str, Any], key: str) -> Iterator[Row]:
    internal = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
    own = {name: value for name, value in entry.items() if name != key and name not in internal}
    regions = _listed(entry.get(key))
    yield from ({**_renamed(own), **_studio_box(region)} for region in regions)
    if not regions:
        yield _renamed(own)


def _studio_task(entry: Mapping[str, Any]) -> Iterator[Row]:
    own = _renamed(_mapping(entry.get("data")))
    drawn = entry.get("annotations") or entry.get("completions") or [{}]
    results = _listed(_mapping(drawn[0]).get("result"))
    boxes: dict[str, Row] = {}
    for result in results:
        value = _mapping(_mapping(result).get("value"))
        region = boxes.setdefault(str(result.get("id")), {})
        if "rectanglelabels" in value:
            sizes = {name: result.get(name) for name in ("original_width", "original_height") if result.get(name)}
            region |= _studio_box({**value, **sizes})
        for words in (value.get("choices"), value.get("text")):
            if words:
                region[str(result.get("from_name"))] = words[0] if isinstance(words, list) else words
    about = {name: cell for row in boxes.values() if "x" not in row for name, cell in row.items()}
    people = [row for row in boxes.values() if "x" in row]
    yield from ({**own, **about, **row} for row in people)
    if not people:
        yield {**own, **about}


def _renamed(values: Mapping[str, Any]) -> Row:
    """The values with the picture under `file`; uploads have a hash before the name (`1a2b3c4d-a.jpg`)."""
    return {
        "file" if name == "image" else name: re.sub(r"(?<![0-9a-f])[0-9a-f]{8}-(?=[^/]+$)", "", str(value))
        if name == "image"
        else value
        for name, value in values.items()
    }


def _studio_box(region: Mapping[str, Any]) -> Row:
    """A region as shares of the picture: Label Studio writes percent."""
    numbers = [region.get(name) for name in ("x", "y", "width", "height")]
    shares = {
        name: value / 100 if isinstance(value, int | float) else value
        for name, value in zip(SIZED, numbers, strict=True)
    }
    words = region.get("rectanglelabels") or [""]
    return {**shares, "label": words[0]}


def wider_table(path: Path, lines: Sequence[str]) -> LabelTable | None:
    """The lists of WIDER FACE: a file, the number of its faces, a line for each; None for anything else."""
    if len(lines) < 3 or not re.search(r"\.\w{3,4}$", lines[0].strip()) or not lines[1].strip().isdecimal():
        return None
    rows, numbers, at = [], [], 0
    while at + 1 < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        if not lines[at + 1].strip().isdecimal():
            return None
        count = int(lines[at + 1])
        faces = lines[at + 2 : at + 2 + max(count, 1)]
        for k, line in enumerate(faces):
            cells = line.split()
            if len(cells) < len(SIZED):
                if count == 0:
                    faces = []
                    break
                return None
            shown = dict(zip((*SIZED, *WIDER_CELLS), cells, strict=False))
            if count and shown.pop("invalid", "0") == "0" and (int(float(cells[2])), int(float(cells[3]))) > (0, 0):
                rows.append({"file": lines[at].strip(), **shown})
                numbers.append(at + 3 + k)
        at += 2 + len(faces)
    table = table_of(path, rows, kind="face")
    table.lines = numbers
    return table
