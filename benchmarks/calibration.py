"""Is the audit's word good? Simulated tables with a known truth, and exact sums; prints a Markdown table.

    python benchmarks/calibration.py                  # every line with few tables
    python benchmarks/calibration.py --tables 1000    # the figures of the docs
    python benchmarks/calibration.py --only spread    # lines whose name has the word

Promises (docs/design/003-statistics.md): false alarms at most α + 2 standard errors, 95 % intervals cover 93 to 97 %
(more where they allow for one further person), a gap of the printed minimum detectable effect is found with power .75
to .85, and "none larger than δ" is said in at most α + 2 standard errors of tables whose true difference is δ
(exactly: at most .06). Misses are printed as such.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import rankings
import rules
import second_rules
import simulated as sim
import surfaces
from scipy import stats

from countenance.auditing import audit, plan
from countenance.auditing.effects import RateGap
from countenance.auditing.power import shifted

ALPHA = 0.05
ALARM, COVER, POWER = (0.0, ALPHA), (0.93, 0.97), (0.75, 0.85)
SKEWED_POWER = (0.75, 0.9)
"""Two tests look at a score, and with skewed scores either may see more than its own effect promises."""
WIDE = (0.93, 1.0)
"""Intervals of a rate of several rows a person, or of a metric with ends, allow for one further person at the far end:
they cover more than 97 %, which is what the rule costs."""
Make = Callable[[np.random.Generator], sim.Table]


@dataclass(frozen=True)
class Line:
    """One promise: what is simulated, and between which bounds its share must lie."""

    section: str
    name: str
    wanted: tuple[float, float]
    share: Callable[[int, np.random.Generator], float]
    weight: float = 1.0
    """How many tables, relative to the others: slow lines have fewer."""
    surface: str = ""
    """What of the product it simulates; empty: told by what it counts."""

    @property
    def seed(self) -> int:
        """The seed of a line that is drawn for the first time."""
        return zlib.crc32(f"{self.section} {self.name}".encode())

    def run(self, tables: int, seed: int | None = None) -> tuple[float, float, int]:
        """The share, its standard error, and how many tables were made."""
        count = max(20, round(tables * self.weight)) if self.weight else 0
        value = self.share(count, np.random.default_rng(self.seed if seed is None else seed))
        # two successes and two failures more: a share of 0 or 1 has an error too
        share = (value * count + 2) / (count + 4)
        return value, math.sqrt(share * (1 - share) / (count + 4)) if count else 0.0, count

    def verdict(self, value: float, tables: int) -> str:
        """Whether the promise is kept; two standard errors at the bound are allowed."""
        low, high = self.wanted
        if not tables:
            return "yes" if value <= high else "no"
        slack = [2 * math.sqrt(bound * (1 - bound) / tables) for bound in (low, high)]
        if value > high + slack[1]:
            return "no, above"
        return "yes" if value >= low - slack[0] else "no, below"


# ---- what is counted


def alarms(make: Make, by: list[str], tables: int, rng: np.random.Generator, **settings: Any) -> float:
    """The share of fair tables in which any adjusted p is below α."""
    metrics = [name for name in make(rng) if name.startswith("m")]
    hits = 0
    for _ in range(tables):
        found = audit(make(rng), by, metrics, **({"min_n": 10} | settings)).findings
        hits += any(f.p_adjusted < ALPHA for f in found)
    return hits / tables


def covers(make: Make, truth: float, field: str, tables: int, rng: np.random.Generator, **settings: Any) -> float:
    """How often an interval of the first finding holds the truth: of the estimate, the difference or the effect."""
    low, high = {"estimate": ("low", "high"), "difference": ("diff_low", "diff_high")}.get(
        field, ("effect_low", "effect_high")
    )
    hits = 0
    for _ in range(tables):
        table = make(rng)
        by = [next(name for name in ("g", "few", "c", "a0") if name in table)]
        f = audit(table, by, ["m0"], **({"adjust": "holm", "min_n": 5} | settings)).findings[0]
        hits += getattr(f, low) <= truth + 1e-12 and getattr(f, high) >= truth - 1e-12
    return hits / tables


def finds(
    plan_for: Callable[[np.random.Generator], Any],
    make: Callable[[np.random.Generator, float], sim.Table],
    tables: int,
    rng: np.random.Generator,
    **settings: Any,
) -> float:
    """How often a gap of the size that one table promises to show is found in another."""
    hits = 0
    for _ in range(tables):
        gap = plan_for(rng)
        table = make(rng, gap)
        by = ["g"] if "g" in table else ["few"]
        found = audit(table, by, ["m0"], **({"min_n": 10} | settings)).findings
        hits += found[0].p_adjusted < ALPHA
    return hits / tables


def clears(make: Make, by: list[str], tables: int, rng: np.random.Generator, **settings: Any) -> float:
    """How often "none larger than δ" is said."""
    hits = 0
    for _ in range(tables):
        found = audit(make(rng), by, ["m0"], **({"adjust": "holm", "min_n": 10} | settings)).findings
        hits += found[0].verdict.startswith("none")
    return hits / tables


def largest_exact_size(_: int, rng: np.random.Generator) -> float:
    """The largest chance of "none larger than .05" for independent rates that differ by .05, over a grid, exactly."""
    worst = 0.0
    places = np.r_[np.linspace(0.02, 0.98, 25), 0.001, 0.005, 0.01, 0.94, 0.95, 0.99, 0.995, 0.999, 0.0525, 0.06]
    for n1, n2 in ((20, 400), (40, 1000), (60, 1000), (60, 2000), (100, 100), (100, 2000), (200, 400), (200, 2000)):
        one, two = np.arange(n1 + 1.0), np.arange(n2 + 1.0)
        gap = RateGap(
            np.repeat(one / n1, n2 + 1), float(n1), np.tile(two / n2, n1 + 1), float(n2), math.inf, math.inf, 0.0
        )
        low, high = gap.decisive(ALPHA)
        said = ((low > -0.05) & (high < 0.05)).reshape(n1 + 1, n2 + 1)
        for rate in places:
            for other in (rate - 0.05, rate + 0.05):
                if 0 <= other <= 1:
                    weights = stats.binom.pmf(one, n1, other), stats.binom.pmf(two, n2, rate)
                    worst = max(worst, float(weights[0] @ said @ weights[1]))
    return worst


# ---- the lines


def rate_alarms() -> Iterator[Line]:
    """False alarms of rates, by every adjustment."""
    three = ["a0", "a1", "a2"]
    shapes: dict[str, tuple[dict[str, Any], list[str]]] = {
        **{f"rate {p}, 600 people of ten rows": ({"p": p}, three) for p in (0.5, 0.9, 0.97, 0.99, 0.999)},
        "rate .9, lognormal sizes": ({"rows": "lognormal"}, three),
        "rate .9, Pareto sizes": ({"rows": "pareto"}, three),
        "rate .97, Pareto sizes": ({"rows": "pareto", "p": 0.97}, three),
        "rate .9, informative sizes": ({"rows": "lognormal", "informative": True}, three),
        "rate .97, one row a person": ({"rows": "1", "p": 0.97}, three),
        **{
            f"rate .9, about {k} people a group": ({"people": 10 * k, "groups": (10,)}, ["a0"])
            for k in (10, 20, 40, 100)
        },
        "rate .9, an attribute within the person": ({"within": 1, "people": 300}, ["a0", "a1", "w0"]),
        "rate .9, only within the person": ({"within": 2, "groups": (), "people": 200, "rows": "6"}, ["w0", "w1"]),
        "rate .9, two metrics, mild sizes": ({"rows": "mild", "metrics": 2}, three),
    }
    for name, (options, by) in shapes.items():
        for adjust, weight in (("minp", 0.4), ("holm", 1.0)):
            make = partial(sim.fair_rates, **options)
            yield Line("false alarms", f"{name}: {adjust}", ALARM, partial(alarms, make, by, adjust=adjust), weight)
    for depth in (1, 2, 3):
        make = partial(sim.fair_rates, people=400, groups=(3, 3, 3))
        run = partial(alarms, make, three, depth=depth)
        yield Line("false alarms", f"rate .9, depth {depth}: minp", ALARM, run, 0.4)
    make = partial(sim.fair_rates, people=900, groups=(10, 8, 5), rows="3")
    yield Line("false alarms", "rate .9, 190 comparisons: minp", ALARM, partial(alarms, make, three), 0.2)
    yield Line("false alarms", "rate .9: bh", ALARM, partial(alarms, sim.fair_rates, three, adjust="bh"))
    yield Line("false alarms", "rate .9, lists of groups: minp", ALARM, partial(alarms, with_lists, ["l", "a0"]), 0.4)
    run = partial(alarms, with_denominators, three)
    yield Line("false alarms", "two rates of unlike denominators: minp", ALARM, run, 0.4)
    for of in ("scene", "person"):
        make = partial(sim.scenes, of=of)
        yield Line(
            "false alarms",
            f"people and pictures cross, attribute of the {of}: holm",
            ALARM,
            partial(alarms, make, ["a0"]),
        )
    run = partial(alarms, partial(sim.scenes, of="scene"), ["a0"], cluster="identity")
    yield Line("false alarms", "the same, attribute of the scene, by people alone (must be more)", (0.06, 1.0), run)


def with_lists(rng: np.random.Generator) -> sim.Table:
    """A table with a column of lists: a person is in one or two of three groups."""
    table = sim.fair_rates(rng, people=300, groups=(3,), rows="4")
    own = [["x"], ["y"], ["z"], ["x", "y"], ["y", "z"]]
    chosen = rng.integers(0, len(own), 300)[table["identity"]]
    column = np.empty(len(chosen), dtype=object)
    column[:] = [own[i] for i in chosen]
    return table | {"l": column}


def with_denominators(rng: np.random.Generator) -> sim.Table:
    """Two rates that different rows have: the first 30 %, the second 80 %."""
    table = sim.fair_rates(rng, people=300, rows="5", metrics=2)
    for name, share in (("m0", 0.3), ("m1", 0.8)):
        table[name] = np.where(rng.random(len(table[name])) < share, table[name], np.nan)
    return table


def mean_alarms() -> Iterator[Line]:
    """False alarms of scores that are no rates."""
    for rows, many in (("1", "one row"), ("4", "four rows")):
        for kind in ("normal", "5% zeros", "95% zeros", "lognormal"):
            make = partial(sim.fair_scores, kind=kind, rows=rows)
            for adjust, weight in (("minp", 0.4), ("holm", 1.0)):
                run = partial(alarms, make, ["a0", "a1"], adjust=adjust)
                yield Line("false alarms", f"mean, {kind}, {many} a person: {adjust}", ALARM, run, weight)
            few = partial(sim.fair_scores, kind=kind, rows=rows, people=420, groups=(), small=20)
            yield Line(
                "false alarms",
                f"mean, {kind}, {many} a person, 20 people against 400: holm",
                ALARM,
                partial(alarms, few, ["few"], adjust="holm"),
            )
    for ratio in (3.0, 1 / 3, 10.0):
        make = partial(sim.unlike_variances, few=30, many=400, ratio=ratio)
        for adjust in ("minp", "holm"):
            yield Line(
                "false alarms",
                f"mean, 30 people with {ratio:.2g} times the spread: {adjust}",
                ALARM,
                partial(alarms, make, ["few"], adjust=adjust),
                0.5 if adjust == "minp" else 1.0,
            )


def comparison_alarms() -> Iterator[Line]:
    """False alarms of every other comparison."""
    groups = partial(sim.fair_rates, people=200, groups=(5,), rows="4")
    unequal = partial(sim.fair_rates, people=300, groups=(4,), rows="pareto")
    scores = partial(sim.fair_scores, kind="lognormal", rows="4", people=200, groups=(5,))
    for name, make in (("rates", groups), ("scores", scores)):
        yield Line("false alarms", f"pairs, {name}", ALARM, partial(alarms, make, ["a0"], comparison="pairs"))
        for reference in ("best", "largest", "g1"):
            for adjust in ("minp", "holm") if reference == "g1" else ("holm",):
                run = partial(
                    alarms, make, ["a0"], comparison="reference", reference=reference, adjust=adjust, better="higher"
                )
                yield Line("false alarms", f"reference {reference}, {name}: {adjust}", ALARM, run, 0.5)
        yield Line("false alarms", f"spread, {name}", ALARM, partial(alarms, make, ["a0"], comparison="spread"), 0.5)
    few = partial(sim.fair_rates, people=120, groups=(4,), rows="pareto", p=0.8)
    for name, make in (("300 people", unequal), ("120 people", few)):
        for asked in ({"comparison": "pairs"}, {"comparison": "reference", "reference": "best", "better": "higher"}):
            called = asked.get("reference", "pairs")
            yield Line(
                "false alarms", f"{called}, rates, {name}, Pareto sizes", ALARM, partial(alarms, make, ["a0"], **asked)
            )
    heavy = partial(sim.fair_scores, kind="lognormal", rows="pareto", people=300, groups=(4,))
    yield Line("false alarms", "pairs, scores, Pareto sizes", ALARM, partial(alarms, heavy, ["a0"], comparison="pairs"))
    run = partial(alarms, unequal, ["a0"], comparison="spread")
    yield Line("false alarms", "spread, Pareto sizes", ALARM, run, 0.5)
    unlike = partial(sim.unlike_variances, few=40, many=400, ratio=3.0)
    yield Line(
        "false alarms",
        "spread, 40 people with 3 times the spread",
        ALARM,
        partial(alarms, unlike, ["few"], comparison="spread"),
        0.5,
    )
    paired = {"comparison": "paired", "pair": "twin"}
    for people, pairs in ((10, 1), (20, 1), (20, 5), (60, 1)):
        for score in (False, True):
            make = partial(sim.twins, people=people, pairs=pairs, score=score)
            name = f"paired {'scores' if score else 'rates'}, {people} people of {pairs}"
            yield Line("false alarms", name, ALARM, partial(alarms, make, ["c"], **paired))


def coverage() -> Iterator[Line]:
    """95 % intervals."""
    for rows in ("10", "lognormal", "pareto"):
        for people in (20, 40, 100):
            for p in (0.5, 0.9, 0.97):
                other = p - 0.1
                make = partial(sim.two_groups, people=(people, 200), p=(p, other), rows=rows)
                truths = {"estimate": p, "difference": 0.1, "h": h(p, other)}
                for field, truth in truths.items():
                    if field == "estimate" or (rows != "pareto" and people != 100):
                        yield Line(
                            "coverage",
                            f"{field}: rate {p}, {people} people, rows {rows}",
                            WIDE,
                            partial(covers, make, truth, field),
                        )
    for p, other in ((0.99, 0.96), (0.999, 0.98), (0.9, 0.8)):
        make = partial(sim.two_groups, people=(100, 400), p=(p, other), rows="1")
        for field, truth in {"estimate": p, "difference": p - other, "h": h(p, other)}.items():
            run = partial(covers, make, truth, field)
            yield Line("coverage", f"{field}: rate {p}, 100 people of one row", COVER, run)
    make = partial(sim.two_groups, people=(40, 0), p=(0.8, 0.9), within=True)
    yield Line("coverage", "difference: within 40 people", WIDE, partial(covers, make, -0.1, "difference"))
    for kind, mean in (("normal", 0.0), ("5% zeros", 0.76), ("95% zeros", 0.01), ("lognormal", math.exp(0.5))):
        for people in (20, 100):
            make = partial(sim.fair_scores, kind=kind, rows="1", people=people + 400, groups=(), small=people)
            for field, truth in (("estimate", mean), ("difference", 0.0)):
                wanted = WIDE if "zeros" in kind else COVER
                yield Line(
                    "coverage",
                    f"{field}: mean, {kind}, {people} people of one row",
                    wanted,
                    partial(covers, make, truth, field),
                )
    for count in (3, 10):
        make = partial(sim.fair_rates, people=40 * count, groups=(count,), rows="4", p=0.8)
        yield Line(
            "coverage",
            f"spread of {count} equal groups",
            COVER,
            partial(covers, make, 0.0, "difference", comparison="spread"),
            0.5,
        )
    for people in (20, 60):
        for score in (False, True):
            make = partial(sim.twins, people=people, gap=0.1, score=score)
            run = partial(covers, make, 0.1, "difference", comparison="paired", pair="twin")
            yield Line("coverage", f"paired {'scores' if score else 'rates'}, {people} people", WIDE, run)


def h(p1: float, p2: float) -> float:
    """Cohen's h."""
    return 2 * math.asin(math.sqrt(p1)) - 2 * math.asin(math.sqrt(p2))


def power() -> Iterator[Line]:
    """A gap of the printed minimum detectable effect is found; the n that `plan` asks for is enough."""
    for adjust in ("holm", "minp"):
        weight = 0.5 if adjust == "minp" else 1.0
        for p, people, rows in (
            (0.9, (100, 100), "10"),
            (0.7, (100, 100), "10"),
            (0.97, (60, 600), "10"),
            (0.9, (100, 300), "1"),
            (0.97, (60, 600), "1"),
            (0.99, (200, 200), "1"),
            (0.9, (100, 100), "lognormal"),
        ):
            fair = partial(sim.two_groups, people=people, p=(p, p), rows=rows)

            def printed(rng: np.random.Generator, fair: Any = fair, p: float = p, adjust: str = adjust) -> float:
                found = audit(fair(rng), ["g"], ["m0"], adjust=adjust, min_n=10).findings[0]
                return shifted(p, found.mde)

            def gapped(
                rng: np.random.Generator, rate: float, people: Any = people, p: float = p, rows: str = rows
            ) -> Any:
                return sim.two_groups(rng, people=people, p=(rate, p), rows=rows)

            run = partial(finds, printed, gapped, adjust=adjust)
            yield Line(
                "power", f"rate {p}, {people[0]} against {people[1]} people, rows {rows}: {adjust}", POWER, run, weight
            )
        yield from mean_power(adjust, weight)
    for baseline, effect in ((0.95, "h=.2"), (0.9, "diff=.05"), (0.99, "diff=.03"), (0.5, "diff=.1")):
        made = plan(rate=baseline, effect=effect)
        people = (made.n_per_group, made.n_per_group)
        rates = (baseline - made.difference if baseline >= 0.5 else baseline + made.difference, baseline)
        make = partial(sim.two_groups, people=people, p=rates, rows="1")
        yield Line(
            "power",
            f"plan: {baseline}, {effect}, {made.n_per_group} rows a group",
            POWER,
            partial(finds, lambda rng: 0.0, lambda rng, _, make=make: make(rng), adjust="holm"),
        )
    made = plan(rate=0.9, effect="diff=.1", rows_per_unit=5, icc=0.3)
    make = partial(sim.two_groups, people=(made.units_per_group,) * 2, p=(0.8, 0.9), rows="5")
    yield Line(
        "power",
        f"plan: .9, diff=.1, {made.units_per_group} people of five rows",
        POWER,
        partial(finds, lambda rng: 0.0, lambda rng, _: make(rng), adjust="holm"),
    )


def mean_power(adjust: str, weight: float) -> Iterator[Line]:
    """The printed effects of scores: a difference of averages, and a rank-biserial correlation of shifted values."""
    people = "60 against 240 people"
    for name, kind, rows, field, changed in (
        ("normal", "normal", "1", "mde_difference", down),
        ("normal", "normal", "4", "mde_difference", down),
        ("lognormal times a factor", "lognormal", "1", "mde_difference", scaled),
        ("5% zeros and more", "5% zeros", "1", "mde_difference", with_zeros),
        ("lognormal shifted, by ranks", "lognormal", "1", "mde", shifted_ranks),
        ("5% zeros shifted, by ranks", "5% zeros", "1", "mde", shifted_ranks),
    ):
        fair = partial(sim.fair_scores, kind=kind, rows=rows, people=300, groups=(), small=60)

        def printed(rng: np.random.Generator, fair: Any = fair, field: str = field) -> float:
            return float(getattr(audit(fair(rng), ["few"], ["m0"], adjust=adjust).findings[0], field))

        def gapped(rng: np.random.Generator, gap: float, fair: Any = fair, kind: str = kind, by: Any = changed) -> Any:
            table = fair(rng)
            few = table["few"] == "few"
            return table | {"m0": np.where(few, by(table["m0"], gap, kind, rng), table["m0"])}

        wanted = POWER if kind == "normal" else SKEWED_POWER
        run = partial(finds, printed, gapped, adjust=adjust)
        yield Line("power", f"mean, {name}, {people}, rows {rows}: {adjust}", wanted, run, weight)


def down(values: np.ndarray, gap: float, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Every value lower by the gap."""
    return values - gap


def scaled(values: np.ndarray, gap: float, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Every lognormal value times the factor that makes the gap."""
    return values * (1 + gap / math.exp(0.5))


def with_zeros(values: np.ndarray, gap: float, kind: str, rng: np.random.Generator) -> np.ndarray:
    """So many more zeros that the average falls by the gap."""
    return np.where(rng.random(len(values)) < gap / 0.76, 0.0, values)


def shifted_ranks(values: np.ndarray, r: float, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Every value lower by so much that the rank-biserial correlation is r."""
    known = np.sort(sim.scores(np.random.default_rng(0), kind, np.arange(20_000)))
    low, high = 0.0, float(known[-1] - known[0])
    for _ in range(40):
        middle = (low + high) / 2
        places = [np.searchsorted(known, known - middle, side) for side in ("left", "right")]
        low, high = (middle, high) if 1 - float(np.mean(places)) / len(known) * 2 < r else (low, middle)
    return values - high


def equivalences() -> Iterator[Line]:
    """ "None larger than δ" where the true difference is δ."""
    yield Line("equivalence", "independent rates, exact, largest over a grid", (0.0, 0.06), largest_exact_size, 0.0)
    for people, p, rows in (
        ((40, 400), 0.97, "10"),
        ((100, 400), 0.97, "10"),
        ((100, 400), 0.9, "10"),
        ((200, 200), 0.97, "lognormal"),
        ((400, 400), 0.5, "10"),
        ((60, 1000), 0.999, "1"),
    ):
        make = partial(sim.two_groups, people=people, p=(p - 0.05, p), rows=rows)
        yield Line(
            "equivalence",
            f"rates {p - 0.05:.3g} and {p}, {people[0]} against {people[1]} people, rows {rows}",
            ALARM,
            partial(clears, make, ["g"]),
        )
    for kind in ("normal", "5% zeros", "lognormal"):

        def at_delta(rng: np.random.Generator, kind: str = kind) -> sim.Table:
            table = sim.fair_scores(rng, kind, rows="1", people=700, groups=(), small=100)
            return table | {"m0": table["m0"] - 0.5 * (table["few"] == "few")}

        run = partial(clears, at_delta, ["few"], delta={"m0": 0.5})
        yield Line("equivalence", f"means that differ by δ, {kind}", ALARM, run)
    for people in (20, 60, 200):
        make = partial(sim.twins, people=people, gap=0.05, p=0.97)
        yield Line(
            "equivalence",
            f"paired rates that differ by δ, {people} people",
            ALARM,
            partial(clears, make, ["c"], comparison="paired", pair="twin"),
        )

    def spread_at_delta(rng: np.random.Generator) -> sim.Table:
        table = sim.fair_rates(rng, people=800, groups=(4,), rows="4", p=0.95, icc=0.1)
        down = (table["a0"] == "g0") & (rng.random(len(table["m0"])) < 0.05 / 0.95)
        return table | {"m0": np.where(down, 0.0, table["m0"])}

    run = partial(clears, spread_at_delta, ["a0"], comparison="spread")
    yield Line("equivalence", "spread that is δ", ALARM, run, 0.3)


def lines() -> list[Line]:
    """Every line, in the order of the table."""
    of_rules = [Line(*row) for row in (*rules.rows(), *second_rules.rows())]
    beside = [
        Line(row.section, row.name, row.bounds, row.share, row.weight, row.surface)
        for row in (*surfaces.rows(), *rankings.rows())
    ]
    of_audit = [*rate_alarms(), *mean_alarms(), *comparison_alarms(), *coverage(), *power(), *equivalences()]
    return [*of_audit, *of_rules, *beside]


def row(index: int, tables: int) -> tuple[str, bool]:
    """A line of the table, and whether its promise is kept."""
    line = lines()[index]
    value, error, made = line.run(tables)
    kept = line.verdict(value, made)
    low, high = line.wanted
    wanted = f"≤ {high:g}" if low == 0 else f"{low:g}–{high:g}"
    told = f"| {line.section}: {line.name} | {value:.3f} | {error:.3f} | {made or 'exact'} | {wanted} | {kept} |"
    return told, kept == "yes"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Simulated and exact checks of the audit, as a Markdown table.")
    parser.add_argument("--tables", type=int, default=40, help="tables a line (slow lines have fewer)")
    parser.add_argument("--only", default="", help="only lines whose section or name has this text")
    parser.add_argument("--without", default="\0", help="no lines whose section or name has this text")
    parser.add_argument("--jobs", type=int, default=1, help="processes, a line each")
    asked = parser.parse_args()
    chosen = [
        index
        for index, line in enumerate(lines())
        if asked.only in f"{line.section}: {line.name}" and asked.without not in f"{line.section}: {line.name}"
    ]
    print("| what | share | s.e. | tables | wanted | kept |\n|---|---|---|---|---|---|", flush=True)
    missed, start = 0, time.perf_counter()
    with multiprocessing.Pool(asked.jobs) as pool:
        for told, kept in pool.imap(partial(row, tables=asked.tables), chosen, chunksize=1):
            missed += not kept
            print(told, flush=True)
    print(f"\n{missed} missed; {time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
