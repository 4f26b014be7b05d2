"""A folder of pictures with a label file each: YOLO text or Pascal VOC XML, and `attributes.csv` where there is one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from countenance.data.attributes import with_table
from countenance.data.card import DatasetCard
from countenance.data.categories import Categories, Kind, choose, classes_in_words, refuse_without_people
from countenance.data.image import LazyImage
from countenance.data.paths import pictures_below
from countenance.data.reading.box_readings import checked_corners, empty_boxes_note
from countenance.data.reading.class_names import ClassNames, classes_beside
from countenance.data.reading.label_files import NamedBoxes, read_voc, read_yolo
from countenance.data.reading.label_places import label_files, label_places, same_stem
from countenance.data.reading.options import OPTIONS, ReadingOptions, folder_and_options
from countenance.data.sample import Dataset, Sample, Subject
from countenance.errors import DataError

KINDS = {"voc": ".xml", "yolo": ".txt"}
"""The kinds of label files, the preferred one first, and how their names end."""
OF_CLASSES = (
    "in no class that says mask or no mask",
    "in a class that says mask or no mask",
    "expected a class such as mask or no_mask",
)


def load(part: str | None, scheme: str) -> Dataset:
    """The dataset behind `yolo:FOLDER?form=topleft&units=pixels` or `voc:FOLDER`."""
    folder, options = folder_and_options(scheme, part, (*OPTIONS, "categories"))
    request = ReadingOptions.of_options(folder, options, f"{scheme}:{part}")
    return read_labelled(folder, scheme, request, categories=options.get("categories")).split(request.split)


def label_kind(root: Path) -> str | None:
    """The kind of label files that pictures of a folder have; None where no picture has one of its name."""
    names = {same_stem(path) for path in pictures_below(root)}
    result = (kind for kind, end in KINDS.items() if any(same_stem(path) in names for path in label_files(root, end)))
    return next(result, None)


def read_labelled(
    root: Path, kind: str, request: ReadingOptions = ReadingOptions(), *, categories: str | None = None
) -> Dataset:
    """Every picture under `root` that has a label file, with its people and faces as the words of its boxes say.

    `categories` chooses what is a person and what a face (`face=head`, `face=0`) where the words do not say so; boxes
    of anything else are left out, and the notes say how many. `attributes.csv` (or the file named) adds
    identities and further attributes.
    """
    card_file = root / "card.json"
    card = DatasetCard.read(card_file) if card_file.is_file() else DatasetCard(name=root.resolve().name)
    dataset = labelled_pictures(root, kind, request, card, categories=categories)
    beside = root / "attributes.csv"
    table = request.attributes or (beside if beside.is_file() else None)
    return dataset if table is None else with_table(dataset, table)


def labelled_pictures(
    root: Path,
    kind: str,
    request: ReadingOptions,
    card: DatasetCard,
    *,
    categories: str | None = None,
    masks: ClassNames | None = None,
    copies: bool = False,
) -> Dataset:
    """The pictures with their boxes; with `masks` only boxes labelled mask or no mask are read, as faces.

    `masks` are the class numbers where neither a file beside the labels nor the settings say them. With `copies` copies
    of a picture may share their label file.
    """
    result = _read(root, kind, request, masks, copies)
    known = _categories(result, root, categories, masks is not None)
    keys = {name: key for key, name in known.names.items()}
    samples = [sample.having(subjects=_subjects(boxes, known, keys, sample.id)) for sample, boxes in result.pictures]
    refuse_without_people(known, sum(len(boxes) for _, boxes in result.pictures), str(root))
    name, notes = root.resolve().name, result.notes  # notes are published, so they contain no path
    orders = {(classes_in_words(o.words if masks is None else o.labels()), o.source): None for o in result.named}
    notes += [f"{name}: classes of the label files: {it} ({at.replace(str(root), name)})" for it, at in orders]
    shown = known.shown()
    numbers = {number: shown[keys[word]] for number, word in result.named[0].words.items()} if result.alike else None
    return Dataset(card, samples, notes=[*notes, *known.notes(name)], categories=numbers)


@dataclass
class LabelFiles:
    """The contents of a folder's label files."""

    pictures: list[tuple[Sample, NamedBoxes]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """Notes on other files of the folder."""
    orders: dict[Path, ClassNames | None] = field(default_factory=dict)
    """The classes of each folder of YOLO files; None where nothing names them."""

    @property
    def named(self) -> list[ClassNames]:
        return [order for order in self.orders.values() if order is not None]

    @property
    def alike(self) -> bool:
        """Whether all folders have the same classes."""
        return len({tuple(order.words.items()) for order in self.named}) == 1


def _read(root: Path, kind: str, request: ReadingOptions, masks: ClassNames | None, copies: bool) -> LabelFiles:
    """The label file of every picture."""
    if not root.is_dir():
        raise DataError(f"{root}: no such folder; name the folder with pictures and label files")
    places = label_places(root, KINDS[kind], shared=copies)
    result = LabelFiles(notes=places.notes)
    for path, label in places.pairs:
        image = LazyImage(path)
        width, height = image.size()
        if kind == "voc":
            boxes = read_voc(label, width, height)
        else:
            if label.parent not in result.orders:
                result.orders[label.parent] = _order(label.parent, root, request.classes, masks)
            boxes = read_yolo(label, width, height, result.orders[label.parent], request.reading)
        result.pictures.append((Sample(path.relative_to(root).as_posix(), image, width, height), boxes))
    if not result.pictures:
        lacking = f"no picture has a {KINDS[kind]} file of its name, beside it or in another folder of it"
        raise DataError("; ".join((f"{root}: {lacking}", *places.notes)))
    if kind == "yolo":
        _check_all(result.pictures, request, root)
    named = [(sample.id, box.corners) for sample, boxes in result.pictures for box in boxes]
    result.notes += empty_boxes_note(named, root.resolve().name)
    return result


def _order(
    folder: Path, root: Path, stated: Mapping[int, str] | None, otherwise: ClassNames | None
) -> ClassNames | None:
    """The class order of a folder of YOLO files: from the file that names classes, else the user, else the dataset."""
    beside = classes_beside(folder, root)
    if beside is None:
        return otherwise if stated is None else ClassNames(stated, "classes=")
    beside.agree(stated or {})
    return beside


def _check_all(read: list[tuple[Sample, NamedBoxes]], request: ReadingOptions, root: Path) -> None:
    """The boxes of all YOLO files together must fit their pictures."""
    pairs = [(sample, box.corners) for sample, boxes in read for box in boxes]
    if pairs:
        sizes = np.array([[s.width, s.height] for s, _ in pairs], dtype=np.float64)
        numbers = request.reading.numbers(np.array([box for _, box in pairs]), sizes)
        checked_corners(numbers, sizes, request.reading, str(root), [sample.id for sample, _ in pairs])


def _categories(result: LabelFiles, root: Path, chosen: str | None, masks: bool) -> Categories:
    """What the words of the boxes show; a class without a name must be chosen by its number."""
    seen = dict.fromkeys(box.word for _, boxes in result.pictures for box in boxes)
    words = dict.fromkeys([*(word for order in result.named for word in order.words.values()), *seen])
    ids = {word: str(number) for number, word in enumerate(words)}
    if result.alike:
        ids |= {word: str(number) for number, word in reversed(list(result.named[0].words.items()))}
    if None in result.orders.values():
        if chosen is None and seen:
            raise DataError(
                f"{root}: no file names the classes of its label files ({', '.join(seen)}); add a classes.txt, or say "
                'which are people or faces: categories="face=0"'
            )
        ids = {word: word for word in words}
    rows = [{"id": ids[word], "name": word} for word in words]
    known = choose(rows, chosen, str(root), {} if masks else None)
    if not masks:
        return known
    nameless: dict[str, Kind] = {row["id"]: "face" for row in rows if not row["name"]}  # mask unknown
    return replace(known, kinds={**known.kinds, **nameless}, wording=OF_CLASSES)


def _subjects(boxes: NamedBoxes, known: Categories, keys: Mapping[str, str], place: str) -> tuple[Subject, ...]:
    subjects: list[Subject] = []
    for box, word, identity, stated in boxes:
        kind = known.kind(keys[word], place)
        if kind is not None:
            worn = known.masked.get(keys[word])
            about = {**stated, "masked": worn or stated.get("masked")} if known.masked else stated
            who = Subject(str(len(subjects)), identity, attributes=about)
            subjects.append(replace(who, face_box=box) if kind == "face" else replace(who, person_box=box))
    return tuple(subjects)
