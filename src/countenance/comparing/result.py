"""The result of a comparison: the decision, how each metric changed overall and in each group, and which gaps moved."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from countenance.auditing.conversion import plain
from countenance.auditing.finding import OPPOSITE
from countenance.auditing.result import Origin

NAN = math.nan
BETTER, WORSE, HIGHER, LOWER, CANNOT_TELL = "better", "worse", "higher", "lower", "cannot tell"
WIDENED, NARROWED, REVERSED = "widened", "narrowed", "reversed"


def no_larger(delta: float | None) -> str:
    """The words for a change shown to be small.

    >>> no_larger(0.05), no_larger(None)
    ('no difference larger than 0.05', 'no difference larger than δ')
    """
    return "no difference larger than δ" if delta is None else f"no difference larger than {delta:g}"


class Change(BaseModel):
    """How one metric changed from `a` to `b`, for everyone or for one group; `difference` is b - a.

    `verdict`: better or worse (higher or lower where it is not known which way is better) when the adjusted p is below
    alpha; else no difference larger than δ when the 1 - 2α interval lies inside ±δ; else cannot tell. `small` says that
    the interval lies inside ±δ whatever the verdict; `not_worse` that a loss of δ or more is ruled out. `gained` and
    `lost` count rows that got better and worse (0/1 metrics).
    """

    model_config = ConfigDict(frozen=True)

    metric: str
    attribute: str = ""
    group: str = ""
    a: str
    b: str
    n: int
    clusters: int
    estimate_a: float
    estimate_b: float
    difference: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    p_adjusted: float = NAN
    verdict: str = CANNOT_TELL
    direction: str = "unknown"
    small: bool = False
    not_worse: bool = False
    delta: float | None = None
    better: str | None = None
    kind: str = "rate"
    scale: str = ""
    """points: the metric is a rate, and a change of .01 is called a point; 0 to 1: any other metric between the two."""
    test: str = ""
    gained: int | None = None
    lost: int | None = None
    mde: float = NAN
    """The smallest change that would be seen with the requested power."""
    clusters_needed: int | None = None
    depth: int = 1
    reason: str = ""
    missing: int = 0
    """Rows of which one of the two has no score although it should; they are not in n."""
    low_wrong: float = NAN
    high_wrong: float = NAN
    """The interval if every missing score were wrong; NaN where none is missing, or the metric has no worst value."""

    @property
    def shown(self) -> bool:
        """Whether the two are shown to differ: the deciding test says so and the interval does not hold zero."""
        return self.verdict in (BETTER, WORSE, HIGHER, LOWER)

    @property
    def tested(self) -> bool:
        """Whether there were enough units for a test."""
        return math.isfinite(self.p_adjusted) or self.small


class Gap(BaseModel):
    """How the gap between a group and everyone else moved: the group's change minus the others' (b - a).

    `verdict` has the audit's words: `disparity` means that the gap changed. `direction` says whether the group fared
    worse or better than the others, `moved` what became of the gap: widened, narrowed or reversed. `mirrors` names the
    group whose comparison this one repeats with the other sign (an attribute of two groups is one comparison).
    """

    model_config = ConfigDict(frozen=True)

    metric: str
    attribute: str
    group: str
    versus: str
    a: str
    b: str
    n: int
    clusters: int
    n_versus: int
    clusters_versus: int
    gap_a: float
    gap_b: float
    change: float
    change_versus: float
    difference: float = NAN
    low: float = NAN
    high: float = NAN
    p: float = NAN
    p_adjusted: float = NAN
    verdict: str = ""
    severity: str | None = None
    direction: str = "unknown"
    moved: str = ""
    delta: float | None = None
    scale: str = ""
    mde: float = NAN
    clusters_needed: int | None = None
    depth: int = 1
    mirrors: str = ""
    reason: str = ""

    def mirrored(self) -> Gap:
        """The same comparison seen from the other group.

        >>> sizes = {"n": 30, "clusters": 20, "n_versus": 50, "clusters_versus": 40}
        >>> numbers = {"gap_a": 0.1, "gap_b": 0.2, "change": 0.3, "change_versus": 0.2, "low": 0.02, "high": 0.2}
        >>> names = {"metric": "ok", "attribute": "sex", "group": "f", "versus": "m", "a": "v1", "b": "v2"}
        >>> gap = Gap(**names, **sizes, **numbers, difference=0.1, direction="better")
        >>> other = gap.mirrored()
        >>> other.group, other.n, other.gap_b, other.low, other.direction, other.mirrored() == gap
        ('m', 50, -0.2, -0.2, 'worse', True)
        """
        return self.model_copy(
            update={
                "group": self.versus,
                "versus": self.group,
                "n": self.n_versus,
                "clusters": self.clusters_versus,
                "n_versus": self.n,
                "clusters_versus": self.clusters,
                "gap_a": -self.gap_a,
                "gap_b": -self.gap_b,
                "change": self.change_versus,
                "change_versus": self.change,
                "difference": -self.difference,
                "low": -self.high,
                "high": -self.low,
                "direction": OPPOSITE.get(self.direction, self.direction),
            }
        )


class Absent(BaseModel):
    """A group whose rows have no partner: only `model` has it, and nothing can be concluded about it."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    group: str
    rows: int
    model: str


class _Result(BaseModel):
    """Shared by comparisons: the conversion to JSON."""

    model_config = ConfigDict(frozen=True)

    def to_dict(self) -> dict[str, Any]:
        """Plain values (NaN and infinities as None), the decision first."""
        return dict(plain(self.model_dump()))

    def to_json(self, path: str | Path | None = None) -> str:
        """The same as JSON, also written to `path` if there is one."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text


class Comparison(_Result):
    """Model b against model a on the rows that both have.

    >>> from countenance.comparing import compare
    >>> rows = {"sample": list(range(400)), "sex": ["f", "m"] * 200}
    >>> v1, v2 = rows | {"correct": [1, 0] * 200}, rows | {"correct": [1, 1] * 200}
    >>> comparison = compare(v1, v2, by=["sex"], metrics=["correct"])
    >>> comparison.overall[0].verdict, comparison.gap("correct", "sex", "f").moved
    ('better', 'narrowed')
    """

    decision: str
    decisions: list[str]
    """The sentences of the decision, one for each metric."""
    a: str
    b: str
    overall: list[Change]
    groups: list[Change]
    gaps: list[Gap]
    unpaired: list[dict[str, Any]]
    absent: list[Absent] = []
    notes: list[str]
    settings: dict[str, Any]
    _origin: Origin = PrivateAttr(default_factory=Origin)

    def of(self, runs: Any) -> Comparison:
        """The same comparison with the two runs that it is between, whose pictures a notebook shows."""
        known = self.model_copy()
        known._origin = Origin(runs)
        return known

    @property
    def compared(self) -> Any:
        """The two runs; None for a comparison of tables, or one that was read from a file."""
        return self._origin.source

    def __repr__(self) -> str:
        """The comparison in five lines at most."""
        words = importlib.import_module(
            "countenance.report.comparison_words"
        )  # imported here: pages import comparisons
        head = f"{self.a} → {self.b} on {words.rows_words(self.settings)} of both"
        return "\n".join([head, *(words.plain(text, self) for text in self.decisions)][:5])

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The first screen of the comparison's page, for a notebook."""
        pages = importlib.import_module("countenance.report.comparison")  # imported here: pages import comparisons
        return str(pages.comparison_html(self))

    def change(self, metric: str, attribute: str = "", group: str = "") -> Change:
        """The change of one metric, for everyone or for a group."""
        key = metric, attribute, group
        return next(c for c in [*self.overall, *self.groups] if (c.metric, c.attribute, c.group) == key)

    def gap(self, metric: str, attribute: str, group: str) -> Gap:
        """The change of the gap of one group."""
        return next(gap for gap in self.gaps if (gap.metric, gap.attribute, gap.group) == (metric, attribute, group))


class GroupScore(BaseModel):
    """A model's number in one group."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    group: str
    n: int
    clusters: int
    estimate: float
    low: float
    high: float


class Standing(BaseModel):
    """A model's place by one metric: one more than the number of models that are shown to be better."""

    model_config = ConfigDict(frozen=True)

    metric: str
    model: str
    rank: int
    tied: bool
    n: int
    clusters: int
    estimate: float
    low: float
    high: float
    groups: list[GroupScore]
    remark: str = ""
    """The suite's remark on the model's run, such as that it uses its batch."""

    def group(self, attribute: str, group: str) -> GroupScore:
        """The number of one group."""
        return next(score for score in self.groups if (score.attribute, score.group) == (attribute, group))


class Leaderboard(_Result):
    """Three or more models (or two) on the rows that all have, best first.

    `overall` compares every two of them (b - a in the order in which they were given); all pairs by all metrics are one
    family. `groups` and `gaps`, if requested, compare each model with the first, in one family each.
    """

    decision: str
    decisions: list[str]
    """Who is first; then, where groups were compared, each model against the first."""
    models: list[str]
    ranking: list[Standing]
    overall: list[Change]
    groups: list[Change]
    gaps: list[Gap]
    unpaired: list[dict[str, Any]]
    absent: list[Absent] = []
    notes: list[str]
    settings: dict[str, Any]

    def against_first(self) -> list[Comparison]:
        """Every further model against the first, if requested; adjusted for all models together."""
        first, comparisons = self.models[0], []
        for name, sentence in zip(self.models[1:], self.decisions[1:], strict=True):
            decision = sentence.removeprefix(f"Against {first}: ")
            parts = {
                part: [record for record in getattr(self, part) if (record.a, record.b) == (first, name)]
                for part in ("overall", "groups", "gaps")
            }
            comparisons.append(
                Comparison(
                    decision=decision,
                    decisions=[decision],
                    a=first,
                    b=name,
                    **parts,
                    unpaired=[record for record in self.unpaired if record["name"] in (first, name)],
                    absent=[record for record in self.absent if record.model in (first, name)],
                    notes=self.notes,
                    settings=self.settings,
                )
            )
        return comparisons

    def standings(self, metric: str) -> list[Standing]:
        """The models by one metric, best first."""
        return [standing for standing in self.ranking if standing.metric == metric]

    def pair(self, metric: str, first: str, second: str) -> Change:
        """The comparison of two models, in whichever order they are named."""
        return next(each for each in self.overall if each.metric == metric and {each.a, each.b} == {first, second})
