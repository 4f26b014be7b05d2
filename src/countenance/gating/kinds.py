"""The kinds of rules: what each may say in a policy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from countenance.auditing.units import plural
from countenance.gating.bounds import Limits

Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]


class StrictRule(BaseModel):
    """Settings in which an unknown key is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Bound(StrictRule):
    """A limit that a number must keep: at least, at most, or between both."""

    at_least: Real | None = None
    at_most: Real | None = None

    @model_validator(mode="after")
    def _bounded(self) -> Bound:
        if self.at_least is None and self.at_most is None:
            raise ValueError("say at_least or at_most")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"at_least {self.at_least:g} is above at_most {self.at_most:g}")
        return self

    def limit(self) -> str:
        """The limit in words."""
        return Limits(self.at_least, self.at_most).words()


class EstimateRule(Bound):
    """A metric (or a number of the whole run): of everybody, of each group of `by`, or of one group."""

    metric: str
    by: str | None = None
    group: str | None = None

    @model_validator(mode="after")
    def _grouped(self) -> EstimateRule:
        if self.group is not None and self.by is None:
            raise ValueError("a group needs by: the attribute that it is a value of")
        return self

    def words(self) -> str:
        return f"{self.metric}{_of(self.by, self.group)} {self.limit()}"


class GapRule(StrictRule):
    """The difference of each group of `by` to everyone else (or of every two groups)."""

    metric: str
    by: str
    at_most: Positive
    comparison: Literal["rest", "pairs"] = "rest"
    given: list[str] | str | None = None
    """Conditions to hold equal: the gap between rows in which they are the same is judged."""

    @model_validator(mode="after")
    def _held(self) -> GapRule:
        if self.given and self.comparison != "rest":
            raise ValueError("given holds conditions equal between a group and the rest; leave comparison out")
        return self

    def words(self) -> str:
        return f"gap of {self.metric} by {self.by} at most {self.at_most:g}{_held_equal(self.given)}"


class VerdictRule(StrictRule):
    """The audit's verdict: no disparity, or no severe one."""

    forbid: Literal["disparity", "severe"]
    by: list[str] | str | None = None
    metric: list[str] | str | None = None
    given: list[str] | str | None = None
    """Conditions to hold equal: only gaps that remain, or that the conditions hide, count as disparities."""

    def words(self) -> str:
        what = "severe disparity" if self.forbid == "severe" else "disparity"
        metric = [self.metric] if isinstance(self.metric, str) else self.metric or []
        by = [self.by] if isinstance(self.by, str) else self.by or []
        named = f"{' of ' + ', '.join(metric) if metric else ''}{' by ' + ', '.join(by) if by else ''}"
        return f"no {what}{named}{_held_equal(self.given)}"


TWO_RATES = ("fairness_discrepancy_rate", "inequity_rate", "garbe")
Measure = Literal[
    "accuracy_std",
    "skewed_error_ratio",
    "impact_ratio",
    "max_geomean_ratio",
    "max_min_ratio",
    "fairness_discrepancy_rate",
    "inequity_rate",
    "garbe",
]


class EquityRule(Bound):
    """An equity measure over the groups of `by`, as the audit gives it.

    Of a metric, of `FMR` or `FNMR`; three measures are of both and take no metric.
    """

    measure: Measure
    by: str
    metric: str | None = None

    @model_validator(mode="after")
    def _rates(self) -> EquityRule:
        if self.measure in TWO_RATES and self.metric is not None:
            raise ValueError(f"{self.measure} is of FMR and FNMR together; leave metric out")
        if self.measure not in TWO_RATES and self.metric is None:
            raise ValueError(f"{self.measure} needs a metric (a name, FMR or FNMR)")
        return self

    def words(self) -> str:
        return f"{self.measure} of {self.metric or 'FMR and FNMR'} by {self.by} {self.limit()}"


class PeopleRule(StrictRule):
    """How many different people the run is about: in all, or in each group of `by`."""

    at_least: Annotated[int, Field(ge=1, strict=True)]
    by: str | None = None

    def words(self) -> str:
        return (
            f"at least {plural(self.at_least, 'person', 'people')}{f' in each group of {self.by}' if self.by else ''}"
        )


class FailedImagesRule(StrictRule):
    """The share of images without a prediction."""

    at_most: Share

    def words(self) -> str:
        return f"failed images at most {100 * self.at_most:g} %"


class SpeedRule(StrictRule):
    """Images per second of the whole run."""

    at_least: Positive

    def words(self) -> str:
        return f"at least {self.at_least:g} images per second"


class LatencyRule(StrictRule):
    """A quantile of the time that images took, in the unit of its column."""

    at_most: Positive
    quantile: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.95
    metric: str | None = None
    """The column (default: latency, latency_ms or latency_s, whichever the run has)."""

    def words(self) -> str:
        return f"{100 * self.quantile:g} % of images take at most {self.at_most:g} ({self.metric or 'latency'})"


class RegressionRule(StrictRule):
    """How much worse than the baseline a metric may be: overall, or in each group of `by`, on the same rows."""

    metric: str
    at_most: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
    by: str | None = None

    def words(self) -> str:
        return f"{self.metric}{_of(self.by)} worse than the baseline by at most {self.at_most:g}"


def _held_equal(conditions: list[str] | str | None) -> str:
    names = conditions if isinstance(conditions, str) else ", ".join(conditions or [])
    return f" with {names} held equal" if names else ""


def _of(by: str | None, group: str | None = None) -> str:
    if by is None:
        return ""
    return f" of each {by}" if group is None else f" of {by} = {group}"


Kind = (
    EstimateRule
    | GapRule
    | VerdictRule
    | EquityRule
    | PeopleRule
    | FailedImagesRule
    | SpeedRule
    | LatencyRule
    | RegressionRule
)
KINDS: dict[str, type[Kind]] = {
    "estimate": EstimateRule,
    "gap": GapRule,
    "verdict": VerdictRule,
    "equity": EquityRule,
    "people": PeopleRule,
    "failed_images": FailedImagesRule,
    "speed": SpeedRule,
    "latency": LatencyRule,
    "regression": RegressionRule,
}
