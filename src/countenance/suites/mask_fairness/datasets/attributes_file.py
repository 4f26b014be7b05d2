"""`attributes.csv`: who is who in a dataset whose boxes say nothing but mask or no mask."""

from dataclasses import replace
from pathlib import Path

from countenance.data import Sample
from countenance.data.tables import read_csv
from countenance.errors import InputError
from countenance.suites.mask_fairness.datasets.truth import masked_word

FILE_COLUMNS = ("file", "filename", "file_name", "image")


def with_attributes(samples: list[Sample], table: Path) -> tuple[list[Sample], tuple[str, ...]]:
    """The samples with the attributes of a CSV, and the names of those attributes.

    The CSV has a column `file`, optionally `face` (which box of the picture, from 0), then attributes; a column
    `masked` (or `mask`) says what the boxes do not.
    """
    header, rows = read_csv(table)
    key = next((name for name in FILE_COLUMNS if name in header), None)
    if key is None:
        raise InputError(f"{table} line 1: no column file, which names each row's picture; found {', '.join(header)}")
    names = [name for name in header if name and name not in (key, "face", "mask", "masked")]
    by_name = {sample.id: sample for sample in samples} | {Path(sample.id).name: sample for sample in samples}
    said: dict[tuple[str, int | None], dict[str, str | None]] = {}
    for line, row in rows:
        place = f"{table} line {line}"
        sample = by_name.get(row[key])
        if sample is None:
            raise InputError(f"{place}: {row[key]!r} is none of the {len(samples)} pictures")
        face = row.get("face", "").strip()
        if face and (not face.isdigit() or int(face) >= len(sample.subjects)):
            raise InputError(f"{place}: face {face!r}, but {row[key]} has {len(sample.subjects)} boxes, counted from 0")
        values: dict[str, str | None] = {name: row[name].strip() or None for name in names}
        if word := row.get("masked") or row.get("mask"):
            values["masked"] = masked_word(word, place)
        which = (sample.id, int(face) if face else None)
        if which in said:
            remedy = "" if face else "; a column face (from 0) says which box a row is about"
            raise InputError(f"{place}: {row[key]!r}{f' face {face}' if face else ''} has a row already{remedy}")
        said[which] = values
    described = []
    for sample in samples:
        subjects = tuple(
            replace(
                subject,
                attributes={**subject.attributes, **said.get((sample.id, None), {}), **said.get((sample.id, i), {})},
            )
            for i, subject in enumerate(sample.subjects)
        )
        described.append(replace(sample, subjects=subjects))
    return described, tuple(names)
