"""Boxes in JSON or JSON lines, by image: `{"a.jpg": [{"box": …}]}`, `[{"image": "a.jpg", "detections": […]}]`.

A box is four numbers or an object with names for them. Lists called `bbox` and `xywh` are x, y, width, height, as in
COCO files, others are corners; `--boxes` says otherwise.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.answers.boxes import Boxes
from countenance.answers.formats.base import Format, PredictionRequest, Predictions, TableRows
from countenance.answers.formats.fhibe import is_outputs
from countenance.answers.formats.table import CORNERS, SIZES, read_rows
from countenance.data.labels.nested import flat_rows
from countenance.data.tables import read_text
from countenance.errors import ModelError

LINES = (".jsonl", ".ndjson")
SIZED_LISTS, CORNER_LISTS = ("bbox", "bboxes", "xywh"), ("box", "boxes", "xyxy", "rect", "boundingbox", "bounding_box")
SINGULAR = {"scores": "score", "labels": "label", "classes": "class", "confidences": "confidence"}
WORDS = (*SIZED_LISTS, *CORNER_LISTS, "detections", "predictions", "faces", "people", "persons", "objects")
COCO_WORDS = ("image_id", "annotations", "images")
PICTURE_KEY = re.compile(r'"[^"]+\.(jpe?g|png|webp|bmp)"\s*:', re.IGNORECASE)
HEAD = 4096
"""Characters that are read to decide whether a JSON file is a list of COCO results."""
Record = Mapping[str, Any]


def read_records(path: Path, request: PredictionRequest) -> Predictions:
    """Boxes by image."""
    rows = [_row(row) for record in _records(path) for row in _of_record(record)]
    header = list(dict.fromkeys(name for row in rows for name in row))
    return read_rows(
        TableRows(str(path), header, [(i, {name: row.get(name) for name in header}) for i, row in enumerate(rows, 1)]),
        request,
    )


def _records(path: Path) -> list[Record]:
    """A record for each image; where the keys of a file are the images' names, they become the field `image`."""
    text = read_text(path)
    try:
        if path.suffix.lower() in LINES:
            content: Any = [json.loads(line) for line in text.splitlines() if line.strip()]
        else:
            content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not JSON ({error})") from error
    if isinstance(content, Mapping):
        wrapped = [value for value in content.values() if _is_records(value)]
        if len(content) == 1 or (len(wrapped) == 1 and not all(map(_is_detections, content.values()))):
            content = wrapped[0] if len(wrapped) == 1 else content
    if isinstance(content, Mapping):
        content = [{"image": name, **(_parts(value))} for name, value in content.items()]
    if not _is_records(content):
        raise ModelError(
            f"{path}: expected boxes by image, such as {{'a.jpg': [{{'box': [1, 2, 3, 4], 'score': 0.9}}]}}"
        )
    return list(content)


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(part, Mapping) for part in value)


def _is_detections(value: Any) -> bool:
    return isinstance(value, list | Mapping)


def _parts(value: Any) -> Record:
    """The entry of a file under an image's name: a record, or the list of its boxes."""
    return value if isinstance(value, Mapping) else {"detections": value or []}


def _of_record(record: Record) -> list[dict[str, Any]]:
    """A row for each box of an image; a row without a box where the image has no boxes."""
    lists = {name: value for name, value in record.items() if isinstance(value, list) and name != "image_size"}
    several = [name for name in lists if name in (*SIZED_LISTS, *CORNER_LISTS) and _is_list_of_boxes(lists[name])]
    if several:
        own = {name: value for name, value in record.items() if name not in lists}
        names = [name for name in lists if len(lists[name]) == len(lists[several[0]])]
        return [
            {**own, **{SINGULAR.get(name, name): lists[name][i] for name in names}}
            for i in range(len(lists[several[0]]))
        ] or [own]
    plain = {name: value for name, value in record.items() if value != [] and not _is_list_of_boxes(value)}
    bare = next((value for value in lists.values() if value and _is_list_of_boxes(value)), None)
    if bare is not None:  # [[x0, y0, x1, y1, score], …]
        return [{**plain, "box": box[:4], **({"score": box[4]} if len(box) > 4 else {})} for box in bare]
    return flat_rows([plain])[0]


def _is_list_of_boxes(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, list) and len(part) >= 4 for part in value) and value != []


def _row(row: Record) -> dict[str, Any]:
    """A row with the numbers of its box as columns."""
    columns: dict[str, Any] = {}
    for name, value in row.items():
        if name in (*SIZED_LISTS, *CORNER_LISTS) and isinstance(value, Mapping):
            columns |= value
        elif name in (*SIZED_LISTS, *CORNER_LISTS) and _is_box(value):
            columns |= dict(zip(SIZES if name in SIZED_LISTS else CORNERS, value, strict=False))
        else:
            columns[name] = value
    return columns


def _is_box(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(value) == len(CORNERS)


def is_records(path: Path) -> bool:
    """Whether a file is JSON by image: neither COCO results, whose entries have `image_id`, nor FHIBE's outputs."""
    if path.suffix.lower() in LINES:
        return path.is_file()
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(HEAD).lstrip("\ufeff \t\r\n")
    names_boxes = any(f'"{word}"' in head for word in WORDS) or PICTURE_KEY.search(head) is not None
    if not names_boxes or any(f'"{word}"' in head for word in COCO_WORDS):
        return False
    return head.startswith(("[", "{")) and not is_outputs(path)


RECORDS = Format(
    name="records",
    meaning="JSON or JSON lines with the boxes of each image",
    kinds=(Boxes,),
    detects=is_records,
    read=read_records,
)
