"""The datasets of this suite: BAFMD, FairFace, any folder with boxes, and the embedded people, each with its rule."""

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlencode

from countenance.data import Dataset, DatasetCard, load_dataset
from countenance.data.adapters.bafmd import ORDER, read_bafmd
from countenance.data.adapters.coco import read_coco
from countenance.data.adapters.fairface import read_fairface
from countenance.data.adapters.labelled import label_kind, labelled_pictures
from countenance.data.attributes import with_table
from countenance.data.folders import coco_file
from countenance.data.reading.options import OPTIONS, ReadingOptions, folder_and_options
from countenance.data.tables import near
from countenance.data.vocabulary import NUMERIC
from countenance.errors import DataError
from countenance.metrics.readings import Reading

NAMES = ("fairface", "bafmd", "bafmd-yolo", "bafmd-voc", "folder", "people")
BOXES, ONE_FACE = "mask_detection", "mask_detection_one_face"
"""The tasks of the two rules."""
USUAL = ("skincolor", "sex", "skin_tone", "age_group", "gender", "race")
MOST_GROUPS = 20

__all__ = ["BOXES", "NAMES", "ONE_FACE", "MaskData", "ReadingOptions", "load", "load_mask_data", "source_of"]


@dataclass(frozen=True)
class MaskData:
    """A dataset, the rule that scores it, and the attributes to compare by."""

    dataset: Dataset
    task: str = BOXES
    attributes: tuple[str, ...] = ()
    """The attributes that are compared when the user names none."""
    source: str | None = None
    """The name under which the package itself loads the dataset."""
    origin: str | None = None
    """The name under which `load_dataset` reads the same data again, for a report's pictures and after a purge."""
    reading: Reading | None = None
    """What the four numbers of its boxes are, where --truth-boxes and --truth-units say so."""


def source_of(name: str, directory: Path | None, request: ReadingOptions) -> str | None:
    """The name under which `load_dataset` reads the same data again: `mask_fairness:FOLDER?name=bafmd&form=cxcywh…`.

    None for data that have a name of their own, and where the attributes are outside of the folder.

    >>> source_of("fairface", Path("faces"), ReadingOptions(split="validation"))
    'mask_fairness:faces?name=fairface&form=cxcywh&units=rel&split=validation'
    """
    options = None if directory is None else request.options(directory)
    if options is None:
        return None
    return f"mask_fairness:{directory}?{urlencode({'name': name} | options, safe=',=')}"


def load(part: str | None) -> Dataset:
    """The dataset of such a source, without its scheme."""
    folder, options = folder_and_options("mask_fairness", part, ("name", *OPTIONS))
    if "name" not in options:
        raise DataError(f"mask_fairness:{part}: expected mask_fairness:FOLDER?name=bafmd")
    request = ReadingOptions.of_options(folder, options, f"mask_fairness:{part}")
    return load_mask_data(options["name"], folder, request).dataset


def load_mask_data(name: str, directory: Path | None = None, request: ReadingOptions | None = None) -> MaskData:
    """A dataset of this suite by its name; all but the embedded people need their folder.

    >>> load_mask_data("farface", Path("."))
    Traceback (most recent call last):
    countenance.errors.DataError: no dataset 'farface' here (did you mean fairface?); there are fairface, bafmd, ...
    """
    request = request or ReadingOptions()
    data = _read(name, directory, request)
    if request.split is not None:
        data = replace(data, dataset=data.dataset.split(request.split), source=None)
    return replace(data, origin=source_of(name, directory, request))


def _read(name: str, directory: Path | None, request: ReadingOptions) -> MaskData:
    base = name.partition(":")[0]
    if base == "people":
        return MaskData(load_dataset(name), attributes=("skin_tone", "age_group", "gender"), source=name)
    if base not in NAMES:
        raise DataError(f"no dataset {name!r} here{near(name, NAMES)}; there are {', '.join(NAMES)}")
    if directory is None:
        raise DataError(f'dataset {name!r} needs its folder: add directory="PATH"')
    if base == "fairface":
        dataset = read_fairface(directory, only_present=request.only_present)
        return MaskData(dataset, ONE_FACE, ("age_group", "gender", "race"))
    if base == "folder":
        dataset, kind = _read_folder(directory, request)
        compared = compared_by(dataset)
    else:
        kind = base.removeprefix("bafmd").removeprefix("-") or "csv"
        dataset = read_bafmd(directory, kind, request)
        compared = ("masked",) if kind != "csv" and request.attributes is None else compared_by(dataset)
    return MaskData(dataset, attributes=compared, reading=request.reading if kind in ("csv", "yolo") else None)


def _read_folder(root: Path, request: ReadingOptions) -> tuple[Dataset, str]:
    """Any folder of COCO (annotations.json), VOC (.xml) or YOLO (.txt) boxes with `attributes.csv`, and its kind."""
    if not root.is_dir():
        raise DataError(f"{root}: no such folder")
    card_file, table = root / "card.json", request.attributes or root / "attributes.csv"
    card = DatasetCard.read(card_file) if card_file.is_file() else DatasetCard(name=root.resolve().name)
    coco = coco_file(root)
    kind = label_kind(root) if coco is None else "coco"
    if kind is None:
        raise DataError(f"{root}: no boxes: expected annotations.json (COCO), .xml (VOC) or .txt (YOLO) label files")
    if coco is not None:
        dataset = read_coco(coco, masks=request.classes or {})
        dataset = dataset.of(dataset.samples, card)
    else:
        dataset = labelled_pictures(root, kind, request, card, masks=ORDER)
    return with_table(dataset, table) if request.attributes or table.is_file() else dataset, kind


def compared_by(dataset: Dataset) -> tuple[str, ...]:
    """The attributes that are compared when the user names none: the usual ones, else those with a few values each."""
    values: dict[str, set[object]] = {}
    for sample in dataset:
        for subject in sample.subjects:
            for name, value in subject.attributes.items():
                values.setdefault(name, set()).add(value)
    values.pop("masked", None)
    usual = tuple(name for name in USUAL if name in values)
    few = (name for name in values if 2 <= len(values[name] - {None}) <= MOST_GROUPS and name not in NUMERIC)
    return usual or tuple(few)
