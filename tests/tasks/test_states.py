"""States of reducers on disk, merged while they come, and average precision from columns that are never all held."""

import json
import tracemalloc
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.answers import Boxes
from countenance.data import Sample, Subject
from countenance.data.image import ArrayImage
from countenance.metrics import detection
from countenance.tasks import load_task, precision
from countenance.tasks.precision import ROW, DiskColumn, sorted_by_score
from countenance.tasks.reduce import joined
from countenance.tasks.states import Spool, Unstorable, merged, state_from_bytes, state_to_bytes
from countenance.testing import reduced

ARRAYS = st.sampled_from(
    [np.array([1.5, np.nan]), np.zeros((0, 4)), np.array(["a", "bcd"]), np.array([True]), np.arange(3, dtype=np.int32)]
)


@given(st.dictionaries(st.text(max_size=5), ARRAYS, max_size=4))
def test_a_state_comes_back_from_its_bytes(state):
    again = state_from_bytes(state_to_bytes(state))
    assert list(again) == list(state)
    for name, array in state.items():
        assert again[name].dtype == array.dtype
        np.testing.assert_array_equal(again[name], array)


@pytest.mark.parametrize("cut", [3, 9, -1])
def test_damaged_bytes_are_refused(cut):
    with pytest.raises(ValueError):
        state_from_bytes(state_to_bytes({"a": np.arange(5)})[:cut])


@pytest.mark.parametrize(
    "about",
    [
        [["a", "|V1", [8]], ["b", "|V8", [-1]], ["c", "|V1", [8]]],  # two arrays of the same bytes
        [["a", "<f8", [2**32, 2**32]], ["b", "<f8", [1]]],
        [["a", "<f8", [10**30]]],
        [["a", "(f4,", [2]]],
        [["a", "|O", [1]]],
        [["a", "<f8", [1.0]]],
        [["a", "<f3", [1]]],
        [["a", None, [1]]],
        [7],
        7,
        "deep",
    ],
)
def test_a_wrong_description_of_arrays_is_refused(about):
    text = b"[" * 100_000 if about == "deep" else json.dumps(about).encode()
    with pytest.raises(ValueError):
        state_from_bytes(len(text).to_bytes(8, "little") + text + bytes(8))


def test_python_objects_are_not_stored():
    with pytest.raises(Unstorable, match="a: an array of object"):
        state_to_bytes({"a": np.array([object()])})


@given(st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=20))
def test_a_spool_joins_what_a_tree_merges(parts):
    states = [{"n": np.array(part, np.int64)} for part in parts]
    expected = [n for part in parts for n in part]
    found = merged(iter(states), joined)
    assert found is not None and found["n"].tolist() == expected
    with Spool() as spool:
        for state in states:
            spool.add(state)
        assert spool["n"].tolist() == expected
        assert [state["n"].tolist() for state in spool.states()] == parts


def test_a_tree_holds_few_states_at_once():
    alive, most = 0, 0

    def states():
        nonlocal alive, most
        for _ in range(1000):
            alive += 1
            most = max(most, alive)
            yield {"n": np.array([1])}

    def add(one, two):
        nonlocal alive
        alive -= 1
        return {"n": one["n"] + two["n"]}

    found = merged(states(), add)
    assert found is not None and found["n"].tolist() == [1000]
    assert most <= 11  # log2(1000) + 1


@given(st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.9, 1.0]), max_size=60), st.integers(1, 20), st.integers(1, 9))
def test_sorting_on_disk_is_a_stable_sort(scores, run, block):
    rows = np.zeros(len(scores), ROW)
    rows["score"], rows["image"] = scores, np.arange(len(scores))
    with DiskColumn(ROW) as given_rows, DiskColumn(ROW) as found:
        given_rows.add(rows)
        sorted_by_score(given_rows, found, run=run, block=block)
        expected = rows[np.argsort(-rows["score"], kind="stable")]
        np.testing.assert_array_equal(found.read(0, len(rows)), expected)


def test_sorting_on_disk_never_sorts_more_than_two_blocks_beside_its_parts():
    rows = np.zeros(20_000, ROW)
    rows["score"] = np.round(np.random.default_rng(0).random(len(rows)), 3)
    rows["score"][:5000] = 1.0  # a detector without scores
    sizes = []
    argsort = np.argsort

    def counted(values, **options):
        sizes.append(len(values))
        return argsort(values, **options)

    with DiskColumn(ROW) as given_rows, DiskColumn(ROW) as found, mock.patch.object(precision.np, "argsort", counted):
        given_rows.add(rows)
        sorted_by_score(given_rows, found, run=2000, block=500)
    assert max(sizes[:10]) == 2000 and max(sizes[10:]) <= 1000


def scene(images, seed=0):
    """Images with up to three people, of whom some words are unknown or several."""
    random = np.random.default_rng(seed)
    samples, answers = [], {}
    for i in range(images):
        people = []
        for k in range(int(random.integers(0, 4))):
            x, y = random.uniform(0, 60, 2)
            words = {
                "gender": str(random.choice(["male", "female"])),
                "skin_tone": [None, "I", "II"][random.integers(3)],
                "pronoun": tuple(str(word) for word in random.permutation(["he", "she", "they"])[: random.integers(3)]),
            }
            people.append(Subject(str(k), f"p{i}{k}", face_box=np.array([x, y, x + 20, y + 20]), attributes=words))
        samples.append(Sample(f"s{i:04d}", ArrayImage(np.zeros((2, 2, 3), np.uint8)), 100, 100, tuple(people)))
        boxes = [one.face_box + random.normal(0, 2, 4) for one in people if random.random() < 0.8]
        boxes += [np.array([1, 1, 9, 9])] * int(random.integers(0, 2))
        answers[f"s{i:04d}"] = Boxes(np.array(boxes).reshape(-1, 4), np.round(random.random(len(boxes)), 1))
    return samples, answers


@pytest.mark.parametrize("shards", [1, 4])
def test_average_precision_does_not_depend_on_blocks_parts_or_shards(shards):
    samples, answers = scene(60)
    task = load_task("face_localization")
    expected = reduced(task, samples, answers).results
    assert len(expected) == 5  # everybody, two tones, two genders
    with mock.patch.multiple(precision, BLOCK=7, RUN=20):
        assert reduced(task, samples, answers, shards=shards).results == expected


class Counted:
    """A run of so many images with a person and two boxes each, of which no part is kept."""

    attributes, seed = ("tone",), 0

    def __init__(self, images):
        self.parts = range(0, images, 500)

    def blocks(self, columns):
        for _ in self.parts:
            words = pa.array(["a", "b"] * 250)
            yield pa.table({"subject": pa.array(["0"] * 500), "attr.tone": words}).select(columns)

    def states(self):
        for start in self.parts:
            random, image = np.random.default_rng(start), np.repeat(np.arange(500, dtype=np.int32), 2)
            truth = np.where(np.arange(1000) % 2, -1, image).astype(np.int32)
            owner, count = np.arange(500, dtype=np.int32), np.array([500])
            yield {"score": random.random(1000), "truth": truth, "image": image, "owner": owner, "images": count}


def peak(images):
    """The most bytes held while average precision is computed."""
    run = Counted(images)
    small = mock.patch.multiple(precision, BLOCK=5000, RUN=10_000, REPLICATES=2)
    with small, mock.patch.multiple(detection, MOST_WEIGHTS=1, DRAWN_AT_ONCE=5000):
        tracemalloc.start()
        try:
            results = precision.collected_precisions(run.states(), run).results
            return results, tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_images():
    peak(1000)  # imports
    (_, before), (results, after) = peak(10_000), peak(50_000)
    assert [one.n for one in results] == [50_000, 25_000, 25_000]
    assert after - before < 4 * 40_000  # a byte an image for the resample, and little beside; the columns are 36 bytes
