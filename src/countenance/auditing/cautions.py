"""Corners in which a level or an interval is less sure than it looks: said, with the figure that was measured."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from countenance.auditing.batch import Batch
from countenance.auditing.ranks import skewness

FEW_UNITS = 40
MOST_UNLIKE = 9.0
MOST_SKEWED = 3.0
WORTH_FEW = 10
MOST_NAMED = 4


def cautions(batches: Sequence[Batch], many: str, alpha: float) -> list[str]:
    """What a reader should know about small groups of skewed or unlike metrics, and about very large clusters."""
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
        f"such tables false alarms were up to .075, not {alpha:g}"
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
