"""COCO JSON (boxes, keypoints, run-length or polygon masks) with attributes in a CSV beside it."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath
from typing import Any

from countenance.data.adapters.folder import PREFIX, attribute_columns
from countenance.data.attributes import Who, attribute_rows, with_attributes
from countenance.data.card import DatasetCard
from countenance.data.categories import Categories, choose, refuse_without_people
from countenance.data.image import LazyImage
from countenance.data.labels.finder import PictureFinder
from countenance.data.layout import copy_image
from countenance.data.paths import inside, pictures_below
from countenance.data.reading import cells
from countenance.data.run_lengths import segmentation_counts
from countenance.data.sample import Dataset, Sample, Subject, truth
from countenance.data.tables import harmless, near, read_csv, read_text
from countenance.errors import DataError, InputError
from countenance.files import write_text
from countenance.person_columns import person_column

EXTRA = ("person_box", "face_box", "landmarks", "face_parts", "body_parts", "identity", "attributes")
"""Fields that COCO lacks; they are written beside its own fields and read if present."""
REGION: tuple[str, ...] = ("category_id", "bbox", "person_box", "face_box")
"""The fields that are read of a region that shows a crowd."""
TRIED = 100
"""How many images are searched for in each folder that may hold pictures, since the first may be missing."""


def read_coco(
    annotations: Path,
    *,
    images: Path | None = None,
    attributes: Path | None = None,
    categories: str | None = None,
    masks: Mapping[int, str] | None = None,
) -> Dataset:
    """Read a COCO file; `images` is the folder its file names are in (default: where they are found near the file).

    `attributes` is a CSV keyed by `annotation_id`, `image_id` or `file_name` (the latter two for all people of an
    image, or for one of them with a column `face`) whose other columns are attributes, or say who it is (`identity`);
    `attributes.csv` beside the file is taken when it is there. `categories` chooses what is a person and what a face
    (`face=1,person=18`) where the names of the categories do not say so; what is neither is left out, regions that
    show a crowd are not counted (`Subject.ignored`), and the dataset's notes say how many. `masks` reads a file of
    faces with and without masks: category numbers that are mask or no_mask besides those whose names say so; its
    caller reads attributes.
    """
    content = _read_json(annotations)
    root = images or _picture_folder(annotations, _rows(content, "images", annotations))
    card_file = annotations.parent / "card.json"
    folder = annotations.resolve().parent
    own_folder = folder.name == "annotations"  # COCO's layout: the file names the set
    name = annotations.stem if own_folder else folder.name
    card = DatasetCard.read(card_file) if card_file.exists() else DatasetCard(name=name)
    known_categories = choose(_rows(content, "categories", annotations), categories, str(annotations), masks)
    people: dict[Any, list[tuple[int, dict[str, Any]]]] = {}
    annotated = _rows(content, "annotations", annotations)
    regions: dict[Any, list[tuple[int, dict[str, Any]]]] = {}
    for i, annotation in enumerate(annotated):
        image_id = _key(annotation.get("image_id"), f"{annotations} annotations[{i}]: image_id")
        own = people.setdefault(image_id, [])
        if _kind(annotation, known_categories, f"{annotations} annotations[{i}]") is None:
            continue
        if _is_region(annotation):
            regions.setdefault(image_id, []).append((i, annotation))
        else:
            own.append((i, annotation))
    refuse_without_people(known_categories, len(annotated), str(annotations))
    samples = []
    below = (
        None if images is None else PictureFinder(path.relative_to(root).as_posix() for path in pictures_below(root))
    )
    known: dict[Any, str] = {}
    for i, image in enumerate(_rows(content, "images", annotations)):
        place = f"{annotations} images[{i}]"
        image_id = _key(image.get("id"), f"{place}: id")
        if image_id in known:
            raise DataError(f"{place}: id {image_id!r} occurs twice; every image has its own")
        if below is not None and isinstance(image.get("file_name"), str):  # a separate folder holds the pictures
            image = image | {"file_name": below.find(image["file_name"]) or image["file_name"]}
        sample = _sample(image, people.get(image_id, []), root, known_categories, place, annotations)
        ignored = _regions(sample, regions.get(image_id, []), known_categories, annotations)
        samples.append(sample.having(subjects=(*sample.subjects, *ignored)))
        known[image_id] = sample.id
    stray = set(people) - set(known)
    if stray:
        index = next(i for i, annotation in enumerate(annotated) if annotation["image_id"] in stray)
        raise DataError(
            f"{annotations} annotations[{index}]: image_id {annotated[index]['image_id']!r} is not among the images"
        )
    notes = known_categories.notes(annotations.name)
    count = sum(map(len, regions.values()))
    if count:
        shown = "1 region (iscrowd, ignore) is" if count == 1 else f"{count:,} regions (iscrowd, ignore) are"
        notes.append(f"{annotations.name}: {shown} not counted: nobody there must be found, and no box there is wrong")
    aliases = {str(image_id): name for image_id, name in known.items()}
    dataset = Dataset(card, samples, aliases, notes, known_categories.shown())
    beside = annotations.parent / "attributes.csv"
    table = attributes or (beside if beside.exists() and masks is None else None)
    if table is None:
        return dataset
    listed = attribute_rows(dataset, table, _persons(annotated, people, known, table, annotations))
    columns = attribute_columns(listed.columns, card, (), table)
    stated = {
        who: ({own: row[name] for name, own in columns.items()}, place) for who, (place, row) in listed.rows.items()
    }
    about = {who: cells.attributes(values, place) for who, (values, place) in stated.items()}
    return with_attributes(dataset, about, listed.people())


def _persons(
    annotated: list[dict[str, Any]],
    people: Mapping[Any, list[tuple[int, dict[str, Any]]]],
    known: Mapping[Any, str],
    table: Path,
    annotations: Path,
) -> dict[str, Who | None]:
    """The person of each annotation id (None if left out); an id used twice is refused where a table uses ids."""
    ids = [str(annotation["id"]) for annotation in annotated if "id" in annotation]
    if len(set(ids)) < len(ids) and "annotation_id" in read_csv(table)[0]:
        twice, _ = Counter(ids).most_common(1)[0]
        raise DataError(
            f"{annotations}: annotation id {twice} occurs twice, and {table.name} is keyed by annotation_id"
        )
    result: dict[str, Who | None] = dict.fromkeys(ids)
    for image_id, name in known.items():
        for index, (_, annotation) in enumerate(people.get(image_id, [])):
            result |= {str(annotation["id"]): (name, index)} if "id" in annotation else {}
    return result


def _kind(annotation: dict[str, Any], categories: Categories, place: str) -> str | None:
    """What an annotation shows: a person, a face, or None (left out)."""
    if "category_id" not in annotation and (annotation.get("person_box") or annotation.get("face_box")):
        return "person"  # the box's key names its class
    return categories.kind(annotation.get("category_id"), place)


def _picture_folder(annotations: Path, images: list[dict[str, Any]]) -> Path:
    """The folder of the pictures: beside the file, or where COCO's own layout (annotations/, val2017/) has them."""
    beside = annotations.parent
    files = [image["file_name"] for image in images if isinstance(image.get("file_name"), str)]
    part = annotations.stem.rpartition("_")[2]  # instances_val2017.json belongs to val2017/
    above = beside.parent
    for folder in (beside, beside / "images", above / part, above / "images" / part, above / "images", above):
        if any((folder / file.replace("\\", "/")).is_file() for file in files[:TRIED]):
            return folder
    return beside


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise error if isinstance(error, InputError) else InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise DataError(f"{path}: expected an object with images and annotations")
    return content


def _rows(content: dict[str, Any], key: str, path: Path) -> list[dict[str, Any]]:
    rows = content.get(key, [] if key == "categories" else None)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        hint = "" if key in content else near(key, list(content))
        raise DataError(f"{path}: no list {key!r} of objects{hint}")
    return rows


def _key(value: Any, place: str) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise DataError(f"{place} is {value!r:.60}, expected a number or text")
    return value


def _sample(
    image: dict[str, Any],
    annotated: list[tuple[int, dict[str, Any]]],
    root: Path,
    categories: Categories,
    place: str,
    annotations: Path,
) -> Sample:
    file = image.get("file_name")
    if not isinstance(file, str):
        raise DataError(f"{place}: file_name is {file!r}, expected text")
    bare = PureWindowsPath(file).name
    if (file.startswith("/") or PureWindowsPath(file).drive) and bare and (root / bare).is_file():
        file = bare  # an absolute path of another machine; the picture lies here
    picture = LazyImage(inside(root, file, place))
    try:
        width, height = int(image["width"]), int(image["height"])
    except (TypeError, ValueError, OverflowError, KeyError):
        width = height = 0
    sized = "width" in image and "height" in image
    if sized and not (0 < width < 2**31 and 0 < height < 2**31):
        raise DataError(
            f"{place}: width and height are {image.get('width')!r}, {image.get('height')!r}, expected pixels"
        )
    about = image.get("attributes") or {}
    if not isinstance(about, dict):
        raise DataError(f"{place}: attributes: expected names with values, found {about!r:.60}")
    name = str(image.get("sample") or file)
    if not name.isprintable():
        raise DataError(f"{place}: {name!r} is not a name that a file can have")
    sample = Sample(name, picture, width, height) if sized else Sample(name, picture)
    subjects = []
    for index, (i, annotation) in enumerate(annotated):
        where = f"{annotations} annotations[{i}]"
        values = _subject_values(annotation, categories, sample, index, where)
        if not isinstance(values.get("attributes") or {}, dict):
            raise DataError(f"{where}: attributes: expected names with values, found {values['attributes']!r:.60}")
        subjects.append(cells.subject(values, sample, where))
    people, about = cells.people(subjects, about, place)
    return sample.having(subjects=people, attributes=cells.attributes(about, place))


def _is_region(annotation: Mapping[str, Any]) -> bool:
    """Whether an annotation is a region in which people are not marked one by one."""
    return annotation.get("iscrowd") in (1, True) or annotation.get("ignore") in (1, True)


def _regions(
    sample: Sample, annotated: list[tuple[int, dict[str, Any]]], categories: Categories, annotations: Path
) -> list[Subject]:
    """The regions of an image that are not counted: their boxes alone."""
    subjects = []
    for k, (i, annotation) in enumerate(annotated):
        place = f"{annotations} annotations[{i}]"
        bare: dict[str, Any] = {name: annotation[name] for name in REGION if name in annotation}
        number = annotation.get("subject", annotation.get("id", f"region {k + 1}"))
        values = _subject_values({**bare, "subject": number}, categories, sample, k, place)
        subjects.append(cells.subject({**values, "attributes": {"ignore": "yes"}}, sample, place))
    return subjects


def _subject_values(
    annotation: dict[str, Any], categories: Categories, picture: Sample, index: int, place: str
) -> dict[str, Any]:
    values: dict[str, Any] = {name: annotation[name] for name in EXTRA if name in annotation}
    person = person_column(annotation)
    values["identity"] = annotation[person] if person else None
    values["id"] = annotation.get("subject", annotation.get("id", index))
    category = annotation.get("category_id")
    is_face = categories.kinds.get(category) == "face"
    box = cells.numbers(annotation.get("bbox"), (4,), f"{place}: bbox")
    if box is not None:
        if box[2] < 0 or box[3] < 0:
            raise DataError(f"{place}: bbox {box.tolist()} has a negative side, expected x, y, width, height")
        corners = [box[0], box[1], box[0] + box[2], box[1] + box[3]]
        values.setdefault("face_box" if is_face else "person_box", corners)
    if category in categories.masked:
        values["attributes"] = {"masked": categories.masked[category], **(values.get("attributes") or {})}
    if is_face:  # the keypoints and pixels of a face are not those of a person
        return values
    if annotation.get("keypoints"):
        values["keypoints"] = annotation["keypoints"]
    if annotation.get("segmentation"):
        values["mask"] = segmentation_counts(annotation["segmentation"], picture.width, picture.height, place)
    return values


def write_coco(dataset: Dataset, out: Path) -> None:
    """Write `out/annotations.json`, `out/attributes.csv`, `out/images/…` and `out/card.json`."""
    import csv

    out.mkdir(parents=True)
    write_text(out / "card.json", dataset.card.model_dump_json(indent=2) + "\n")
    names = [
        name for name in dataset.attribute_names() if any(name in s.attributes for x in dataset for s in x.subjects)
    ]
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    with (out / "attributes.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["annotation_id", *(harmless(PREFIX + name) for name in names)])
        for sample in dataset:
            plain = truth(sample)
            images.append(
                {
                    "id": len(images) + 1,
                    "file_name": copy_image(sample, out),
                    "width": sample.width,
                    "height": sample.height,
                    "sample": sample.id,
                    "attributes": plain["attributes"],
                }
            )
            for subject, values in zip(sample.subjects, plain["subjects"], strict=True):
                annotations.append(_annotation(values, subject, len(annotations) + 1, len(images)))
                writer.writerow([len(annotations), *(_cell(values["attributes"].get(name)) for name in names)])
    content = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "person"}]}
    (out / "annotations.json").write_text(json.dumps(content) + "\n")


def _cell(value: Any) -> Any:
    return "" if value is None else json.dumps(value) if isinstance(value, list) else harmless(value)


def _annotation(values: dict[str, Any], subject: Subject, number: int, image: int) -> dict[str, Any]:
    mask = subject.mask
    box = values["person_box"] or values["face_box"]
    row: dict[str, Any] = {
        "id": number,
        "image_id": image,
        "category_id": 1,
        "iscrowd": int(subject.ignored),
        "subject": values["id"],
    }
    row |= {name: values[name] for name in EXTRA}
    if box:
        row["bbox"] = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
        row["area"] = row["bbox"][2] * row["bbox"][3]
    if values["keypoints"]:
        row["keypoints"] = [number for point in values["keypoints"] for number in point]
        row["num_keypoints"] = sum(point[2] > 0 for point in values["keypoints"])
    if mask is not None:
        row["segmentation"] = {"size": [mask.height, mask.width], "counts": mask.counts}
        row["area"] = int(mask.decode().sum())
    return row
