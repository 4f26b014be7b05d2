"""Two sets of predictions on the same pictures: the difference of their scores, with the pairing kept.

Intervals of two scores may overlap although one entry beats the other on nearly every draw of people: both do badly
on the same pictures. Resampling people once for both takes that out.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.audit import bootstrap
from countenance.metrics import bounty
from countenance.suites.bias_bounty.files import people_of, read_labels, read_names, read_predictions


@dataclass(frozen=True)
class Difference:
    """Score₁ of one set of predictions less that of another."""

    difference: float
    low: float
    high: float
    other: float
    """Score₁ of the other set."""

    def to_json(self) -> dict[str, Any]:
        return {"score1": self.other, "difference": self.difference, "interval": [self.low, self.high]}

    def line(self, name: str) -> str:
        """The difference in words."""
        if self.difference != self.difference:
            return f"difference not measured against {name}: an attribute has no labels"
        told = f"{self.difference:+.4f} [{self.low:+.3f}, {self.high:+.3f}], paired, against {self.other:.4f} of {name}"
        return f"difference {told}"


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
    """The difference with its 95 % interval, by a bootstrap that draws the same people for both."""
    truth = read_labels(labels)
    people = people_of(labels, truth.names, identities)
    expected = (*truth.names, *(read_names(nonfaces) if nonfaces is not None else ()))
    both = [read_predictions(path, expected).rows(truth.names) for path in (predictions, against)]
    parts = [bounty.class_sums(truth.codes, said, people) for said in both]
    sums = np.hstack(parts)
    sums = sums[sums.any(axis=1)]

    def scores(summed: NDArray[np.float64]) -> NDArray[np.float64]:
        half = summed.shape[1] // 2
        one, two = (bounty.scores_from_sums(part)[:, -1] for part in (summed[:, :half], summed[:, half:]))
        return np.stack([one - two, two], axis=1)

    low, high, _ = bootstrap(sums, scores, replicates=replicates, seed=seed)
    difference, other = scores(sums.sum(axis=0, keepdims=True))[0]
    # The bootstrap of a range sits above the range itself; the interval must hold what was seen.
    return Difference(
        float(difference), min(float(low[0]), float(difference)), max(float(high[0]), float(difference)), float(other)
    )
