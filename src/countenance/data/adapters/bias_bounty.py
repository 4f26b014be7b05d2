"""The challenge's folders as a dataset: `SPLIT/labels.csv` beside the images it names."""

import hashlib
import os
from pathlib import Path
from urllib.parse import urlencode

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, Truth
from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.data.reading.options import folder_and_options
from countenance.data.sample import Dataset, Sample, Subject
from countenance.errors import DataError
from countenance.person_columns import GROUPS_OF

CITATION = "Bias Buccaneers, The first bias bounty challenge: skin tone, age and gender, 2022"
LICENCE = "not stated by the challenge; an entry stays its authors', under a licence of their choice"
CONSENT = "not stated by the challenge"
SPLITS = ("train", "test", "holdout")


def load(part: str | None) -> Dataset:
    """The dataset behind `bias_bounty:FOLDER` or `bias_bounty:LABELS.csv?nonfaces=FILE&identities=FILE`.

    The files named in the options lie relative to the labels; of a folder with splits, `split=test` chooses one.

    >>> load(None)
    Traceback (most recent call last):
    countenance.errors.DataError: bias_bounty: name its folder, as in bias_bounty:FOLDER
    """
    place, options = folder_and_options("bias_bounty", part, ("split", "nonfaces", "identities", "pictures"))
    labels = place if place.is_file() else labels_of(place, options.get("split"))
    named = {name: labels.parent / options[name] for name in ("nonfaces", "identities") if name in options}
    return read_truth(labels, **named, opened=options.get("pictures") != "no")


def source_of(labels: Path, nonfaces: Path | None = None, identities: Path | None = None) -> str:
    """The name under which `load_dataset` finds the files of a score again, without opening pictures.

    >>> source_of(Path("data/test/labels.csv"), Path("data/organiser/nonfaces.txt"))
    'bias_bounty:data/test/labels.csv?pictures=no&nonfaces=..%2Forganiser%2Fnonfaces.txt'
    """
    options = {"pictures": "no"}
    for name, path in (("nonfaces", nonfaces), ("identities", identities)):
        if path is not None:
            options[name] = os.path.relpath(path, labels.parent)
    return f"bias_bounty:{labels}?{urlencode(options)}"


def labels_of(root: Path, split: str | None) -> Path:
    """The labels of a split, or of the folder itself; an unknown split is refused with those that exist."""
    labels = (root / split if split else root) / "labels.csv"
    if not labels.exists():
        here = [name for name in SPLITS if (root / name / "labels.csv").exists()]
        hint = f"; there is {', '.join(here)}" if here else "; `countenance bias-bounty make-data` makes such a folder"
        raise DataError(f"{labels}: no such file{hint}")
    return labels


def read_challenge(root: Path, split: str | None = None, *, opened: bool = True) -> Dataset:
    """One split of the challenge's data: `root/split/labels.csv`, or `root/labels.csv` when no split is named.

    With `opened=False` nobody opens the pictures (width and height 0), and they may be missing.
    """
    return read_truth(labels_of(root, split), opened=opened)


def read_truth(
    labels: Path, nonfaces: Path | None = None, identities: Path | None = None, *, opened: bool = True
) -> Dataset:
    """The pictures that a file of labels names, and after them known non-faces that it does not name."""
    return dataset_of(labels, Truth.read(labels, nonfaces, identities), opened=opened)


def dataset_of(labels: Path, truth: Truth, *, opened: bool = True) -> Dataset:
    """The pictures of a file of labels that has been read.

    A picture whose labels or whose person are known has one subject; a picture without either has none, since nobody
    said whether a person is in it. In the challenge non-faces have random labels, so they come as subjects too.
    """
    table, outside = truth.labels, truth.nonfaces
    people = truth.people or (None,) * len(table)
    root = labels.parent.parent if labels.parent.name in SPLITS else labels.parent
    card = DatasetCard.read(root / "card.json") if (root / "card.json").exists() else _card(root.name)
    apart = set(outside)
    samples = []
    for i, (name, identity) in enumerate(zip(table.names, people, strict=True)):
        known = {GROUPS_OF.get(column, column): word for column, word in table.words(i).items()}
        attributes = {"labelled": "yes" if known else "no"} | (
            {"face": "no" if name in apart else "yes"} if apart else {}
        )
        subjects = (Subject(f"{name}#0", identity, attributes=known),) if known or identity else ()
        samples.append(_sample(labels, name, subjects, attributes, opened))
    samples += [_sample(labels, name, (), {"face": "no"}, opened) for name in outside if name not in table.index]
    return Dataset(card, samples)


def _sample(labels: Path, name: str, subjects: tuple[Subject, ...], attributes: dict[str, str], opened: bool) -> Sample:
    path = inside(labels.parent, name, f"{labels}: {name}")
    if opened and not path.is_file():
        raise DataError(f"{path}: no such image")
    side, unread = (None, None) if opened else (0, hashlib.sha256(name.encode()).hexdigest())
    return Sample(name, LazyImage(path), side, side, subjects, attributes, sha256=unread)


def _card(name: str) -> DatasetCard:
    return DatasetCard(
        name=name,
        description="Bias bounty layout: skin tone, age group and perceived gender; some pictures are not faces.",
        licence=LICENCE,
        consent=CONSENT,
        citation=CITATION,
        attributes={
            GROUPS_OF.get(column, column): AttributeCard(assigned_by="annotated", values=CLASSES[column])
            for column in ATTRIBUTES
        },
    )
