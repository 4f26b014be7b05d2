"""Predictions made elsewhere: a photo and the probabilities of both heads on each line."""

from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.formats.names import Names
from countenance.data.tables import read_csv
from countenance.errors import InputError
from countenance.suites.happyfaces.dataset import HappyFaces, Photos
from countenance.suites.happyfaces.interface import Floats
from countenance.suites.happyfaces.methods import checked
from countenance.suites.happyfaces.protocol import Outcome, Record, score_parts

PHOTO = ("photo", "image", "file", "name")
HEADS = (("head_1", "head1", "head 1"), ("head_2", "head2", "head 2"))
SHOWN = 3


def read_outcome(path: Path, data: HappyFaces, name: str) -> Outcome:
    """Score the predictions of a file; every validation photo must be in it.

    Unlabelled photos may be there too: those that the method did not use, since it is scored on them.
    """
    found = _probabilities(path)
    sets = {"validation": data.validation, "not_drawn": data.unlabelled}
    if data.held_back is not None:
        sets["held_back"] = data.held_back
    ids = {
        part: [f"{part}/{tag}/{file}" for tag, file in zip(*photos.where(), strict=True)]
        for part, photos in sets.items()
    }
    aliases = {f"unlabelled/{i.partition('/')[2]}": i for i in ids["not_drawn"]}
    names = Names([i for part in ids.values() for i in part], aliases)
    if sentence := names.unmatched(found, str(path)):
        raise InputError(f"{sentence}; name photos as TAG/NAME.jpg or validation/TAG/NAME.jpg")
    known: dict[str, list[float]] = {}
    for photo, values in found.items():
        meant = names.find(photo) or ""
        if meant in known:
            raise InputError(f"{path}: {meant} is there twice")
        known[meant] = values
    parts: dict[str, tuple[Photos, Floats]] = {}
    for part, photos in sets.items():
        there = [i for i, photo in enumerate(ids[part]) if photo in known]
        if part != "not_drawn" and len(there) < len(photos):
            lost = [photo for photo in ids[part] if photo not in known]
            shown = ", ".join(lost[:SHOWN]) + (", …" if len(lost) > SHOWN else "")
            raise InputError(f"{path}: {len(lost)} of {len(photos)} {part} photos are missing ({shown})")
        numbers = np.array([known[ids[part][i]] for i in there]).reshape(-1, 2)
        parts[part] = photos.take(there), checked(numbers, len(there), f"{path}: found")
    record: Record = {"method": name, "mix_rate": None, "seed": 0, "options": {}, "answered": True, "notes": {}}
    record |= score_parts(parts, data.features) | {"seconds": 0.0, "cpu_seconds": 0.0}
    return Outcome(record, None, parts)


def _probabilities(path: Path) -> dict[str, list[float]]:
    """Of each photo that the file names the numbers of both heads."""
    columns, rows = _rows(path)
    photo = next((name for name in PHOTO if name in columns), None)
    heads = [next((name for name in names if name in columns), None) for names in HEADS]
    if photo is None or None in heads:
        raise InputError(f"{path}: expected the columns photo, head_1 and head_2, found {', '.join(map(str, columns))}")
    found: dict[str, list[float]] = {}
    for line, row in rows:
        try:
            values = [float(row[str(head)]) for head in heads]
        except (TypeError, ValueError):
            raise InputError(f"{path} line {line}: {photo} {row[photo]}: expected two probabilities") from None
        if str(row[photo]) in found:
            raise InputError(f"{path} line {line}: {row[photo]} is there twice")
        found[str(row[photo])] = values
    return found


def _rows(path: Path) -> tuple[list[str], Any]:
    if path.suffix.lower() != ".parquet":
        return read_csv(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from error
    return table.column_names, enumerate(table.to_pylist(), 1)
