"""The smallest effect that would be seen: what is printed has the power that it promises."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from countenance.auditing import audit
from countenance.auditing.finding import Finding
from countenance.auditing.power import detectable_rate, reach


def two_rates(failures: tuple[int, int], sizes: tuple[int, int]) -> dict[str, np.ndarray]:
    """One row a person: failures among so many of each of two groups."""
    values = [np.repeat([0.0, 1.0], [k, n - k]) for k, n in zip(failures, sizes, strict=True)]
    return {"g": np.repeat(["a", "b"], sizes), "correct": np.concatenate(values)}


def only(rows: dict[str, np.ndarray], **asked: object) -> Finding:
    """The only finding of a table with the groups g."""
    metric = next(name for name in rows if name not in ("g", "identity"))
    [finding] = audit(rows, ["g"], [metric], **asked).findings
    return finding


@pytest.mark.parametrize(("failures", "sizes"), [((2, 2), (200, 200)), ((1, 19), (60, 600)), ((0, 1), (50, 500))])
def test_with_few_failures_the_level_is_no_p_that_most_shuffled_tables_have(
    failures: tuple[int, int], sizes: tuple[int, int]
) -> None:
    """With 4 failures in 2 × 200 rows one in eight shuffled tables has the smallest p there is, .12: it is no level."""
    finding = only(two_rates(failures, sizes))
    assert finding.mde_alpha <= 0.05 * 1.5
    rate = detectable_rate(finding.estimate_versus, *map(float, sizes), 0.05, 0.8, exact=0.05)
    assert finding.mde_difference == pytest.approx(abs(rate - finding.estimate_versus))


@pytest.mark.parametrize(("versus", "sizes"), [(0.99, (40, 40)), (0.97, (30, 60)), (0.05, (50, 25))])
def test_the_rate_that_is_seen_by_the_exact_test_is_seen_so_often(versus: float, sizes: tuple[int, int]) -> None:
    """Every pair of counts, with scipy's test: the rate that is returned is found with 80 % power, and less is not."""
    rate = detectable_rate(versus, *map(float, sizes), 0.05, 0.8, exact=0.05)
    counts = [np.arange(n + 1) for n in sizes]
    chance = stats.binom.pmf(counts[1], sizes[1], versus)

    def power(own: float) -> float:
        total = 0.0
        for k, weight in zip(counts[0], stats.binom.pmf(counts[0], sizes[0], own), strict=True):
            if weight > 1e-7:
                for other, share in zip(counts[1], chance, strict=True):
                    if share > 1e-7 and (k / sizes[0] < other / sizes[1]) == (versus > 0.5):
                        table = [[k, sizes[0] - k], [other, sizes[1] - other]]
                        total += weight * share * (stats.fisher_exact(table).pvalue < 0.05)
        return total

    assert power(rate) == pytest.approx(0.8, abs=0.01)


def test_the_rank_biserial_correlation_that_is_seen_is_that_of_the_rank_test() -> None:
    rng = np.random.default_rng(0)
    rows = {"g": np.repeat(["a", "b"], [60, 240]), "ms": np.exp(rng.normal(size=300))}
    finding = only(rows, adjust="holm")
    ranks = stats.rankdata(rows["ms"])
    error = math.sqrt(ranks[:60].var(ddof=1) / 60 + ranks[60:].var(ddof=1) / 240) * 2 / 300
    assert finding.mde == pytest.approx(reach(0.025, 0.8, finding.df) * error, rel=0.1)
    assert finding.mde_difference == pytest.approx(reach(0.025, 0.8, finding.df) * finding.se, rel=0.002)
    assert f"or a rank-biserial correlation of {finding.mde:.2f}, would be seen 80% of the time" in finding.reason


def test_a_difference_that_comes_from_more_zeros_must_be_larger_to_be_seen() -> None:
    """The group's spread grows with its zeros; a symmetrical score has no such tail, and keeps plain Welch's."""
    rng = np.random.default_rng(1)
    group = np.repeat(["a", "b"], [60, 240])
    even = np.clip(rng.normal(0.6, 0.1, 300), 0, 1)
    zeros = np.where(np.arange(300) % 20 == 0, 0.0, 0.8 + 0.05 * rng.normal(size=300))
    for values, least, most in ((even, 1.0, 1.15), (zeros, 1.4, 2.5)):
        finding = only({"g": group, "iou": values}, adjust="holm")
        plain = reach(0.025, 0.8, finding.df) * finding.se
        assert least <= finding.mde_difference / plain <= most


def drawn(rng: np.random.Generator, kind: str, rate: float, sizes: tuple[int, int]) -> dict[str, np.ndarray]:
    """Tables of the slow check: rates of single rows, or of four rows of a person."""
    count = sum(sizes)
    own = np.where(np.arange(count) < sizes[0], rate, 0.96)
    group = np.where(np.arange(count) < sizes[0], "a", "b")
    if kind == "rows":
        return {"g": group, "correct": (rng.random(count) < own).astype(float)}
    person = np.repeat(np.arange(count), 4)
    skill = rng.beta(own * 4, (1 - own) * 4)
    right = (rng.random(len(person)) < skill[person]).astype(float)
    return {"identity": person, "g": group[person], "correct": right}


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(40, 500), (150, 150)])
@pytest.mark.parametrize("kind", ["rows", "people"])
def test_the_printed_effect_is_seen_as_often_as_promised(kind: str, sizes: tuple[int, int]) -> None:
    """Other rates and sizes than in the calibration table: the power is .75 to .85, within two standard errors."""
    rng = np.random.default_rng(5)
    make, tables, hits = partial(drawn, rng, kind), 200, 0
    for _ in range(tables):
        printed = only(make(0.96, sizes)).mde
        angle = 2 * math.asin(math.sqrt(0.96)) - printed
        hits += only(make(math.sin(angle / 2) ** 2, sizes)).p_adjusted < 0.05
    assert 0.75 - 0.061 <= hits / tables <= 0.85 + 0.051


@pytest.mark.parametrize(("adjust", "each"), [("minp", 1), ("minp", 3), ("holm", 3)])
def test_where_nobody_fails_the_smallest_visible_gap_is_that_of_people(adjust: str, each: int) -> None:
    """A perfect metric has no test, beside one that varies; what would be seen is still known from its people."""
    person = np.repeat(np.arange(100), each)
    rows = {
        "identity": person,
        "g": np.where(person < 50, "a", "b"),
        "correct": np.ones(len(person)),
        "other": (person % 3 > 0).astype(float),
    }
    perfect, _ = audit(rows, ["g"], ["correct", "other"], adjust=adjust).findings
    assert math.isnan(perfect.p)
    # Fisher's test of so few failures among 50 people is the judge, at the level of two comparisons or of one.
    assert 0.1 < perfect.mde_difference < 0.2
    assert 0 < perfect.clusters_needed - 50 < 250


def test_of_a_constant_nothing_is_said_to_be_visible() -> None:
    rows = {"g": np.repeat(["a", "b"], 50), "latency_ms": np.full(100, 20.0)}
    finding = only(rows)
    assert math.isnan(finding.mde) and finding.clusters_needed is None
    assert "it is not known which difference would be seen" in finding.reason
