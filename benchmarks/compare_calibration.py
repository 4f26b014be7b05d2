"""Is `compare` right about as often as it says? Two models on the same rows, drawn with a known truth.

    python benchmarks/compare_calibration.py [--tables 400] [--minp 100] [--only NAME]

For each kind of table: how often any gap is called changed although none is (false alarms), how often the interval of
the difference of differences covers the truth, the same for the changes of groups and of everyone, and how often a
change of δ is called smaller than δ. A part of it runs with the tests (tests/compare/test_calibration.py).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.comparing import compare

Table = dict[str, Any]
SHARES = {"a": 0.6, "b": 0.3, "c": 0.1}


@dataclass(frozen=True)
class Design:
    """A kind of table: people, rows of each, and how often a row changes."""

    people: int = 600
    rows: Callable[[np.random.Generator, int], Any] = lambda rng, n: np.ones(n, dtype=int)
    gained: float = 0.05
    lost: float = 0.05
    gap: float = 0.0
    """What group c gains more than the others."""
    together: float = 0.0
    """How much rows of one person change together: 0 not at all, 1 all alike."""
    scenes: int = 0
    """How many pictures the people share (0: each row has its own)."""
    scored: str = "rate"

    def draw(self, rng: np.random.Generator) -> tuple[Table, Table]:
        """Two tables of scores on the same rows."""
        group = rng.choice(list(SHARES), self.people, p=list(SHARES.values()))
        sizes = np.asarray(self.rows(rng, self.people))
        person = np.repeat(np.arange(self.people), sizes)
        own, total = group[person], len(person)
        gain = self.gained + np.where(own == "c", self.gap, 0.0)
        draws, shared = rng.random(total), rng.random(self.people)[person]
        draws = np.where(rng.random(total) < self.together, shared, draws)
        scene = np.arange(total)
        if self.scenes:
            scene = rng.integers(0, self.scenes, total)
            draws = np.where(rng.random(total) < self.together / 2, rng.random(self.scenes)[scene], draws)
        change = np.where(draws < gain, 1, np.where(draws < gain + self.lost, -1, 0))
        old = np.where(change > 0, 0, np.where(change < 0, 1, rng.random(total) < 0.9)).astype(float)
        new = old + change
        if self.scored == "overlap":  # mostly high overlaps with a few misses; a gain and a loss move it by .3
            base = np.where(rng.random(total) < 0.05, 0.0, rng.beta(8, 2, total))
            old = np.clip(base * 0.7 + 0.02 * rng.normal(size=total), 0, 1)
            new = old + 0.3 * change
        columns = {"row": np.arange(total), "identity": person, "g": own, "scene": scene}
        return columns | {"ok": old}, columns | {"ok": new}

    def truth(self, group: str) -> float:
        """What a group gains more than the others, in expectation."""
        size = 0.3 if self.scored == "overlap" else 1.0
        rest = 0.0 if group == "c" else self.gap * SHARES["c"] / (1 - SHARES[group])
        return size * ((self.gap if group == "c" else 0.0) - rest)

    def change(self, group: str = "") -> float:
        """What a group (everyone) gains, in expectation."""
        size = 0.3 if self.scored == "overlap" else 1.0
        share = {"": SHARES["c"], "c": 1.0}.get(group, 0.0)
        return size * (self.gained - self.lost + self.gap * share)


def ten(rng: np.random.Generator, people: int) -> Any:
    """Ten rows for each person."""
    return np.full(people, 10)


def unequal(rng: np.random.Generator, people: int) -> Any:
    """Lognormal numbers of rows."""
    return np.maximum(1, rng.lognormal(1.2, 0.8, people).astype(int))


DESIGNS = {
    "one row a person, 10 % change": Design(),
    "one row a person, 2 % change": Design(gained=0.01, lost=0.01),
    "one row a person, .4 % change": Design(gained=0.002, lost=0.002),
    "300 people, 10 % change (30 in the group)": Design(people=300),
    "ten rows a person, changing together": Design(people=300, rows=ten, together=0.5),
    "unequal numbers of rows": Design(people=400, rows=unequal, together=0.5),
    "overlap": Design(scored="overlap"),
    "overlap, ten rows a person": Design(people=300, rows=ten, together=0.5, scored="overlap"),
    "people and scenes cross": Design(people=300, rows=ten, together=0.4, scenes=200),
    "a gap of .05": Design(gap=0.05),
    "a gap of .05, ten rows a person": Design(people=300, rows=ten, together=0.5, gap=0.05),
    "a gap of -.04, 2 % change": Design(gained=0.045, lost=0.01, gap=-0.04),
}


@dataclass
class Tally:
    """What was seen over many tables."""

    tables: int = 0
    alarms: int = 0
    smaller: int = 0
    at_delta: int = 0
    gaps: int = 0
    gaps_covered: int = 0
    changes: int = 0
    changes_covered: int = 0
    overall_covered: int = 0

    def share(self, count: int, of: int) -> float:
        """A share, NaN of nothing."""
        return count / of if of else float("nan")


def measure(design: Design, tables: int, seed: int, adjust: str = "holm", delta: float = 0.05) -> Tally:
    """Draw tables and count."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    cluster = ["identity", "scene"] if design.scenes else ["identity"]
    for i in range(tables):
        old, new = design.draw(rng)
        found = compare(
            old, new, by=["g"], metrics=["ok"], pair="row", cluster=cluster, adjust=adjust, seed=i, delta=delta
        )
        tally.tables += 1
        tally.alarms += any(gap.verdict == "disparity" for gap in found.gaps)
        for gap in found.gaps:
            truth = design.truth(gap.group)
            if gap.low == gap.low:
                tally.gaps += 1
                tally.gaps_covered += gap.low <= truth <= gap.high
            if gap.group == "c" and abs(abs(truth) - delta) < 1e-9:
                tally.at_delta += 1
                tally.smaller += gap.verdict.startswith("none")
        for one in found.groups:
            tally.changes += 1
            tally.changes_covered += one.low <= design.change(one.group) <= one.high
        whole = found.overall[0]
        tally.overall_covered += whole.low <= design.change() <= whole.high
    return tally


def main() -> None:
    """Print a table of all designs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--minp", type=int, default=100)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    print(
        "| table | tables | adjusted by | false alarms | gaps covered | groups covered | everyone covered |"
        " called smaller at δ | s |\n|---|---|---|---|---|---|---|---|---|"
    )
    for name, design in DESIGNS.items():
        if asked.only not in name:
            continue
        for adjust, tables in (("holm", asked.tables), ("minp", asked.minp)):
            if not tables or (adjust == "minp" and design.scenes):
                continue
            start = time.perf_counter()
            t = measure(design, tables, 1, adjust)
            alarms = "" if design.gap else f"{t.share(t.alarms, t.tables):.3f}"
            small = f"{t.share(t.smaller, t.at_delta):.3f}" if t.at_delta else ""
            print(
                f"| {name} | {tables} | {adjust} | {alarms} | {t.share(t.gaps_covered, t.gaps):.3f} | "
                f"{t.share(t.changes_covered, t.changes):.3f} | {t.share(t.overall_covered, t.tables):.3f} | {small} | "
                f"{time.perf_counter() - start:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
