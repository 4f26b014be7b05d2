"""The twins audit: the same person in the same light with one change, so that a difference is its effect.

Its two questions are the effect of skin tone alone, and the effect of a mask, or its colour, alone. Every two
conditions are compared on the pairs of pictures that have both: McNemar's exact test for rates, a paired t test for the
confidence, which moves long before a face is lost.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.answers import Boxes
from countenance.auditing import Finding, audit
from countenance.data import Dataset, load_dataset
from countenance.data.vocabulary import in_order
from countenance.errors import InputError
from countenance.run import Run, evaluate
from countenance.suites.mask_fairness.assessment import csv_text
from countenance.suites.mask_fairness.detectors import weights_and_settings
from countenance.tasks.mask_detection import MASK_DETECTION, TRUTH, best_boxes

QUESTIONS = {"skin tone": ("skin_tone", ("none", "skin_tone")), "mask": ("mask", ("none", "mask"))}
"""The condition that varies, and the changes that belong to the question."""
FEWEST = 20
"""Pairs that a comparison needs; colours of masks with fewer are compared together."""

METRICS = {
    "localised": "found",
    "found_and_right": "found and judged right",
    "confidence": "confidence of its box, 0 when not found",
}


@dataclass(frozen=True)
class Effect:
    """The effect of one change, as a paired finding with its question."""

    question: str
    finding: Finding


@dataclass(frozen=True)
class Effects:
    """Every paired comparison, and the metrics that were the same in every picture of a question."""

    compared: list[Effect]
    constant: dict[tuple[str, str], tuple[float, int]]
    """By question and metric: the value, and in how many pictures."""


def twins_audit(
    model: Any, out: Path, *, dataset: str | Dataset = "people:twins", weights: Path | None = None, **engine: Any
) -> Effects:
    """Evaluate the detector on every twin, compare pairs, write the run `out` with `twins.csv` in it."""
    twins = load_dataset(dataset)
    if not any(sample.attributes.get("base") for sample in twins):
        raise InputError(f"dataset {twins.name!r} has no twins (samples with the attributes base and change)")
    weights, settings = weights_and_settings(model, weights)
    run = evaluate(model, MASK_DETECTION, dataset, out=out, weights=weights, settings=settings, **engine)
    effects = effects_of(run, twins)
    table = csv_text([_columns(effect) for effect in effects.compared], ["question", *COLUMNS])
    with run.store.replacing("twins.csv"):
        run.store.storage.write("twins.csv", table.encode())
    return effects


def effects_of(run: Run, twins: Dataset, **settings: Any) -> Effects:
    """The paired findings of a run over twins; each question is a separate family."""
    rows = _rows(run, twins)
    judges = any(row["m.found_and_right"] is not None for row in rows)
    metrics = [name for name in METRICS if judges or name != "found_and_right"]
    effects: list[Effect] = []
    constant: dict[tuple[str, str], tuple[float, int]] = {}
    for question, (condition, changes) in QUESTIONS.items():
        own = [row for row in rows if row["attr.change"] in changes]
        condition = _masked_or_colour(own) if condition == "mask" else condition
        table = {name: [row[name] for row in own] for name in (rows[0] if rows else {})}
        if len({row[f"attr.{condition}"] for row in own}) < 2:
            continue
        for name in metrics:
            if len({row[f"m.{name}"] for row in own}) == 1:
                constant[question, name] = (own[0][f"m.{name}"], len(own))
        varied = [name for name in metrics if (question, name) not in constant]
        if not varied:
            continue
        answer = audit(table, by=[condition], metrics=varied, comparison="paired", pair="base", **settings)
        effects += [Effect(question, _in_order(condition, finding)) for finding in answer.findings]
    return Effects(effects, constant)


def _masked_or_colour(rows: Sequence[dict[str, Any]]) -> str:
    """The condition of the question about masks: `mask` (colour), or `masked` if no colour has enough pairs."""
    worn = [row for row in rows if row["attr.mask"] != "none"]
    most = max(Counter(row["attr.mask"] for row in worn).values(), default=0)
    one_each = max(Counter(row["attr.base"] for row in worn).values(), default=0) == 1
    return "masked" if one_each and most < FEWEST else "mask"


def _in_order(condition: str, finding: Finding) -> Finding:
    """The finding with its conditions in their natural order: lighter before darker, no mask before a mask."""
    first = in_order(condition, [finding.group, finding.versus])[0]
    return finding if finding.group == first else finding.mirrored()


def _rows(run: Run, twins: Dataset) -> list[dict[str, Any]]:
    """A row for each answered twin, with two metrics that the run does not have."""
    answers = run.answers()
    rows = []
    for sample in twins:
        answer = answers.get(sample.id)
        people = [subject for subject in sample.subjects if subject.face_box is not None]
        if not isinstance(answer, Boxes) or len(people) != 1:
            continue
        (best,) = best_boxes([people[0].face_box], answer)
        row: dict[str, Any] = {"sample": sample.id, "identity": people[0].identity}
        known = {**sample.attributes, **people[0].attributes}
        row |= {f"attr.{name}": known.get(name) for name in ("base", "change", "skin_tone", "mask", "masked")}
        row |= {"m.localised": float(best is not None), "m.found_and_right": None}
        row["m.confidence"] = 0.0 if best is None else float(answer.scores[best])
        if answer.labels is not None:
            right = best is not None and answer.labels[best] == TRUTH.get(known.get("masked"))
            row["m.found_and_right"] = float(right)
        rows.append(row)
    return rows


COLUMNS = {
    "metric": "metric",
    "first": "group",
    "second": "versus",
    "pairs": "n",
    "first_value": "estimate",
    "second_value": "estimate_versus",
    "difference": "difference",
    "difference_low": "diff_low",
    "difference_high": "diff_high",
    "test": "test",
    "p": "p",
    "p_adjusted": "p_adjusted",
    "verdict": "verdict",
    "reason": "reason",
}
"""The columns of the table, and what they are called in a finding."""


def _columns(effect: Effect) -> dict[str, Any]:
    own = {column: getattr(effect.finding, name) for column, name in COLUMNS.items()}
    return {"question": effect.question, **own}


def effect_lines(effects: Effects) -> list[str]:
    """The effects in words: each that is shown, the largest change that the other pairs allow, and constant metrics."""
    lines = []
    for question in QUESTIONS:
        own = [effect.finding for effect in effects.compared if effect.question == question]
        shown = [f for f in own if f.verdict == "disparity"]
        lines.append(f"{question}: {len(shown)} of {len(own)} paired comparisons show an effect")
        lines += [f"  {_sentence(f)}" for f in sorted(shown, key=lambda f: f.p_adjusted)]
        rest = [f for f in own if f.verdict != "disparity" and f.metric == "localised" and f.diff_low == f.diff_low]
        if rest:
            widest = max(max(abs(f.diff_low), abs(f.diff_high)) for f in rest)
            lines.append(f"  otherwise the share of faces found changes by less than {widest:.3f} (95 % interval)")
        for (other_question, name), (value, count) in effects.constant.items():
            if other_question == question:
                lines.append(f"  {METRICS[name]}: {value:g} in each of the {count} pictures, whatever was changed")
    return lines


def _sentence(f: Finding) -> str:
    return (
        f"{METRICS[f.metric]}: {f.group} {f.estimate:.3f}, {f.versus} {f.estimate_versus:.3f}, difference "
        f"{f.difference:+.3f} [{f.diff_low:+.3f}, {f.diff_high:+.3f}] on {f.n} pairs (adjusted p {f.p_adjusted:.2g})"
    )
