"""Notes on cases in which a level or an interval is less reliable than it looks, with the measured figure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from countenance.auditing.batch import Batch
from countenance.auditing.finding import Finding
from countenance.auditing.measured_metric import MISSING
from countenance.auditing.ranks import skewness

FEW_UNITS = 40
MOST_UNLIKE = 9.0
MOST_SKEWED = 3.0
WORTH_FEW = 10
MOST_NAMED = 4
FURTHER_PERSON = (
    "the interval of the difference includes 0 although p is small: the interval allows for one further person on each "
    "side whom nobody has seen yet, p counts only the people in the data, and p decides whether there is a difference"
)
UNLIKE_METHODS = (
    "the interval of the difference includes 0 although p is small: the two are computed by different methods, which "
    "can disagree near the limit, and p decides whether there is a difference"
)


def cautions(batches: Sequence[Batch], many: str, alpha: float) -> list[str]:
    """Notes on small groups where the metric is skewed or spreads differ, and on groups of very unequal clusters."""
    notes = [_small_and_unlike(batch, many, alpha) for batch in batches if batch.measured.column.kind != "rate"]
    return [note for note in [*notes, _large_clusters(batches, many)] if note]


def _small_and_unlike(batch: Batch, many: str, alpha: float) -> str:
    with np.errstate(all="ignore"):
        ratio = np.asarray(batch.first.spread) / batch.second.spread
    few = (np.asarray(batch.first.units) < FEW_UNITS) & batch.large
    skewed = abs(skewness(batch.measured.column)) > MOST_SKEWED
    hit = np.flatnonzero(few if skewed else few & ((ratio > MOST_UNLIKE) | (ratio < 1 / MOST_UNLIKE)))
    if not len(hit):
        return ""
    names = [f"{batch.groupings[batch.place[i]].name} = {batch.names[i][0]}" for i in hit[:MOST_NAMED]]
    more = f" and {len(hit) - MOST_NAMED} more" if len(hit) > MOST_NAMED else ""
    what = "the metric is strongly skewed" if skewed else "the spread of the metric there is unlike that of the others"
    return (
        f"{batch.measured.metric}: {what} and there are fewer than {FEW_UNITS} {many} ({', '.join(names)}{more}): in "
        f"such tables false alarms were up to 0.075, not {alpha:g}"
    )


def _large_clusters(batches: Sequence[Batch], many: str) -> str:
    """Groups in which a few units have most of the rows."""
    groups: dict[str, tuple[float, int]] = {}
    for batch in batches:
        worth = np.asarray(batch.first.effective)
        for i in np.flatnonzero(batch.large & (worth < WORTH_FEW)):
            name = f"{batch.groupings[batch.place[i]].name} = {batch.names[i][0]}"
            groups.setdefault(name, (float(worth[i]), int(batch.first.units[i])))
    if not groups:
        return ""
    name, (worth_of, units) = min(groups.items(), key=lambda item: item[1])
    others = len(groups) - 1
    more = f" (and {others} more group{'' if others == 1 else 's'})" if others else ""
    return (
        f"{name}{more}: a few {many} have most of the rows, so that {units} {many} are worth about {worth_of:.0f} of "
        "equal size; intervals and tests count them so, and are less sure than with equal sizes"
    )


def zero_inside(findings: Sequence[Finding], bounded: Collection[str], alpha: float) -> list[Finding]:
    """The findings, with a note on those whose interval includes 0 beside a small p; only where the mean decided.

    `bounded` are the metrics with a smallest and a largest value.

    >>> zero_inside([], ["found"], alpha=0.05)
    []
    """
    return [
        finding.model_copy(update={"note": FURTHER_PERSON if _allows_for_more(finding, bounded) else UNLIKE_METHODS})
        if finding.p_adjusted < alpha
        and finding.statistic == "mean"
        and finding.diff_low <= 0 <= finding.diff_high
        and not finding.note
        else finding
        for finding in findings
    ]


def _allows_for_more(finding: Finding, bounded: Collection[str]) -> bool:
    """Whether the interval allows for one further person; intervals of rates without clusters do not."""
    alone = finding.n == finding.clusters and finding.n_versus == finding.clusters_versus
    has_ends = finding.metric in bounded or finding.kind == MISSING
    return has_ends and (finding.metric_kind == "mean" or finding.kind == "twins" or not alone)


def zero_notes(findings: Sequence[Finding]) -> list[str]:
    """Notes for the whole audit: which comparisons have an interval that includes 0 beside a small p, and why.

    >>> zero_notes([])
    []
    """
    notes = []
    for why in (FURTHER_PERSON, UNLIKE_METHODS):
        names = [f"{f.attribute} = {f.group}, {f.metric}" for f in findings if f.note == why]
        more = f"; {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        notes += [f"{why} ({'; '.join(names[:MOST_NAMED])}{more})"] if names else []
    return notes
