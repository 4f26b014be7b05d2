"""The parts of an audit: a `Finding` for each comparison, an `Estimate` for each group, splits, pairs, equity."""

from __future__ import annotations

import math
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from countenance.auditing.ratio import Ratio

NAN = math.nan
OPPOSITE = {"better": "worse", "worse": "better"}
SIDES = ("n", "clusters", "estimate", "low", "high", "deff", "counted")
"""Fields that a finding has for each side; those of the other side are named `NAME_versus`."""
INTERVALS = (("diff_low", "diff_high"), ("effect_low", "effect_high"), ("low_equivalence", "high_equivalence"))


class Estimate(BaseModel):
    """One group's number, never without its n."""

    model_config = ConfigDict(frozen=True)

    metric: str
    metric_kind: str
    attribute: str
    group: str
    n: int
    clusters: int
    estimate: float
    low: float
    high: float
    deff: float
    depth: int = 1
    note: str = ""
    missing: int = 0
    """Rows that should have a score and have none; they are not in n."""
    low_wrong: float = NAN
    high_wrong: float = NAN
    """The interval if every missing score were wrong; NaN where none is missing, or the metric has no worst value."""
    counted: str = ""
    """What n counts: rows, or pictures of this many people."""


class Finding(BaseModel):
    """One comparison: both sides, difference, test, effect, what could have been seen, verdict.

    `kind` is what is compared: a group with others, the two parts of an ordered attribute (split), how much is missing
    (missing), or pictures with their base (twins: `lost` are right in the base and wrong with the change, `gained` the
    reverse, among `bases`). `metric_kind` says rate or mean. `statistic` says whether the mean or the ranks decided;
    `p_mean` and `p_rank` are the p-values of each statistic where both were tested. `p` is by permutation where labels
    were shuffled. `direction` (worse, better, unknown) is that of the statistic that decided.

    `effect` and `mde` are in the units of `effect_name` (Cohen's h for rates, rank-biserial for means, the difference
    itself for paired ones); `mde_difference` is the same in the metric's own units; for means, whose ranks are tested
    too, it is the difference of averages that the test of the mean detects. The minimum detectable effect has 80 %
    power at `mde_alpha`, the strictest level that the adjustment may require of this comparison. `low_equivalence` and
    `high_equivalence` are the 1 - 2α interval that decides whether a difference is smaller than δ, missing scores
    counted as wrong. `failure_ratio` is the failure rate of the side that fails more, divided by that of the other.
    `small_group`: a side has fewer people than an all-clear or an approximation needs; it was tested by permutation.
    `role` is person or condition; `counted` says what n counts.

    >>> import countenance as ct
    >>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
    >>> [(f.group, f.versus, round(f.difference, 2), f.verdict) for f in ct.audit(rows, "sex", "found").findings][0]
    ('f', 'm', -0.45, 'disparity')
    """

    model_config = ConfigDict(frozen=True)

    metric: str
    attribute: str
    group: str
    versus: str
    comparison: str
    n: int
    clusters: int
    n_versus: int
    estimate: float
    low: float
    high: float
    estimate_versus: float
    difference: float = NAN
    diff_low: float = NAN
    diff_high: float = NAN
    test: str = ""
    statistic: str = "mean"
    p: float = NAN
    p_adjusted: float = NAN
    effect: float = NAN
    effect_name: str = ""
    mde: float = NAN
    verdict: str = ""
    severity: str | None = None
    reason: str = ""
    kind: str = "group"
    metric_kind: str = "rate"
    role: str = "condition"
    counted: str = ""
    counted_versus: str = ""
    low_equivalence: float = NAN
    high_equivalence: float = NAN
    failure_ratio: Ratio | None = None
    test_statistic: float = NAN
    p_mean: float = NAN
    p_rank: float = NAN
    depth: int = 1
    clusters_versus: int = 0
    low_versus: float = NAN
    high_versus: float = NAN
    deff: float = NAN
    deff_versus: float = NAN
    effect_low: float = NAN
    effect_high: float = NAN
    z: float = NAN
    df: float = NAN
    se: float = NAN
    p_equivalence: float = NAN
    mde_difference: float = NAN
    mde_alpha: float = NAN
    n_needed: int | None = None
    null_mean: float = NAN
    excess: float = NAN
    family: str = ""
    family_size: int = 0
    direction: str = "unknown"
    clusters_needed: int | None = None
    small_group: bool = False
    lost: int | None = None
    gained: int | None = None
    bases: int | None = None
    note: str = ""
    """A caution about this comparison, such as why its interval includes 0 beside a small p."""

    def mirrored(self) -> Self:
        """The same comparison seen from the other side.

        >>> from countenance.auditing import audit
        >>> finding = audit({"sex": ["f", "m", "m"] * 40, "ok": [0, 1, 1, 1] * 30}, ["sex"], ["ok"]).findings[0]
        >>> other = finding.mirrored()
        >>> (finding.group, finding.n), (other.group, other.n), other.difference == -finding.difference
        (('f', 40), ('m', 80), True)
        """
        changes: dict[str, Any] = {"group": self.versus, "versus": self.group}
        changes |= {name: -getattr(self, name) for name in ("difference", "effect", "z")}
        changes["direction"] = OPPOSITE.get(self.direction, self.direction)
        for low, high in INTERVALS:
            changes |= {low: -getattr(self, high), high: -getattr(self, low)}
        for name in SIDES:
            changes |= {name: getattr(self, f"{name}_versus"), f"{name}_versus": getattr(self, name)}
        return self.model_copy(update=changes)

    @property
    def measure(self) -> str:
        """The subject of the comparison: the metric, or that its scores are missing."""
        return f"{self.metric} (missing)" if self.kind == "missing" else self.metric


class MissingScores(BaseModel):
    """How many of the scores that a group should have of a metric are missing: of `n` rows, with an interval."""

    model_config = ConfigDict(frozen=True)

    metric: str
    attribute: str
    group: str
    n: int
    clusters: int
    missing: int
    share: float
    low: float
    high: float
    depth: int = 1


class Split(BaseModel):
    """The split of an ordered attribute that differs most: up to some value, against all above it.

    `low` and `high` are simultaneous over the `splits` of the attribute.
    """

    model_config = ConfigDict(frozen=True)

    attribute: str
    metric: str
    split: str
    versus: str
    n: int
    n_versus: int
    estimate: float
    estimate_versus: float
    difference: float
    low: float
    high: float
    p_adjusted: float = NAN
    verdict: str = ""
    splits: int = 0


class Widest(BaseModel):
    """The largest difference between two groups of an attribute; its interval is simultaneous over all `pairs`."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    metric: str
    group: str
    versus: str
    estimate: float
    estimate_versus: float
    difference: float
    low: float
    high: float
    pairs: int
    beyond: bool = False
    """Whether the interval of some pair lies beyond δ."""


class Equity(BaseModel):
    """One measure over the groups of one attribute.

    `fair` is what a fair system of this size shows on average, `fair_limit` what it stays within in 19 of 20 tables,
    `p` how often a fair system shows at least as much. `groups` has the rates that the measure is made of, or each
    group's impact ratio; `left_out` the groups that are too small; `undefined` why there is no number.
    """

    model_config = ConfigDict(frozen=True)

    attribute: str
    metric: str
    measure: str
    value: float = NAN
    low: float = NAN
    high: float = NAN
    low_wrong: float = NAN
    high_wrong: float = NAN
    """The interval if every missing score were wrong; NaN where none is missing."""
    fair: float = NAN
    fair_limit: float = NAN
    p: float = NAN
    groups: dict[str, float] = {}
    left_out: list[str] = []
    undefined: str = ""
    meaning: str = ""
