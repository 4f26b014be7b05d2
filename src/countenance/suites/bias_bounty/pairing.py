"""Sets of predictions on the same pictures, compared pair by pair.

Intervals of two scores may overlap although one entry beats the other on nearly every draw of people: both do badly
on the same pictures. Drawing people once for all entries takes that out.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.audit.ranking import Ranking, numerical_bootstrap, rank_paired
from countenance.compare import Change, Comparison
from countenance.compare.compare import compare
from countenance.compare.scores import change_of
from countenance.metrics import bounty
from countenance.suites.bias_bounty.files import ATTRIBUTES, CLASSES, ClassTable, Ints, Truth
from countenance.suites.bias_bounty.scoring import Draws, degrees_of_freedom

SCORE1 = "Score₁"


def rank_predictions(
    truth: Truth, said: Mapping[str, ClassTable], draws: Draws, factors: Mapping[str, float] | None = None
) -> Ranking:
    """Rank entries by Score₁, or by Score₁ times the factor that each has earned."""
    names, labels = list(said), truth.labels
    predicted = [said[name].rows(labels.names) for name in names]
    sums = np.stack([bounty.class_sums(labels.codes, one, truth.clusters) for one in predicted], axis=1)
    sums = sums[sums.any(axis=(1, 2))]
    earned = np.array([(factors or {}).get(name, 1.0) for name in names])

    def scores(summed: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = [bounty.scores_from_sums(summed[:, i])[:, -1] for i in range(len(names))]
        return np.asarray(np.stack(columns, axis=1) * earned)

    estimates, drawn = numerical_bootstrap(sums, scores, draws=draws.replicates, seed=draws.seed)
    df = degrees_of_freedom(sums[:, 0]) if len(sums) else 0.0  # every entry has the same rows
    return rank_paired(names, estimates, drawn, df=df)


def score_difference(truth: Truth, new: Path, old: Path, draws: Draws = Draws()) -> Change:
    """How Score₁ changed from the predictions `old` to `new`, from draws of the same people for both."""
    names = _names(new, old)
    said = dict(zip(names, map(truth.predictions, (new, old)), strict=True))
    found = rank_predictions(truth, said, draws)
    clusters = len(set(truth.clusters.tolist()))
    return change_of(found, SCORE1, names[1], names[0], n=len(truth.labels), clusters=clusters)


def compare_predictions(truth: Truth, new: Path, old: Path, seed: int = 0) -> Comparison | None:
    """`countenance.compare` of the accuracies: better for whom, worse for whom, which gaps moved.

    Groups are the labelled classes. None where no picture has a label.
    """
    labelled = [name for name in ATTRIBUTES if (truth.labels.codes[name] >= 0).any()]
    if not labelled:
        return None
    before, after = (_rows(truth, truth.predictions(path), labelled) for path in (old, new))
    by = [name for name in labelled if len(np.unique(truth.labels.codes[name][truth.labels.codes[name] >= 0])) > 1]
    return compare(
        before, after, by=by, metrics=[f"correct_{name}" for name in labelled], pair="sample",
        names=_names(new, old)[::-1], cluster=None if truth.people is None else "identity", seed=seed,
    )  # fmt: skip


def against_json(change: Change, compared: Comparison | None) -> dict[str, Any]:
    """What `score --against --json` writes about the other predictions."""
    return {
        "score1": change.estimate_a, "difference": change.difference, "interval": [change.low, change.high],
        "p": change.p, "comparison": None if compared is None else compared.to_dict(),
    }  # fmt: skip


def _names(new: Path, old: Path) -> list[str]:
    """File names where they differ, else paths; the old one is marked where both are one file."""
    for names in ([new.name, old.name], [str(new), str(old)]):
        if names[0] != names[1]:
            return names
    return [new.name, f"{old.name} (again)"]


def _rows(truth: Truth, said: ClassTable, labelled: list[str]) -> dict[str, Any]:
    """The table of a comparison: a row for each picture, with its labels as groups and whether each was named."""
    labels = truth.labels
    predicted = said.rows(labels.names)
    made: dict[str, Any] = {"sample": list(labels.names)}
    if truth.people is not None:
        made["identity"] = truth.clusters
    for name in labelled:
        codes: Ints = labels.codes[name]
        made[name] = [CLASSES[name][code] if code >= 0 else None for code in codes.tolist()]
        made[f"m.correct_{name}"] = np.where(codes >= 0, codes == predicted[name], np.nan).astype(float)
    return made
