"""Sets of predictions on the same pictures, compared pair by pair.

Intervals of two scores may overlap although one entry beats the other on nearly every draw of people: both do badly
on the same pictures. Drawing people once for all entries takes that out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.audit.ranking import Ranking, numerical_bootstrap, rank_paired
from countenance.metrics import bounty
from countenance.suites.bias_bounty.files import Ints, Table, people_of, read_labels, read_names, read_predictions
from countenance.suites.bias_bounty.intervals import degrees_of_freedom


def rank_predictions(
    truth: Table,
    predicted: Mapping[str, Mapping[str, Ints]],
    people: Sequence[str] | None,
    *,
    factors: Mapping[str, float] | None = None,
    replicates: int = 2000,
    seed: int = 0,
) -> Ranking:
    """Rank entries by Score₁, or by Score₁ times the factor that each has earned.

    `predicted` has the codes of each entry in the order of `truth`.
    """
    names = list(predicted)
    sums = np.stack([bounty.class_sums(truth.codes, predicted[name], people) for name in names], axis=1)
    sums = sums[sums.any(axis=(1, 2))]
    earned = np.array([(factors or {}).get(name, 1.0) for name in names])

    def scores(summed: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = [bounty.scores_from_sums(summed[:, i])[:, -1] for i in range(len(names))]
        return np.asarray(np.stack(columns, axis=1) * earned)

    estimates, drawn = numerical_bootstrap(sums, scores, draws=replicates, seed=seed)
    df = degrees_of_freedom(sums[:, 0]) if len(sums) else 0.0  # every entry has the same rows
    return rank_paired(names, estimates, drawn, df=df)


@dataclass(frozen=True)
class Difference:
    """Score₁ of one set of predictions less that of another."""

    difference: float
    low: float
    high: float
    p: float
    other: float
    """Score₁ of the other set."""

    def to_json(self) -> dict[str, Any]:
        return {
            "score1": self.other, "difference": self.difference, "interval": [self.low, self.high], "p": self.p,
        }  # fmt: skip

    def line(self, name: str) -> str:
        """The difference in words."""
        if self.difference != self.difference:
            return f"difference not measured against {name}: an attribute has no labels"
        told = f"{self.difference:+.4f} [{self.low:+.3f}, {self.high:+.3f}], p {self.p:.2g}, paired"
        return f"difference {told}, against {self.other:.4f} of {name}"


def score_difference(
    labels: Path,
    predictions: Path,
    against: Path,
    nonfaces: Path | None = None,
    *,
    identities: Path | None = None,
    replicates: int = 2000,
    seed: int = 0,
) -> Difference:
    """The difference with its 95 % interval and p, from draws of the same people for both."""
    truth = read_labels(labels)
    people = people_of(labels, truth.names, identities)
    expected = (*truth.names, *(read_names(nonfaces) if nonfaces is not None else ()))
    paths = {"ours": predictions, "theirs": against}
    both = {name: read_predictions(path, expected).rows(truth.names) for name, path in paths.items()}
    found = rank_predictions(truth, both, people, replicates=replicates, seed=seed)
    pair = found.pair("ours", "theirs")
    other = found.estimates[found.names.index("theirs")]
    if pair.better == "ours":
        return Difference(pair.difference, pair.low, pair.high, pair.p, other)
    return Difference(-pair.difference, -pair.high, -pair.low, pair.p, other)
