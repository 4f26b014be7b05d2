"""Lines of `calibration.py` for the third edition's rules, from processes that a second statistician would try.

Skewed scores in groups of unlike sizes, clusters whose size depends on their rate, ordered attributes, twins of people
with several pictures; the gate, `compare` and false match rates at exactly the difference that matters; and the power
that `plan` promises for means. None of these processes led to a rule.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rules import ALPHA, ATMOST, Rng, Row, Table, any_alarm, counted

from countenance.auditing import audit, plan
from countenance.auditing.computed_groups import ComputedGroups
from countenance.comparing import compare
from countenance.gating import gate

sys.path.append(str(Path(__file__).resolve().parents[1]))
from tests.gating.conftest import write_run

DELTA = 0.05
PROMISED = (0.78, 1.0)


# ---- fair tables


def skewed_groups(rng: Rng) -> Table:
    """Lognormal scores in five groups of 20 to 300 people; nothing depends on the group."""
    group = np.repeat([f"k{i}" for i in range(5)], (20, 35, 60, 120, 300))
    return {"identity": np.arange(len(group)), "g": group, "m": rng.lognormal(0, 1.2, len(group))}


def informative_sizes(rng: Rng) -> Table:
    """People who are recognised less often took more pictures; group sizes are unlike, sizes have a long tail."""
    people = 260
    group = rng.choice(["x", "y", "z"], people, p=[0.6, 0.3, 0.1])
    rate = rng.beta(9, 1.5, people)
    sizes = 1 + rng.negative_binomial(1.2, np.clip(0.05 + 0.3 * rate, 0, 1))
    person = np.repeat(np.arange(people), sizes)
    right = (rng.random(len(person)) < rate[person]).astype(float)
    return {"identity": person, "g": group[person], "m": right}


def ordered_scores(rng: Rng, *, slope: float = 0.0) -> Table:
    """Six age groups with overlap scores, two pictures a person; a slope lowers the oldest."""
    people = 240
    age = rng.integers(0, 6, people)
    person = np.repeat(np.arange(people), 2)
    skill = rng.beta(8, 2, people) - slope * np.maximum(age - 3, 0)
    score = np.clip(skill[person] + 0.05 * rng.normal(size=len(person)), 0, 1)
    score = np.where(rng.random(len(person)) < 0.06, 0.0, score)
    return {"identity": person, "g_age_group": np.array(AGES)[age[person]], "m": score}


AGES = ["18-25", "26-35", "36-45", "46-55", "56-65", "66-75"]


def twins(rng: Rng, *, people: int = 20, each: int = 2) -> Table:
    """Bases of people who have several, with four versions each: a person's versions are hard or easy together."""
    rows: dict[str, list[Any]] = {name: [] for name in ("sample", "identity", "base", "change", "light", "m")}
    for person in range(people):
        skill = rng.beta(3, 1)
        for picture in range(each):
            base = f"{person}-{picture}"
            for version in ("none", "dim", "warm", "back", "flat"):
                rows["sample"].append(base if version == "none" else f"{base}-{version}")
                rows["identity"].append(person)
                rows["base"].append(base)
                rows["change"].append("none" if version == "none" else "light")
                rows["light"].append("day" if version == "none" else version)
                rows["m"].append(float(rng.random() < skill))
    return rows


def twins_alarm(tables: int, rng: Rng) -> float:
    """How often twins that differ by chance raise an alarm."""
    options = {"paired_by": {"base": "base", "change": "change"}, "better": "m=higher"}
    return sum(any_alarm(audit(twins(rng), ["change"], ["m"], **options)) for _ in range(tables)) / tables


def fair() -> Iterator[Row]:
    for adjust in ("minp", "holm"):
        weight = 0.5 if adjust == "minp" else 1.0
        for name, make in {
            "lognormal scores, five groups of 20 to 300 people": skewed_groups,
            "people with lower rates have more pictures": informative_sizes,
            "six ordered ages, overlap scores": ordered_scores,
        }.items():
            run = partial(counted, make, any_alarm, adjust=adjust)
            yield "second", f"false alarms, {name}: {adjust}", ATMOST, run, weight
    yield "second", "false alarms, twins of people with two bases each", ATMOST, twins_alarm, 1.0


# ---- exactly the difference that matters


def rates_at_delta(rng: Rng, people: int) -> Table:
    """Group a at .90, the others at .95: one row a person."""
    a = np.arange(people + 1200) < people
    right = rng.random(len(a)) < np.where(a, 0.95 - DELTA, 0.95)
    return {"identity": np.arange(len(a)), "g": np.where(a, "a", "b"), "m": right.astype(float)}


def people_at_delta(rng: Rng, people: int) -> Table:
    """In group a one person in twenty always fails; everybody else is right in all eight pictures."""
    person = np.repeat(np.arange(people + 300), 8)
    lost = (rng.random(people + 300) < DELTA) & (np.arange(people + 300) < people)
    return {"identity": person, "g": np.where(person < people, "a", "b"), "m": np.where(lost[person], 0.0, 1.0)}


def scores_at_delta(rng: Rng, people: int) -> Table:
    """Overlap with zeros, three pictures a person; group a has so many more zeros that its mean is δ lower."""
    person = np.repeat(np.arange(people + 400), 3)
    a = person < people
    overlap = np.clip(rng.beta(16, 4, people + 400)[person] + 0.03 * rng.normal(size=len(person)), 0, 1)
    missed = rng.random(len(person)) < np.where(a, 0.04 + DELTA / 0.8, 0.04)
    return {"identity": person, "g": np.where(a, "a", "b"), "m": np.where(missed, 0.0, overlap)}


def passed(make: Callable[..., Table], people: int, rule: dict[str, Any], tables: int, rng: Rng) -> float:
    """How often a gate passes a run whose gap is exactly its limit."""
    hits = 0
    policy = {"rules": [rule | {"insufficient": "fail"}]}
    for _ in range(tables):
        table = make(rng, people)
        columns = {
            "identity": [f"p{i}" for i in table["identity"]],
            "attr.g": table["g"].tolist(),
            "m.m": table["m"].tolist(),
        }
        with tempfile.TemporaryDirectory() as folder:
            hits += bool(gate(write_run(Path(folder) / "run", columns), policy))
    return hits / tables


def loses(make: Callable[..., Table], people: int, tables: int, rng: Rng) -> float:
    """How often `compare` rules out a loss of δ for a group that loses δ on average; the old model is the rest's."""
    hits = 0
    for _ in range(tables):
        new = make(rng, people)
        rows = new | {"sample": np.arange(len(new["m"]))}
        better = make(rng, 0)["m"]
        old = np.where(new["g"] == "a", rng.choice(better, len(new["m"])), new["m"])
        found = compare(rows | {"m": old}, rows, by=["g"], metrics=["m"], better="m=higher")
        hits += found.change("m", "g", "a").not_worse
    return hits / tables


def twice_the_matches(tables: int, rng: Rng) -> float:
    """How often a group with exactly twice the false matches of the others is cleared."""
    names, errors = tuple("abcd"), np.array([0.08, 0.1, 0.15, 0.12])
    hits = 0
    for _ in range(tables):
        values = 0.001 * np.exp(errors * rng.standard_normal(4)) * np.array([1, 1, 2, 1])
        low, high = values * np.exp(-1.96 * errors), values * np.exp(1.96 * errors)
        counts = (10_000,) * 4, (100,) * 4, (1e4,) * 4
        computed = ComputedGroups("FMR", "g", names, *(tuple(part) for part in (values, errors, low, high)), *counts)
        person = np.repeat(np.arange(400), 2)
        rows = {"identity": person, "g": np.repeat(names, 200), "m": (rng.random(800) < 0.95).astype(float)}
        found = audit(rows, ["g"], ["m"], computed=[computed], adjust="holm").findings
        hits += any(f.metric == "FMR" and f.group == "c" and f.verdict.startswith("none") for f in found)
    return hits / tables


def at_delta() -> Iterator[Row]:
    gap = {"gap": {"metric": "m", "by": "g", "at_most": DELTA}}
    for name, make, people, most in (
        ("rates, one row a person, 400 people", rates_at_delta, 400, 0.025),
        ("one person in twenty always fails, 60 people", people_at_delta, 60, 0.025),
        ("one person in twenty always fails, 80 people", people_at_delta, 80, 0.025),
        ("one person in twenty always fails, 200 people", people_at_delta, 200, 0.025),
        ("overlap with zeros, 100 people", scores_at_delta, 100, 0.025),
    ):
        yield "second", f"gate passes a gap of δ: {name}", (0.0, most), partial(passed, make, people, gap), 1.0
    mean = {"estimate": {"metric": "m", "by": "g", "group": "a", "at_least": round(0.8 * (0.96 - DELTA / 0.8), 6)}}
    run = partial(passed, scores_at_delta, 80, mean)
    yield "second", "gate passes a mean that is its limit: overlap with zeros, 80 people", (0.0, 0.025), run, 1.0
    for name, make in {"rates": rates_at_delta, "overlap with zeros": scores_at_delta}.items():
        run = partial(loses, make, 150)
        yield "second", f"compare rules out a loss of δ: {name}, 150 people", (0.0, 0.05), run, 1.0
    yield "second", "false matches at twice the others', cleared", (0.0, 0.05), twice_the_matches, 1.0


# ---- what `plan` promises for means


def overlap(rng: Rng, n: int, zeros: float) -> np.ndarray:
    return np.where(rng.random(n) < zeros, 0.0, rng.beta(12, 3, n))


SHAPES: dict[str, tuple[Callable[[Rng, int], Any], Callable[[Rng, int], Any], float, float]] = {
    "normal": (lambda rng, n: rng.normal(0, 1, n), lambda rng, n: rng.normal(-0.5, 1, n), 0.5, 1.0),
    "exponential": (lambda rng, n: rng.exponential(1, n), lambda rng, n: rng.exponential(1.5, n), 0.5, 1.5),
    "beta": (lambda rng, n: rng.beta(8, 2, n), lambda rng, n: rng.beta(7.4, 2.6, n), 0.06, 0.1323),
    "overlap with zeros": (lambda rng, n: overlap(rng, n, 0.05), lambda rng, n: overlap(rng, n, 0.17), 0.096, 0.3145),
}
"""Scores of the others, scores of the group, the difference of their means, the larger standard deviation."""


def planned(shape: str, groups: int, tables: int, rng: Rng) -> float:
    """How often the difference is found with as many people as `plan` asks for."""
    others, own, difference, sd = SHAPES[shape]
    n = plan("mean", effect=f"diff={difference}", sd=sd, groups=groups).n_per_group
    names = np.repeat([f"k{i}" for i in range(groups)], n)
    hits = 0
    for _ in range(tables):
        table = {"g": names, "m": np.r_[own(rng, n), others(rng, n * (groups - 1))]}
        found = audit(table, ["g"], ["m"], adjust="holm").findings
        hits += any("k0" in (f.group, f.versus) and f.p_adjusted < ALPHA for f in found)
    return hits / tables


def plans() -> Iterator[Row]:
    for shape in SHAPES:
        for groups in (2, 4):
            run = partial(planned, shape, groups)
            yield "rule 19", f"power of a plan for a mean: {shape}, {groups} groups", PROMISED, run, 1.0


def rows() -> Iterator[Row]:
    """Every line."""
    yield from fair()
    yield from at_delta()
    yield from plans()
