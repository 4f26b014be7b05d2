"""`score`: a file of predictions against a file of labels, with the uncertainty of every number.

The shape of the JSON is documented in docs/suites/bias_bounty.md; the attributes come in the formula's order.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.metrics import bounty
from countenance.suites.bias_bounty.files import ATTRIBUTES, CLASSES, ClassTable, Draws, Truth, nobody
from countenance.suites.bias_bounty.intervals import Interval, accuracy_intervals, score_intervals


@dataclass(frozen=True)
class Score:
    """One set of predictions, scored."""

    rows: int
    labelled: Mapping[str, int]
    clusters: int
    accuracy: Mapping[str, float]
    disparity: Mapping[str, float]
    score1: float
    per_class: Mapping[str, Mapping[str, float]]
    class_rows: Mapping[str, Mapping[str, int]]
    confusion: Mapping[str, list[list[int]]]
    left_out: Mapping[str, tuple[str, ...]]
    """Classes without truth rows, which the disparity leaves out."""
    accuracy_interval: Mapping[str, Interval]
    disparity_interval: Mapping[str, Interval]
    score1_interval: Interval
    fair: Mapping[str, Interval]
    """Mean and 95 % point of the disparity that a fair model of the same accuracy shows by chance."""
    design_effect: Mapping[str, float]
    """How many times the variance of each accuracy exceeds that of independent rows."""
    randomness: Mapping[str, bounty.Randomness]
    nonfaces: int
    replicates: int
    seed: int
    faces_alone: float = math.nan
    """Score₁ of the rows that are not known non-faces; NaN where no non-faces are named."""
    clustered: bool = False
    """Whether pictures of one person were resampled together."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the files."""

    @property
    def multiplier(self) -> float:
        """The product of the multipliers of the randomness tests passed."""
        return math.prod(self.randomness[name].multiplier for name in ATTRIBUTES)

    def to_json(self) -> dict[str, Any]:
        """The contract's shape; NaN becomes null when written."""
        return {
            "accuracy": dict(self.accuracy),
            "disparity": dict(self.disparity),
            "score1": self.score1,
            "score1_faces_alone": self.faces_alone,
            "randomness": {
                "p": {name: self.randomness[name].p for name in ATTRIBUTES},
                "passed": {name: self.randomness[name].passed for name in ATTRIBUTES},
                "multiplier": self.multiplier,
                "applicable": self.nonfaces > 0,
                "nonfaces": self.nonfaces,
                "too_even": {name: self.randomness[name].too_even for name in ATTRIBUTES},
                "statistic": {name: self.randomness[name].statistic for name in ATTRIBUTES},
                "method": {name: self.randomness[name].method for name in ATTRIBUTES},
                "counts": {
                    name: dict(zip(CLASSES[name], self.randomness[name].counts, strict=True)) for name in ATTRIBUTES
                },
                "honest_guesser_passes_all": bounty.HONEST_PASS,
            },
            "intervals": {
                "accuracy": {name: list(self.accuracy_interval[name]) for name in ATTRIBUTES},
                "disparity": {name: list(self.disparity_interval[name]) for name in ATTRIBUTES},
                "score1": list(self.score1_interval),
                "level": 0.95,
                "method": "accuracy: Wilson on the effective size; disparity and score1: numerical bootstrap over "
                + ("identities" if self.clustered else "rows"),
                "replicates": self.replicates,
                "seed": self.seed,
            },
            "fair_disparity": {name: {"mean": self.fair[name][0], "high95": self.fair[name][1]} for name in ATTRIBUTES},
            "design_effect": dict(self.design_effect),
            "per_class": {name: dict(self.per_class[name]) for name in ATTRIBUTES},
            "class_rows": {name: dict(self.class_rows[name]) for name in ATTRIBUTES},
            "confusion": {name: self.confusion[name] for name in ATTRIBUTES},
            "classes": {name: list(CLASSES[name]) for name in ATTRIBUTES},
            "classes_left_out": {name: list(self.left_out[name]) for name in ATTRIBUTES},
            "rows": self.rows,
            "labelled": dict(self.labelled),
            "clusters": self.clusters,
            "notes": list(self.notes),
        }

    def submission(self, name: str) -> dict[str, Any]:
        """`submission.json` as the challenge's quickstart writes it, plus ours."""
        return {
            "submission_name": name,
            "score": self.score1,
            "metrics": {"accuracy": dict(self.accuracy), "disparity": dict(self.disparity)},
            "countenance": self.to_json(),
        }


def score_files(
    labels: Path,
    predictions: Path,
    nonfaces: Path | None = None,
    *,
    identities: Path | None = None,
    replicates: int = 2000,
    seed: int = 0,
) -> Score:
    """Score a predictions file; InputError with every problem when the file cannot be scored whole.

    A non-face need not be in `labels`; it must be in `predictions`. With `identities` (or a file `identities.csv`
    beside the labels or among the organiser's files) pictures of one person are resampled together.
    """
    truth = Truth.read(labels, nonfaces, identities)
    return score_tables(truth, truth.predictions(predictions), Draws(replicates, seed))


def score_tables(known: Truth, said: ClassTable, draws: Draws = Draws()) -> Score:
    """Score checked tables."""
    truth, nonfaces, people, seed = known.labels, known.nonfaces, known.people, draws.seed
    predicted = said.rows(truth.names)
    outside = said.rows(nonfaces)
    accuracy, spread, classes_of, rows_of, matrices, empty = {}, {}, {}, {}, {}, {}
    for name in ATTRIBUTES:
        words = CLASSES[name]
        matrix = bounty.confusion(truth.codes[name], predicted[name], len(words))
        shares = bounty.per_class_accuracy(truth.codes[name], predicted[name], len(words))
        accuracy[name] = bounty.accuracy(truth.codes[name], predicted[name])
        spread[name] = bounty.disparity(shares)
        classes_of[name] = {word: float(share) for word, share in zip(words, shares, strict=True)}
        rows_of[name] = {word: int(n) for word, n in zip(words, matrix.sum(axis=1), strict=True)}
        matrices[name] = matrix.tolist()
        empty[name] = tuple(word for word, n in rows_of[name].items() if n == 0)
    sums = bounty.class_sums(truth.codes, predicted, people)
    sums = sums[sums.any(axis=1)]  # a picture without any label tells nothing
    spread_bounds = score_intervals(sums, draws)
    accuracy_bounds, deff = accuracy_intervals(truth.codes, predicted, people)
    return Score(
        rows=len(truth),
        labelled={name: int((truth.codes[name] >= 0).sum()) for name in ATTRIBUTES},
        clusters=len(sums),
        accuracy=accuracy,
        disparity=spread,
        score1=bounty.score1(accuracy, spread),
        per_class=classes_of,
        class_rows=rows_of,
        confusion=matrices,
        left_out=empty,
        accuracy_interval=accuracy_bounds,
        disparity_interval=dict(zip(ATTRIBUTES, spread_bounds[:3], strict=True)),
        score1_interval=spread_bounds[3],
        fair={
            name: bounty.fair_disparity(list(rows_of[name].values()), accuracy[name], deff=deff[name], seed=seed)
            for name in ATTRIBUTES
        },
        design_effect=deff,
        randomness={name: bounty.randomness(outside[name], name, len(CLASSES[name]), seed=seed) for name in ATTRIBUTES},
        nonfaces=len(nonfaces),
        replicates=draws.replicates,
        seed=seed,
        faces_alone=_faces_alone(truth, predicted, nonfaces),
        clustered=people is not None,
        notes=_notes(truth, nonfaces, people),
    )


def _faces_alone(truth: ClassTable, predicted: Mapping[str, Any], nonfaces: Sequence[str]) -> float:
    """Score₁ without the known non-faces, whose labels are random and cannot be predicted."""
    if not nonfaces:
        return math.nan
    outside = set(nonfaces)
    face = [name not in outside for name in truth.names]
    codes = {name: truth.codes[name][face] for name in ATTRIBUTES}
    said = {name: predicted[name][face] for name in ATTRIBUTES}
    return float(bounty.scores_from_sums(bounty.class_sums(codes, said).sum(axis=0, keepdims=True))[0, -1])


def _notes(truth: ClassTable, nonfaces: Sequence[str], people: Sequence[str] | None) -> tuple[str, ...]:
    notes = []
    labelled = [name for name in nonfaces if name in truth.index and _any_label(truth, truth.index[name])]
    if labelled:
        many = f"{len(labelled)} of {len(nonfaces)} non-faces have labels (such as {labelled[0]})"
        notes.append(f"{many}: they count in Score₁ like every labelled row, and in the randomness tests")
    alone = [name for name, who in zip(truth.names, people or (), strict=False) if who == nobody(name)]
    if alone:
        many = f"{len(alone)} of {len(truth)} images have no identity (such as {alone[0]})"
        notes.append(f"{many}: each stands for itself, and intervals may be too narrow")
    return tuple(notes)


def _any_label(truth: ClassTable, row: int) -> bool:
    return any(truth.codes[name][row] >= 0 for name in ATTRIBUTES)
