"""The shipped people: every truth is checked against every other, whole set, no renderer needed."""

import hashlib
from collections import Counter

import pyarrow.parquet as pq
import pytest

from countenance.data import Dataset, load_dataset
from countenance.data.image import LazyImage
from countenance.data.people.checks import check_people
from countenance.data.people.dataset import SHIPPED

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def people() -> Dataset:
    return load_dataset("people")


@pytest.mark.slow
def test_the_truth_is_true() -> None:
    samples, subjects = (pq.read_table(SHIPPED / f"{name}.parquet").to_pylist() for name in ("samples", "subjects"))
    assert check_people(samples, subjects, lambda sample: LazyImage(SHIPPED / f"{sample}.webp").load()) == []


def test_the_set_is_as_large_as_promised(people: Dataset) -> None:
    parts = Counter(sample.attributes["part"] for sample in people)
    assert parts["portraits"] >= 480 and parts["bodies"] >= 80 and parts["groups"] >= 60 and parts["objects"] >= 100
    portraits = Counter(s.subjects[0].identity for s in people if s.attributes["part"] == "portraits")
    assert len(portraits) >= 120 and min(portraits.values()) >= 4
    bases = Counter(str(s.attributes["base"]) for s in people if s.attributes["part"] == "twins")
    assert len(bases) >= 40
    changes = Counter(s.attributes["change"] for s in people if s.attributes["part"] == "twins")
    assert changes["skin_tone"] >= 4 * 40 and min(changes[c] for c in ("smile", "mask", "age")) >= 40


def test_the_set_fits_into_the_wheel() -> None:
    assert sum(path.stat().st_size for path in SHIPPED.rglob("*") if path.is_file()) <= 25 * MEGABYTE


def test_group_scenes_have_three_to_eight_faces_and_strangers(people: Dataset) -> None:
    groups = [s for s in people if s.attributes["part"] == "groups"]
    assert all(3 <= len(s.subjects) <= 8 and (s.width, s.height) == (1024, 768) for s in groups)
    roles = Counter(p.attributes["role"] for s in groups for p in s.subjects)
    assert set(roles) == {"known", "known_unknown", "unknown"}


def test_no_identity_is_in_two_splits(people: Dataset) -> None:
    split: dict[str, set[object]] = {}
    for sample in people:
        if sample.attributes["part"] == "portraits":
            split.setdefault(str(sample.subjects[0].identity), set()).add(sample.attributes["split"])
    assert all(len(found) == 1 for found in split.values())


def test_every_picture_is_the_one_whose_hash_is_stored(people: Dataset) -> None:
    for sample in people:
        assert hashlib.sha256(sample.image.read_bytes()).hexdigest() == sample.sha256


def test_a_detector_finds_unmasked_frontal_portraits(people: Dataset) -> None:
    """MTCNN comes with the package; YuNet, by path, is measured in benchmarks/people.py."""
    from countenance.metrics.boxes import best_overlap
    from countenance.models import ModelSpec

    easy = [
        sample
        for sample in people
        if sample.attributes["part"] == "portraits"
        and sample.subjects[0].attributes["masked"] == "no"
        and sample.subjects[0].attributes["pose"] == "frontal"
    ][::11]
    answers = ModelSpec("mtcnn").load()([sample.load() for sample in easy])
    found = [best_overlap(s.subjects[0].face_box[None], a.xyxy)[0] >= 0.5 for s, a in zip(easy, answers, strict=True)]
    assert sum(found) / len(found) >= 0.9
