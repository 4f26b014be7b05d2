"""Records with records in them (Hugging Face's `objects`, lists of faces, Labelbox), as plain rows."""

from collections.abc import Mapping, Sequence
from typing import Any

from countenance.data.labels.aliases import FACE_PREFIXES, ONE_BOX, PERSON_PREFIXES, squashed

Row = dict[str, Any]
SIZED = ("x", "y", "w", "h")
BOXED = frozenset({*ONE_BOX, "facebox", "personbox", "facebbox", "personbbox"})


def flat_rows(records: Sequence[Mapping[str, Any]]) -> tuple[list[Row], str | None, list[str]]:
    """A row for each person of each record, what their boxes show (None: not stated), and columns that no row can hold.

    >>> flat_rows([{"file": "a.jpg", "faces": [{"age": 31}, {"age": 9}]}])
    ([{'file': 'a.jpg', 'age': 31}, {'file': 'a.jpg', 'age': 9}], 'face', [])
    >>> flat_rows([{"file_name": "a.jpg", "objects": {"bbox": [[1, 2, 3, 4]], "age": [31]}}])[0]
    [{'file_name': 'a.jpg', 'x': 1, 'y': 2, 'w': 3, 'h': 4, 'age': 31}]
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    lists = [name for name in names if _lists_people(records, name)]
    holder = lists[0] if len(lists) == 1 else None
    rows: list[Row] = []
    for record in records:
        own = _scalars({name: value for name, value in record.items() if name != holder})
        people = _people(record.get(holder), holder) if holder else []
        rows += [{**own, **person} for person in people] or [own]
    left_out = [name for name in dict.fromkeys(name for row in rows for name in row) if _cannot_be_held(rows, name)]
    rows = [{name: value for name, value in row.items() if name not in left_out} for row in rows]
    return rows, _kind(holder), left_out


def _lists_people(records: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether a column holds a list of records, or lists side by side, wherever it holds anything."""
    values = [record[name] for record in records if record.get(name)]
    return bool(values) and all(_is_list_of_records(value) or _is_side_by_side(value) for value in values)


def _is_list_of_records(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(part, Mapping) for part in value)


def _is_side_by_side(value: Any) -> bool:
    """Whether a value is lists of one length under their names, such as {"bbox": […], "category": […]}."""
    if not isinstance(value, Mapping) or not all(isinstance(part, list) for part in value.values()):
        return False
    return len({len(part) for part in value.values()}) == 1


def _people(value: Any, holder: str) -> list[Row]:
    if _is_side_by_side(value):
        people = [dict(zip(value, parts, strict=True)) for parts in zip(*value.values(), strict=True)]
        return [_sized(person) if squashed(holder) == "objects" else _scalars(person) for person in people]
    return [_scalars(person) for person in value or ()]


def _sized(person: Row) -> Row:
    """A person of Hugging Face's `objects`, whose boxes are x, y, width, height."""
    box = person.pop("bbox", None)
    numbers = dict(zip(SIZED, box, strict=True)) if isinstance(box, list) and len(box) == len(SIZED) else {}
    return {**numbers, **_scalars(person)}


def _scalars(record: Mapping[str, Any]) -> Row:
    """A record with nested records spread over columns (`attributes: {"age": 31}`); boxes stay."""
    row: Row = {}
    for name, value in record.items():
        if isinstance(value, Mapping) and squashed(name) not in BOXED:
            row |= {part: inner for part, inner in value.items() if part not in record}
        else:
            row[name] = value
    return row


def _cannot_be_held(rows: Sequence[Row], name: str) -> bool:
    """Whether values are records, or lists of records, but no boxes."""
    if squashed(name) in BOXED:
        return False
    values = [row[name] for row in rows if row.get(name)]
    return any(isinstance(value, Mapping) or (_is_list_of_records(value) and value != []) for value in values)


def _kind(holder: str | None) -> str | None:
    word = squashed(holder or "")
    if word.startswith(FACE_PREFIXES):
        return "face"
    return "person" if word.startswith((*PERSON_PREFIXES, "people", "pedestrians")) else None


def labelbox_rows(records: Sequence[Mapping[str, Any]]) -> list[Row] | None:
    """The rows of a Labelbox export (one record for each data row); None where the records are something else."""
    if not all("data_row" in record and "projects" in record for record in records):
        return None
    rows: list[Row] = []
    for record in records:
        about = record["data_row"]
        own: Row = {"file": about.get("external_id") or about.get("row_data") or about.get("id")}
        labels = [label for project in record["projects"].values() for label in project.get("labels") or ()]
        drawn = labels[0].get("annotations") or {} if labels else {}
        own |= _answers(drawn.get("classifications") or ())
        boxes = [part for part in drawn.get("objects") or () if part.get("bounding_box")]
        rows += [
            {
                **own,
                "label": part.get("name"),
                **dict(
                    zip(SIZED, (part["bounding_box"].get(k) for k in ("left", "top", "width", "height")), strict=True)
                ),
                **_answers(part.get("classifications") or ()),
            }
            for part in boxes
        ] or [own]
    return rows


def _answers(classifications: Sequence[Mapping[str, Any]]) -> Row:
    """The answers to Labelbox's questions, by their names."""
    answers: Row = {}
    for question in classifications:
        radio, text = question.get("radio_answer"), question.get("text_answer")
        several = question.get("checklist_answers")
        if radio:
            answers[question["name"]] = radio.get("name")
        elif several:
            answers[question["name"]] = ", ".join(str(part.get("name")) for part in several)
        elif text:
            answers[question["name"]] = text.get("content")
    return answers
