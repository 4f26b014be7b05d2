"""Comparisons by blocks against every pair written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_curve
from tests.metrics.pairs import naive

from countenance.metrics.pairs import blocks, comparisons, tail
from countenance.metrics.pairs.comparisons import Comparisons
from countenance.metrics.pairs.curves import Curves
from countenance.metrics.pairs.genuine import genuine_pairs
from countenance.metrics.pairs.groups import AcceptedCounts, Groups, fnmr_by_group
from countenance.metrics.pairs.influence import Influence
from countenance.metrics.pairs.matrix import _Cells, fmr_by_group
from countenance.metrics.pairs.vectors import Vectors

SIMILARITIES = ("cosine", "euclidean", "dot")


def faces(n: int, people: int, seed: int, spread: float = 1.0, numbers: int = 16) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    identity = np.sort(np.append(np.arange(2), random.integers(0, people, n - 2)))
    _, identity = np.unique(identity, return_inverse=True)
    return random.normal(size=(people, numbers))[identity] + spread * random.normal(size=(n, numbers)), identity


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, few pairs kept, no double precision by default: every path is taken with few pictures."""
    monkeypatch.setattr(blocks, "ROWS", 7)
    monkeypatch.setattr(blocks, "COLUMNS", 11)
    monkeypatch.setattr(tail, "EXACT", 0)
    monkeypatch.setattr(comparisons, "LEAST_KEPT", 60)
    monkeypatch.setattr(comparisons, "MOST_KEPT", 120)


def collected(compared: Comparisons, threshold: float) -> set[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    compared.accepted(threshold, lambda i, j: found.extend(zip(i.tolist(), j.tolist(), strict=True)))
    assert len(found) == len(set(found))
    return set(found)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("similarity", SIMILARITIES)
@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize(("n", "people", "seed"), [(60, 9, 0), (80, 3, 1), (45, 45, 2), (64, 20, 3), (6, 2, 7)])
def test_accepted_pairs_are_those_of_all_pairs_written_out(similarity, single, n, people, seed):
    rows, identity = faces(n, people, seed)
    rows = rows.astype(np.float32) if single else rows
    pairs = naive.written(rows, identity, similarity)
    impostor = pairs.score[~pairs.same]
    compared = Comparisons.of(Vectors.of(rows, similarity), identity, seed=seed)
    assert compared.impostors == len(impostor)
    assert np.allclose(np.sort(compared.genuine.score), np.sort(pairs.score[pairs.same]), atol=1e-12)
    for share in (0.0, 0.01, 0.1, 0.4, 0.9, 1.0):
        threshold = float(np.quantile(impostor, 1 - share)) + 1e-9
        wanted = ~pairs.same & (pairs.score >= threshold)
        expected = set(zip(pairs.first[wanted].tolist(), pairs.second[wanted].tolist(), strict=True))
        assert collected(compared, threshold) == expected


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rate", [0.003, 0.02, 0.05, 0.2, 0.7])
def test_the_threshold_is_the_smallest_that_keeps_the_rate(seed, rate):
    rows, identity = faces(70, 12, seed)
    pairs = naive.written(rows, identity)
    impostor, genuine = np.sort(pairs.score[~pairs.same])[::-1], pairs.score[pairs.same]
    compared = Comparisons.of(Vectors.of(rows), identity, fmr=rate, seed=seed)
    counted = [0]
    found, count = compared.accepted_at_rate(rate, lambda i, j: counted.append(len(i)))
    allowed = int(rate * len(impostor) + 1e-9)
    assert found.exact
    assert sum(counted) == count == (impostor >= found.score).sum() == allowed
    assert impostor[allowed] < found.score  # one more would be too many …
    between = genuine[(genuine > impostor[allowed]) & (genuine < found.score)]
    assert not len(between)  # … and no genuine pair is refused without need
    assert compared.fnmr(found.score) == (genuine < found.score).mean()


@pytest.mark.usefixtures("small_blocks")
def test_equal_scores_without_end_still_give_a_threshold_that_keeps_the_rate():
    rows = np.eye(4)[np.arange(60) % 4]
    identity = np.arange(60)
    compared = Comparisons.of(Vectors.of(rows), identity)
    pairs = naive.written(rows, identity)
    for rate in (0.01, 0.1, 0.3, 0.6):
        found, count = compared.accepted_at_rate(rate, lambda i, j: None)
        assert count == (pairs.score >= found.score).sum() <= rate * len(pairs.score)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kept", [60, 5000])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5])
def test_scores_closer_than_single_precision_are_told_apart(monkeypatch, kept, rate):
    monkeypatch.setattr(comparisons, "LEAST_KEPT", kept)
    monkeypatch.setattr(comparisons, "MOST_KEPT", 5000)
    random = np.random.default_rng(3)
    identity = np.repeat(np.arange(25), 2)
    rows = np.eye(6)[np.zeros(50, int)] + 1e-5 * random.normal(size=(50, 6))
    pairs = naive.written(rows, identity)
    impostor, genuine = np.sort(pairs.score[~pairs.same])[::-1], pairs.score[pairs.same]
    assert np.ptp(pairs.score) < 1e-8
    compared = Comparisons.of(Vectors.of(rows), identity)
    found, count = compared.accepted_at_rate(rate, lambda i, j: None)
    allowed = int(rate * len(impostor) + 1e-9)
    assert found.exact and count == allowed == (impostor >= found.score).sum()
    assert impostor[allowed] < found.score <= impostor[allowed - 1]
    assert not ((genuine > impostor[allowed]) & (genuine < found.score)).any()


@pytest.mark.parametrize("seed", range(4))
def test_the_equal_error_rate_and_fnmr_are_those_of_scikit_learn(seed):
    rows, identity = faces(150, 30, seed, spread=1.5)
    pairs = naive.written(rows, identity)
    far, val, _ = roc_curve(pairs.same, pairs.score, drop_intermediate=False)
    curves = Curves(Comparisons.of(Vectors.of(rows), identity))
    assert curves.equal_error().value == pytest.approx(np.interp(0, far - (1 - val), far), abs=1e-12)
    exact = curves.exact(np.array([0.1, 0.01, 0.001]))
    for rate, threshold in zip((0.1, 0.01, 0.001), exact, strict=True):
        best = val[far <= rate + 1e-12].max()
        assert 1 - curves.compared.fnmr(threshold.score) == pytest.approx(best, abs=1e-12)


@pytest.mark.usefixtures("small_blocks")
def test_the_curve_from_few_kept_pairs_is_that_of_all():
    rows, identity = faces(400, 80, 5, spread=1.4)
    few = Curves(Comparisons.of(Vectors.of(rows), identity))
    comparisons.LEAST_KEPT = comparisons.MOST_KEPT = 1 << 20
    every = Curves(Comparisons.of(Vectors.of(rows), identity))
    assert not few.compared.tail.whole and every.compared.tail.whole
    assert np.allclose(few.det.value, every.det.value, atol=2e-3)
    inside = every.det.value > 0.01
    assert np.allclose((few.det.high - few.det.low)[inside], (every.det.high - every.det.low)[inside], rtol=0.5)
    assert few.equal_error().value == pytest.approx(every.equal_error().value, abs=1e-4)


def groups_of(n: int, seed: int, several: bool) -> tuple[list[tuple[str, ...]], list[str]]:
    random = np.random.default_rng(seed)
    names = ["a", "b", "c"]
    kinds = [("a",), ("b",), ("c",), ()] + ([("a", "b"), ("a", "c")] if several else [])
    return [kinds[k] for k in random.integers(0, len(kinds), n)], names


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_who_is_taken_for_whom(several, nested, rate):
    rows, identity = faces(50, 14, 3)
    values, names = groups_of(len(identity), 8, several)
    if nested:
        values = [values[int(np.flatnonzero(identity == person)[0])] for person in identity]
    groups = Groups.of(values, names)
    compared = Comparisons.of(Vectors.of(rows), identity)
    counts = AcceptedCounts(identity, [Groups.everybody(len(identity)), groups])
    threshold, _ = compared.accepted_at_rate(rate, counts.add)
    pairs = naive.written(rows, identity)
    accepted = ~pairs.same & (pairs.score >= threshold.score)
    found = fmr_by_group(counts, 1)
    expected, total = naive.fmr_by_group(accepted, pairs, values, names)
    assert np.array_equal(found.accepted, expected)
    assert np.array_equal(found.pairs, total)
    rates = np.divide(expected, total, out=np.full((3, 3), np.nan), where=total > 0)
    assert np.array_equal(found.value, rates, equal_nan=True)
    told = np.isfinite(found.low)  # two people at least
    assert told.any() and ((found.low <= found.value) & (found.value <= found.high))[told].all()
    share = np.bincount(np.append(pairs.first[accepted], pairs.second[accepted]), minlength=len(identity))
    assert np.array_equal(counts.by_picture[0][:, 0], share)
    assert fmr_by_group(counts, 0).accepted[0, 0] == accepted.sum()


def test_the_variance_is_that_of_people_and_pairs_of_people_written_out():
    rows, identity = faces(90, 24, 4)
    values, names = groups_of(len(identity), 9, False)
    values = [values[int(np.flatnonzero(identity == person)[0])] for person in identity]
    compared = Comparisons.of(Vectors.of(rows), identity)
    counts = AcceptedCounts(identity, [Groups.everybody(len(identity)), Groups.of(values, names)])
    threshold, _ = compared.accepted_at_rate(0.2, counts.add)
    pairs = naive.written(rows, identity)
    accepted = (pairs.score >= threshold.score).astype(float)
    people, dyads = naive.dyadic_variance(pairs, identity, accepted, ~pairs.same)
    everybody = _Cells(counts, 0).cell(0, 0)
    assert (everybody.residual**2).sum() == pytest.approx(people) and everybody.dyads == pytest.approx(dyads)
    found = Influence.at(compared, np.array([threshold.score]))
    assert (found.impostor**2).sum() * compared.impostors**2 == pytest.approx(people)
    assert found.dyads[0] * compared.impostors**2 == pytest.approx(dyads)
    for g, h in ((0, 0), (0, 1), (1, 2)):
        one, two = (np.array([names[k] in values[i] for i in range(len(identity))]) for k in (g, h))
        used = ~pairs.same & ((one[pairs.first] & two[pairs.second]) | (two[pairs.first] & one[pairs.second]))
        people, dyads = naive.dyadic_variance(pairs, identity, accepted, used)
        cell = _Cells(counts, 1).cell(g, h)
        assert (cell.residual**2).sum() == pytest.approx(people) and cell.dyads == pytest.approx(dyads)


def test_fnmr_by_group_counts_pairs_within_the_group():
    rows, identity = faces(60, 10, 6)
    values, names = groups_of(len(identity), 2, False)
    compared = Comparisons.of(Vectors.of(rows), identity)
    found = fnmr_by_group(compared.genuine, identity, Groups.of(values, names), 0.5)
    pairs = naive.written(rows, identity)
    for name, estimate in zip(names, found, strict=True):
        member = np.array([name in value for value in values])
        used = pairs.same & member[pairs.first] & member[pairs.second]
        assert estimate.n == used.sum()
        assert estimate.value == pytest.approx((pairs.score[used] < 0.5).mean())


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.integers(1, 200), st.integers(0, 10_000))
def test_drawn_genuine_pairs_are_pairs(size, most, seed):
    vectors = Vectors.of(np.random.default_rng(seed).normal(size=(size, 3)))
    found = genuine_pairs(vectors, np.full(size, size), seed=seed, most=most)
    total = size * (size - 1) // 2
    assert found.drawn == (total > most)
    assert len(found.score) <= total and (found.first < found.second).all() and (found.second < size).all()
    assert len(set(zip(found.first.tolist(), found.second.tolist(), strict=True))) == len(found.score)


def test_single_precision_stays_within_its_margin():
    random = np.random.default_rng(0)
    for similarity in SIMILARITIES:
        rows = (random.normal(size=(300, 512)) * random.lognormal(0, 1, (300, 1))).astype(np.float32)
        vectors = Vectors.of(rows, similarity)
        i, j = np.triu_indices(300, 1)
        rounded = (vectors.left @ vectors.right.T)[i, j]
        assert np.abs(rounded - vectors.exact(i, j)).max() < vectors.margin


def test_nobody_and_one_picture_are_no_comparison():
    for n in (0, 1):
        compared = Comparisons.of(Vectors.of(np.ones((n, 4))), np.zeros(n, np.int64))
        assert compared.impostors == 0 and np.isnan(Curves(compared).equal_error().value)


def test_a_density_has_the_area_one_whatever_the_widths_of_its_bins() -> None:
    from countenance.metrics.intervals import NOTHING
    from countenance.metrics.pairs.distributions import PairScores

    edges = np.array([0.0, 0.1, 0.5, 1.0])
    score = np.array([0.05, 0.2, 0.3, 0.7])
    found = PairScores(score, NOTHING, 0.0, 4).density(edges)
    assert found.tolist() == pytest.approx([2.5, 1.25, 0.5])
    assert (found * np.diff(edges)).sum() == pytest.approx(1.0)
