"""The kinds of rules, with the settings of each in a policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from countenance.auditing.units import plural
from countenance.gating.bounds import Limits
from countenance.report.groups import label

Real = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, strict=True)]


@dataclass(frozen=True)
class RuleNames:
    """The names of metrics and attributes in the words of a rule: as in the policy, or as on pages."""

    metrics: Mapping[str, str] = field(default_factory=dict)
    spoken: bool = False

    def metric(self, name: str) -> str:
        """A metric's name.

        >>> RuleNames({"recall@0.5": "faces found"}).metric("recall@0.5"), RuleNames().metric("recall@0.5")
        ('faces found', 'recall@0.5')
        """
        return self.metrics.get(name, name)

    def attribute(self, name: str) -> str:
        """An attribute's name.

        >>> RuleNames().attribute("skin_tone"), RuleNames(spoken=True).attribute("skin_tone")
        ('skin_tone', 'skin tone')
        """
        return name.replace("_", " ") if self.spoken else name

    def group(self, attribute: str, group: str) -> str:
        """One group of an attribute."""
        return label(attribute, group) if self.spoken else f"{attribute} = {group}"


AS_WRITTEN = RuleNames()


class StrictRule(BaseModel):
    """Settings in which an unknown key is an error."""

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

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        return f"{names.metric(self.metric)}{_of(names, self.by, self.group)} {self.limit()}"


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

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        return (
            f"gap of {names.metric(self.metric)} by {names.attribute(self.by)} at most {self.at_most:g}"
            f"{_held_equal(names, self.given)}"
        )


class VerdictRule(StrictRule):
    """The audit's verdict: no disparity, or no severe one."""

    forbid: Literal["disparity", "severe"]
    by: list[str] | str | None = None
    metric: list[str] | str | None = None
    given: list[str] | str | None = None
    """Conditions to hold equal: only gaps that remain, or that the conditions hide, count as disparities."""

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        what = "severe disparity" if self.forbid == "severe" else "disparity"
        metric = [self.metric] if isinstance(self.metric, str) else self.metric or []
        by = [self.by] if isinstance(self.by, str) else self.by or []
        metrics, attributes = ", ".join(map(names.metric, metric)), ", ".join(map(names.attribute, by))
        named = f"{' of ' + metrics if metrics else ''}{' by ' + attributes if attributes else ''}"
        return f"no {what}{named}{_held_equal(names, self.given)}"


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

    `metric` is a metric's name, `FMR` or `FNMR`; three measures combine these two rates and take no metric.
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

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        return (
            f"{names.attribute(self.measure)} of {names.metric(self.metric or 'FMR and FNMR')} "
            f"by {names.attribute(self.by)} {self.limit()}"
        )


class PeopleRule(StrictRule):
    """How many different people the run is about: in all, or in each group of `by`."""

    at_least: Annotated[int, Field(ge=1, strict=True)]
    by: str | None = None

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        each = f" in each group of {names.attribute(self.by)}" if self.by else ""
        return f"at least {plural(self.at_least, 'person', 'people')}{each}"


class FailedImagesRule(StrictRule):
    """The share of images without a prediction."""

    at_most: Share

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        return f"failed images at most {100 * self.at_most:g} %"


class SpeedRule(StrictRule):
    """Images per second of the whole run."""

    at_least: Positive

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        return f"at least {self.at_least:g} images per second"


class LatencyRule(StrictRule):
    """A quantile of the time that images took, in the unit of its column."""

    at_most: Positive
    quantile: Annotated[float, Field(gt=0, lt=1, strict=True)] = 0.95
    metric: str | None = None
    """The column (default: latency, latency_ms or latency_s, whichever the run has)."""

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        return f"{100 * self.quantile:g} % of images take at most {self.at_most:g} ({self.metric or 'latency'})"


class RegressionRule(StrictRule):
    """How much worse than the baseline a metric may be: overall, or in each group of `by`, on the same rows."""

    metric: str
    at_most: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)]
    by: str | None = None

    def words(self, names: RuleNames = AS_WRITTEN) -> str:
        return f"{names.metric(self.metric)}{_of(names, self.by)} worse than the baseline by at most {self.at_most:g}"


def _held_equal(names: RuleNames, conditions: list[str] | str | None) -> str:
    listed = [conditions] if isinstance(conditions, str) else conditions or []
    return f" with {', '.join(map(names.attribute, listed))} held equal" if listed else ""


def _of(names: RuleNames, by: str | None, group: str | None = None) -> str:
    if by is None:
        return ""
    return f" of each {names.attribute(by)}" if group is None else f" of {names.group(by, group)}"


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
