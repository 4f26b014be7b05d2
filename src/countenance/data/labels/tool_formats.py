"""Files of further tools and benchmarks as plain rows: CreateML, Roboflow, Datumaro, SageMaker, MOT, pairs of LFW."""

import configparser
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.data.labels.exports import SIZED, Row, table_of
from countenance.data.labels.rows import LabelTable

CENTRED = ("cx", "cy", "w", "h")
OF_CENTRES = ("x", "y", "width", "height")
VERTEX = ("split", "file", "label", "xmin", "ymin", "", "", "xmax", "ymax", "", "")
"""The columns of Google's image object detection CSV, which has no header: two corners of four are filled in."""
VERTEX_PARTS = frozenset({"train", "training", "validate", "validation", "test", "unassigned"})
MOT_FIELDS = range(6, 11)
MOT_PEOPLE = frozenset({"1", "2", "7", "-1"})
"""Pedestrian, person on a vehicle, static person; -1 where a year has no classes."""


def boxes_by_centre(records: Sequence[Mapping[str, Any]]) -> list[Row] | None:
    """Rows of CreateML (`annotations` with `coordinates`) or of Roboflow's answers (`predictions`); None for others.

    Both write the centre of a box as x, y.

    >>> shape = {"label": "face", "coordinates": {"x": 5, "y": 6, "width": 4, "height": 2}}
    >>> boxes_by_centre([{"image": "a.jpg", "annotations": [shape]}])
    [{'file': 'a.jpg', 'cx': 5, 'cy': 6, 'w': 4, 'h': 2, 'label': 'face'}]
    """
    for holder, key, words in (("annotations", "coordinates", ("label",)), ("predictions", None, ("class", "label"))):
        listed = [record.get(holder) for record in records]
        if not all(isinstance(regions, list) for regions in listed):
            continue
        regions = [region for part in listed for region in part or ()]
        boxes = [region.get(key) if key else region for region in regions if isinstance(region, Mapping)]
        if not boxes or len(boxes) < len(regions) or not all(_has(box, OF_CENTRES) for box in boxes):
            continue
        return [row for record in records for row in _centred(record, holder, key, words)]
    return None


def _has(value: Any, names: Sequence[str]) -> bool:
    return isinstance(value, Mapping) and all(name in value for name in names)


def _centred(record: Mapping[str, Any], holder: str, key: str | None, words: Sequence[str]) -> list[Row]:
    own: Row = {name: value for name, value in record.items() if name != holder and not isinstance(value, dict | list)}
    image = record.get("image")
    file = image.get("path") or image.get("name") if isinstance(image, Mapping) else image
    own = {"file": file or record.get("imagefilename"), **_without(own, ("image", "imagefilename"))}
    used = {key, *OF_CENTRES, *words, "confidence", "class_id", "detection_id"}
    rows = []
    for region in record[holder]:
        box = region[key] if key else region
        label = next((region[word] for word in words if word in region), None)
        about = {
            name: value for name, value in region.items() if name not in used and not isinstance(value, dict | list)
        }
        rows.append({**own, **{n: box[k] for n, k in zip(CENTRED, OF_CENTRES, strict=True)}, "label": label, **about})
    return rows or [own]


def _without(row: Row, names: Sequence[str]) -> Row:
    return {name: value for name, value in row.items() if name not in names}


def datumaro_rows(content: Any) -> list[Row] | None:
    """Rows of Datumaro's JSON: `items` with annotations, classes by number; None for anything else."""
    if not (_has(content, ("items", "categories")) and isinstance(content["items"], list)):
        return None
    labels = (content["categories"].get("label") or {}).get("labels") or []
    words = {str(i): label.get("name") for i, label in enumerate(labels)}
    rows: list[Row] = []
    for item in content["items"]:
        image = item.get("image") or (item.get("media") or {})
        own: Row = {"file": image.get("path") or item.get("id"), **(item.get("attr") or {})}
        own.pop("frame", None)
        people = [
            {
                **own,
                **dict(zip(SIZED, part["bbox"], strict=True)),
                "label": words.get(str(part.get("label_id"))),
                **(part.get("attributes") or {}),
            }
            for part in item.get("annotations") or ()
            if part.get("type") == "bbox" and len(part.get("bbox") or ()) == len(SIZED)
        ]
        rows += people or [own]
    return rows


def sagemaker_rows(records: Sequence[Mapping[str, Any]]) -> list[Row] | None:
    """Rows of an output manifest of SageMaker Ground Truth (boxes, or a class for each picture); None for others.

    >>> sagemaker_rows([{"source-ref": "s3://b/a.jpg", "sex": 0, "sex-metadata": {"class-name": "f"}}])
    [{'file': 's3://b/a.jpg', 'sex': 'f'}]
    """
    if not all("source-ref" in record for record in records):
        return None
    rows: list[Row] = []
    for record in records:
        own: Row = {"file": record["source-ref"]}
        people: list[Row] = []
        for name, value in record.items():
            about = record.get(f"{name}-metadata")
            if not isinstance(about, Mapping):
                continue
            if _has(value, ("annotations",)):
                words = about.get("class-map") or {}
                people += [_sagemaker_box(part, words) for part in value["annotations"]]
            else:
                own[name] = about.get("class-name", value)
        rows += [{**own, **person} for person in people] or [own]
    return rows


def _sagemaker_box(part: Mapping[str, Any], words: Mapping[str, str]) -> Row:
    numbers = (part.get(key) for key in ("left", "top", "width", "height"))
    label = words.get(str(part.get("class_id")))
    return {**dict(zip(SIZED, numbers, strict=True)), "label": label}


def with_vertex_names(table: LabelTable) -> LabelTable:
    """Google's CSV of boxes with names for its columns; any other table as it is."""
    cells = list(table.columns.values())
    if not table.headless or len(cells) != len(VERTEX):
        return table
    if not {cell.casefold() for cell in cells[0]} <= VERTEX_PARTS:
        return table
    table.columns = {name: cells[i] for i, name in enumerate(VERTEX) if name}
    table.headless = False
    return table


def mot_table(path: Path, lines: Sequence[str]) -> LabelTable | None:
    """The truth of a MOT Challenge sequence (`gt/gt.txt` beside `img1/`); None for anything else.

    A track is a person; rows that the challenge does not count (flag 0, or a class that is not a person) are left out.
    """
    rows = [line.strip().split(",") for line in lines if line.strip()]
    numeric = re.compile(r"-?(\d+\.?\d*|\.\d+)")
    if not rows or len({len(row) for row in rows}) > 1 or len(rows[0]) not in MOT_FIELDS:
        return None
    if not all(numeric.fullmatch(cell.strip()) for row in rows for cell in row):
        return None
    folder, width, height = _sequence(path)
    pictures = {int(file.stem): file for file in folder.glob("*") if file.stem.isdecimal()} if folder else {}
    if not pictures or not all(int(float(row[0])) in pictures for row in rows):
        return None
    people: list[Row] = []
    left_out = 0
    for row in rows:
        frame, track, x, y, w, h, *rest = row
        counted = not rest or float(rest[0]) != 0
        if not counted or (len(rest) > 1 and str(int(float(rest[1]))) not in MOT_PEOPLE):
            left_out += 1
            continue
        file = pictures[int(float(frame))]
        corner = max(float(x) - 1, 0.0), max(float(y) - 1, 0.0)  # the challenge counts pixels from 1
        end = min(float(x) - 1 + float(w), width), min(float(y) - 1 + float(h), height)
        name = "/".join(file.parts[-3:])
        person = f"{path.parent.parent.name} {track.strip()}"
        people.append(
            {
                "file": name,
                "person": person,
                **dict(zip(("xmin", "ymin", "xmax", "ymax"), (*corner, *end), strict=True)),
            }
        )
    table = table_of(path, people, kind="person")
    if left_out:
        table.notes.append(f"{path.name}: {left_out:,} rows are not counted by the challenge and left out")
    return table


def _sequence(path: Path) -> tuple[Path | None, float, float]:
    """The folder with the pictures of a sequence, and their width and height as in `seqinfo.ini`, else infinite."""
    sequence = path.parent.parent
    info = configparser.ConfigParser()
    try:
        info.read(sequence / "seqinfo.ini", encoding="utf-8")
        about = dict(info["Sequence"]) if "Sequence" in info else {}
        width, height = (float(about.get(name, "inf")) for name in ("imwidth", "imheight"))
    except (configparser.Error, ValueError, UnicodeDecodeError):
        about, width, height = {}, float("inf"), float("inf")
    name = about.get("imdir", "img1")
    folder = sequence / Path(name).name
    return (folder if folder.is_dir() else None), width, height


def lfw_pairs_table(path: Path, lines: Sequence[str]) -> LabelTable | None:
    """The pictures and people of a list of pairs of Labeled Faces in the Wild; None for anything else.

    >>> table = lfw_pairs_table(Path("pairs.txt"), ["1\\t1", "Ann_Lee\\t1\\t2", "Ann_Lee\\t1\\tBob_Ray\\t3"])
    >>> table.columns["file"], table.columns["person"]
    (['Ann_Lee_0001', 'Ann_Lee_0002', 'Bob_Ray_0003'], ['Ann_Lee', 'Ann_Lee', 'Bob_Ray'])
    """
    rows = [line.split() for line in lines if line.strip()]
    head = rows[0] if rows else []
    pairs = rows[1:] if head and len(head) <= 2 and all(cell.isdecimal() for cell in head) else rows
    if not pairs or not all(_is_pair(row) for row in pairs):
        return None
    pictures: dict[str, str] = {}
    for row in pairs:
        sides = ((row[0], row[1]), (row[0], row[2])) if len(row) == 3 else ((row[0], row[1]), (row[2], row[3]))
        pictures |= {f"{person}_{int(number):04d}": person for person, number in sides}
    table = table_of(path, [{"file": file, "person": person} for file, person in pictures.items()])
    table.notes.append(
        f"{path.name}: {len(pairs):,} pairs name {len(pictures):,} pictures; verification compares all pairs of these, "
        "not the listed ones alone"
    )
    return table


def _is_pair(row: Sequence[str]) -> bool:
    numbers = (1, 2) if len(row) == 3 else (1, 3) if len(row) == 4 else ()
    return bool(numbers) and all(row[i].isdecimal() and len(row[i]) < 9 for i in numbers) and not row[0].isdecimal()


def json_lines(text: str) -> list[Any] | None:
    """The values of a file with a JSON record in every line; None where it is something else."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or not all(line.lstrip().startswith("{") for line in lines):
        return None
    try:
        return [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        return None
