"""Limits and corners of the statistics: sizes of one and two, exactly at a limit, and blocks that change no number."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from countenance.auditing import (
    audit,
    blocks,
    cautions,
    computation,
    condensed_rows,
    contingency,
    equity,
    exact_test,
    large_columns,
    minp,
    permutations,
    plan,
    ranking,
    row_labels,
    spread,
    tests,
)
from countenance.auditing.cautions import _large_clusters, _small_and_unlike
from countenance.auditing.change import tango_limits
from countenance.auditing.comparisons import Draft
from countenance.auditing.effects import MeanGap, _spread, equivalence, rank_biserial
from countenance.auditing.estimates import TRUSTED
from countenance.auditing.layout import Column, Shape
from countenance.auditing.measured_metric import MeasuredMetric
from countenance.auditing.pairs import Pairs, Pooled, _together
from countenance.auditing.power import FEW_CASES
from countenance.auditing.ranks import skewness
from countenance.auditing.settings import FEWEST, AuditSettings, Judged
from countenance.auditing.sums import clustered, simple
from countenance.auditing.table import MAX_NUMERIC
from countenance.errors import InputError


def test_numbers_that_say_when_something_else_is_done() -> None:
    assert (minp.PERMUTATIONS, minp.MORE_PERMUTATIONS, minp.FEWEST_UNITS) == (2000, 10_000, 20)
    assert (equity.DRAWS, equity.FEWEST, equity.MOST_STEPS) == (1000, 200, 200_000_000)
    assert (cautions.FEW_UNITS, cautions.MOST_UNLIKE, cautions.MOST_SKEWED, cautions.WORTH_FEW) == (40, 9.0, 3.0, 10)
    assert (minp.MOST_CLUSTER_STEPS, minp.MOST_ROW_STEPS, minp.MOST_VALUES) == (10**9, 3 * 10**8, 2 * 10**8)
    assert (spread.MOST_STEPS, TRUSTED, FEW_CASES, cautions.MOST_NAMED) == (2 * 10**9, 0.3, 12, 4)
    assert (tests.SMALLEST_EXPECTED, tests.SMALLEST_EXPECTED_FAR_OUT, tests.LARGEST_EXACT) == (5, 20, 50_000)
    assert (condensed_rows.LARGE, condensed_rows.MOST_SHUFFLED, large_columns.MOST_DISTINCT) == (2_000_000,) * 3
    assert (tests.CLOSEST, contingency.SAMPLE, contingency.SAVING, ranking.DRAWS) == (0.9999, 2000, 4, 2000)
    assert (computation.MOST_COMPARISONS, MAX_NUMERIC, FEWEST) == (50_000, 20, 5)


def test_too_many_comparisons_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"g": list("abcd") * 10, "ok": [0, 1] * 20}
    asked = {"by": ["g"], "metrics": ["ok"], "comparison": "pairs", "adjust": "holm", "min_n": 5}
    monkeypatch.setattr(computation, "MOST_COMPARISONS", 6)
    assert len(audit(rows, **asked).findings) == 6
    monkeypatch.setattr(computation, "MOST_COMPARISONS", 5)
    with pytest.raises(InputError, match="6 comparisons, more than 5; lower depth"):
        audit(rows, **asked)
    assert audit(rows, **(asked | {"comparison": "spread"})).findings


def test_numbers_that_never_vary_show_nothing() -> None:
    rows = {"g": ["a", "b"] * 40, "ms": [5.0] * 80}
    (one,) = audit(rows, ["g"], ["ms"], delta={"ms": 1.0}, adjust="holm").findings
    assert one.verdict == "insufficient evidence" and math.isnan(one.diff_low) and "neither side varies" in one.reason


def test_progress_of_a_spread_counts_permutations() -> None:
    seen: list[tuple[int, int]] = []
    audit(rows_of(30), ["g"], ["ok"], comparison="spread", min_n=5, replicates=700, progress=lambda *n: seen.append(n))
    assert seen == [(500, 700), (700, 700)]


# ranks


@pytest.mark.parametrize("people", [1, 2, 3])
def test_ranks_of_few_people(people: int) -> None:
    one, two = np.array([0, 1, 3, 3]), np.array([2, 0, 1, 1, 2])
    clusters = np.arange(4) % people, np.arange(5) % people
    found = rank_biserial(one, two, *clusters)
    auc = np.mean([(a > b) + 0.5 * (a == b) for a in one for b in two])
    e1 = [(np.mean([(a > b) + 0.5 * (a == b) for b in two]) - auc) / 4 for a in one]
    e2 = [(np.mean([(a > b) + 0.5 * (a == b) for a in one]) - auc) / 5 for b in two]
    total = 0.0
    for c in range(people):
        sums = sum(e for e, k in zip(e1, clusters[0], strict=True) if k == c)
        sums += sum(e for e, k in zip(e2, clusters[1], strict=True) if k == c)
        weight = max(np.mean(side == c) - 1 / people for side in clusters)
        total += (1 + 2 * weight) * sums**2
    assert found.variance == pytest.approx(4 * people / max(people - 1, 1) * total) and found.r == pytest.approx(
        2 * auc - 1
    )
    assert _spread(np.array([0.5])) == 0.25 and _spread(np.array([0.5, 0.1])) == pytest.approx(2 * 0.26)


def test_p_of_equivalence_is_on_the_side_of_its_verdict() -> None:
    """The search for p is not exact: just below the level it must stay below, just above it above."""
    alpha = np.linspace(0.011, 0.11, 40)
    for off, below in ((1 - 1e-4, True), (1 + 1e-4, False)):
        errors = 0.1 / stats.norm.isf(alpha * off)
        for k, level in enumerate(alpha):
            one = MeanGap(0.5, 0.5, errors[k], math.inf)
            shown, p = equivalence(one, 0.1, float(level))
            assert bool(shown) is below and bool(p < level) is below
    assert np.isnan(equivalence(MeanGap(0.0, 0.0, 1.0, math.inf), math.nan, 0.05)[1])


# pairs


def test_pairs_that_share_a_person_on_either_side_are_together() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 3, 8, 20):
        first, second = rng.integers(0, 9, size), rng.integers(0, 9, size)
        parent = list(range(9))

        def root(k: int, parent: list[int] = parent) -> int:
            return k if parent[k] == k else root(parent[k])

        for a, b in zip(first, second, strict=True):
            parent[root(int(a))] = root(int(b))
        roots = [root(int(a)) for a in first]
        found = _together(first, second).tolist()
        for i, j in itertools.product(range(size), repeat=2):
            assert (found[i] == found[j]) == (roots[i] == roots[j])
        assert set(found) == set(range(max(found) + 1))
    assert _together(np.array([0, 1, 2]), np.array([1, 2, 3])).tolist() == [0, 0, 0]


@pytest.mark.parametrize("kurtosis", [1.9, 2.7999, 2.8001, 9.0])
def test_a_small_group_takes_the_variance_of_all_pairs(kurtosis: float) -> None:
    change = np.array([0.1, -0.1, 0.2, 0.0, 0.1] * 4)  # 20 units, worth 20 · .09 = 1.8 against kurtosis - 1
    pairs = Pairs(change, np.zeros(20), "mean", [], Pooled((0.0,), 0.5, kurtosis))
    own = change.var(ddof=1) / 20
    assert pairs._variance(simple(change)) == pytest.approx(own if kurtosis < 2.8 else 0.5 / 20)
    several = Pairs(change, np.zeros(20), "mean", [np.arange(20) // 2], Pooled((0.5,), 0.5, 9.0))
    assert several._variance(clustered(change, np.arange(20) // 2)) == pytest.approx(1.5 * 0.5 / 20)
    assert several.units == 10 and several.clustered and not pairs.clustered
    whole = several.together()
    assert whole.row == pytest.approx(change.var()) and whole.kurtosis == pytest.approx(
        stats.kurtosis(change, fisher=False)
    )
    assert Pairs(change[:0], change[:0], "mean", []).together() == Pooled()


def test_pairs_of_two_ways_have_the_variance_of_both() -> None:
    rng = np.random.default_rng(1)
    one, two = rng.integers(0, 2, 60) * 1.0, rng.integers(0, 2, 60) * 1.0
    person, image = rng.integers(0, 15, 60), rng.integers(0, 12, 60)
    side = Pairs(one, two, "rate", [person, image]).side(one - two)

    def variance(codes: Any) -> float:
        count = len(np.unique(codes))
        change = one - two - (one - two).mean()
        sums = np.array([change[codes == c].sum() for c in np.unique(codes)])
        sizes = np.array([(codes == c).sum() for c in np.unique(codes)])
        return count / (count - 1) * ((1 + 2 * (sizes / 60 - 1 / count)) * sums**2).sum() / 3600

    assert side.variance == pytest.approx(variance(person) + variance(image) - variance(person * 100 + image))


def test_two_ways_that_cross_are_as_sure_as_the_less_sure_of_three_tests() -> None:
    bound = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        person, image = np.repeat(np.arange(8), 8), np.tile(np.arange(8), 8)
        lean = rng.normal(size=8)[person] + rng.normal(size=8)[image] + rng.normal(size=64)
        one, two = (lean > 0.9) * 1.0, (lean < -1) * 1.0
        pairs = Pairs(one, two, "rate", [person, image])
        made = Draft({}, Judged(0.05, "higher"))
        pairs.gap(made, (0.0, 1.0))
        change = one - two
        exact_p = []
        for codes in (person, image):
            counts = [np.bincount(codes, change == sign) for sign in (1, -1)]
            exact_p.append(tests.mcnemar(*counts)[2])
        side = pairs.side(change)
        robust = 2 * stats.t.sf(abs(change.mean()) / math.sqrt(float(side.variance)), float(side.effective) - 1)
        assert made.values["p"] == pytest.approx(max(*exact_p, robust))
        bound += robust > max(exact_p)
    assert 0 < bound < 12  # each of the tests was the less sure one


def test_limits_of_a_change_in_one_row_and_in_none() -> None:
    low, high = tango_limits(1.0, 0.0, 1.0, 1.959964)
    assert -1 < float(low) < 1 and float(high) == 1.0
    same = tango_limits(0.0, 0.0, 1.0, 1.959964)
    assert float(same[1]) == pytest.approx(1.959964**2 / (1 + 1.959964**2), abs=1e-6) and float(same[0]) == -float(
        same[1]
    )
    assert np.isnan(tango_limits(0.0, 0.0, 0.0, 1.959964)).all()


# plans


@pytest.mark.parametrize(("baseline", "size", "fine"), [(0.4, 0.6, True), (0.4, 0.61, False), (0.6, 0.6, True)])
def test_a_rate_beyond_0_and_1_cannot_be_planned_for(baseline: float, size: float, fine: bool) -> None:
    if fine:
        assert plan(rate=baseline, effect=f"diff={size}").difference == size
    else:
        with pytest.raises(InputError, match="does not exist; choose a smaller diff"):
            plan(rate=baseline, effect=f"diff={size}")


# blocks change no number


@pytest.mark.parametrize("sparse", [0, 1000])
@pytest.mark.parametrize("chunk", [1, 50])
def test_sums_of_any_blocks_are_the_same(monkeypatch: pytest.MonkeyPatch, chunk: int, sparse: int) -> None:
    rng = np.random.default_rng(3)
    rows = {
        "identity": np.repeat(np.arange(40), rng.integers(1, 6, 40)),
        "ok": None,
        "g": None,
    }
    n = len(rows["identity"])
    rows["ok"], rows["g"] = rng.integers(0, 2, n) * 1.0, rng.choice(list("abc"), n)
    rows["ms"] = np.where(rng.random(n) < 0.2, np.nan, rng.gamma(2, 3, n))
    worn = [list(rng.choice(["x", "y", "z"], rng.integers(0, 3), replace=False)) for _ in range(n)]
    asked = {"by": ["g", "worn"], "metrics": ["ok", "ms"], "adjust": "holm", "min_n": 5, "comparison": "pairs"}
    usual = audit(rows | {"worn": worn}, **asked)
    monkeypatch.setattr(blocks, "CHUNK", chunk)
    monkeypatch.setattr(blocks, "SPARSE", sparse)
    found = audit(rows | {"worn": worn}, **asked)
    for one, two in zip(found.findings, usual.findings, strict=True):
        numbers = [[v for v in f.model_dump().values() if isinstance(v, float)] for f in (one, two)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("cells", [60, 1000])
def test_permutations_in_any_batches_are_the_same(monkeypatch: pytest.MonkeyPatch, cells: int) -> None:
    rng = np.random.default_rng(5)
    person = np.repeat(np.arange(30), 3)
    rows = {
        "identity": person,
        "g": rng.choice(list("ab"), 30)[person],
        "h": rng.choice(list("xy"), 90),
        "ok": rng.integers(0, 2, 90) * 1.0,
    }
    asked = {"by": ["g", "h"], "metrics": ["ok"], "min_n": 5, "depth": 1}
    split = audit(rows, **asked, seed=2).findings
    monkeypatch.setattr(row_labels, "CACHED", cells)
    again = audit(rows, **asked, seed=2).findings
    assert [f.p_adjusted for f in again] == [f.p_adjusted for f in split]
    whole = audit(rows, **(asked | {"by": ["g"]}), seed=2).findings
    monkeypatch.setattr(permutations, "CELLS", 30 * cells)
    again = audit(rows, **(asked | {"by": ["g"]}), seed=2).findings
    assert [f.p_adjusted for f in again] == [f.p_adjusted for f in whole]


@pytest.mark.parametrize("block", [1, 50, 2_000_000])
def test_fisher_in_any_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    rng = np.random.default_rng(6)
    tables = rng.integers(0, 40, (4, 60))
    monkeypatch.setattr(exact_test, "BLOCK", block)
    found = exact_test.fisher(*tables)
    for k in range(60):
        a, b, c, d = tables[:, k]
        assert found[k] == pytest.approx(stats.fisher_exact([[a, b], [c, d]])[1], rel=1e-9)
    none = exact_test.fisher(*(np.array([value]) for value in (0, 0, 3, 4)))
    assert none.tolist() == [1.0] and exact_test.fisher(*np.zeros((4, 0))).tolist() == []


@pytest.mark.parametrize(
    ("a", "n1", "b", "n2"), [(900, 2000, 1100, 2100), (5, 4000, 300, 90_000), (3000, 3100, 800, 900)]
)
def test_fisher_of_large_tables_keeps_both_tails(a: int, n1: int, b: int, n2: int) -> None:
    found = exact_test.fisher(*(np.array([value]) for value in (a, n1 - a, b, n2 - b)))[0]
    assert found == pytest.approx(stats.fisher_exact([[a, n1 - a], [b, n2 - b]])[1], rel=1e-6)


# cautions


def column(values: Any, kind: str = "mean") -> Column:
    return Column("ms", kind, np.asarray(values, float))


def test_skewness_is_that_of_scipy() -> None:
    values = np.random.default_rng(0).gamma(0.5, 0.01, 300)  # its spread is far below 1
    assert skewness(column(values)) == pytest.approx(stats.skew(values))
    assert skewness(column([*values, np.nan])) == pytest.approx(stats.skew(values))
    assert skewness(column([2.0, 2.0])) == 0.0 and skewness(column([np.nan])) == 0.0
    shape = Shape(0.0, 1.0, 3.0, 7.5)
    assert skewness(Column("m", "mean", np.zeros(1), 0.0, np.ones(1), np.zeros(1), shape)) == 7.5


class Some:
    """A batch of comparisons, as far as a caution looks at it."""

    def __init__(self, units: Any, spreads: Any, others: Any, *, skew: float = 0.0, effective: Any = None) -> None:
        count = len(units)
        worth = np.asarray(units if effective is None else effective, float)
        side = {"units": np.asarray(units), "spread": np.asarray(spreads, float), "effective": worth}
        self.first, self.second = type("One", (), side)(), type("Two", (), {"spread": np.asarray(others, float)})()
        self.large = np.ones(count, dtype=bool)
        column = Column("ms", "mean", np.zeros(1), 0.0, np.ones(1), np.ones(1), Shape(0, 1, 3, skew))
        self.measured = MeasuredMetric("ms", column, Judged(None, None), None)
        self.groupings, self.place = [type("G", (), {"name": "tone"})()], [0] * count
        self.names = [(f"g{k}", "rest") for k in range(count)]


def told(batch: Some, alpha: float = 0.05) -> str:
    return _small_and_unlike(batch, "people", alpha)  # type: ignore[arg-type]


def test_few_people_whose_spread_is_unlike_that_of_the_others() -> None:
    assert told(Some([39], [9.01], [1.0])).startswith("ms: the spread of the metric there is unlike that of the others")
    assert "fewer than 40 people (tone = g0): in such tables false alarms were up to 0.075, not 0.05" in told(
        Some([39], [1.0], [9.01])
    )
    assert told(Some([40], [9.01], [1.0])) == "" and told(Some([39], [9.0], [1.0])) == ""
    assert told(Some([39], [1.0], [9.0])) == "" and told(Some([39], [1.0], [1.0])) == ""
    assert (
        "strongly skewed" in told(Some([39], [1.0], [1.0], skew=-3.01)) and told(Some([39], [1], [1], skew=3.0)) == ""
    )
    four, six = told(Some([9] * 4, [99] * 4, [1] * 4)), told(Some([9] * 6, [99] * 6, [1] * 6))
    assert "(tone = g0, tone = g1, tone = g2, tone = g3)" in four and "tone = g3 and 2 more)" in six


def test_groups_in_which_few_people_have_most_rows() -> None:
    def large(*batches: Any) -> str:
        return _large_clusters(batches, "people")

    assert large(Some([50], [1], [1], effective=[10.0])) == ""
    one = large(Some([50, 60], [1, 1], [1, 1], effective=[9.6, 40.0]))
    assert one.startswith(
        "tone = g0: a few people have most of the rows, so that 50 people are worth about 10 of equal"
    )
    two = large(Some([50, 60], [1, 1], [1, 1], effective=[9.6, 3.2]))
    assert two.startswith("tone = g1 (and 1 more group): ") and "60 people are worth about 3" in two
    three = large(Some([50] * 3, [1] * 3, [1] * 3, effective=[9.0, 3.0, 5.0]), Some([50], [1], [1], effective=[1.0]))
    assert "(and 2 more groups)" in three  # of one name, the first is told


# when labels are not shuffled


def shuffled(rows: dict[str, Any], **asked: Any) -> str:
    return str(audit(rows, **({"by": ["g"], "metrics": ["ok"]} | asked)).settings["adjust_why"])


def rows_of(people: int) -> dict[str, Any]:
    return {
        "identity": np.repeat(np.arange(people), 2),
        "g": np.repeat(np.arange(people) % 2, 2).astype(str),
        "ok": np.tile([0.0, 1.0, 1.0, 1.0], people // 2 + 1)[: 2 * people],
    }


def test_twenty_units_are_shuffled_and_nineteen_are_not() -> None:
    assert shuffled(rows_of(20), min_n=5) == ""
    assert shuffled(rows_of(19), min_n=5) == "19 units are too few to shuffle (fewer than 20)"


@pytest.mark.parametrize(
    ("name", "most", "what"),
    [("MOST_CLUSTER_STEPS", 30 * 2000, "units"), ("MOST_VALUES", 2000, "comparisons")],
)
def test_work_beyond_a_limit_is_left_to_holm(monkeypatch: pytest.MonkeyPatch, name: str, most: int, what: str) -> None:
    monkeypatch.setattr(minp, name, most)
    assert shuffled(rows_of(30), min_n=5) == ""
    monkeypatch.setattr(minp, name, most - 1)
    assert shuffled(rows_of(30), min_n=5) == f"too many {what} to shuffle 2,000 times"


def test_rows_whose_labels_differ_within_people_have_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(30) | {"h": np.tile(["x", "y"], 30)}
    monkeypatch.setattr(minp, "MOST_ROW_STEPS", 60 * 2000)
    assert shuffled(rows, by=["g", "h"], min_n=5, depth=1) == ""
    monkeypatch.setattr(minp, "MOST_ROW_STEPS", 60 * 2000 - 1)
    assert "too many rows with labels that differ within a unit" in shuffled(rows, by=["g", "h"], min_n=5, depth=1)


def test_permutations_go_on_near_the_level_and_no_further_than_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    g = np.repeat(["a", "b"], 200)
    ok = np.r_[np.repeat([1.0, 0.0], [160, 40]), np.repeat([1.0, 0.0], [143, 57])]  # p near .05
    order = rng.permutation(400)
    rows = {"g": g[order], "ok": ok[order]}
    near = audit(rows, ["g"], ["ok"])
    assert 0.025 < near.findings[0].p_adjusted < 0.1 and near.settings["permutations"] == 10_000
    monkeypatch.setattr(minp, "MOST_VALUES", 2500)
    assert audit(rows, ["g"], ["ok"]).settings["permutations"] == 2500
    monkeypatch.setattr(minp, "MOST_VALUES", 2 * 10**8)
    monkeypatch.setattr(minp, "MOST_CLUSTER_STEPS", 2 * 3000 * 400)
    assert audit(rows, ["g"], ["ok"]).settings["permutations"] == 3000
    far = {"g": g, "ok": np.r_[np.ones(200), np.repeat([1.0, 0.0], [100, 100])]}
    assert audit(far, ["g"], ["ok"]).settings["permutations"] == 2000


# spreads


def test_a_spread_that_would_take_too_long_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(30)
    asked = {
        "by": ["g"],
        "metrics": ["ok"],
        "comparison": "spread",
        "min_n": 5,
        "replicates": 200,
        "better": {"ok": "higher"},
    }
    steps = 200 * (30 + 4)
    monkeypatch.setattr(spread, "MOST_STEPS", steps)
    assert audit(rows, **asked).notes == [] and audit(rows, **asked).settings["permutations"] == 200
    monkeypatch.setattr(spread, "MOST_STEPS", steps - 1)
    assert audit(rows, **asked).notes == [spread.NOT_SHUFFLED]
    split = rows | {"g": np.tile(["x", "y"], 30)}
    monkeypatch.setattr(spread, "MOST_STEPS", steps + 10 * 200 * 60)
    assert audit(split, **asked).notes == []
    monkeypatch.setattr(spread, "MOST_STEPS", steps + 10 * 200 * 60 - 1)
    assert audit(split, **asked).notes == [spread.NOT_SHUFFLED]


def test_spreads_need_enough_permutations_for_their_family() -> None:
    assert (
        spread.needed(AuditSettings(replicates=100), 1) == 100
        and spread.needed(AuditSettings(replicates=100), 2) == 160
    )
    assert spread.needed(AuditSettings(replicates=100, alpha=0.01), 1) == 400


# equity measures


@pytest.mark.parametrize(("most", "draws"), [(200 * 30, 200), (500 * 30, 500), (10**9, 1000), (1, 200)])
def test_large_tables_have_fewer_draws(monkeypatch: pytest.MonkeyPatch, most: int, draws: int) -> None:
    seen: list[int] = []
    kept = equity.resampled
    monkeypatch.setattr(equity, "resampled", lambda sums, count, seed: seen.append(count) or kept(sums, count, seed))
    monkeypatch.setattr(equity, "MOST_STEPS", most)
    audit(rows_of(30), ["g"], ["ok"], equity=True, adjust="holm", min_n=5)
    assert set(seen) == {draws}


def test_categories_under_two_percent_are_reported_apart() -> None:
    g = np.repeat(["a", "b", "c", "d"], [500, 476, 20, 25])
    rows = {"g": g, "ok": np.tile([1.0, 1.0, 0.0, 1.0], 256)[: len(g)]}
    found = {one.measure: one for one in audit(rows, ["g"], ["ok"], equity=True, adjust="holm").equity}
    assert found["impact_ratio"].left_out == ["c"] and found["accuracy_std"].left_out == []
    few = audit(rows, ["g"], ["ok"], equity=True, adjust="holm", min_n=490).equity[0]
    assert few.undefined.endswith("fewer than two groups have 490 rows") and math.isnan(few.value)


@pytest.mark.parametrize(("kind", "two"), [("rate", False), ("change", False), ("mean", True)])
def test_only_real_metrics_have_two_statistics(kind: str, two: bool) -> None:
    assert MeasuredMetric("m", column([1.0], kind), Judged(None, None), None).two_statistics is two


@pytest.mark.parametrize("shift", [6.0, -6.0])
def test_the_interval_of_a_rank_correlation_ends_at_one(shift: float) -> None:
    x = np.random.default_rng(0).normal(size=61)
    x[:30] += shift
    x[60] = shift
    rows = {"g": ["a"] * 30 + ["b"] * 31, "x": x}
    (found,) = audit(rows, ["g"], ["x"], adjust="holm", kinds={"x": "mean"}).findings
    inner, outer = sorted([abs(found.effect_low), abs(found.effect_high)])
    assert outer == 1.0 and 0.5 < inner < abs(found.effect) < 1


def test_an_intersection_may_have_ten_times_the_groups_of_an_attribute() -> None:
    cells = [(a, b, 0) for a in range(10) for b in range(10)] + [(a, 0, 1) for a in range(5)]
    rows: dict[str, Any] = {name: [f"{name}{cell[k]}" for cell in cells] for k, name in enumerate("abc")}
    rows["x"] = [0.0, 1.0, 1.0] * 35
    audit(rows, ["a", "b", "c"], ["x"], depth=2, max_groups=10)
    with pytest.raises(InputError, match=r"a × b × c: 105 groups occur, more than 100;"):
        audit(rows, ["a", "b", "c"], ["x"], depth=3, max_groups=10)
