"""Calibration of gaps with conditions held equal: false alarms, coverage and power on worlds of known truth.

`python benchmarks/why.py --tables 200` prints one line for each world: how often any group is called a gap although
there is none given the conditions, how often 95 % intervals cover the truth, and, where one group has a true gap, how
often that is seen. Worlds differ from each other in people, rows, confounding, overlap, kinds of conditions, clusters
and missing values.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.auditing import audit

Rows = dict[str, Any]


@dataclass(frozen=True)
class World:
    """A generating process: the table for a random generator, what is held equal, and the true gap of one group."""

    name: str
    table: Callable[[np.random.Generator], Rows]
    given: tuple[str, ...]
    gap: float = 0.0
    group: str = ""


def sigmoid(x: Any) -> Any:
    """The logistic function."""
    return 1 / (1 + np.exp(-x))


def labels(codes: Any, letter: str) -> list[str]:
    """Codes as words."""
    return [f"{letter}{code}" for code in codes]


def tones(r: np.random.Generator, people: int, rows: int, *, strength: float = 1.0, effect: float = 0.0) -> Rows:
    """Ten tones; darker ones are photographed in poorer light. `effect` lowers the last tone's success."""
    tone, who = r.integers(0, 10, people), np.repeat(np.arange(people), rows)
    t = tone[who]
    light = (r.random(len(who)) < sigmoid(strength * (t - 4.5) / 2.5)).astype(int) + (r.random(len(who)) < 0.3)
    size = r.integers(0, 3, len(who))
    chance = sigmoid(3.2 - light - 0.4 * (size == 0) + r.normal(0, 0.6, people)[who]) - effect * (t == 9)
    return {
        "group": labels(t, "t"),
        "light": labels(light, "l"),
        "size": labels(size, "s"),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


def two_groups(
    r: np.random.Generator, people: int, rows: int, *, share: float = 0.5, overlap: float = 1.5, effect: float = 0.0
) -> Rows:
    """Two groups of people and one condition of three levels; `overlap` is how far the groups' conditions differ."""
    group, who = (r.random(people) < share).astype(int), np.repeat(np.arange(people), rows)
    g = group[who]
    light = (r.random(len(who)) < sigmoid(overlap * (2 * g - 1))).astype(int) + (r.random(len(who)) < 0.25)
    chance = sigmoid(2.0 - 0.9 * light + r.normal(0, 0.7, people)[who]) - effect * g
    return {
        "group": labels(g, "g"),
        "light": labels(light, "l"),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


def interactions(r: np.random.Generator) -> Rows:
    """Success depends on light and camera together, and so does who is photographed."""
    people, rows = 500, 8
    group, who = r.integers(0, 3, people), np.repeat(np.arange(people), rows)
    g = group[who]
    camera = r.integers(0, 2, len(who))
    light = (r.random(len(who)) < sigmoid(1.2 * (g - 1) * (2 * camera - 1))).astype(int)
    chance = sigmoid(2.2 - 2.0 * (light ^ camera) + r.normal(0, 0.6, people)[who])
    return {
        "group": labels(g, "g"),
        "light": labels(light, "l"),
        "camera": labels(camera, "c"),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


def continuous(r: np.random.Generator, people: int = 500, rows: int = 6, effect: float = 0.0) -> Rows:
    """A number (face size) with a bent effect on success, shifted between groups."""
    group, who = r.integers(0, 4, people), np.repeat(np.arange(people), rows)
    g = group[who]
    size = r.normal(0.35 * (g - 1.5), 1.0)
    chance = sigmoid(1.4 + 1.1 * size - 0.35 * size**2 + r.normal(0, 0.5, people)[who])
    chance = np.clip(chance - effect * (g == 3), 0, 1)
    return {
        "group": labels(g, "g"),
        "size": 60 * np.exp(0.4 * size),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


def mixed(r: np.random.Generator) -> Rows:
    """Two numbers that go together, and a category."""
    people, rows = 700, 5
    group, who = r.integers(0, 2, people), np.repeat(np.arange(people), rows)
    g = group[who]
    size = r.normal(0.5 * g, 1.0)
    turn = 0.5 * size + r.normal(0, 1.0, len(who))
    light = (r.random(len(who)) < sigmoid(0.8 * (2 * g - 1))).astype(int)
    chance = sigmoid(1.5 + 0.7 * size - 0.5 * np.abs(turn) - 0.6 * light + r.normal(0, 0.5, people)[who])
    return {
        "group": labels(g, "g"),
        "size": size,
        "turn": turn,
        "light": labels(light, "l"),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


def crossed(r: np.random.Generator) -> Rows:
    """Pictures of three people each; people are in several pictures, and both have effects of their own."""
    people, pictures = 400, 1200
    who = r.integers(0, people, (pictures, 3)).reshape(-1)
    picture = np.repeat(np.arange(pictures), 3)
    group = r.integers(0, 3, people)
    g = group[who]
    mean = np.bincount(picture, g)[picture] / 3
    light = (r.random(pictures) < sigmoid(1.5 * (np.bincount(picture, g) / 3 - 1))).astype(int)[picture]
    chance = sigmoid(2.0 - light + r.normal(0, 0.6, people)[who] + r.normal(0, 0.6, pictures)[picture] + 0 * mean)
    return {
        "group": labels(g, "g"),
        "light": labels(light, "l"),
        "person_id": who,
        "sample": labels(picture, "p"),
        "y": (r.random(len(who)) < chance).astype(float),
    }


def within_person(r: np.random.Generator, effect: float = 0.0) -> Rows:
    """A label that changes within a person (a mask), put on more often in poor light."""
    people, rows = 300, 8
    who = np.repeat(np.arange(people), rows)
    light = r.integers(0, 3, len(who))
    mask = (r.random(len(who)) < sigmoid(0.8 * (light - 1) + r.normal(0, 1.0, people)[who])).astype(int)
    chance = np.clip(sigmoid(2.0 - 0.8 * light + r.normal(0, 0.7, people)[who]) - effect * mask, 0, 1)
    return {
        "group": labels(mask, "m"),
        "light": labels(light, "l"),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


def missing(r: np.random.Generator) -> Rows:
    """Light is not recorded for a seventh of the rows, more often for some groups."""
    rows = tones(r, 600, 8)
    tone = np.array([int(name[1:]) for name in rows["group"]])
    lost = r.random(len(tone)) < 0.08 + 0.015 * tone
    return rows | {"light": [None if gone else name for gone, name in zip(lost, rows["light"], strict=True)]}


def heavy_tails(r: np.random.Generator) -> Rows:
    """A metric without ends whose spread depends on the condition; another one beside it."""
    people, rows = 1500, 2
    group, who = r.integers(0, 5, people), np.repeat(np.arange(people), rows)
    g = group[who]
    light = np.clip(r.poisson(0.4 + 0.3 * g), 0, 3)
    noise = r.standard_t(4, len(who)) * (1 + 0.6 * light) + r.normal(0, 0.8, people)[who]
    other = (r.random(len(who)) < sigmoid(1 - 0.5 * light)).astype(float)
    return {
        "group": labels(g, "g"),
        "light": labels(light, "l"),
        "person_id": who,
        "y": 10 + 2.0 * light + noise,
        "found": other,
    }


def of_persons(r: np.random.Generator) -> Rows:
    """A condition that belongs to a person (glasses), not to a picture."""
    people, rows = 800, 5
    group, who = r.integers(0, 4, people), np.repeat(np.arange(people), rows)
    glasses = (r.random(people) < 0.15 + 0.2 * group).astype(int)[who]
    chance = sigmoid(2.0 - 1.2 * glasses + r.normal(0, 0.7, people)[who])
    return {
        "group": labels(group[who], "g"),
        "glasses": labels(glasses, "x"),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


def thin(r: np.random.Generator) -> Rows:
    """Four numbers, few people, and hardly two rows in a stratum."""
    people, rows = 240, 2
    group, who = (r.random(people) < 0.3).astype(int), np.repeat(np.arange(people), rows)
    g = group[who]
    numbers = {f"x{k}": r.normal(0.4 * g, 1.0) for k in range(4)}
    chance = sigmoid(1.2 + sum(0.4 * x for x in numbers.values()) + r.normal(0, 0.5, people)[who])
    return {"group": labels(g, "g"), "person_id": who, "y": (r.random(len(who)) < chance).astype(float)} | numbers


def people_of(r: np.random.Generator, effect: float = 0.0) -> Rows:
    """Three thousand people of one to four rows each."""
    counts = r.integers(1, 5, 3000)
    who = np.repeat(np.arange(3000), counts)
    group = r.choice(6, 3000, p=[0.4, 0.25, 0.15, 0.1, 0.06, 0.04])
    g = group[who]
    light = (r.random(len(who)) < sigmoid((g - 2) / 1.5)).astype(int)
    chance = sigmoid(2.4 - 0.9 * light + r.normal(0, 0.6, 3000)[who]) - effect * (g == 5)
    return {
        "group": labels(g, "g"),
        "light": labels(light, "l"),
        "person_id": who,
        "y": (r.random(len(who)) < chance).astype(float),
    }


WORLDS = [
    World("ten tones, 600 people × 10", lambda r: tones(r, 600, 10), ("light", "size")),
    World("ten tones, 200 people × 10", lambda r: tones(r, 200, 10), ("light", "size")),
    World("ten tones, strong confounding", lambda r: tones(r, 600, 10, strength=2.0), ("light", "size")),
    World("ten tones, 1,500 people × 1", lambda r: tones(r, 1500, 1), ("light", "size")),
    World("two groups, weak overlap", lambda r: two_groups(r, 400, 6, overlap=2.5), ("light",)),
    World("two groups, one of 5 %", lambda r: two_groups(r, 1000, 4, share=0.05), ("light",)),
    World("interacting conditions", interactions, ("light", "camera")),
    World("a number with a bent effect", continuous, ("size",)),
    World("two numbers and a category", mixed, ("size", "turn", "light")),
    World("people and pictures cross", crossed, ("light",)),
    World("the label changes within people", within_person, ("light",)),
    World("conditions missing", missing, ("light", "size")),
    World("heavy tails, two metrics", heavy_tails, ("light",)),
    World("a condition of persons", of_persons, ("glasses",)),
    World("thin strata, four numbers", thin, ("x0", "x1", "x2", "x3")),
    World("3,000 people, six groups", people_of, ("light",)),
    World("gap of .08 for one tone", lambda r: tones(r, 600, 10, effect=0.08), ("light", "size"), -0.08, "t9"),
    World("gap of .08, two groups", lambda r: two_groups(r, 400, 6, effect=0.08), ("light",), -0.08, "g1"),
    World("gap of .08, a number", lambda r: continuous(r, effect=0.08), ("size",), -0.08, "g3"),
    World("gap of .08 within people", lambda r: within_person(r, effect=0.08), ("light",), -0.08, "m1"),
    World("gap of .08, 4 % of people", lambda r: people_of(r, effect=0.08), ("light",), -0.08, "g5"),
]


@dataclass
class Tally:
    """What was seen over the tables of one world."""

    tables: int = 0
    alarms: int = 0
    raw: int = 0
    seen: int = 0
    covered: int = 0
    intervals: int = 0
    untestable: int = 0

    def line(self, world: World) -> str:
        """One line of the table in the docs."""
        share = self.alarms / self.tables
        error = math.sqrt(max(share * (1 - share), 0.05 * 0.95 / 4) / self.tables)
        alarms = f"{share:.3f} ± {error:.3f}" if not world.gap else f"seen {self.seen / self.tables:.2f}"
        cover = self.covered / max(self.intervals, 1)
        return (
            f"| {world.name} | {self.tables} | {alarms} | {self.raw / self.tables:.2f} | {cover:.3f} | "
            f"{self.untestable} |"
        )


def look(world: World, tables: int, seed: int, draws: int | None = None) -> Tally:
    """Audit so many tables of a world."""
    tally = Tally()
    for number in range(tables):
        rows = world.table(np.random.default_rng([seed, number]))
        metrics = [name for name in ("y", "found") if name in rows]
        given = list(world.given)
        found = audit(rows, ["group"], metrics, given=given, adjust="holm", better="higher", seed=number)
        tally.tables += 1
        tally.raw += any(f.verdict == "disparity" for f in found.findings)
        called = [f for f in found.given if f.p_adjusted < 0.05]
        tally.alarms += bool(called)
        for f in found.given:
            if math.isnan(f.low):
                tally.untestable += 1
                continue
            if not world.gap:
                truth = 0.0
            elif f.group == world.group or f.versus == world.group:
                truth = world.gap if f.group == world.group else -world.gap
                tally.seen += f.p_adjusted < 0.05
            else:
                continue
            tally.intervals += 1
            tally.covered += f.low <= truth <= f.high
    return tally


def main() -> None:
    """Print a line for each world."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="Worlds whose name contains this.")
    asked = parser.parse_args()
    print("| world | tables | false alarms | raw audit calls | coverage | untestable |\n|---|---|---|---|---|---|")
    for world in WORLDS:
        if asked.only in world.name:
            print(look(world, asked.tables, asked.seed).line(world), flush=True)


if __name__ == "__main__":
    main()
