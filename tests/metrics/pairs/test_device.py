"""Blocks through torch give what the processor's blocks give. Runs on torch's own processor device."""

import numpy as np
import pytest
from tests.metrics.pairs.naive import written

from countenance.metrics.pairs import comparisons, device
from countenance.metrics.pairs.blocks import ends_of
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.tail import find_tail
from countenance.metrics.pairs.vectors import Vectors

pytest.importorskip("torch")


def made(seed: int, n: int = 300, equal: bool = False):
    random = np.random.default_rng(seed)
    identity = np.sort(random.integers(0, n // 4, n))
    _, identity = np.unique(identity, return_inverse=True)
    return (np.ones((n, 6)) if equal else random.normal(size=(n, 6))), identity


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
@pytest.mark.parametrize("keep", [50, 10**6])
def test_the_same_pairs_are_kept(similarity, keep, monkeypatch):
    monkeypatch.setattr(device, "ROWS", 37)
    monkeypatch.setattr(device, "COLUMNS", 64)
    vectors, identity = made(1)
    found = [find_tail(Vectors.of(vectors, similarity), ends_of(identity), keep, device=name) for name in (None, "cpu")]
    one, two = found
    reach = min(len(one.score), len(two.score), keep)
    assert one.pairs == two.pairs and reach >= min(keep, one.pairs)
    np.testing.assert_allclose(one.score[:reach], two.score[:reach], atol=1e-6)
    assert one.above[0] == two.above[0] == one.pairs
    assert np.abs(one.above - two.above).max() <= 3  # a score on an edge may fall on either side


@pytest.mark.parametrize("seed", range(4))
def test_counts_at_a_threshold_are_exact(seed, monkeypatch):
    monkeypatch.setattr(comparisons, "gpu", lambda pairs: "cpu")
    monkeypatch.setattr(comparisons, "LEAST_KEPT", 20)
    monkeypatch.setattr(comparisons, "MOST_KEPT", 40)
    vectors, identity = made(seed)
    pairs = written(vectors, identity)
    found = Comparisons.of(Vectors.of(vectors), identity)
    impostors = pairs.score[~pairs.same]
    for threshold in (0.0, 0.3, float(np.median(impostors)) + 1e-9):
        seen: list[np.ndarray] = []
        count = found.accepted(threshold, lambda first, second, seen=seen: seen.append(first))
        assert count == (impostors >= threshold).sum() == sum(map(len, seen))


def test_equal_vectors_are_counted_without_loss():
    vectors, identity = made(0, equal=True)
    tail = find_tail(Vectors.of(vectors), ends_of(identity), 10, device="cpu")
    assert tail.above[0] == tail.pairs
