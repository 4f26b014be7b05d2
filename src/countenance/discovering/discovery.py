"""Search on one half of the people, confirm on the other: slices in which a metric is worse."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from countenance.auditing._dist import quantile
from countenance.auditing.conversion import plain
from countenance.auditing.far_ends import SHARE, FarEnds
from countenance.auditing.multiplicity import holm
from countenance.auditing.settings import AuditSettings
from countenance.auditing.source import Source
from countenance.auditing.sums import clustered as clustered_sums
from countenance.auditing.table import Array
from countenance.auditing.units import plural
from countenance.discovering.candidates import Candidate, candidates, clustered, described
from countenance.discovering.rows import FEWEST_PEOPLE, SearchRows, search_rows
from countenance.errors import InputError
from countenance.run import Run
from countenance.run.auditing import metrics_of


class Slice(BaseModel):
    """A slice with its numbers from the half that confirms; only the description comes from the search.

    `estimate` is the metric in the slice, `low` and `high` its interval, `rest` the metric of everybody else.
    """

    model_config = ConfigDict(frozen=True)

    description: str
    n_search: int
    n_confirm: int
    people_search: int
    people_confirm: int
    estimate: float
    rest: float
    low: float
    high: float
    difference: float
    diff_low: float
    diff_high: float
    p: float
    p_adjusted: float
    confirmed: bool
    found_by: str


@dataclass(frozen=True)
class Discovered:
    """The result of a search, with the data that a page needs."""

    rows: SearchRows
    slices: list[Slice]
    members: list[Candidate]
    alpha: float
    looked_at: list[str]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The slices as plain values."""
        confirm = self.rows.confirm
        content = {
            "metric": self.rows.metric,
            "better": self.rows.better,
            "alpha": self.alpha,
            "unit": self.rows.unit,
            "people_search": len(np.unique(self.rows.people[~confirm])),
            "people_confirm": len(np.unique(self.rows.people[confirm])),
            "looked_at": self.looked_at,
            "notes": self.notes,
            "slices": [record.model_dump() for record in self.slices],
        }
        return {name: plain(value) for name, value in content.items()}


def _of_scores(names: Sequence[str]) -> list[str]:
    """A note on columns of 0 and 1 that were not searched."""
    if not names:
        return []
    single = len(names) == 1
    listed = f"{', '.join(names)} {'is' if single else 'are'} taken for {'a score' if single else 'scores'}"
    return [
        f"{listed} (0 and 1 in a table without attr.); call {'it' if single else 'one'} attr.{names[0]} to search in it"
    ]


def discover(
    table: Any,
    metric: str,
    *,
    better: str | None = None,
    attributes: Sequence[str] | None = None,
    embeddings: Array | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    notes: Sequence[str] = (),
) -> Discovered:
    """Slices of a table in which a metric is worse: at most ten, each tested on people that the search did not see.

    `embeddings` has a vector for each row of the table (NaN: none). Where it is not known which way the metric is
    better, slices that differ either way are looked for. See the example of the package.
    """
    AuditSettings(alpha=alpha)  # refuses what is no level
    rows = search_rows(table, metric, better=better, attributes=attributes, seed=seed)
    own = None if embeddings is None else _own_vectors(embeddings, rows)
    chosen = candidates(rows, own, seed)
    slices = [_tested(rows, candidate, described(rows, candidate, i + 1), alpha) for i, candidate in enumerate(chosen)]
    adjusted = holm(np.array([tested.p for tested in slices])) if slices else np.empty(0)
    finished = [
        tested.model_copy(update={"p_adjusted": float(p), "confirmed": bool(p < alpha)})
        for tested, p in zip(slices, adjusted, strict=True)
    ]
    order = sorted(range(len(finished)), key=lambda i: (finished[i].p_adjusted, finished[i].p))
    looked = list(dict.fromkeys(literal.attribute for literal in rows.literals))
    return Discovered(
        rows,
        [finished[i] for i in order],
        [chosen[i] for i in order],
        alpha,
        [*looked, *(["embeddings"] if own is not None else [])],
        [*notes, *_of_scores(rows.scores), *_without_vectors(own)],
    )


def _own_vectors(embeddings: Array, rows: SearchRows) -> Array:
    """The vectors of the rows that are searched."""
    vectors = np.asarray(embeddings, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) != rows.of_table or not vectors.shape[1]:
        raise InputError(
            f"embeddings of shape {vectors.shape}, expected {rows.of_table} vectors, one for each row of the table"
        )
    return vectors[rows.places]


def _without_vectors(vectors: Array | None) -> list[str]:
    """A note on rows without a vector."""
    missing = 0 if vectors is None else int((~np.isfinite(vectors).all(1)).sum())
    if vectors is None or not missing:
        return []
    have = "has" if missing == 1 else "have"
    return [
        f"{missing:,} of {plural(len(vectors), 'row', 'rows')} {have} no vector of finite numbers: no slice of "
        "pictures that look alike contains them"
    ]


def discover_run(run: Run, metric: str, **options: Any) -> Discovered:
    """Slices of a run; which way the metric is better comes from its task."""
    known = {direction.name: direction.better for direction in metrics_of(run)}
    better = options.pop("better", None) or known.get(metric)
    return discover(Source(run.scores(), label=run.place), metric, better=better, **options)


def _within_ends(low: float, high: float, people: Array, values: Array, alpha: float) -> tuple[float, float]:
    """An interval of a metric from 0 to 1: no limit is tighter than that of people's means with one further person.

    >>> [round(float(end), 3) for end in _within_ends(1.0, 1.0, np.arange(25), np.ones(25), 0.05)]
    [0.863, 1.0]
    """
    side = clustered_sums(values, np.unique(people, return_inverse=True)[1])
    lowest, highest = FarEnds(side, SHARE).widened(low, high, alpha)
    return max(0.0, float(lowest)), min(1.0, float(highest))


def _tested(rows: SearchRows, candidate: Candidate, description: str, alpha: float) -> Slice:
    """A slice on the half that confirms."""
    here = rows.confirm
    inside, people, values = candidate.rows[here], rows.people[here], rows.values[here]
    gap, error, p, owners = clustered(rows.badness[here], inside, people, one_sided=rows.better is not None)
    sign = 1.0 if rows.better != "higher" else -1.0
    enough = owners >= FEWEST_PEOPLE and not inside.all()
    estimate = float(values[inside].mean()) if inside.any() else math.nan
    rest = float(values[~inside].mean()) if not inside.all() else math.nan
    reach = float(quantile(1 - alpha / 2, max(owners - 1, 1)))
    own = np.bincount(people[inside], values[inside] - estimate) / max(inside.sum(), 1) if inside.any() else np.zeros(1)
    wide = reach * math.sqrt(float((own**2).sum()) * owners / max(owners - 1, 1))
    low, high = estimate - wide, estimate + wide
    if inside.any() and rows.values.min() >= 0 and rows.values.max() <= 1:
        low, high = _within_ends(low, high, people[inside], values[inside], alpha)
    return Slice(
        description=description,
        n_search=int(candidate.rows[rows.search].sum()),
        n_confirm=int(inside.sum()),
        people_search=len(np.unique(rows.people[rows.search & candidate.rows])),
        people_confirm=owners,
        estimate=estimate,
        rest=rest,
        low=low,
        high=high,
        difference=sign * gap,
        diff_low=sign * gap - reach * error if math.isfinite(error) else math.nan,
        diff_high=sign * gap + reach * error if math.isfinite(error) else math.nan,
        p=p if enough else 1.0,
        p_adjusted=1.0,
        confirmed=False,
        found_by=candidate.found_by,
    )
