"""The bounty as a task: three classes for a picture, each right or wrong; Score₁, disparities and randomness.

Also the challenge's predictions file as saved predictions (`--model predictions:FILE`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers import Labels
from countenance.answers.formats.bias_bounty import predictions_of
from countenance.data import Sample, Subject
from countenance.data.adapters.bias_bounty import dataset_of, source_of
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, CODES, ClassTable, Truth
from countenance.data.sample import Value
from countenance.errors import InputError
from countenance.files import file_hash
from countenance.models import ModelCard
from countenance.person_columns import GROUPS_OF
from countenance.run import Run, evaluate
from countenance.settings.engine import Say
from countenance.suites.bias_bounty.scoring import Draws, Score, score_tables
from countenance.tasks import Context, Metric, Reduce, Reduced, Row, Shard, State, Task, Whole
from countenance.tasks.attributes import to_labels
from countenance.tasks.task import subject_row

TRUTH, ANSWER = "truth.", "said."


def refuse(answer: Labels, sample: Sample, context: Context) -> str | None:
    """The phrase for a missing attribute, or for a word that is not one of the challenge's classes; else None."""
    for name in ATTRIBUTES:
        word = answer.values.get(name)
        if word not in CODES[name]:
            return f"{name} is {word!r}, expected one of {', '.join(CLASSES[name])}"
    return None


def class_of(who: Subject, name: str) -> Value:
    """A person's class of one of the challenge's attributes: its `age` is the attribute `age_group` of datasets."""
    return who.attributes.get(GROUPS_OF.get(name, name), who.attributes.get(name))


def score(sample: Sample, answer: Labels) -> list[Row]:
    """A row for the person, with a 0/1 metric for each attribute with a label."""

    def right(name: str, truth: object) -> float | None:
        return None if truth is None else float(answer.values[name] == truth)

    return [
        subject_row(sample, who) | {f"m.correct_{name}": right(name, class_of(who, name)) for name in ATTRIBUTES}
        for who in sample.subjects
    ]


def partial(shard: Shard) -> State:
    """Names, codes of truth and prediction, the person of each picture, and the organiser's data on it."""
    pairs = list(shard.answered())
    people = [subject for sample, _ in pairs for subject in sample.subjects[:1] or (None,)]
    state: dict[str, Any] = {
        "name": np.array([sample.id for sample, _ in pairs], dtype=np.str_),
        "person": np.array([(who and who.identity) or "" for who in people], dtype=np.str_),
        "listed": np.array(["labelled" in sample.attributes for sample, _ in pairs], dtype=bool),
        "nonface": np.array([sample.attributes.get("face") == "no" for sample, _ in pairs], dtype=bool),
    }
    for name in ATTRIBUTES:
        truth = [CODES[name].get(str(class_of(who, name)), -1) if who else -1 for who in people]
        state[TRUTH + name] = np.array(truth, dtype=np.int64)
        state[ANSWER + name] = np.array([CODES[name][answer.values[name]] for _, answer in pairs], dtype=np.int64)
    return state


def _finish(draws: Draws, keep: Callable[[Score], object]) -> Callable[[State, Whole], Reduced]:
    def finish(state: State, whole: Whole) -> Reduced:
        """The results of the run, as `countenance bias-bounty score` computes them."""
        listed, names = state["listed"], state["name"]
        if not listed.any():
            raise InputError("no picture of this run has labels")
        truth = ClassTable(tuple(names[listed].tolist()), {name: state[TRUTH + name][listed] for name in ATTRIBUTES})
        predictions = ClassTable(tuple(names.tolist()), {name: state[ANSWER + name] for name in ATTRIBUTES})
        people = tuple(who or None for who in state["person"][listed].tolist())
        known = Truth(truth, people if any(people) else None, tuple(names[state["nonface"]].tolist()))
        score = score_tables(known, predictions, draws)
        keep(score)
        return Reduced(score.results(), notes=list(score.notes))

    return finish


def make(draws: Draws, keep: Callable[[Score], object] = lambda score: None) -> Task:
    """The task with the options given; `keep` receives the score that its results are taken from."""
    return Task(
        name="bias_bounty",
        question="Which skin tone, age and gender would a person give this face?",
        answer=Labels,
        metrics=tuple(
            Metric(f"correct_{name}", f"share of labelled faces whose {name} was named right", "higher", headline=True)
            for name in ATTRIBUTES
        ),
        coerce=to_labels,
        score=score,
        refuse=refuse,
        reduce=Reduce(partial, _finish(draws, keep)),
        needs=("labels",),
        options=draws,
        make=make,
    )


BIAS_BOUNTY = make(Draws())


@dataclass(frozen=True)
class ScoredFiles:
    """A file of predictions, and the files of labels, non-faces and identities that it is scored by, read once."""

    predictions: Path
    labels: Path
    truth: Truth
    answers: ClassTable
    source: str
    """The name under which `load_dataset` reads the files again."""

    @classmethod
    def read(
        cls, predictions: Path, labels: Path, nonfaces: Path | None = None, identities: Path | None = None
    ) -> "ScoredFiles":
        """Read the files; InputError with every problem when the predictions are not whole."""
        truth = Truth.read(labels, nonfaces, identities)
        source = source_of(labels, nonfaces, identities)
        return cls(predictions, labels, truth, truth.predictions(predictions), source)

    def score(self, draws: Draws) -> Score:
        """The score alone."""
        return score_tables(self.truth, self.answers, draws)

    def run(self, out: Path, draws: Draws, name: str, say: Say) -> tuple[Run, Score]:
        """The run of the predictions and its score, computed once; no picture is opened."""
        scores: list[Score] = []
        run = evaluate(
            predictions_of(self.answers, self.predictions),
            make(draws, scores.append),
            dataset_of(self.labels, self.truth, opened=False),
            out=out,
            card=ModelCard(name=name, description="predictions file", content=file_hash(self.predictions), hashed=True),
            source=self.source,
            suite="bias_bounty",
            about={"clustered": self.truth.people is not None, "nonfaces": len(self.truth.nonfaces)},
            say=say,
        )
        return run, scores[0] if scores else self.score(draws)
