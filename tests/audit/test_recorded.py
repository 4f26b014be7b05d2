"""Whole audits of small tables, number by number, as they were recorded: a change of any of them must be meant.

The definitions are tested elsewhere, against statsmodels, scipy and plain loops. Here every kind of comparison, of
clustering and of column goes through the whole audit, and each number of each finding is compared with the one in
`recorded.json`. After a change that is meant: `python tests/audit/test_recorded.py` writes the file again; read the
difference before you commit it.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.naive import rank_scores

from countenance.auditing import audit, bootstrap, plan, plan_for
from countenance.auditing.change import ChangeGap, GainAndLoss
from countenance.auditing.contingency import Contingency
from countenance.auditing.effects import MeanGap, RateGap, equivalence, rank_biserial
from countenance.auditing.estimates import resampled
from countenance.auditing.headline import headline
from countenance.auditing.power import detectable_rate
from countenance.auditing.ranking import numerical_bootstrap
from countenance.auditing.result import Audit

RECORDED = Path(__file__).with_name("recorded.json")


def people(seed: int, sizes: np.ndarray) -> dict[str, Any]:
    """Rows of people: two attributes of the person, one of the row, a rate, a share, a skewed number, gaps in all."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(len(sizes)), sizes)
    n = len(person)
    tone = rng.choice(["dark", "medium", "light", "other", ""], len(sizes), p=[0.3, 0.3, 0.28, 0.07, 0.05])[person]
    sex = rng.choice(["f", "m"], len(sizes))[person]
    light = rng.choice(["dim", "bright", "backlit"], n)
    easy = rng.normal(0, 0.8, len(sizes))[person]
    hidden = 1.6 + easy - 0.9 * (tone == "dark") - 0.5 * (light == "dim") - 0.3 * (sex == "f")
    ok = (rng.random(n) < 1 / (1 + np.exp(-hidden))).astype(float)
    ok[rng.random(n) < 0.04] = np.nan
    return {
        "identity": [f"p{one}" for one in person],
        "tone": list(tone),
        "sex": list(sex),
        "light": list(light),
        "worn": [list(rng.choice(["hat", "glasses", "mask"], rng.integers(0, 3), replace=False)) for _ in range(n)],
        "age": [None if rng.random() < 0.03 else int(age) for age in rng.integers(3, 90, n)],
        "ok": ok,
        "iou": np.round(rng.beta(6, 2, n) * np.where(tone == "dark", 0.95, 1.0), 3),
        "ms": np.round(rng.lognormal(3 + 0.1 * (light == "dim"), 0.6, n) + 5 * easy, 2),
        "shown": (rng.random(n) < 0.8).astype(int),
    }


def alone(seed: int, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    g = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2])
    return {
        "g": list(g),
        "h": list(rng.choice(["x", "y"], n)),
        "ok": (rng.random(n) < np.where(g == "c", 0.86, 0.9)) * 1,
        "score": np.round(rng.gamma(2, 1.5, n) + 0.2 * (g == "a"), 2),
    }


def crossed(seed: int) -> dict[str, Any]:
    """People and pictures that cross, the light an attribute of the picture."""
    rng = np.random.default_rng(seed)
    person, image = rng.integers(0, 90, 700), rng.integers(0, 120, 700)
    good, bright = rng.normal(0, 0.7, 90), rng.random(120) < 0.5
    tone = rng.choice(["dark", "light"], 90)
    rate = 1 / (1 + np.exp(-1.5 - good[person] - 0.5 * bright[image] + 0.6 * (tone[person] == "dark")))
    return {
        "identity": person,
        "sample": image,
        "tone": tone[person],
        "light": np.where(bright, "bright", "dim")[image],
        "ok": (rng.random(700) < rate) * 1,
        "px": np.round(rng.gamma(3, 4 + 2 * bright[image]), 1),
    }


def twins(seed: int) -> dict[str, Any]:
    """The same people under three conditions, some of them missing."""
    rng = np.random.default_rng(seed)
    person, condition = np.repeat(np.arange(80), 9), np.tile(np.repeat(["none", "mask", "hat"], 3), 80)
    easy = rng.normal(0, 1, 80)[person]
    ok = (rng.random(720) < 1 / (1 + np.exp(-1.5 - easy + 0.8 * (condition == "mask")))) * 1.0
    table = {
        "identity": person,
        "shot": np.tile(np.arange(3), 240),
        "condition": condition,
        "ok": ok,
        "px": np.round(rng.gamma(3, 4, 720) + easy + (condition == "hat"), 1),
        "iou": np.round(rng.beta(5, 2, 720), 2),
    }
    keep = rng.random(720) < 0.97
    return {name: np.asarray(column)[keep] for name, column in table.items()}


def tiny() -> dict[str, Any]:
    """Groups of one, two, three and more rows, some without variance, some without values."""
    g = list("abbcccddddddddddeeeeeeeeeeeeeeeeeeeeeeeeeeeeee")
    ok = np.array([1, 1, 0, 0, 0, 0, *[1] * 10, *[1, 1, 0] * 10], float)
    share = np.array([0.5, 0.2, 0.2, *[0.25] * 3, *np.linspace(0, 1, 10), *np.tile([0.3, 0.6, 0.9], 10)])
    away = np.where(np.arange(46) % 7 == 3, np.nan, share * 40 - 9)
    h = ["x"] * 23 + ["y"] * 23
    return {"g": g, "h": h, "ok": ok, "share": share, "away": away, "identity": np.arange(46) // 2}


FACES = people(1, np.full(180, 3))
UNEQUAL = people(2, np.r_[[60, 35], np.random.default_rng(3).integers(1, 6, 150)])
ROWS = alone(4, 500)
MANY = alone(5, 2600)
CROSSED = crossed(6)
TWINS = twins(7)
TINY = tiny()
LOWER = {"better": {"ms": "lower", "ok": "higher"}, "delta": {"ok": 0.1, "ms": 6.0}}
PAIR = {"comparison": "paired", "pair": ["identity", "shot"]}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "people, min-p": (FACES, {"by": ["tone", "sex"], "metrics": ["ok", "iou", "ms"], "better": {"ms": "lower"}}),
    "rows within people": (FACES, {"by": ["light", "tone"], "metrics": ["ok", "ms"], "depth": 1, "seed": 3, **LOWER}),
    "lists": (FACES, {"by": ["worn", "sex"], "metrics": ["ok", "iou"], "min_n": 15}),
    "bins": (FACES, {"by": ["age:18,40,65", "age:quantiles3", "sex*light"], "metrics": ["ok"], "adjust": "bh"}),
    "rows as units": (FACES, {"by": ["tone"], "metrics": ["ok", "ms"], "cluster": None, "alpha": 0.1, **LOWER}),
    "denominators": (FACES, {"by": ["tone"], "metrics": ["ok"], "denominators": {"ok": "shown"}, "adjust": "holm"}),
    "where": (FACES, {"by": ["tone"], "metrics": ["ok"], "where": "light=dim,backlit", "adjust": "holm"}),
    "pairs": (FACES, {"by": ["tone", "sex"], "metrics": ["ok", "ms"], "comparison": "pairs", "adjust": "holm"}),
    "reference": (FACES, {"by": ["tone"], "metrics": ["ok", "iou"], "comparison": "reference", "reference": "light"}),
    "best": (
        FACES,
        {"by": ["tone", "light"], "metrics": ["ok", "ms"], "comparison": "reference", "reference": "best", **LOWER},
    ),
    "spread": (FACES, {"by": ["tone", "light"], "metrics": ["ok", "ms"], "comparison": "spread", "replicates": 300}),
    "unequal people": (UNEQUAL, {"by": ["tone", "light"], "metrics": ["ok", "iou"], "depth": 1}),
    "unequal people, holm": (UNEQUAL, {"by": ["tone", "sex"], "metrics": ["ok", "ms"], "adjust": "holm"}),
    "unequal people, pairs": (UNEQUAL, {"by": ["light"], "metrics": ["ok", "ms"], "comparison": "pairs"}),
    "unequal people, spread": (
        UNEQUAL,
        {"by": ["light"], "metrics": ["ok"], "comparison": "spread", "replicates": 300},
    ),
    "rows alone": (ROWS, {"by": ["g", "h"], "metrics": ["ok", "score"]}),
    "rows alone, pairs": (ROWS, {"by": ["g"], "metrics": ["ok", "score"], "comparison": "pairs", "families": "metric"}),
    "many rows of few kinds": (MANY, {"by": ["g", "h"], "metrics": ["ok"]}),
    "crossed": (CROSSED, {"by": ["tone", "light"], "metrics": ["ok", "px"]}),
    "crossed, pairs": (CROSSED, {"by": ["tone", "light"], "metrics": ["ok", "px"], "comparison": "pairs", "depth": 1}),
    "crossed, spread": (CROSSED, {"by": ["tone"], "metrics": ["ok"], "comparison": "spread", "replicates": 300}),
    "twins": (TWINS, {"by": ["condition"], "metrics": ["ok", "px", "iou"], **PAIR}),
    "twins of people and shots": (
        TWINS,
        {"by": ["condition"], "metrics": ["ok", "px"], "cluster": ["identity", "shot"], "min_n": 3, **PAIR},
    ),
    "twins without people": (TWINS, {"by": ["condition"], "metrics": ["ok", "px"], "cluster": None, **PAIR}),
    **{
        f"tiny, {comparison}, {cluster}": (
            TINY,
            {
                "by": ["g"],
                "metrics": ["ok", "share", "away"],
                "comparison": comparison,
                "cluster": cluster,
                "min_n": 1,
                "adjust": adjust,
                "replicates": 100,
            },
        )
        for comparison, adjust, cluster in (
            ("rest", "minp", "auto"),
            ("rest", "holm", None),
            ("pairs", "holm", None),
            ("reference", "bh", "auto"),
            ("spread", "holm", "auto"),
        )
    },
    "equity": (FACES, {"by": ["tone"], "metrics": ["ok"], "equity": True, "adjust": "holm"}),
}


def numbers(found: Audit) -> dict[str, Any]:
    """Everything that an audit says, with numbers rounded."""
    content = found.to_dict(groups=True)
    content["settings"] = {name: content["settings"][name] for name in ("adjust", "permutations", "unit", "notes")}
    return {
        "verdict": content["verdict"],
        "reason": content["reason"],
        "headline": headline(found),
        "settings": content["settings"],
        "findings": [_short(one) for one in content["findings"]],
        "groups": [_short(one) for one in content["groups"]],
        "excluded": [_short(one) for one in content["excluded"]],
        "equity": [_short(one) for one in content.get("equity", [])],
    }


def _short(row: dict[str, Any]) -> list[Any]:
    """The values of a row, in the order of its fields; numbers with eight digits."""
    return [float(f"{value:.8g}") if isinstance(value, float) else value for value in row.values()]


def plans() -> dict[str, Any]:
    """What tables at hand can see."""
    made = {
        "rate": plan_for(FACES, ["tone"], "ok", effect="h=.3"),
        "delta": plan_for(UNEQUAL, ["light"], "ok"),
        "mean": plan_for(FACES, ["sex"], "ms", effect="d=.2"),
        "alone": plan_for(ROWS, ["g"], "score", effect="diff=1", alpha=0.01, power=0.9),
    }
    return {name: [_short(row) for row in rows] for name, rows in made.items()}


def functions() -> dict[str, Any]:
    """Single functions over a grid of arguments."""
    rng = np.random.default_rng(8)
    p1, p2, n1, n2 = rng.random(8), rng.random(8), rng.integers(5, 400, 8) * 1.0, rng.integers(5, 400, 8) * 1.0
    df = np.r_[np.inf, rng.uniform(0.6, 60, 7)]
    gained, lost = rng.dirichlet([1, 1, 6], 8)[:, :2].T
    rates = RateGap(p1, n1, p2, n2, df, df[::-1], np.linspace(-0.5, 0.5, 8))
    changes = GainAndLoss(gained, lost, n1, df), GainAndLoss(lost / 2, gained / 2, n2, df)
    gaps = {
        "rates": rates,
        "means": MeanGap(p1, p2, 0.2 * p1, df),
        "change": changes[0],
        "gap": ChangeGap(*changes, 0.2),
    }
    ranks = rng.integers(0, 9, 30), rng.integers(0, 9, 50)
    clusters = rng.integers(0, 8, 30), rng.integers(4, 14, 50)
    sums = rng.poisson(3, (40, 2)) + np.array([[0.0, 3.0]])
    few = np.repeat(sums[:3], 20, axis=0)
    share = lambda s: s[:, :1] / s[:, 1:]  # noqa: E731
    scores = rng.normal(size=(60, 1)) + rng.normal(0, 0.3, (60, 4)) + [[0.0, 0.05, 0.3, 0.31]]
    board = rank_scores(list("abcd"), scores, clusters=list(rng.integers(0, 25, 60)), draws=300)
    grid = [
        (v, a, b, alpha, d)
        for v in (0.02, 0.5, 0.97, 1.0)
        for a, b in ((12, 30), (40, 400), (300, 200))
        for alpha, d in ((0.05, math.inf), (0.004, 9.0))
    ]
    asked: list[dict[str, Any]] = [
        {},
        {"rate": 0.99, "effect": "diff=.02"},
        {"rate": 0.02, "effect": "h=.15", "groups": 5},
        {"rate": 0.4, "effect": "diff=.3", "groups": 3, "comparison": "pairs"},
        {"metric": "mean", "effect": "d=.33"},
        {"rate": 0.999, "effect": "h=.1", "power": 0.9},
        {"rate": 0.97, "effect": "h=.6", "deff": 1.7},
        {"metric": "mean", "effect": "diff=2", "sd": 7.0, "rows_per_unit": 3, "icc": 0.4, "alpha": 0.01},
    ]
    made = {
        "intervals": [gap.difference(0.07) for gap in gaps.values()],
        "decisive": [gap.decisive(0.035) for gap in gaps.values()],
        "h": rates.h(0.07),
        "equivalence": [equivalence(gap, 0.3, 0.05) for gap in gaps.values()],
        "rank-biserial": [vars(rank_biserial(*ranks)), vars(rank_biserial(*ranks, *clusters))],
        "detectable": [detectable_rate(*one) for one in grid],
        "plans": [vars(plan(**one)) for one in asked],
        "bootstrap": [bootstrap(table, share, replicates=50, alpha=0.1, seed=2) for table in (sums, few)],
        "blocks": resampled(sums, 7, 3, cells=80),
        "steps": numerical_bootstrap(sums, share, draws=5, seed=4),
        "ranking": [board.names, board.estimates, board.ranks, [vars(pair) for pair in board.pairs]],
        "tables": Contingency(np.arange(3), np.array([2, 9, 30]), np.array([11, 20, 10])).draw(rng, 3),
    }
    return {name: _numbers(one) for name, one in made.items()}


def _numbers(value: Any) -> Any:
    """Nested lists of numbers and words; numbers with twelve digits."""
    if isinstance(value, dict):
        return [_numbers(one) for one in value.values()]
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return [_numbers(one) for one in value]
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    return float(f"{value:.12g}") if isinstance(value, float) else value


def same(found: Any, expected: Any, near: float = 1e-6) -> bool:
    """Equal, numbers up to what libraries may round differently."""
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(same(a, b, near) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, dict) and isinstance(found, dict):
        return found.keys() == expected.keys() and all(same(found[key], one, near) for key, one in expected.items())
    if isinstance(expected, float) or isinstance(found, float):
        if found is None or expected is None or isinstance(found, str) or isinstance(expected, str):
            return found == expected
        return (math.isnan(found) and math.isnan(expected)) or found == pytest.approx(
            expected, rel=near, abs=near * 1e-3
        )
    return bool(found == expected)


def compared(found: Any, name: str, near: float = 1e-6) -> None:
    expected = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    found = json.loads(json.dumps(found))
    for part, one in expected.items():
        if not isinstance(one, list):
            assert same(found[part], one, near), part
        else:
            assert len(found[part]) == len(one), part
            for ours, theirs in zip(found[part], one, strict=True):
                assert same(ours, theirs, near), part


@pytest.mark.parametrize("name", CASES)
def test_a_whole_audit_is_as_it_was_recorded(name: str) -> None:
    table, asked = CASES[name]
    compared(numbers(audit(table, **asked)), name)


def test_plans_for_tables_are_as_they_were_recorded() -> None:
    compared(plans(), "plans")


def test_single_functions_are_as_they_were_recorded() -> None:
    compared(functions(), "functions", near=1e-9)


if __name__ == "__main__":
    content = {name: numbers(audit(table, **asked)) for name, (table, asked) in CASES.items()}
    content |= {"plans": plans(), "functions": functions()}
    lines = [f'"{name}": {json.dumps(one, ensure_ascii=False)}' for name, one in content.items()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
