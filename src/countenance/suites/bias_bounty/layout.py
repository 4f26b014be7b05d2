"""The challenge's folders as a dataset: `SPLIT/labels.csv` beside the images it names."""

from pathlib import Path

from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.data.sample import Dataset, Sample, Subject
from countenance.errors import InputError
from countenance.suites.bias_bounty.files import ATTRIBUTES, CLASSES, read_labels

SPLITS = ("train", "test", "holdout")


def read_challenge(root: Path, split: str | None = None, *, sizes: bool = True) -> Dataset:
    """One split of the challenge's data: `root/split/labels.csv`, or `root/labels.csv` when no split is named.

    A labelled picture has one subject with the attributes that are known; a picture without any label has none, since
    nobody said whether a person is in it. In the challenge non-faces have random labels, so they come as subjects too.
    `sizes=False` leaves the files unopened (width and height 0).
    """
    folder = root / split if split else root
    if not (folder / "labels.csv").exists():
        here = [name for name in SPLITS if (root / name / "labels.csv").exists()]
        hint = f"; there is {', '.join(here)}" if here else "; `countenance bias-bounty make-data` makes such a folder"
        raise InputError(f"{folder / 'labels.csv'}: no such file{hint}")
    table = read_labels(folder / "labels.csv")
    card_file = root / "card.json" if split else root.parent / "card.json"
    card = DatasetCard.read(card_file) if card_file.exists() else _card(root.name)
    samples = []
    for i, name in enumerate(table.names):
        image = LazyImage(inside(folder, name, f"{table.path} row {i + 1}"))
        codes = {attribute: int(table.codes[attribute][i]) for attribute in ATTRIBUTES}
        known = {attribute: CLASSES[attribute][code] for attribute, code in codes.items() if code >= 0}
        width, height = image.size() if sizes else (0, 0)
        subjects = (Subject(f"{name}#0", attributes=known),) if known else ()
        samples.append(Sample(name, image, width, height, subjects, {"labelled": "yes" if known else "no"}))
    return Dataset(card, samples)


def _card(name: str) -> DatasetCard:
    return DatasetCard(
        name=name,
        description="Bias bounty layout: skin tone, age group and perceived gender; some pictures are not faces.",
        attributes={
            attribute: AttributeCard(assigned_by="annotated", values=CLASSES[attribute]) for attribute in ATTRIBUTES
        },
    )
