"""The bounty as a task: three classes for a picture, right or wrong; Score₁, disparities and randomness of the run.

Also the challenge's predictions file as saved predictions (`--model predictions:FILE`).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from countenance.answers import Labels
from countenance.answers.formats import Format, Predictions, Wanted
from countenance.data import Sample
from countenance.errors import InputError
from countenance.metrics.bounty import MAXIMUM
from countenance.suites.bias_bounty.files import (
    ATTRIBUTES,
    CLASSES,
    COLUMNS,
    IDENTITY,
    ClassTable,
    Draws,
    Truth,
    nobody,
    read_predictions,
)
from countenance.suites.bias_bounty.scoring import Score, score_tables
from countenance.tasks import Context, Metric, Options, Reduce, Reduced, Result, Row, Shard, State, Task, Whole
from countenance.tasks.attributes import to_labels
from countenance.tasks.results import Matrix, Number
from countenance.tasks.task import subject_row

CODES = {name: {word: code for code, word in enumerate(words)} for name, words in CLASSES.items()}
TRUTH, SAID = "truth.", "said."


class ScoreOptions(Options):
    """How intervals are computed."""

    replicates: int = Field(2000, ge=100)
    seed: int = Field(0, ge=0)


def refuse(answer: Labels, sample: Sample, context: Context) -> str | None:
    """A phrase when an attribute is missing or its word is none of the challenge's classes."""
    for name in ATTRIBUTES:
        word = answer.values.get(name)
        if word not in CODES[name]:
            return f"{name} is {word!r}, expected one of {', '.join(CLASSES[name])}"
    return None


def score(sample: Sample, answer: Labels) -> list[Row]:
    """A row for the person, with a 0/1 metric for each attribute that is labelled."""
    rows = []
    for subject in sample.subjects:
        row = subject_row(sample, subject)
        for name in ATTRIBUTES:
            truth = subject.attributes.get(name)
            row[f"m.correct_{name}"] = None if truth is None else float(answer.values[name] == truth)
        rows.append(row)
    return rows


def partial(shard: Shard) -> State:
    """Names, codes of truth and prediction, whose picture it is, and what the organiser knows of it."""
    pairs = list(shard.answered())
    people = [subject for sample, _ in pairs for subject in sample.subjects[:1] or (None,)]
    state: dict[str, Any] = {
        "name": np.array([sample.id for sample, _ in pairs], dtype=np.str_),
        "person": np.array([(who and who.identity) or "" for who in people], dtype=np.str_),
        "listed": np.array(["labelled" in sample.attributes for sample, _ in pairs], dtype=bool),
        "nonface": np.array([sample.attributes.get("face") == "no" for sample, _ in pairs], dtype=bool),
    }
    for name in ATTRIBUTES:
        truth = [CODES[name].get(str(who.attributes.get(name)), -1) if who else -1 for who in people]
        state[TRUTH + name] = np.array(truth, dtype=np.int64)
        state[SAID + name] = np.array([CODES[name][answer.values[name]] for _, answer in pairs], dtype=np.int64)
    return state


def scored(state: State, rules: ScoreOptions) -> Score:
    """The run as `countenance bias-bounty score` computes it."""
    listed = state["listed"]
    names = state["name"].tolist()
    own = [name for name, here in zip(names, listed, strict=True) if here]
    truth = _table("labels", own, {name: state[TRUTH + name][listed] for name in ATTRIBUTES})
    said = _table("predictions", names, {name: state[SAID + name] for name in ATTRIBUTES})
    who = state["person"][listed].tolist()
    people = [f"{IDENTITY}{person}" if person else nobody(name) for name, person in zip(own, who, strict=True)]
    outside = [name for name, apart in zip(names, state["nonface"], strict=True) if apart]
    known = Truth(truth, tuple(people) if any(who) else None, tuple(outside))
    return score_tables(known, said, Draws(rules.replicates, rules.seed))


def _table(what: str, names: list[str], codes: dict[str, Any]) -> ClassTable:
    return ClassTable(Path(what), tuple(names), codes, {name: i for i, name in enumerate(names)})


def _finish(rules: ScoreOptions) -> Callable[[State, Whole], Reduced]:
    def finish(state: State, whole: Whole) -> Reduced:
        if not state["listed"].any():
            raise InputError("no picture of this run has labels")
        found = scored(state, rules)
        return Reduced(results(found), notes=list(found.notes))

    return finish


def results(found: Score) -> list[Result]:
    """A score as typed results: Score₁, accuracies, disparities, randomness, and the confusions."""
    rows = {"n": found.rows, "unit": "rows"}
    low, high = found.score1_interval
    made: list[Result] = [
        Number(
            name="Score₁", meaning=f"accuracy and equality of three attributes, at most {MAXIMUM:.0f}",
            value=found.score1, low=low, high=high, better="higher", **rows,
        )
    ]  # fmt: skip
    for name in ATTRIBUTES:
        low, high = found.accuracy_interval[name]
        made.append(
            Number(
                name=f"accuracy of {name}", value=found.accuracy[name], low=low, high=high,
                n=found.labelled[name], unit="labelled rows", better="higher",
            )
        )  # fmt: skip
    for name in ATTRIBUTES:
        low, high = found.disparity_interval[name]
        mean, most = found.fair[name]
        made.append(
            Number(
                name=f"disparity of {name}", meaning="largest minus smallest accuracy of a class",
                note=f"a fair model of the same accuracy shows {mean:.3f} on average, at most {most:.3f} in 95 %",
                value=found.disparity[name], low=low, high=high, n=found.labelled[name], unit="labelled rows",
                better="lower",
            )
        )  # fmt: skip
    if found.nonfaces:
        made.append(Number(name="randomness multiplier", value=found.multiplier, n=found.nonfaces, unit="non-faces"))
        made += [
            Number(
                name=f"randomness of {name}", meaning=f"p of the test that non-faces get random labels ({t.method})",
                note="passed" if t.passed else "failed", value=t.p, n=found.nonfaces, unit="non-faces",
            )
            for name, t in found.randomness.items()
        ]  # fmt: skip
    return made + [_confusion(found, name) for name in ATTRIBUTES]


def _confusion(found: Score, name: str) -> Matrix:
    counts = np.array(found.confusion[name])
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    return Matrix(
        name=f"confusion of {name}", rows=list(CLASSES[name]), columns=list(CLASSES[name]), values=shares.tolist(),
        counts=counts.tolist(), row_label="labelled", column_label="predicted", attribute=name,
    )  # fmt: skip


def make(rules: ScoreOptions) -> Task:
    """The task with the options given."""
    return Task(
        name="bias_bounty",
        question="Which skin tone, age and gender would a person give this face?",
        answer=Labels,
        metrics=tuple(
            Metric(f"correct_{name}", f"share of labelled faces whose {name} was named right", headline=True)
            for name in ATTRIBUTES
        ),
        coerce=to_labels,
        score=score,
        refuse=refuse,
        reduce=Reduce(partial, _finish(rules)),
        needs=("labels",),
        options=rules,
        make=make,
    )


BIAS_BOUNTY = make(ScoreOptions())


def _read(path: Path, wanted: Wanted) -> Predictions:
    """A predictions file, refused with every problem when it is not whole."""
    said = read_predictions(path, wanted.names.ids)
    words = {name: [CLASSES[name][code] for code in said.codes[name].tolist()] for name in ATTRIBUTES}
    made = {name: Labels({a: words[a][i] for a in ATTRIBUTES}) for i, name in enumerate(said.names)}
    return Predictions(str(path), "bias_bounty", made)


def _detects(path: Path) -> bool:
    """A CSV whose first line has the four columns."""
    if path.suffix.lower() != ".csv" or not path.is_file():
        return False
    with path.open("rb") as stream:
        head = stream.readline(4096).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    return set(COLUMNS) <= {cell.strip().strip('"') for cell in head.split(",")}


FORMAT = Format(
    name="bias_bounty", meaning="the bounty's CSV: name, skin_tone, gender, age", kinds=(Labels,), detects=_detects,
    read=_read,
)  # fmt: skip
