"""`score`: a file of predictions against a file of labels, with the uncertainty of every number.

The shape of the JSON is documented in docs/suites/bias_bounty.md; the attributes come in the formula's order.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from countenance.auditing._dist import quantile
from countenance.auditing.estimates import interval, wilson
from countenance.auditing.ranking import effective_df, numerical_bootstrap
from countenance.auditing.sums import clustered
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, ClassTable, Ints, Truth
from countenance.suites.bias_bounty import rules
from countenance.tasks import Options
from countenance.tasks.results import Matrix, Number, Result

ALPHA = 0.05
SPREADS = slice(3, 7)
"""Where `scores_from_sums` has the three disparities and Score₁."""

Interval = tuple[float, float]


class Draws(Options):
    """The settings of resampling for intervals."""

    replicates: int = Field(2000, ge=100)
    """How many resamples the intervals are computed from."""
    seed: int = Field(0, ge=0)
    """The seed of the resamples."""


@dataclass(frozen=True)
class AttributeScore:
    """One attribute of a set of predictions, scored."""

    name: str
    accuracy: Number
    disparity: Number
    fair: Interval
    """Mean and 95 % point of the disparity that a fair model of the same accuracy shows by chance."""
    design_effect: float
    """How many times the variance of the accuracy exceeds that of independent rows."""
    confusion: Matrix
    """Of each class (row), which share was called each class (column), and how often."""
    randomness: rules.Randomness

    @property
    def class_rows(self) -> dict[str, int]:
        return {word: sum(row) for word, row in zip(self.confusion.rows, self.confusion.counts, strict=True)}

    @property
    def per_class(self) -> dict[str, float]:
        """The accuracy of each class; NaN without truth rows."""
        return dict(zip(self.confusion.rows, np.diagonal(self.confusion.values).tolist(), strict=True))

    @property
    def left_out(self) -> list[str]:
        """Classes without truth rows, which the disparity leaves out."""
        return [word for word, n in self.class_rows.items() if n == 0]

    def class_interval(self, word: str) -> Interval:
        """The interval of a class's accuracy, from its effective rows."""
        size = self.class_rows[word] / self.design_effect
        return wilson(self.per_class[word] * size, size)


@dataclass(frozen=True)
class Score:
    """One set of predictions, scored."""

    first: Number
    """Score₁."""
    attributes: Mapping[str, AttributeScore]
    clusters: int
    nonfaces: int
    draws: Draws
    faces_alone: float = math.nan
    """Score₁ of the rows that are not known non-faces; NaN where no non-faces are named."""
    clustered: bool = False
    """Whether pictures of one person were resampled together."""
    notes: tuple[str, ...] = ()
    """Notes on the files."""

    @property
    def score1(self) -> float:
        return self.first.value

    @property
    def accuracy(self) -> dict[str, float]:
        return self._each(lambda attribute: attribute.accuracy.value)

    @property
    def disparity(self) -> dict[str, float]:
        return self._each(lambda attribute: attribute.disparity.value)

    @property
    def multiplier(self) -> float:
        """The product of the multipliers of the randomness tests passed."""
        return math.prod(attribute.randomness.multiplier for attribute in self.attributes.values())

    def _each(self, value: Callable[[AttributeScore], Any]) -> dict[str, Any]:
        return {name: value(attribute) for name, attribute in self.attributes.items()}

    def to_json(self) -> dict[str, Any]:
        """The score in the JSON form of the contract; NaN becomes null when written."""
        method = "accuracy: Wilson on the effective size; disparity and score1: numerical bootstrap over"
        tests = {
            field: self._each(lambda attribute, field=field: getattr(attribute.randomness, field))  # type: ignore[misc]
            for field in ("p", "passed", "too_even", "statistic", "method")
        }
        return {
            "accuracy": self.accuracy,
            "disparity": self.disparity,
            "score1": self.score1,
            "score1_faces_alone": self.faces_alone,
            "randomness": {
                **tests,
                "multiplier": self.multiplier,
                "applicable": self.nonfaces > 0,
                "nonfaces": self.nonfaces,
                "counts": self._each(
                    lambda attribute: dict(zip(CLASSES[attribute.name], attribute.randomness.counts, strict=True))
                ),
                "honest_guesser_passes_all": rules.HONEST_PASS,
            },
            "intervals": {
                "accuracy": self._each(lambda attribute: [attribute.accuracy.low, attribute.accuracy.high]),
                "disparity": self._each(lambda attribute: [attribute.disparity.low, attribute.disparity.high]),
                "score1": [self.first.low, self.first.high],
                "level": 0.95,
                "method": f"{method} {'identities' if self.clustered else 'rows'}",
                **self.draws.model_dump(),
            },
            "fair_disparity": self._each(lambda attribute: dict(zip(("mean", "high95"), attribute.fair, strict=True))),
            "design_effect": self._each(lambda attribute: attribute.design_effect),
            "per_class": self._each(lambda attribute: attribute.per_class),
            "class_rows": self._each(lambda attribute: attribute.class_rows),
            "confusion": self._each(lambda attribute: attribute.confusion.counts),
            "classes": self._each(lambda attribute: CLASSES[attribute.name]),
            "classes_left_out": self._each(lambda attribute: attribute.left_out),
            "rows": self.first.n,
            "labelled": self._each(lambda attribute: attribute.accuracy.n),
            "clusters": self.clusters,
            "notes": self.notes,
        }

    def submission(self, name: str) -> dict[str, Any]:
        """`submission.json` in the form of the challenge's quickstart, with our additional fields."""
        return {
            "submission_name": name,
            "score": self.score1,
            "metrics": {"accuracy": self.accuracy, "disparity": self.disparity},
            "countenance": self.to_json(),
        }

    def results(self) -> list[Result]:
        """Score₁, accuracies, disparities, randomness and confusions, as a run stores them."""
        every = list(self.attributes.values())
        results: list[Result] = [
            self.first,
            *(attribute.accuracy for attribute in every),
            *(attribute.disparity for attribute in every),
        ]
        if self.nonfaces:
            results.append(
                Number(name="randomness multiplier", value=self.multiplier, n=self.nonfaces, unit="non-faces")
            )
            results += [
                Number(
                    name=f"randomness of {attribute.name}",
                    value=attribute.randomness.p,
                    n=self.nonfaces,
                    unit="non-faces",
                    meaning=f"p of the test that non-faces get random labels ({attribute.randomness.method})",
                    note="passed" if attribute.randomness.passed else "failed",
                )
                for attribute in every
            ]
        return results + [attribute.confusion for attribute in every]


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
    return score_tables(truth, truth.predictions(predictions), Draws(replicates=replicates, seed=seed))


def score_tables(truth: Truth, predictions: ClassTable, draws: Draws = Draws()) -> Score:
    """Score checked tables."""
    codes, predicted, outside = (
        truth.labels.codes,
        predictions.rows(truth.labels.names),
        predictions.rows(truth.nonfaces),
    )
    sums = rules.class_sums(codes, predicted, truth.clusters)
    sums = sums[sums.any(axis=1)]  # a picture without labels gives no score
    *spreads, (low, high) = score_intervals(sums, draws)
    attributes = {}
    for name, spread in zip(ATTRIBUTES, spreads, strict=True):
        test = rules.randomness(outside[name], name, len(CLASSES[name]), seed=draws.seed)
        attributes[name] = _attribute(name, codes[name], predicted[name], truth.clusters, spread, test, draws.seed)
    accuracy = {name: attribute.accuracy.value for name, attribute in attributes.items()}
    first = rules.score1(accuracy, {name: attribute.disparity.value for name, attribute in attributes.items()})
    return Score(
        Number(
            name="Score₁",
            meaning=f"accuracy and equality of three attributes, at most {rules.MAXIMUM:.0f}",
            value=first,
            low=low,
            high=high,
            better="higher",
            n=len(truth.labels),
            unit="rows",
        ),
        attributes,
        clusters=len(sums),
        nonfaces=len(truth.nonfaces),
        draws=draws,
        faces_alone=_faces_alone(truth, predicted),
        clustered=truth.people is not None,
        notes=_notes(truth),
    )


def _attribute(
    name: str, truth: Ints, predicted: Ints, clusters: Ints, spread: Interval, test: rules.Randomness, seed: int
) -> AttributeScore:
    words, known = list(CLASSES[name]), truth >= 0
    low, high, effect = interval(
        clustered((truth == predicted)[known].astype(np.float64), clusters[known]), "rate", ALPHA
    )
    effect = float(effect) if effect == effect else 1.0
    counts = rules.confusion(truth, predicted, len(words))
    rows = counts.sum(axis=1, keepdims=True)
    rate = rules.accuracy(truth, predicted)
    mean, most = fair = rules.fair_disparity(rows[:, 0], rate, deff=effect, seed=seed)
    shares = np.divide(counts, rows, out=np.full(counts.shape, np.nan), where=rows > 0)
    labelled = {"n": int(rows.sum()), "unit": "labelled rows"}
    return AttributeScore(
        name,
        Number(name=f"accuracy of {name}", value=rate, low=low, high=high, better="higher", **labelled),
        Number(
            name=f"disparity of {name}",
            meaning="largest minus smallest accuracy of a class",
            note=f"a fair model of the same accuracy shows {mean:.3f} on average, at most {most:.3f} in 95 %",
            value=rules.disparity(np.diag(shares)),
            low=spread[0],
            high=spread[1],
            better="lower",
            **labelled,
        ),
        fair,
        effect,
        Matrix(
            name=f"confusion of {name}",
            rows=words,
            columns=words,
            values=shares.tolist(),
            counts=counts.tolist(),
            row_label="labelled",
            column_label="predicted",
            attribute=name,
        ),
        test,
    )


def degrees_of_freedom(sums: NDArray[np.float64]) -> float:
    """The degrees of freedom of the clusters' labels: `sums` are `class_sums`, a row for each cluster."""
    rows = np.concatenate([np.repeat([1.0, 0.0], classes) for classes in rules.CLASS_COUNTS.values()])
    return effective_df(sums @ rows)


def score_intervals(sums: NDArray[np.float64], draws: Draws) -> list[Interval]:
    """The intervals of the three disparities and of Score₁, from the classes' sums of each cluster."""
    df = degrees_of_freedom(sums)
    if not df > 0:
        return [(math.nan, math.nan)] * 4
    values, drawn = numerical_bootstrap(
        sums, lambda summed: rules.scores_from_sums(summed)[:, SPREADS], draws=draws.replicates, seed=draws.seed
    )
    half = quantile(1 - ALPHA / 2, df) * np.ascontiguousarray(drawn.T).std(axis=1, ddof=1)
    most = np.array([1.0, 1.0, 1.0, rules.MAXIMUM])
    # Bounds of unmeasured values stay NaN: numpy's maximum and minimum keep NaN.
    return list(zip(np.maximum(0.0, values - half).tolist(), np.minimum(most, values + half).tolist(), strict=True))


def _faces_alone(truth: Truth, predicted: Mapping[str, Ints]) -> float:
    """Score₁ without the known non-faces, whose labels are random; NaN if no non-faces are known."""
    if not truth.nonfaces:
        return math.nan
    outside = set(truth.nonfaces)
    face = [name not in outside for name in truth.labels.names]
    codes = {name: truth.labels.codes[name][face] for name in ATTRIBUTES}
    answers = {name: predicted[name][face] for name in ATTRIBUTES}
    return float(rules.scores_from_sums(rules.class_sums(codes, answers).sum(axis=0, keepdims=True))[0, -1])


def _notes(truth: Truth) -> tuple[str, ...]:
    notes, table = [], truth.labels
    any_label = np.any([table.codes[name] >= 0 for name in ATTRIBUTES], axis=0)
    labelled = [name for name in truth.nonfaces if name in table.index and any_label[table.index[name]]]
    if labelled:
        many = f"{len(labelled)} of {len(truth.nonfaces)} non-faces have labels (such as {labelled[0]})"
        notes.append(f"{many}: they count in Score₁ like every labelled row, and in the randomness tests")
    alone = [name for name, who in zip(table.names, truth.people or (), strict=False) if who is None]
    if alone:
        many = f"{len(alone)} of {len(table)} images have no identity (such as {alone[0]})"
        notes.append(f"{many}: each stands for itself, and intervals may be too narrow")
    return tuple(notes)
