"""Blocks through torch give what the processor's blocks give. Runs on torch's own processor device."""

import numpy as np
import pytest
from tests.metrics.pairs.naive import written

from countenance.metrics.pairs import comparisons, device, device_count
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


@pytest.mark.parametrize("limit", [4, 1 << 24])
@pytest.mark.parametrize("bins", [0, 8])
@pytest.mark.parametrize("cut", [-np.inf, 0.25])
def test_a_block_is_counted_by_hand(monkeypatch, limit, bins, cut):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(device_count, "EXACT_COUNT", limit)
    scores = np.random.default_rng(0).choice([-0.9, -0.3, 0.25, 0.26, 0.6, 0.95], (3, 5)).astype(np.float32)
    ends = np.array([0, 0, 5, 5, 6, 8, 9])  # rows 2 to 4 against columns 4 to 8; columns below the end do not count
    counter = device_count.PlainCount(torch, torch.from_numpy(ends), bins, (-1.0, 1.0))
    for masked, first in ((True, 4), (False, 9)):
        counter.start(cut)
        counter.add(torch.from_numpy(scores.copy()), device_count.Block(2, first, masked))
        counter.end()
        histogram, kept = counter.result()
        there = [
            (2 + i, first + j, scores[i, j])
            for i in range(3)
            for j in range(5)
            if not masked or first + j >= ends[2 + i]
        ]
        assert len(there) == (11 if masked else 15)
        if bins:
            assert histogram.tolist() == np.histogram([one[2] for one in there], 8, (-1, 1))[0].tolist()
        else:
            assert histogram.tolist() == [0]
        (found,) = kept
        assert list(zip(*(part.tolist() for part in found), strict=True)) == [
            (i, j, pytest.approx(float(s))) for i, j, s in there if s >= cut
        ]


def test_pairs_are_sorted_on_a_device_as_on_the_processor():
    random = np.random.default_rng(0)
    first, second = (random.integers(0, 40, 200).astype(np.int32) for _ in range(2))
    score = random.choice([-0.5, -0.0, 0.0, 0.5, 0.75], 200).astype(np.float32)
    one, two, value = device.best_first(first, second, score, 0.0, "cpu")
    kept = sorted(((-float(s), i, j) for i, j, s in zip(first, second, score, strict=True) if s >= 0))
    assert list(zip((-value).tolist(), one.tolist(), two.tolist(), strict=True)) == kept


def test_a_vector_is_nearly_the_sum_of_its_halves():
    torch = pytest.importorskip("torch")
    vectors = torch.from_numpy(np.random.default_rng(0).uniform(-1, 1, (50, 8)).astype(np.float32))
    high, low = device.halves(vectors)
    assert high.dtype == low.dtype == torch.float16
    assert (
        float((high.float() - vectors).abs().max()) > 1e-5 > float((high.float() + low.float() - vectors).abs().max())
    )


def test_work_on_a_device_is_told_and_leaves_the_settings_as_they_were(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(device, "ROWS", 20)
    before, told, blocks = torch.backends.cuda.matmul.allow_tf32, [], []
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        vectors, identity = made(2, 60)
        ends = ends_of(identity)
        device.on_device(
            Vectors.of(vectors), ends, lambda: 0.5, lambda h, kept: blocks.append(h.sum()), 16, "cpu", told.append
        )
        assert torch.backends.cuda.matmul.allow_tf32 is True
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    pairs = written(vectors, identity)
    assert sum(told) == (~pairs.same).sum() == sum(blocks) and len(told) >= 3
    assert told == blocks


@pytest.mark.parametrize("pairs", [0, 999_999_999, 1_000_000_000])
def test_a_gpu_is_asked_for_from_a_billion_pairs_on(monkeypatch, pairs):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device.gpu(pairs) == ("cuda" if pairs >= 10**9 else None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device.gpu(pairs) is None
