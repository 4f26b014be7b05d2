"""F1 of label maps, from runs as from pixels, as scikit-learn computes it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score

from countenance.metrics import masks, parsing

maps = st.tuples(st.integers(1, 10), st.integers(1, 10)).flatmap(
    lambda s: st.tuples(*[arrays(np.uint8, s, elements=st.integers(0, 4)) for _ in range(2)])
)


def runs_of(labels: np.ndarray) -> dict[int, np.ndarray]:
    return {int(v): masks.mask_runs(labels == v) for v in np.unique(labels)}


def joint_counts(truth: np.ndarray, answered: np.ndarray) -> np.ndarray:
    """How many pixels have each pair of labels, pixel by pixel."""
    counts = np.zeros((256, 256), int)
    np.add.at(counts, (truth.ravel(), answered.ravel()), 1)
    return counts


@given(maps)
def test_runs_and_pixels_agree(pair):
    truth, answered = pair
    by_pixels = joint_counts(truth, answered)
    assert np.array_equal(parsing.joint_counts_from_runs(truth, runs_of(answered)), by_pixels)
    assert by_pixels.sum() == truth.size


@given(maps)
def test_f1_equals_scikit_learn(pair):
    truth, answered = pair
    scores = parsing.f1_by_label(joint_counts(truth, answered))
    labels = np.unique(truth)
    expected = f1_score(truth.ravel(), answered.ravel(), labels=labels, average=None)
    assert list(scores) == labels.tolist()
    assert np.allclose(list(scores.values()), expected, atol=1e-12)


@given(maps)
def test_overlapping_answers_add_up_as_published(pair):
    truth, other = pair
    runs = {2: masks.mask_runs(truth > 1), 3: masks.mask_runs(other > 1)}
    added = (2 * (truth > 1) + 3 * (other > 1)).astype(np.uint8)
    assert np.array_equal(parsing.joint_counts_from_runs(truth, runs), joint_counts(truth, added))


@given(maps)
def test_ears_become_skin(pair):
    truth, answered = pair
    mapped = parsing.map_labels(runs_of(answered), {3: 1, 4: 1}, truth.size)
    pixels = np.where(answered >= 3, 1, answered).astype(np.uint8)
    assert np.array_equal(parsing.joint_counts_from_runs(truth, mapped), joint_counts(truth, pixels))


def test_a_label_nobody_has_is_no_label():
    assert parsing.f1_by_label(joint_counts(np.zeros((2, 2), np.uint8), np.ones((2, 2), np.uint8))) == {0: 0.0}


@pytest.mark.parametrize("seed", range(4))
def test_the_f1_of_one_mask_equals_scikit_learn(seed):
    truth, answered = (np.random.default_rng(seed).random((2, 40)) < [[0.3], [0.6]]).astype(np.uint8)
    assert parsing.f1_by_label(joint_counts(truth, answered))[1] == pytest.approx(f1_score(truth, answered))
