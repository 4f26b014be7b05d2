"""Predictions made elsewhere: a photo and the probabilities of both heads on each line."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from countenance.answers.formats.base import Wanted
from countenance.answers.formats.table import read_table
from countenance.answers.types import Labels
from countenance.data.names import ImageNames
from countenance.errors import InputError
from countenance.suites.happyfaces.dataset import HappyFaces, Photos
from countenance.suites.happyfaces.interface import Floats
from countenance.suites.happyfaces.methods import checked
from countenance.suites.happyfaces.protocol import Outcome
from countenance.suites.happyfaces.scores import Record, score_parts

HEADS = (("head_1", "head1", "head 1"), ("head_2", "head2", "head 2"))
SHOWN = 3
HOW = "; name photos as TAG/NAME.jpg or validation/TAG/NAME.jpg"


def read_outcome(path: Path, data: HappyFaces, name: str) -> Outcome:
    """Score the predictions of a file; every validation photo must be in it.

    Unlabelled photos may be there too: those that the method did not use, since it is scored on them.
    """
    sets = data.scored()
    ids = {part: photos.ids(part) for part, photos in sets.items()}
    aliases = dict(zip(data.unlabelled.ids("unlabelled"), ids["not_drawn"], strict=True))
    names = ImageNames([i for part in ids.values() for i in part], aliases)
    try:
        found = read_table(path, Wanted(Labels, names))
    except InputError as error:
        raise InputError(f"{error}{HOW if 'does not have' in str(error) else ''}") from None
    if found.notes:
        raise InputError(f"{found.notes[0]}{HOW}")
    known = {photo: _both(labels.values, f"{path}: {photo}") for photo, labels in found.by_id.items()}
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


def _both(values: Mapping[str, str], place: str) -> list[float]:
    """The numbers of both heads."""
    heads = [next((values[name] for name in names if name in values), None) for names in HEADS]
    if None in heads:
        raise InputError(f"{place}: expected the columns photo, head_1 and head_2, found {', '.join(values) or 'none'}")
    try:
        return [float(str(head)) for head in heads]
    except ValueError:
        raise InputError(f"{place}: expected two probabilities, found {' and '.join(map(str, heads))}") from None
