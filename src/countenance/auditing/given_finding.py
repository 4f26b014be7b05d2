"""The findings of an audit on gaps between groups with recorded conditions held equal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from countenance.auditing.conversion import unplain
from countenance.auditing.finding import Finding
from countenance.auditing.units import plural

NAN = math.nan
HELD_EQUAL = "given"
REMAINS, EXPLAINED, HIDDEN = "gap remains", "gap explained by", "gap hidden by"
NO_OVERLAP = "untestable (no overlap)"
PART_OF_GAP = "may be part of the gap itself"
ON_THE_FACE = "img.face."
"""Conditions measured on the face: holding them equal can remove the effect of what the person looks like."""


class Explained(BaseModel):
    """The part of a raw gap that one covariate explains: as a share, and in the metric's units."""

    model_config = ConfigDict(frozen=True)

    share: float = NAN
    low: float = NAN
    high: float = NAN
    part: float = NAN
    part_low: float = NAN
    part_high: float = NAN


class Stratum(BaseModel):
    """Rows with the same conditions: how many are on each side, their means, and the weight of the stratum."""

    model_config = ConfigDict(frozen=True)

    conditions: dict[str, str]
    n: int
    n_versus: int
    estimate: float
    estimate_versus: float
    weight: float


class GivenFinding(Finding):
    """One comparison with conditions held equal; `kind` is "given".

    `raw` is the difference of the rows whose conditions are known, `held_equal` the difference between rows with the
    same conditions, `low` and `high` its interval; `composition` is what lies between them. `explained` splits the
    composition by covariate (Shapley), each as a share of `raw`; `explained_share` is all of them together. `overlap`
    is the share of rows in strata that have both sides, `effective_people` the smaller side's people as the weights
    count them; with too few of them nothing but `raw` is known. `method` says strata or propensity. `strata` are the
    largest ones behind the number.
    """

    given: list[str] = Field(default_factory=list)
    raw: float = NAN
    raw_low: float = NAN
    raw_high: float = NAN
    held_equal: float = NAN
    composition: float = NAN
    composition_low: float = NAN
    composition_high: float = NAN
    explained: dict[str, Explained] = Field(default_factory=dict)
    explained_share: float = NAN
    explained_low: float = NAN
    explained_high: float = NAN
    overlap: float = NAN
    unknown_conditions: int = 0
    """Rows left out because a condition is not recorded."""
    effective_people: float = NAN
    method: str = "strata"
    strata: list[Stratum] = Field(default_factory=list)


def not_recorded_words(findings: Sequence[GivenFinding]) -> str:
    """How many rows are left out because a condition is not recorded; empty where none is.

    >>> findings = [GivenFinding.model_construct(given=["light"], unknown_conditions=n) for n in (3, 1)]
    >>> not_recorded_words(findings)
    'at most 3 rows left out because light is not recorded'
    """
    counts = {finding.unknown_conditions for finding in findings}
    if not any(counts):
        return ""
    conditions = findings[0].given
    which = conditions[0].removeprefix("attr.") if len(conditions) == 1 else "a condition"
    most = "at most " if len(counts) > 1 else ""
    return f"{most}{plural(max(counts), 'row', 'rows')} left out because {which} is not recorded"


def read_given(row: dict[str, Any]) -> GivenFinding:
    """A finding from its plain values, in which null stands for NaN."""
    parts = {
        "explained": {name: Explained(**unplain(Explained, fields)) for name, fields in row["explained"].items()},
        "strata": [Stratum(**unplain(Stratum, fields)) for fields in row["strata"]],
    }
    return GivenFinding(**unplain(GivenFinding, row) | parts)
