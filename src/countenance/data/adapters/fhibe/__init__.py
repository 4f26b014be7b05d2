"""FHIBE and FHIBE-Face as a `Dataset`: every picture with its people, so that any model and task here runs on it."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import numpy as np

from countenance.data import Dataset, LazyImage, Rle, Sample, Subject
from countenance.data.adapters.fhibe import truth as true
from countenance.data.adapters.fhibe.attributes import check_attributes, label
from countenance.data.adapters.fhibe.table import FhibeTable, everyone_in, mini, processed, read_table
from countenance.data.adapters.fhibe.words import (
    ASSIGNED,
    BODY_TASKS,
    CARD,
    DEFAULT_ATTRIBUTES,
    FACE_TASKS,
    MEANINGS,
    TASKS,
    YEARS,
)
from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.vocabulary import FACE_LABELS
from countenance.errors import DataError, InputError
from countenance.files import file_hash
from countenance.metrics.masks import compress
from countenance.person_columns import GROUPS_OF
from countenance.settings.data import Compat

FOLDERS = ("fhibe_downsampled", "fhibe", "fhibe_face_crop_align", "fhibe_face_crop")
EXPECTED = (
    "expected fhibe:ROOT, or fhibe:ROOT?dataset=fhibe_downsampled&task=person_localization&attributes=pronoun,age "
    "(and compat=strict, mini=50, ages=years)"
)

LICENCE = "FHIBE terms of use (registration with Sony AI; no redistribution)"
CONSENT = "informed and revocable: people may withdraw at any time, and their pictures must then be deleted"
CITATION = "Xiang et al., Fair human-centric image dataset for ethical AI benchmarking, Nature 2025"


class FhibeDataset(Dataset):
    """A dataset whose fingerprint is that of its table: FHIBE's pictures are too many to hash for every page."""

    def __init__(
        self,
        card: DatasetCard,
        samples: Sequence[Sample],
        table: FhibeTable,
        people: FhibeTable,
        masks: Mapping[int, str] | None = None,
    ) -> None:
        super().__init__(card, samples, notes=[line.replace(f"{table.root}/", "") for line in people.problems])
        self.table, self.people = table, people
        self.masks = masks or {}
        """The hashes of the files of label maps, by row: truth that is not in the table."""
        self.images: list[str] = []
        """The names of all images of the table, also of those that were not drawn: outputs may name them."""
        self.read: dict[str, Any] = {}
        """The reader's arguments, by their names in the query of the source."""

    def fingerprint(self) -> str:
        """A hash of the annotation table, of the part that was read if not all, and of the label maps."""
        some = [f"{name}={self.read[name]}" for name in ("compat", "mini", "ages") if self.read.get(name)]
        some += [f"{row}:{digest}" for row, digest in sorted(self.masks.items())]
        content = file_hash(self.table.path)
        return hashlib.sha256(" ".join([content, *some]).encode()).hexdigest() if some else content

    def truth_fingerprint(self) -> str:
        """The fingerprint itself, since the table lists the pictures."""
        return self.fingerprint()

    @property
    def source(self) -> str:
        """The name under which `load_dataset` reads it again."""
        query = {name: value for name, value in self.read.items() if value}
        return f"fhibe:{self.table.root}?{urlencode(query, safe=',')}"


def dataset_card(root: Path, dataset: str, attributes: Sequence[str]) -> DatasetCard:
    """The card beside the table where there is one (data that we made ourselves), else FHIBE's own."""
    own = processed(root, dataset) / CARD
    if own.is_file():
        return DatasetCard.read(own)
    return DatasetCard(
        name=dataset,
        version="not stated",
        description="Fair Human-Centric Image Benchmark (Sony AI): people photographed with their consent",
        licence=LICENCE,
        consent=CONSENT,
        citation=CITATION,
        warning=(
            "A report that was sent cannot be recalled. When a person withdraws, `countenance purge RUN --subjects "
            "FILE` removes them from this run; copies elsewhere must be deleted by hand."
        ),
        real_people=True,
        attributes={
            GROUPS_OF.get(name, name): AttributeCard(
                assigned_by=ASSIGNED.get(name, "self-reported"), meaning=MEANINGS[name]
            )
            for name in attributes
        },
    )


def read_dataset(
    root: str | Path,
    dataset: str,
    task: str | None,
    attributes: Sequence[str] = DEFAULT_ATTRIBUTES,
    *,
    compat: Compat = "default",
    size: int | None = None,
    without: frozenset[str] = frozenset(),
    years: bool = False,
) -> FhibeDataset:
    """FHIBE with the truth that a task needs (parsing polygons of tasks that need none would be slow).

    `dataset` is the folder's name: fhibe_downsampled, fhibe, fhibe_face_crop_align, fhibe_face_crop; without a `task`
    all truth is read that the table has. `size` draws the published mini dataset of this many rows: all people of their
    images are there, those who were drawn have rows. `compat="strict"` reads as the original does: who was not drawn is
    nobody, repeats count again, an option is chosen when its text occurs in the cell. `without`: images to leave out.
    The table's `age` becomes `age_group`, the published bins; with `years` also `age`, the number of years.
    """
    tasks = (task,) if task is not None else _possible(dataset)
    strict = compat == "strict"
    table = people = read_table(root, dataset, tasks, tuple(attributes), strict=strict)
    images = list(dict.fromkeys(table.text("filepath")))
    if task == "face_verification":
        table = people = true.usable(table)
        if not len(table):
            raise DataError(f"{table.path}: no person has two pictures alone; verification needs pairs")
    if size is not None:
        table = mini(table, size)
        people = table if strict else everyone_in(people, table)
    masks: dict[int, str] = {}
    if without:
        if "face_parsing" in tasks:
            masks = _hashes_of_masks(people, [i for i, name in enumerate(people.text("filepath")) if name in without])
        table, people = (
            each.take([i for i, name in enumerate(each.text("filepath")) if name not in without])
            for each in (table, people)
        )
        if not len(table):
            raise DataError(f"{table.path}: no row is left")
    truth = _truth(people, tasks, compat, masks)
    values = {GROUPS_OF.get(name, name): label(people, name, compat).cells() for name in attributes}
    if years and "age" in attributes:
        values["age"] = [None if math.isnan(age) else age for age in people.numbers("age").tolist()]
    samples = _samples(people, truth, values, compat, set(table.line))
    card = dataset_card(table.root, dataset, attributes)
    if "age" in values and "age" not in card.attributes:
        about = {"age": AttributeCard(assigned_by="self-reported", meaning=YEARS)}
        card = card.model_copy(update={"attributes": card.attributes | about})
    read = FhibeDataset(card, samples, table, people, masks)
    read.images = images
    read.read = {
        "dataset": dataset,
        "task": task,
        "attributes": ",".join(attributes),
        "compat": compat if strict else None,
        "mini": size,
        "ages": "years" if years else None,
    }
    return read


def _samples(
    people: FhibeTable,
    truth: Mapping[str, Sequence[Any]],
    values: Mapping[str, Sequence[Any]],
    compat: Compat,
    scored: set[int],
) -> list[Sample]:
    identities = people.text("subject_id")
    sizes = people.sizes() if "image_height" in people.columns else None
    rows_of: dict[str, list[int]] = {}
    for i, name in enumerate(people.text("filepath")):
        rows_of.setdefault(name, []).append(i)
    samples = []
    for name, rows in rows_of.items():
        image = LazyImage(people.file(rows[0], "filepath"))
        height, width = sizes[rows[0]] if sizes is not None else (None, None)
        # Published: people are in the order drawn. By default: in the table's order, whichever people were drawn.
        order = rows if compat == "strict" else sorted(rows, key=people.line.__getitem__)
        subjects = [
            Subject(
                id=str(people.line[i]),
                identity=identities[i],
                attributes={attribute: cells[i] for attribute, cells in values.items()},
                scored=people.line[i] in scored,
                **{field: each[i] for field, each in truth.items()},
            )
            for i in order
        ]
        samples.append(Sample(name, image, width, height, tuple(subjects)))
    return samples


def _truth(table: FhibeTable, tasks: Sequence[str], compat: Compat, masks: dict[int, str]) -> dict[str, Sequence[Any]]:
    """The fields of subjects that tasks need, with a value for each row; the hashes of label maps go into `masks`."""
    out: dict[str, Any] = {}
    chosen = set(tasks)
    if "person_bbox" in table.columns:
        out["person_box"] = table.boxes("person_bbox")
    if chosen & {"face_localization", "keypoint_estimation"}:
        out["face_box"] = table.boxes("face_bbox")
    if "keypoint_estimation" in chosen:
        out["keypoints"] = true.keypoints(table)
    if chosen & {"person_parsing", "keypoint_estimation"}:
        people = zip(true.person_masks(table), table.sizes(), strict=True)
        out["mask"] = [Rle(height, width, compress(runs)) for runs, (height, width) in people]
    if "body_parts_detection" in chosen:
        out["body_parts"] = [*map(tuple, true.body_parts(table, compat))]
    if "face_parsing" in chosen:
        out["face_parts"] = [_face_parts(table, i, size, masks) for i, size in enumerate(table.sizes())]
    if chosen & set(FACE_TASKS) and "image_width" in table.columns:
        out["face_box"] = [np.array([0.0, 0.0, width, height]) for height, width in table.sizes()]
    return out


def _face_parts(table: FhibeTable, row: int, size: tuple[int, int], masks: dict[int, str]) -> dict[str, Rle]:
    """The parts of a row's face; a label map of another size than its picture's is refused."""
    content = true.mask_bytes(table, row)
    masks[table.line[row]] = hashlib.sha256(content).hexdigest()
    labels = true.face_labels_of(content, table, row)
    if labels.shape != size:
        raise DataError(
            f"{table.place(row, 'CelebA')}: a mask of {labels.shape[1]}×{labels.shape[0]}, "
            f"the picture is {size[1]}×{size[0]}"
        )
    return {FACE_LABELS[value]: Rle.encode(labels == value) for value in np.unique(labels).tolist() if value}


def _hashes_of_masks(table: FhibeTable, rows: Iterable[int]) -> dict[int, str]:
    """The hashes of the label maps of rows that are left out, so that the truth's hash stays the same without them."""
    hashes = {}
    for row in rows:
        with suppress(InputError):  # the map may be removed with the person
            hashes[table.line[row]] = hashlib.sha256(true.mask_bytes(table, row)).hexdigest()
    return hashes


def _possible(dataset: str) -> tuple[str, ...]:
    """The tasks that a dataset is for."""
    return tuple(task for task in (FACE_TASKS if "face" in dataset else BODY_TASKS) if task != "face_verification")


def load(part: str | None, task: str | None = None) -> FhibeDataset:
    """The dataset of a source `fhibe:ROOT?…`, without its scheme; `task` is one of any, unless the source names it."""
    root, _, query = (part or "").partition("?")
    options = {name: values[0] for name, values in parse_qs(query).items()}
    known = ("dataset", "task", "attributes", "compat", "mini", "ages")
    unknown = [name for name in options if name not in known]
    wrong = (options.get("mini") and not options["mini"].isdecimal()) or options.get("ages") not in (None, "years")
    if not root or unknown or wrong:
        raise DataError(f"fhibe:{part}: {EXPECTED}")
    if options.get("task", TASKS[0]) not in TASKS:
        raise DataError(f"fhibe:{part}: task {options['task']!r} is not one of {', '.join(TASKS)}")
    task = options.get("task", task if task in TASKS else None)
    there = [name for name in FOLDERS if (processed(Path(root), name) / f"{name}.csv").is_file()]
    fitting = [name for name in there if task is None or ("face" in name) == (task in FACE_TASKS)]
    dataset = options.get("dataset") or next(iter(fitting), None)
    if dataset is None:
        raise DataError(f"fhibe:{part}: no data/processed/DATASET/DATASET.csv of {', '.join(FOLDERS)}; {EXPECTED}")
    named = tuple(options["attributes"].split(",")) if options.get("attributes") else DEFAULT_ATTRIBUTES
    compat: Compat = "strict" if options.get("compat") == "strict" else "default"
    size = int(options["mini"]) if options.get("mini") else None
    attributes = check_attributes(named, "face" in dataset)
    years = options.get("ages") == "years"
    return read_dataset(root, dataset, task, attributes, compat=compat, size=size, years=years)
