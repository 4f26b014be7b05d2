"""Is a gap with conditions held equal the gap that balance, or the intervention itself, shows?

The rendered portraits are balanced, and the twins are interventions: pictures that differ from their base in one
thing. From each, subsamples are drawn by seed in which the compared thing goes with a condition that the model
depends on. The interval of the gap held equal on that condition should cover the balanced gap, and the twin effect, in
at least 93 % of subsamples. Raw gaps of the same subsamples are printed beside it.

    python benchmarks/why_validation.py --runs DIR --draws 100 --model haar --model mtcnn --model yunet=WEIGHTS
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import countenance as ct
from countenance.auditing import audit

METRIC = "recall@0.5"
DARK = ("monk_6", "monk_7", "monk_8", "monk_9", "monk_10")
OLD = "61_100"


class Change(NamedTuple):
    """What is compared, the condition that goes with it in subsamples, and its name among the twins."""

    name: str
    given: str
    twins: str


CHANGES = [
    Change("tone", "light", "skin_tone"),
    Change("mask", "pose", "mask"),
    Change("age", "masked", "age"),
    Change("smile", "masked", "expression"),
    Change("glasses", "masked", "glasses"),
    Change("gender", "masked", ""),
]


class Line(NamedTuple):
    """What the draws of one model and change showed."""

    model: str
    change: str
    against: str
    truth: float
    raw: float
    held: float
    raw_covers: float
    covers: float
    draws: int
    untestable: int


def scores_of(model: str, part: str, folder: Path) -> dict[str, np.ndarray]:
    """The score table of a model on a part of the people, evaluated once and kept."""
    name, _, weights = model.partition("=")
    place = folder / f"{name}_{part}"
    if not (place / "run.json").is_file():
        options: dict[str, Any] = {"weights": weights} if weights else {}
        ct.evaluate(name, "face_localization", f"people:{part}", out=place, **options)
    table = ct.Run(place).scores()
    keep = table[f"m.{METRIC}"].is_valid()
    return {column: np.array(table[column].filter(keep).to_pylist(), dtype=object) for column in table.column_names}


def compared(rows: dict[str, np.ndarray], change: Change) -> np.ndarray:
    """Whether each row has the changed value."""
    if change.name == "tone":
        return np.isin(rows["attr.skin_tone"], DARK)
    if change.name == "age":
        return rows["attr.age_group"] == OLD
    if change.name == "glasses":
        return rows["attr.glasses"] != "none"
    columns = {"mask": ("masked", "yes"), "smile": ("smile", "yes"), "gender": ("gender", "female")}
    column, value = columns[change.name]
    return rows[f"attr.{column}"] == value


def sides(rows: dict[str, np.ndarray], change: Change) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of twins without the change and with it; a smile may be the base's or that of its other expression."""
    plain, changed = rows["attr.change"] == "none", rows["attr.change"] == change.twins
    if change.name != "smile":
        return plain, changed
    smiling = compared(rows, change)
    return (plain | changed) & ~smiling, (plain | changed) & smiling


def gap_of(rows: dict[str, np.ndarray], inside: np.ndarray, given: str, kept: np.ndarray, seed: int) -> Any:
    """The finding of changed against unchanged rows, the condition held equal."""
    table = {
        "group": np.where(inside[kept], "a_changed", "b_not").tolist(),
        "condition": rows[f"attr.{given}"][kept].tolist(),
        "identity": rows["identity"][kept].tolist(),
        "found": [float(v) for v in rows[f"m.{METRIC}"][kept]],
    }
    found = audit(table, ["group"], ["found"], given=["condition"], adjust="holm", seed=seed).given
    return found[0] if found else None


def hard(rows: dict[str, np.ndarray], given: str) -> np.ndarray:
    """Rows whose condition is one in which the model does worse than on average."""
    values = rows[f"attr.{given}"]
    metric = np.array([float(v) for v in rows[f"m.{METRIC}"]])
    worse = [level for level in sorted(set(values)) if metric[values == level].mean() < metric.mean()]
    return np.isin(values, worse)


def confounded(inside: np.ndarray, difficult: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of a subsample in which the changed ones come more often under difficult conditions."""
    chance = np.where(inside == difficult, 0.9, 0.25)
    return np.flatnonzero(rng.random(len(inside)) < chance)


def one_of_each(rows: dict[str, np.ndarray], change: Change, difficult: np.ndarray, rng: Any) -> np.ndarray:
    """From each twin's pictures the base or one changed picture, the changed one more often where it is difficult."""
    chosen = []
    unchanged, with_change = sides(rows, change)
    for base in sorted(set(rows["attr.base"])):
        own = rows["attr.base"] == base
        plain, changed = np.flatnonzero(own & unchanged), np.flatnonzero(own & with_change)
        if not len(plain) or not len(changed):
            continue
        take = rng.random() < (0.7 if difficult[plain[0]] else 0.3)
        chosen.append(int(rng.choice(changed) if take else plain[0]))
    return np.array(chosen)


def twin_effect(rows: dict[str, np.ndarray], change: Change) -> float:
    """The mean difference between changed pictures and their base."""
    metric = np.array([float(v) for v in rows[f"m.{METRIC}"]])
    effects = []
    unchanged, with_change = sides(rows, change)
    for base in sorted(set(rows["attr.base"])):
        own = rows["attr.base"] == base
        plain, changed = own & unchanged, own & with_change
        if plain.any() and changed.any():
            effects.append(metric[changed].mean() - metric[plain].mean())
    return float(np.mean(effects))


def tallied(model: str, change: Change, against: str, truth: float, found: Sequence[Any]) -> Line:
    """How often the intervals cover the truth."""
    seen = [f for f in found if f is not None and math.isfinite(f.low)]
    raw = [f.raw_low <= truth <= f.raw_high for f in seen]
    held = [f.low <= truth <= f.high for f in seen]
    return Line(
        model,
        change.name,
        against,
        truth,
        float(np.mean([f.raw for f in seen])) if seen else math.nan,
        float(np.mean([f.held_equal for f in seen])) if seen else math.nan,
        float(np.mean(raw)) if seen else math.nan,
        float(np.mean(held)) if seen else math.nan,
        len(seen),
        len(found) - len(seen),
    )


def lines(model: str, draws: int, folder: Path, only: str = "") -> list[Line]:
    """Every change of one model, against balance and against twins."""
    made, name = [], model.partition("=")[0]
    portraits, twins = scores_of(model, "portraits", folder), scores_of(model, "twins", folder)
    for change in (change for change in CHANGES if only in change.name):
        inside, difficult = compared(portraits, change), hard(portraits, change.given)
        whole = gap_of(portraits, inside, change.given, np.arange(len(inside)), 0)
        found = [
            gap_of(portraits, inside, change.given, confounded(inside, difficult, np.random.default_rng([7, i])), i)
            for i in range(draws)
        ]
        made.append(tallied(name, change, "balanced portraits", whole.raw, found))
        if not change.twins:
            continue
        difficult = hard(twins, "background")
        changed = sides(twins, change)[1]
        found = []
        for i in range(draws):
            kept = one_of_each(twins, change, difficult, np.random.default_rng([8, i]))
            found.append(gap_of(twins, changed, "background", kept, i))
        made.append(tallied(name, change, "twins", twin_effect(twins, change), found))
    return made


def main() -> None:
    """Print the table, what fails first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--only", default="", help="Changes whose name contains this.")
    asked = parser.parse_args()
    models = asked.model or ["haar", "mtcnn"]
    made = [line for model in models for line in lines(model, asked.draws, asked.runs, asked.only)]
    made.sort(key=lambda line: line.covers if math.isfinite(line.covers) else -1.0)
    head = ("model", "change", "against", "truth", "raw gap", "held equal", "raw covers", "held equal covers", "draws")
    print(f"| {' | '.join(head)} | no overlap |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for one in made:
        print(
            f"| {one.model} | {one.change} | {one.against} | {one.truth:+.3f} | {one.raw:+.3f} | {one.held:+.3f} | "
            f"{one.raw_covers:.2f} | {one.covers:.2f} | {one.draws} | {one.untestable} |"
        )


if __name__ == "__main__":
    main()
