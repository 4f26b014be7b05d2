"""The highest impostor scores: where the first cut lies, what is kept and when, and one person behind most errors."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from tests.metrics.pairs import naive
from tests.metrics.pairs.test_by_hand import ByHand, faces

from countenance.metrics.pairs import blocks, comparisons, tail
from countenance.metrics.pairs.comparisons import Comparisons, Threshold
from countenance.metrics.pairs.groups import AcceptedCounts, Groups
from countenance.metrics.pairs.matrix import fmr_by_group
from countenance.metrics.pairs.tail import _first_cut, _Rising, find_tail
from countenance.metrics.pairs.vectors import Vectors


@pytest.mark.parametrize(("sample", "share"), [(10_000, 0.02), (100, 0.1), (100, 0.6)])
def test_the_first_cut_lets_twice_as_many_through_and_fifty_more(monkeypatch, sample, share):
    monkeypatch.setattr(tail, "SAMPLE", sample)
    rows, identity = faces(40, 9, 5)
    ends = np.searchsorted(identity, identity, side="right")
    random, side = np.random.default_rng([7, 3]), min(40, int(sample**0.5))
    some, others = (np.sort(random.choice(40, side, replace=False)) for _ in range(2))
    scores = naive.scores(rows)
    values = sorted((scores[i, j] for i in some for j in others if identity[i] != identity[j]), reverse=True)
    wanted = int(2 * share * len(values)) + 50
    expected = values[wanted - 1] if wanted < len(values) else -np.inf
    assert _first_cut(Vectors.of(rows), ends, share, 7) == pytest.approx(expected, abs=1e-6)
    assert (expected == -np.inf) == (share == 0.6)


def test_where_every_pair_is_kept_there_is_no_cut(monkeypatch):
    rows, _ = faces(30, 30, 2)
    ends = np.arange(1, 31)
    for keep in (435, 436):  # 30 · 29 / 2 pairs: just enough, and one more
        found = find_tail(Vectors.of(rows), ends, keep)
        assert found.whole and found.cut == -np.inf and len(found.score) == found.pairs == 435
        assert found.margin == 0 and found.score.dtype == np.float64  # few pairs: double precision
    part = find_tail(Vectors.of(rows), ends, 100)
    assert part.doubt == part.margin == 0
    monkeypatch.setattr(tail, "EXACT", 0)
    assert find_tail(Vectors.of(rows), ends, 100).doubt == 2 * Vectors.of(rows).margin > 0
    done = []
    find_tail(Vectors.of(rows), ends, 100, step=done.append)
    assert sum(done) == 435
    assert not part.whole and 100 <= len(part.score) < 300 and part.cut > -1
    assert (np.diff(part.score) <= 0).all()
    assert part.above[0] == 435 and part.above[-1] == 0
    assert len(part.edges) == len(part.above) == 8193 and (part.edges[0], part.edges[-1]) == (-1.001, 1.001)


def test_pairs_below_the_cut_are_dropped_once_three_times_too_many_are_held():
    vectors = Vectors.of(np.eye(8))
    rising = _Rising(vectors, 4, -np.inf)
    low, high = 100, 8000  # two bins

    def block(bin_of, count):
        histogram = np.zeros(tail.BINS, np.int64)
        histogram[bin_of] = count
        value = np.float32(rising.edges[bin_of] + 1e-4)
        return histogram, [(np.arange(count), np.arange(count), np.full(count, value, np.float32))]

    rising.add(*block(low, 3))
    assert rising.cut == -np.inf and rising.held == 3
    rising.add(*block(high, 4))
    assert rising.cut == rising.edges[high - 1] and rising.held == 7
    rising.add(*block(high, 5))
    assert rising.held == 12 and len(rising.blocks) == 3  # not yet more than three times four
    rising.add(*block(high, 1))
    assert rising.held == 10 and len(rising.blocks) == 1  # the three low ones are gone
    found = rising.tail(vectors, 13)
    assert len(found.score) == 10 and found.first.dtype == np.int32


def test_the_threshold_is_an_edge_where_very_many_scores_are_equal(monkeypatch):
    monkeypatch.setattr(tail, "EXACT", 0)
    monkeypatch.setattr(comparisons, "LEAST_KEPT", 10)
    monkeypatch.setattr(comparisons, "MOST_KEPT", 20)
    rows = np.eye(3)[np.arange(40) % 3]
    compared = Comparisons.of(Vectors.of(rows), np.arange(40))
    pairs = naive.written(rows, np.arange(40))
    equal = int((pairs.score == 1).sum())
    for rate, count in ((0.5 * equal / len(pairs.score), 0), ((equal + 5) / len(pairs.score), equal)):
        found, accepted = compared.accepted_at_rate(rate, lambda i, j: None)
        assert accepted == count and isinstance(found, Threshold)
        assert found.score > 1 if not count else 0 < found.score <= 1


@pytest.mark.parametrize("taken", [3, 5, 7])
def test_one_person_behind_most_errors_makes_the_interval_wide(taken):
    """People without a pair in a cell do not count among its people."""
    identity = np.arange(24)
    group = [who % 3 for who in range(24)]
    first, second = (np.array(one) for one in zip(*itertools.combinations(range(24), 2), strict=True))
    others = [who for who in range(24) if group[who] == 1][:taken]
    accepted = np.array([(i, j) in {(0, who) for who in others} | {(4, 6)} for i, j in zip(first, second, strict=True)])
    counts = AcceptedCounts(identity, [Groups.of([("abc"[g],) for g in group], ["a", "b", "c"])])
    counts.add(first[accepted], second[accepted])
    found = fmr_by_group(counts)
    pairs = SimpleNamespace(first=first, second=second)
    cells = {(g, h): ByHand(pairs, identity, group, accepted, g, h) for g in range(3) for h in range(g + 1, 3)}
    used = list(cells.values())
    alike = max(sum(cell.spread / cell.weight for cell in used) / sum(cell.rate**2 for cell in used), 0)
    within = sum(cell.dyads for cell in used) / sum(cell.accepted for cell in used)
    for place, cell in cells.items():
        expected = cell.interval(alike, within)
        assert (found.low[place], found.high[place]) == pytest.approx(expected, rel=1e-9)


def test_everybody_is_one_group():
    one = Groups.everybody(3)
    assert one.names == ("",) and one.pictures.tolist() == [[True], [True], [True]]
    assert one.member.shape == (1, 1)


def test_rates_allow_whole_numbers_of_pairs():
    compared = Comparisons.of(Vectors.of(np.eye(11)), np.arange(11))
    assert compared.impostors == 55 and 7 / 55 * 55 < 7  # as numbers of the machine are
    assert [compared._allowed(rate) for rate in (0.0, 7 / 55, 6.999 / 55, 1.0)] == [0, 7, 6, 55]


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(blocks.os, "sched_getaffinity", lambda _: {1, 4, 7}, raising=False)
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 9)
    assert blocks.cores() == 3
    monkeypatch.delattr(blocks.os, "sched_getaffinity")
    assert blocks.cores() == 9
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: None)
    assert blocks.cores() == 1


def test_a_score_at_the_cut_is_kept():
    place = np.arange(3, dtype=np.int32)
    first, second, score = tail._above((place, place + 3, np.array([0.5, 0.25, 0.75], np.float32)), 0.5)
    assert (first.tolist(), second.tolist(), score.tolist()) == ([0, 2], [3, 5], [0.5, 0.75])
