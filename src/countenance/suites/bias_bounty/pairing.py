"""Sets of predictions on the same pictures, compared pair by pair.

Intervals of two scores may overlap although one entry beats the other on nearly every draw of people: both do badly on
the same pictures. Resampling the same people for all entries removes this common part.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.auditing.ranking import Ranking, numerical_bootstrap, rank_against_best
from countenance.comparing import Change, Comparison
from countenance.comparing.comparison import compare
from countenance.comparing.result import BETTER, CANNOT_TELL, WORSE
from countenance.data.adapters.bias_bounty_files import CLASSES, ClassTable, Ints, Truth
from countenance.suites.bias_bounty import rules
from countenance.suites.bias_bounty.scoring import Draws, degrees_of_freedom

SCORE1 = "Score₁"


def rank_predictions(
    truth: Truth, predictions: Mapping[str, ClassTable], draws: Draws, factors: Mapping[str, float] | None = None
) -> Ranking:
    """Rank entries by Score₁, or by Score₁ times the factor that each has earned."""
    names, labels = list(predictions), truth.labels
    predicted = [predictions[name].rows(labels.names) for name in names]
    sums = np.stack([rules.class_sums(labels.codes, rows, truth.clusters) for rows in predicted], axis=1)
    sums = sums[sums.any(axis=(1, 2))]
    earned = np.array([(factors or {}).get(name, 1.0) for name in names])

    def scores(summed: NDArray[np.float64]) -> NDArray[np.float64]:
        columns = [rules.scores_from_sums(summed[:, i])[:, -1] for i in range(len(names))]
        return np.asarray(np.stack(columns, axis=1) * earned)

    estimates, drawn = numerical_bootstrap(sums, scores, draws=draws.replicates, seed=draws.seed)
    # Every entry has the same rows.
    return rank_against_best(names, estimates, drawn, df=degrees_of_freedom(sums[:, 0]))


COPIED = 1e-6
"""Below this probability, agreement with random labels is not explained by chance."""


def copied_labels(truth: Truth, predictions: ClassTable) -> str:
    """The reason why predictions cannot come from a model: they repeat the random labels of non-faces.

    Random labels cannot be predicted: answers that match them were copied. Empty if chance explains the agreement.
    """
    from scipy.stats import binom

    labelled = [name for name in truth.nonfaces if name in truth.labels.index]
    if not labelled:
        return ""
    true, named = truth.labels.rows(labelled), predictions.rows(labelled)
    for attribute, words in CLASSES.items():
        known = true[attribute] >= 0
        right, count = int((true[attribute] == named[attribute])[known].sum()), int(known.sum())
        chance = 1 / len(words)
        if count and binom.sf(right - 1, count, chance) < COPIED:
            return (
                f"its answers repeat the {attribute} of {right} of {count} non-faces, whose labels were drawn at "
                f"random (chance gives about {chance * count:.0f}): a score that no model can reach"
            )
    return ""


def read_pair(truth: Truth, new: Path, old: Path) -> dict[str, ClassTable]:
    """The new predictions, then the old ones, by file name; by path where the names are the same."""
    names = [new.name, old.name] if new.name != old.name else [str(new), str(old)]
    if names[0] == names[1]:
        names = [new.name, f"{old.name} (again)"]
    return dict(zip(names, map(truth.predictions, (new, old)), strict=True))


def score_difference(truth: Truth, pair: Mapping[str, ClassTable], draws: Draws = Draws()) -> Change:
    """How Score₁ changed from the old predictions to the new, from draws of the same people for both."""
    new, old = pair
    clusters = len(set(truth.clusters.tolist()))
    return change_of(rank_predictions(truth, pair, draws), SCORE1, old, new, n=len(truth.labels), clusters=clusters)


def compare_predictions(truth: Truth, pair: Mapping[str, ClassTable], seed: int = 0) -> Comparison | None:
    """`countenance.comparing` of the accuracies: better for whom, worse for whom, which gaps moved.

    Groups are the labelled classes. None where no picture has a label.
    """
    labelled = {name: codes for name, codes in truth.labels.codes.items() if (codes >= 0).any()}
    if not labelled:
        return None
    after, before = (_rows(truth, predictions, labelled) for predictions in pair.values())
    by = [name for name, codes in labelled.items() if len(np.unique(codes[codes >= 0])) > 1]
    return compare(
        before,
        after,
        by=by,
        metrics=[f"correct_{name}" for name in labelled],
        pair="sample",
        names=[*pair][::-1],
        cluster=None if truth.people is None else "identity",
        seed=seed,
    )


def against_json(change: Change, compared: Comparison | None) -> dict[str, Any]:
    """The part of the JSON of `score --against --json` about the other predictions."""
    return {
        "score1": change.estimate_a,
        "difference": change.difference,
        "interval": [change.low, change.high],
        "p": change.p,
        "comparison": None if compared is None else compared.to_dict(),
    }


def _rows(truth: Truth, predictions: ClassTable, labelled: Mapping[str, Ints]) -> dict[str, Any]:
    """The table of a comparison: a row for each picture, with its labels as groups and whether each is right."""
    predicted = predictions.rows(truth.labels.names)
    columns: dict[str, Any] = {"sample": list(truth.labels.names)}
    if truth.people is not None:
        columns["identity"] = truth.clusters
    for name, codes in labelled.items():
        columns[name] = [CLASSES[name][code] if code >= 0 else None for code in codes.tolist()]
        columns[f"m.correct_{name}"] = np.where(codes >= 0, codes == predicted[name], np.nan).astype(float)
    return columns


def change_of(ranking: Ranking, metric: str, a: str, b: str, *, n: int, clusters: int) -> Change:
    """How a score changed from `a` to `b`; higher is better, and differences are always b - a.

    >>> import numpy as np
    >>> from countenance.auditing.ranking import rank_paired
    >>> draws = np.random.default_rng(0).normal(size=(500, 2))
    >>> change = change_of(rank_paired(["x", "y"], np.array([5.0, 4.0]), draws), "points", "x", "y", n=9, clusters=9)
    >>> change.difference, change.low < -1.0 < change.high, change.verdict
    (-1.0, True, 'cannot tell')
    """
    pair = ranking.pair(a, b)
    values = dict(zip(ranking.names, ranking.estimates, strict=True))
    difference, low, high = pair.difference, pair.low, pair.high
    if pair.better != b:
        difference, low, high = -difference, -high, -low
    way = BETTER if difference > 0 else WORSE if difference < 0 else ""
    return Change(
        metric=metric,
        a=a,
        b=b,
        n=n,
        clusters=clusters,
        estimate_a=values[a],
        estimate_b=values[b],
        difference=difference,
        low=low,
        high=high,
        p=pair.p,
        p_adjusted=pair.adjusted,
        verdict=way if pair.decided and way else CANNOT_TELL,
        direction=way,
        better="higher",
        kind="score",
        test="paired numerical bootstrap",
    )
