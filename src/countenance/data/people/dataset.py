"""Reading the people: the shipped set, or any folder that the renderer (`people/` in the repository) wrote."""

from functools import lru_cache
from pathlib import Path
from typing import Any

from countenance.data.card import RENDERED_CONSENT, RENDERED_LICENCE, AttributeCard, DatasetCard
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.data.reading import cells
from countenance.data.sample import Dataset, Sample, Value
from countenance.data.tables import near
from countenance.data.vocabulary import VOCABULARIES
from countenance.decoding import decoding, read_parquet
from countenance.errors import DataError

SHIPPED = Path(__file__).parent / "shipped"
SUBJECT_ATTRIBUTES = (
    "skin_tone",
    "age",
    "age_group",
    "gender",
    "expression",
    "smile",
    "glasses",
    "headwear",
    "hair",
    "hair_colour",
    "hair_visible",
    "beard",
    "yaw",
    "pitch",
    "roll",
    "pose",
    "posture",
    "distance",
    "face_size",
    "face_luminance",
    "visible",
    "role",
)
SAMPLE_ATTRIBUTES = (
    "part",
    "split",
    "base",
    "change",
    "background",
    "light",
    "exposure",
    "stops",
    "kind",
    "attack",
    "camera",
    "focal_length",
    "defocus",
    "motion",
    "noise",
    "reduce",
    "jpeg",
)


def _rendered(meaning: str, name: str) -> AttributeCard:
    return AttributeCard(assigned_by="rendered", meaning=meaning, values=VOCABULARIES.get(name))


CARD = DatasetCard(
    name="people",
    version="2",
    description=(
        "Rendered portraits, twins, full bodies, group scenes, presentation attacks and pictures of no people, "
        "with exact truth."
    ),
    licence=RENDERED_LICENCE,
    consent=RENDERED_CONSENT,
    citation="Countenance, the embedded population of rendered people",
    warning=(
        "These people are computer-rendered. They test the method; "
        "they do not show that a model is fair to real people."
    ),
    real_people=False,
    paired_by={"base": "base", "change": "change"},
    attributes={
        name: _rendered(meaning, name)
        for name, meaning in {
            "skin_tone": "Monk Skin Tone whose colour is the target of the skin's albedo",
            "age": "age in years that the body model was asked for",
            "age_group": "age in four groups",
            "gender": "gender presentation that the body model was asked for",
            "expression": "expression, made of facial action units",
            "smile": "whether the facial action of a smile is on",
            "mask": "colour of the surgical mask, or none",
            "masked": "whether a surgical mask is worn",
            "glasses": "shape or kind of the glasses, or none",
            "headwear": "what is worn on the head, or none",
            "hair": "hair style",
            "hair_colour": "hair colour",
            "hair_visible": "share of the head's pixels that show hair",
            "beard": "beard",
            "yaw": "head turned to the side, degrees",
            "pitch": "head raised or lowered, degrees",
            "roll": "head tilted, degrees",
            "pose": "frontal when the head is turned by at most 15 degrees",
            "posture": "how the body stands or sits",
            "distance": "from the camera to the eyes, metres",
            "light": "lighting set-up",
            "exposure": "what the camera is exposed for: the face, the scene, or fixed for the light",
            "stops": "exposure relative to the light's fixed one, in stops",
            "face_luminance": "mean luminance of the face in the picture, 0 to 1",
            "camera": "what the camera does to the picture",
            "focal_length": "focal length for a picture of 36 mm, millimetres",
            "defocus": "radius of the blur, pixels",
            "motion": "length of the motion's smear, pixels",
            "noise": "standard deviation of the sensor's noise at middle grey, of 1",
            "reduce": "how many times smaller the picture was taken",
            "jpeg": "JPEG quality that it was once stored with; 100 is not compressed",
            "attack": "presentation attack: how somebody is shown who is not there; none for a live picture",
            "kind": "pictures without a person: what they show",
            "background": "kind of background",
            "face_size": "height of the face box, pixels",
            "visible": "share of the face that nobody else and no frame hides",
            "role": "in group scenes: on the watch list, a known stranger, or a stranger",
            "split": "train, validation or test; no identity is in two of them",
            "part": "which part of the set",
            "base": "twins: the picture this one differs from in one thing",
            "change": "twins: the one thing",
        }.items()
    },
)


def load(part: str | None = None, root: Path = SHIPPED) -> Dataset:
    """The shipped people or those of a folder that the renderer wrote: whole, one part, or the twins of one change.

    >>> load("portrait")
    Traceback (most recent call last):
    countenance.errors.DataError: people has no part 'portrait' (did you mean portraits?); it has portraits, twins, ...
    >>> len(load("twins/mask")), len({sample.attributes["base"] for sample in load("twins/mask")})
    (80, 40)
    """
    part, slash, change = part.partition("/") if part is not None else (None, "", "")
    parts = VOCABULARIES["part"]
    if part is not None and part not in parts:
        raise DataError(f"people has no part {part!r}{near(part, parts)}; it has {', '.join(parts)}")
    people = read_people(root, part)
    if part is not None and not len(people):
        there = sorted({str(sample.attributes["part"]) for sample in read_people(root)})
        place = "the shipped set" if root == SHIPPED else root
        raise DataError(f"people: {place} has no part {part!r}, only {', '.join(there)}; name a fuller one as root")
    return _with_change(people, change) if slash else people


def _with_change(people: Dataset, change: str) -> Dataset:
    """The twins that differ by one change, each with its base."""
    stated = {str(sample.attributes["change"]) for sample in people if "change" in sample.attributes}
    changes = sorted(stated - {"none"})
    if change not in changes:
        known = f"the changes are {', '.join(changes)}" if changes else "only people:twins has changes"
        raise DataError(f"people has no change {change!r}{near(change, changes)}; {known}")
    bases = {sample.attributes["base"] for sample in people if sample.attributes["change"] == change}
    chosen = [s for s in people if s.attributes["base"] in bases and s.attributes["change"] in ("none", change)]
    return Dataset(people.card, chosen)


def read_people(root: Path, part: str | None = None) -> Dataset:
    """Rendered people from a folder with `samples.parquet` and `subjects.parquet`."""
    return Dataset(CARD, _shipped(part) if root == SHIPPED else _samples(root, part))


@lru_cache(2)
def _shipped(part: str | None) -> tuple[Sample, ...]:
    """The shipped people, cached: a process that evaluates several models reads them once."""
    return _samples(SHIPPED, part)


def _samples(root: Path, part: str | None) -> tuple[Sample, ...]:
    samples, subjects = _table(root / "samples.parquet"), _table(root / "subjects.parquet")
    people: dict[str, list[dict[str, Any]]] = {}
    for row in subjects:
        people.setdefault(row["sample"], []).append(row)
    return tuple(
        _sample(root, row, people.get(row["sample"], []), f"{root / 'samples.parquet'} row {i}")
        for i, row in enumerate(samples)
        if part is None or row["part"] == part
    )


def _table(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise DataError(f"{path}: no such file; a folder of rendered people has it")
    table = read_parquet(path, path)
    with decoding(path, "Parquet file"):
        rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _sample(root: Path, row: dict[str, Any], people: list[dict[str, Any]], place: str) -> Sample:
    width, height = int(row["width"]), int(row["height"])
    about: dict[str, Value] = {name: row[name] for name in SAMPLE_ATTRIBUTES if row.get(name) is not None}
    about["person"] = "yes" if people else "no"
    if row["part"] == "twins" and row.get("base") is None:  # a base is its own base, so that pairs share one value
        about |= {"base": row["sample"], "change": "none"}
    picture = LazyImage(inside(root, row["file"], place))
    sample = Sample(row["sample"], picture, width, height, attributes=about, sha256=row["sha256"])
    return sample.having(subjects=tuple(cells.subject(_subject(person), sample, place) for person in people))


def _subject(row: dict[str, Any]) -> dict[str, Any]:
    row = {"hair": row.get("hair_style"), **row}
    attributes = {name: row[name] for name in SUBJECT_ATTRIBUTES if row.get(name) is not None}
    attributes["mask"] = row["mask_colour"]
    attributes["masked"] = "no" if row["mask_colour"] == "none" else "yes"
    return {
        "id": row["subject"],
        "identity": row["identity"],
        "person_box": row["person_box"],
        "face_box": row["face_box"],
        "keypoints": row["keypoints"],
        "landmarks": row["landmarks"],
        "mask": row["mask"],
        "face_parts": {part["label"]: part["counts"] for part in row["face_parts"] or ()},
        "body_parts": row["body_parts"],
        "attributes": attributes,
    }
