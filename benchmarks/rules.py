"""Lines of `calibration.py` for the rules of the statistics' third edition: tables of other kinds, with a known truth.

Every generating process here is our own: none of them led to a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from countenance.auditing import Audit, audit
from countenance.auditing.computed_groups import ComputedGroups
from countenance.comparing import compare

ALPHA = 0.05
Rng = np.random.Generator
Table = dict[str, Any]
Make = Callable[[Rng], Table]
Share = Callable[[int, Rng], float]
ATMOST, CLEARS, SEES = (0.0, ALPHA), (0.0, 0.06), (0.75, 1.0)
Row = tuple[str, str, tuple[float, float], Share, float]
"""Section, name, what is wanted, how it is counted, and how many tables relative to others."""


def counted(make: Make, hit: Callable[[Audit], bool], tables: int, rng: Rng, **asked: Any) -> float:
    """The share of tables whose audit has something."""
    hits = 0
    for _ in range(tables):
        table = make(rng)
        by = [name for name in table if name.startswith(("a", "g"))]
        metrics = [name for name in table if name.startswith("m")]
        hits += hit(audit(table, by, metrics, **asked))
    return hits / tables


def any_alarm(found: Audit) -> bool:
    return any(f.p_adjusted < ALPHA for f in found.findings)


def all_clear(found: Audit) -> bool:
    return found.verdict.startswith("none")


def is_disparity(found: Audit) -> bool:
    return found.verdict == "disparity"


# ---- 1: perfect people and rare catastrophes


def catastrophes(
    rng: Rng, *, people: int, others: int = 300, share: float, depth: float = 1.0, most: int = 8, real: bool = False
) -> Table:
    """A group in which a share of people fails in a part of their pictures; the others are nearly perfect."""
    total = people + others
    sizes = rng.integers(max(1, most - 4), most + 5, total) if most > 4 else np.full(total, most)
    person = np.repeat(np.arange(total), sizes)
    hit = (rng.random(total) < share) & (np.arange(total) < people)
    wrong = hit[person] & (rng.random(len(person)) < depth)
    right = rng.beta(40, 2, len(person)) if real else np.ones(len(person))
    return {"identity": person, "g": np.where(person < people, "a", "b"), "m": np.where(wrong, 0.0, right)}


def covers_own(make: Make, truth: float, tables: int, rng: Rng) -> float:
    """How often the interval of group a holds its true value."""
    hits = 0
    for _ in range(tables):
        [own] = [e for e in audit(make(rng), ["g"], ["m"], adjust="holm").groups if e.group == "a"]
        hits += own.low <= truth <= own.high
    return hits / tables


def compared(rng: Rng, *, people: int, share: float) -> tuple[Table, Table]:
    """Two models on the same pictures; in group a, the second fails a share of the people always."""
    total = people + 300
    person = np.repeat(np.arange(total), 6)
    lost = (rng.random(total) < share) & (np.arange(total) < people)
    old = (rng.random(len(person)) < rng.beta(60, 1, total)[person]).astype(float)
    rows = {"sample": np.arange(len(person)), "identity": person, "g": np.where(person < people, "a", "b")}
    return rows | {"m": old}, rows | {"m": np.where(lost[person], 0.0, old)}


def nobody_worse(people: int, share: float, tables: int, rng: Rng) -> float:
    """How often a loss of δ is ruled out for group a, which loses δ."""
    hits = 0
    for _ in range(tables):
        found = compare(*compared(rng, people=people, share=share), by=["g"], metrics=["m"], better="m=higher")
        hits += found.change("m", "g", "a").not_worse
    return hits / tables


def further() -> Iterator[Row]:
    section = "rule 1"
    for people in (25, 60, 100, 200):
        for name, kind in {
            "5 % of people always fail": {"share": 0.05},
            "10 % of people fail half the time": {"share": 0.1, "depth": 0.5},
            "scores, 5 % of people always 0": {"share": 0.053, "real": True, "most": 3},
        }.items():
            make = partial(catastrophes, people=people, **kind)
            run = partial(counted, make, all_clear, adjust="holm")
            yield section, f"all-clear at a gap of δ: {name}, {people} people", CLEARS, run, 1.0
        make = partial(catastrophes, people=people, share=0.05)
        yield (
            section,
            f"coverage, 5 % of {people} people always fail",
            (0.93, 1.0),
            partial(covers_own, make, 0.95),
            1.0,
        )
        run = partial(nobody_worse, people, 0.05)
        yield section, f"compare rules out a loss of δ that is there, {people} people", CLEARS, run, 0.5
    for people, wanted in ((100, (0.9, 1.0)), (60, (0.5, 1.0)), (25, (0.0, 0.0))):
        run = partial(counted, partial(catastrophes, people=people, share=0.0), all_clear, adjust="holm")
        yield section, f"all-clear at no gap, {people} people", wanted, run, 0.5


# ---- 3 and 4: missing scores and unknown labels


def unanswered(rng: Rng, *, people: int = 300, rates: tuple[float, ...] = (0.1, 0.1, 0.1), p: float = 0.95) -> Table:
    """Three groups; scores are missing with a rate of the group, and people differ in how often."""
    person = np.repeat(np.arange(people), 5)
    group = rng.integers(0, 3, people)
    own = rng.beta(2 * np.array(rates)[group] + 1e-6, 2 * (1 - np.array(rates)[group]) + 1e-6)[person]
    right = (rng.random(len(person)) < rng.beta(19, 19 * (1 - p) / p, people)[person]).astype(float)
    names = np.array(["x", "y", "z"])[group][person]
    return {"identity": person, "g": names, "m": np.where(rng.random(len(person)) < own, np.nan, right)}


def unlabelled(rng: Rng, *, lower: float = 0.0) -> Table:
    """People of whom a fifth have no label; these may do worse."""
    person = np.repeat(np.arange(300), 3)
    known = rng.random(300) < 0.8
    group = np.where(known, rng.choice(["x", "y", "z"], 300), "")
    rate = rng.beta(18, 2, 300) - lower * ~known
    right = (rng.random(900) < np.clip(rate, 0, 1)[person]).astype(float)
    return {"identity": person, "g": group[person], "m": right}


def absent() -> Iterator[Row]:
    fair = partial(counted, unanswered, any_alarm)
    yield "rule 3", "false alarms, missing at random within people", ATMOST, fair, 0.5
    for rates in ((0.24, 0.0, 0.0), (0.12, 0.02, 0.02)):
        make = partial(unanswered, rates=rates, p=0.995)
        run = partial(
            counted, make, lambda found: any(f.kind == "missing" and f.verdict == "disparity" for f in found.findings)
        )
        yield "rule 3", f"{rates[0]:.0%} of one group missing, found", SEES, run, 0.3
        yield (
            "rule 3",
            f"{rates[0]:.0%} of one group missing, cleared",
            (0.0, 0.0),
            partial(counted, make, all_clear),
            0.3,
        )
    yield "rule 4", "false alarms with a fifth unknown", ATMOST, partial(counted, unlabelled, any_alarm), 0.5

    def named(found: Audit) -> bool:
        return any(f.group == "(unknown)" and f.verdict == "disparity" for f in found.findings)

    run = partial(counted, partial(unlabelled, lower=0.25), named)
    yield "rule 4", "unknown people at −.25 are found", SEES, run, 0.3


# ---- 5 and 6: two groups far apart, rare failures


def spread_out(rng: Rng, *, rates: tuple[float, ...], n: int) -> Table:
    """Independent rows of groups with their own rates."""
    g = np.repeat([f"k{i}" for i in range(len(rates))], n)
    return {"g": g, "m": (rng.random(len(g)) < np.repeat(rates, n)).astype(float)}


def beyond(found: Audit) -> bool:
    return any(one.beyond for one in found.widest)


def apart() -> Iterator[Row]:
    edge = (0.9, 0.9, *np.linspace(0.905, 0.945, 6).tolist(), 0.95, 0.95)
    run = partial(counted, partial(spread_out, rates=edge, n=800), beyond, adjust="holm")
    yield "rule 5", "two of ten groups exactly δ apart, called beyond", ATMOST, run, 1.0
    far = (0.88, 0.93, 0.93, 0.93, 0.98)
    run = partial(counted, partial(spread_out, rates=far, n=2500), is_disparity, adjust="holm")
    yield "rule 5", "groups at .88 and .98 of five are a disparity", SEES, run, 0.3
    run = partial(counted, partial(spread_out, rates=(0.995, 0.995, 0.995), n=900), is_disparity)
    yield "rule 6", "false alarms of rare failures", ATMOST, run, 0.5
    run = partial(counted, partial(spread_out, rates=(0.998, 0.965), n=900), is_disparity, better="m=higher")
    yield "rule 6", "failures of .002 and .035 are a disparity", SEES, run, 0.3
    for rates in ((0.97, 0.99), (0.9, 0.96)):

        def covered(found: Audit, truth: float = (1 - rates[0]) / (1 - rates[1])) -> bool:
            ratio = found.findings[0].failure_ratio
            turned = found.findings[0].estimate > found.findings[0].estimate_versus
            low, high = (ratio.low or 0.0), (ratio.high if ratio.high is not None else np.inf)
            return bool(low <= (1 / truth if turned else truth) <= high)

        run = partial(counted, partial(spread_out, rates=rates, n=700), covered, adjust="holm", better="m=higher")
        yield "rule 6", f"coverage of the ratio of failures at {rates[0]:g} and {rates[1]:g}", (0.93, 1.0), run, 1.0


# ---- 8: whose rows


def hidden_people(rng: Rng, *, alike: bool = True, p: float = 0.85) -> Table:
    """Rows of people under a name that says nothing; without people, the column is noise."""
    code = rng.permutation(np.repeat(np.arange(120), 6))
    rate = rng.beta(3, 3 * (1 - p) / p, 120)[code] if alike else p
    label = rng.choice(["x", "y"], 120)[code] if alike else rng.choice(["x", "y"], len(code))
    return {"batch_nr": code, "g": label, "m": (rng.random(len(code)) < rate).astype(float)}


def whose() -> Iterator[Row]:
    def taken(found: Audit) -> bool:
        return found.settings["ways"] == ["batch_nr"]

    yield (
        "rule 8",
        "a column of noise is taken for people",
        ATMOST,
        partial(counted, partial(hidden_people, alike=False), taken, adjust="holm"),
        1.0,
    )
    run = partial(counted, partial(hidden_people, alike=False, p=0.99), taken, adjust="holm")
    yield "rule 8", "the same, rare failures", ATMOST, run, 1.0
    yield (
        "rule 8",
        "a column of people is taken for people",
        SEES,
        partial(counted, hidden_people, taken, adjust="holm"),
        0.5,
    )
    yield (
        "rule 8",
        "false alarms with people under another name",
        ATMOST,
        partial(counted, hidden_people, any_alarm),
        0.5,
    )


# ---- 9, 10, 15: statistics, few people, power


def gamma_groups(rng: Rng, *, shapes: tuple[float, ...] = (2.0, 2.0, 2.0), people: int = 40, rows: int = 3) -> Table:
    """Skewed times of people in groups; a shape larger than 2 is a group with a higher mean."""
    total = people * len(shapes)
    person = np.repeat(np.arange(total), rows)
    shape = np.repeat(shapes, people)
    value = rng.gamma(shape[person] * rng.gamma(4, 0.25, total)[person], 1.0)
    return {"identity": person, "g": np.array([f"k{i}" for i in range(len(shapes))])[person // people], "m": value}


def unlike_spreads(rng: Rng, *, ratio: float = 2.5) -> Table:
    """Three groups of equal means and unlike spread, uniform and so not normal."""
    g = np.repeat(["x", "y", "z"], [40, 80, 200])
    scale = np.repeat([ratio, 1.0, 1.0], [40, 80, 200])
    return {"g": g, "m": 5 + scale * rng.uniform(-1, 1, len(g))}


def few_people(rng: Rng, *, small: int = 12, lower: float = 0.0, rows: str = "equal") -> Table:
    """Many groups of 5 to 19 people beside a large one; pictures per person may depend on the group."""
    sizes = [*rng.integers(5, 20, small), 260]
    group = np.repeat(np.arange(small + 1), sizes)
    many = (
        3
        if rows == "equal"
        else np.where(group < small, rng.integers(1, 3, len(group)), rng.integers(3, 12, len(group)))
    )
    person = np.repeat(np.arange(len(group)), many)
    rate = np.where(group == 0, 0.9 - lower, 0.9)
    own = rng.beta(4 * rate, 4 * (1 - rate))
    right = (rng.random(len(person)) < own[person]).astype(float)
    return {"identity": person, "g": np.array([f"k{i:02}" for i in range(small + 1)])[group[person]], "m": right}


def skewed(rng: Rng, kind: str) -> Table:
    """A small group against a large one, by the lines of rule 15."""

    def overlap(n: int, zeros: float, shift: float = 0.0) -> np.ndarray:
        return np.where(rng.random(n) < zeros, 0.0, np.clip(rng.beta(12, 3, n) - shift, 0, 1))

    def steps(n: int, weights: list[float]) -> np.ndarray:
        return rng.choice(5, n, p=weights) + 1.0

    def late(n: int, scale: float) -> np.ndarray:
        return scale * rng.normal(1, 0.2, n) * np.where(rng.random(n) < 0.01, 50, 1)

    one, two = {
        "zeros": lambda: (overlap(25, 0.2), overlap(300, 0.03)),
        "more zeros": lambda: (overlap(30, 0.25), overlap(250, 0.05)),
        "shift": lambda: (overlap(25, 0.05, 0.06), overlap(300, 0.05)),
        "ordinal": lambda: (steps(25, [0.22, 0.23, 0.23, 0.18, 0.14]), steps(300, [0.08, 0.15, 0.24, 0.27, 0.26])),
        "lognormal 1": lambda: (1.6 * rng.lognormal(0, 1, 40), rng.lognormal(0, 1, 400)),
        "lognormal 1.5": lambda: (2.2 * rng.lognormal(0, 1.5, 30), rng.lognormal(0, 1.5, 300)),
        "latency": lambda: (late(40, 1.25), late(400, 1.0)),
    }[kind]()
    return {"g": np.repeat(["a", "b"], [len(one), len(two)]), "m": np.r_[one, two]}


def behind(kind: str, tables: int, rng: Rng) -> float:
    """1 + the audit's power less that of the better of a permutation of means and Mann-Whitney, on the same tables."""
    seen = np.zeros(3)
    for _ in range(tables):
        table = skewed(rng, kind)
        one, two = (table["m"][table["g"] == name] for name in "ab")
        means = [rng.permutation(table["m"])[: len(one)].mean() for _ in range(999)]
        far = np.abs(np.array(means) - table["m"].mean()) >= abs(one.mean() - table["m"].mean())
        single = (1 + far.sum()) / 1000, float(stats.mannwhitneyu(one, two).pvalue)
        seen += [any_alarm(audit(table, ["g"], ["m"])), *(p < ALPHA for p in single)]
    return float(min(1.0, 1 + (seen[0] - seen[1:].max()) / tables))


def statistics() -> Iterator[Row]:
    yield "rule 9", "false alarms, gamma scores of people: minp", ATMOST, partial(counted, gamma_groups, any_alarm), 0.5
    for comparison in ("rest", "pairs"):
        for adjust in ("minp", "holm") if comparison == "rest" else ("holm",):
            run = partial(counted, unlike_spreads, any_alarm, comparison=comparison, adjust=adjust)
            yield (
                "rule 9",
                f"false alarms, equal means and 2.5 times the spread, {comparison}: {adjust}",
                ATMOST,
                run,
                0.7,
            )
    for rows in ("equal", "fewer in small groups"):
        for adjust in ("minp", "holm"):
            run = partial(counted, partial(few_people, rows=rows), any_alarm, adjust=adjust)
            yield "rule 10", f"false alarms, twelve groups of 5 to 19 people, {rows}: {adjust}", ATMOST, run, 0.4

    def first(found: Audit) -> bool:
        return found.findings[0].verdict == "disparity" and found.findings[0].small_group

    run = partial(counted, partial(few_people, lower=0.6), first)
    yield "rule 10", "one of twelve small groups at .3 instead of .9, found", (0.5, 1.0), run, 0.3
    for kind in ("zeros", "more zeros", "shift", "ordinal", "lognormal 1", "lognormal 1.5", "latency"):
        yield "rule 15", f"power, less the better single test's, plus 1: {kind}", (0.9, 1.0), partial(behind, kind), 0.5


# ---- 11, 16, 17: ratios, ordered attributes, twins


def false_matches(rng: Rng, *, factor: float = 1.0) -> tuple[Table, ComputedGroups]:
    """Rates of four groups with log errors of .15 to .4, as a task computes them."""
    errors = np.array([0.15, 0.2, 0.3, 0.4])
    values = 0.001 * np.exp(errors * rng.standard_normal(4)) * np.array([1, 1, factor, 1])
    names = tuple("abcd")
    low, high = values * np.exp(-1.96 * errors), values * np.exp(1.96 * errors)
    computed = ComputedGroups(
        "FMR", "g", names, tuple(values), tuple(errors), tuple(low), tuple(high), (10_000,) * 4, (100,) * 4, (1e4,) * 4
    )
    person = np.repeat(np.arange(400), 2)
    right = (rng.random(800) < rng.beta(30, 2, 400)[person]).astype(float)
    return {"identity": person, "g": np.repeat(names, 200), "m": right}, computed


def matched(hit: Callable[[Audit], bool], factor: float, tables: int, rng: Rng) -> float:
    hits = 0
    for _ in range(tables):
        table, computed = false_matches(rng, factor=factor)
        hits += hit(audit(table, ["g"], ["m"], computed=[computed]))
    return hits / tables


def toned(rng: Rng, *, slope: float = 0.0) -> Table:
    """Ten skin tones of few people each; the rate falls along the scale."""
    person = np.repeat(np.arange(170), 4)
    tone = rng.integers(1, 11, 170)
    rate = np.clip(0.92 - slope * np.maximum(tone - 6, 0), 0.02, 0.99)
    right = (rng.random(len(person)) < rng.beta(5 * rate, 5 * (1 - rate))[person]).astype(float)
    return {"identity": person, "g_tone": tone[person].astype(str), "m": right}


def twins(rng: Rng, *, lost: float = 0.0) -> Table:
    """Forty bases with six values of one thing each; every version is right by itself, or loses by its value."""
    versions = ["base", *(f"monk_{i}" for i in (1, 3, 5, 7, 9, 10))]
    skill = rng.beta(4, 1, 40)
    rows = [
        (f"b{i}", v, float(rng.random() < skill[i] - lost * (v in ("monk_9", "monk_10"))))
        for i in range(40)
        for v in versions
    ]
    base, value, right = zip(*rows, strict=True)
    return {
        "sample": [b if v == "base" else f"{b}-{v}" for b, v in zip(base, value, strict=True)],
        "base": base,
        "change": ["none" if v == "base" else "skin_tone" for v in value],
        "skin_tone": ["monk_4" if v == "base" else v for v in value],
        "m": right,
    }


def paired(hit: Callable[[Audit], bool], lost: float, tables: int, rng: Rng) -> float:
    asked = {"paired_by": {"base": "base", "change": "change"}, "better": "m=higher"}
    return sum(hit(audit(twins(rng, lost=lost), ["change"], ["m"], **asked)) for _ in range(tables)) / tables


def further_kinds() -> Iterator[Row]:
    yield "rule 11", "false alarms of false match rates beside a rate", ATMOST, partial(matched, any_alarm, 1.0), 0.5
    yield "rule 11", "a group with 5 times the false matches, found", SEES, partial(matched, is_disparity, 5.0), 0.3
    yield "rule 16", "false alarms of ten tones with their splits", ATMOST, partial(counted, toned, any_alarm), 0.5

    def split(found: Audit) -> bool:
        return any(f.kind == "split" and f.verdict == "disparity" for f in found.findings)

    yield (
        "rule 16",
        "tones 7 to 10 fall off, found by a split",
        SEES,
        partial(counted, partial(toned, slope=0.12), split),
        0.3,
    )
    yield "rule 17", "false alarms of twins that differ by chance", ATMOST, partial(paired, any_alarm, 0.0), 1.0
    yield "rule 17", "two of six values lose .45, found", SEES, partial(paired, is_disparity, 0.45), 0.5


def rows() -> Iterator[Row]:
    """Every line, by rule."""
    for part in (further, absent, apart, whose, statistics, further_kinds):
        yield from part()
