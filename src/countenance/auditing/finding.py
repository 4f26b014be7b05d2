"""What an audit says: a `Finding` for each comparison, an `Audit` of all of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr

from countenance.auditing.ratio import Ratio
from countenance.errors import InputError, optional

NAN = math.nan
OPPOSITE = {"better": "worse", "worse": "better"}
SIDES = ("n", "clusters", "estimate", "low", "high", "deff", "counted")
"""What a finding has of each side: of the other one under `NAME_versus`."""
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
    """What n counts: rows, or pictures of so many people."""


class Finding(BaseModel):
    """One comparison: both sides, difference, test, effect, what could have been seen, verdict.

    `kind` is what is compared: a group with others, the two parts of an ordered attribute (split), how much is missing
    (missing), or pictures with their base (twins: `lost` are right in the base and wrong with the change, `gained` the
    reverse, among `bases`). `metric_kind` says rate or mean. `statistic` says whether the mean or the ranks decided;
    `p_mean` and `p_rank` are the p of each alone where both were looked at. `p` is by permutation where labels were
    shuffled. `direction` (worse, better, unknown) is that of the statistic that decided.

    `effect` and `mde` are in the units of `effect_name` (Cohen's h for rates, rank-biserial for means, the difference
    itself for paired ones); `mde_difference` is the same in the metric's own units; for means, whose ranks are
    tested too, it is the difference of averages that is seen by itself. The minimum detectable effect has 80 % power at
    `mde_alpha`, the level this comparison must reach at worst, as the adjustment has it.
    `low_equivalence` and `high_equivalence` are the 1 - 2α interval that decides whether a difference is smaller than
    δ, missing scores counted as wrong. `failure_ratio` says how many times as often the side that fails more fails.
    `small_group`: a side has fewer people than an all-clear or an approximation needs; it was tested by permutation.
    `role` is person or condition; `counted` says what n counts.
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
        """What is compared: the metric, or that its scores are missing."""
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


def plain(value: Any) -> Any:
    """A value as JSON has it: NaN and infinities become null.

    >>> plain({"p": float("nan"), "n": [1, float("inf")]})
    {'p': None, 'n': [1, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


class Origin:
    """What was audited: a run, a path or a table. Audits are equal by what they say, not by where it comes from."""

    def __init__(self, source: Any = None) -> None:
        self.source = source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin)

    __hash__ = None  # type: ignore[assignment]


class Audit(BaseModel):
    """The verdict, its reason, every finding, and what could not be tested.

    >>> from countenance.auditing import audit
    >>> rows = {"sex": ["f"] * 150 + ["m"] * 545, "found": [1] * 120 + [0] * 30 + [1] * 400 + [0] * 145}
    >>> result = audit(rows, ["sex"], ["found"], adjust="holm")
    >>> result.verdict, len(result.findings), round(result.findings[0].p, 6)
    ('insufficient evidence', 1, 0.098836)
    """

    model_config = ConfigDict(frozen=True)

    verdict: str
    reason: str
    findings: list[Finding]
    excluded: list[dict[str, Any]]
    settings: dict[str, Any]
    groups: list[Estimate] = []
    overall: list[Estimate] = []
    """Each metric over all rows."""
    missing: list[MissingScores] = []
    """By metric and group, how much is missing; nothing where every score is there."""
    ordered: list[Split] = []
    """By ordered attribute and metric, the split that differs most."""
    widest: list[Widest] = []
    """By attribute and metric, the largest difference between two groups."""
    equity: list[Equity] = []
    _origin: Origin = PrivateAttr(default_factory=Origin)

    def of(self, source: Any) -> Audit:
        """The same audit, which knows what it is of, for `report`."""
        known = self.model_copy()
        known._origin = Origin(source)
        return known

    def __repr__(self) -> str:
        """The audit in five lines; `print(audit.to_json())` prints all of it."""
        return str(import_module("countenance.report.notebook").audit_lines(self.without_given()))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The first screen, for a notebook."""
        return str(import_module("countenance.report.notebook").audit_html(self.without_given()))

    _given: list[Any] = PrivateAttr(default_factory=list)

    @property
    def given(self) -> list[Any]:
        """The findings with conditions held equal; those that `without_given` set aside are still here."""
        return self._given or [finding for finding in self.findings if finding.kind == "given"]

    def without_given(self) -> Audit:
        """The audit without the findings that hold conditions equal, for what speaks of raw comparisons."""
        held = self.given
        if not held:
            return self
        stripped = self.model_copy(update={"findings": [f for f in self.findings if f.kind != "given"]})
        stripped._given = held
        return stripped

    @property
    def notes(self) -> list[str]:
        """What a reader should know about how sure the verdict is."""
        notes: list[str] = self.settings.get("notes", [])
        return notes

    def plot(self, metric: str | None = None, depth: int = 1) -> Any:
        """A forest plot of one metric (default: the first) as a plotly figure."""
        from countenance.auditing.plot import forest

        return forest(self, metric, depth)

    def to_dict(self, *, groups: bool = False) -> dict[str, Any]:
        """The audit as plain values (NaN and infinities as None); equity measures where they were asked for."""
        content: dict[str, Any] = {
            "verdict": self.verdict,
            "reason": self.reason,
            "findings": [finding.model_dump() for finding in self.findings],
            "excluded": self.excluded,
            "settings": self.settings,
        }
        for name in ("overall", "missing", "ordered", "widest"):
            content[name] = [part.model_dump() for part in getattr(self, name)]
        if self.equity:
            content["equity"] = [measure.model_dump() for measure in self.equity]
        if groups:
            content["groups"] = [estimate.model_dump() for estimate in self.groups]
        return {key: plain(value) for key, value in content.items()}

    def to_json(self, path: str | Path | None = None, *, groups: bool = False) -> str:
        """The audit as JSON, also written to `path` where one is given."""
        text = json.dumps(self.to_dict(groups=groups), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def to_arrow(self) -> Any:
        """The findings as a pyarrow Table, one row each."""
        return _arrow(Finding, self.findings)

    def to_pandas(self) -> Any:
        """The findings as a pandas DataFrame, one row each."""
        return _frame(Finding, self.findings)

    def short(self) -> Any:
        """The findings as a pandas DataFrame of ten columns: who, how many, the number and the verdict."""
        return self.to_pandas()[list(SHORT)]

    def report(self, out: str | Path = "audit.html") -> Path:
        """Write the page of this audit and return its path; of a run, it is the run's report."""
        if self._origin.source is None:
            raise InputError("this audit was read from a file and does not know its rows; audit the run or table again")
        write: Callable[[Any, Audit, Path], Path] = import_module("countenance.report").write_audit_report
        return write(self._origin.source, self, Path(out))

    def write(self, path: str | Path) -> Path:
        """Write the findings as Parquet; verdict, excluded groups and settings go into its metadata."""
        import pyarrow.parquet as pq

        rest = {key: value for key, value in self.to_dict(groups=True).items() if key != "findings"}
        rest["given"] = [plain(finding.model_dump()) for finding in self.given]
        table = self.to_arrow()
        table = table.replace_schema_metadata({"countenance.auditing": json.dumps(rest, ensure_ascii=False)})
        target = Path(path)
        part = target.with_name(target.name + ".part")
        pq.write_table(table, part)
        part.replace(target)
        return target

    @classmethod
    def read(cls, path: str | Path) -> Audit:
        """Read back what `write` wrote."""
        import pyarrow.parquet as pq

        table = pq.ParquetFile(path).read()
        rest = json.loads(table.schema.metadata[b"countenance.auditing"])
        rows = [row for row in table.to_pylist() if row["kind"] != "given"]
        return cls.from_dict(rest | {"findings": [*rows, *rest.get("given", [])]})

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Audit:
        """The audit whose plain values these are."""
        parts = {name: [_part(model, row) for row in content.get(name, [])] for name, model in _PARTS.items()}
        return cls(**{key: value for key, value in content.items() if key in cls.model_fields} | parts)

    @property
    def by_group(self) -> dict[str, dict[str, dict[str, float]]]:
        """Every group's estimate, by metric, attribute and group; `groups` has intervals and sizes too.

        >>> from countenance.auditing import audit
        >>> result = audit({"sex": ["f", "m"] * 100, "found": [1, 1, 0, 1] * 50}, ["sex"], ["found"])
        >>> result.by_group["found"]["sex"]
        {'f': 0.5, 'm': 1.0}
        >>> result.difference["found"]["sex"], result.ratio["found"]["sex"], result.overall[0].estimate
        (0.5, 0.5, 0.75)
        """
        numbers: dict[str, dict[str, dict[str, float]]] = {}
        for estimate in self.groups:
            numbers.setdefault(estimate.metric, {}).setdefault(estimate.attribute, {})[estimate.group] = (
                estimate.estimate
            )
        return numbers

    @property
    def difference(self) -> dict[str, dict[str, float]]:
        """The largest minus the smallest estimate of known groups, by metric and attribute."""
        return self._of_extremes(lambda low, high: high - low)

    @property
    def ratio(self) -> dict[str, dict[str, float]]:
        """The smallest over the largest estimate of known groups, by metric and attribute; NaN where that is 0."""
        return self._of_extremes(lambda low, high: low / high if high else NAN)

    def _of_extremes(self, of: Callable[[float, float], float]) -> dict[str, dict[str, float]]:
        from countenance.auditing.table import UNKNOWN

        numbers: dict[str, dict[str, float]] = {}
        for metric, attributes in self.by_group.items():
            for attribute, groups in attributes.items():
                known = [value for name, value in groups.items() if name != UNKNOWN and not math.isnan(value)]
                numbers.setdefault(metric, {})[attribute] = of(min(known), max(known)) if known else NAN
        return numbers


SHORT = (
    "metric",
    "attribute",
    "group",
    "versus",
    "n",
    "estimate",
    "low",
    "high",
    "difference",
    "verdict",
)
"""The columns of `Audit.short`."""
_PARTS: dict[str, type[BaseModel]] = {
    "findings": Finding,
    "groups": Estimate,
    "overall": Estimate,
    "missing": MissingScores,
    "ordered": Split,
    "widest": Widest,
    "equity": Equity,
}


def _part(model: type[BaseModel], row: dict[str, Any]) -> BaseModel:
    """A part of an audit from its plain values."""
    from countenance.auditing.given_finding import read_given

    if row.get("kind") == "given":
        return read_given(row)
    return model(**unplain(model, row))


def unplain(model: type[BaseModel], row: dict[str, Any]) -> dict[str, Any]:
    """Plain values with NaN in place of null where a number is expected."""
    floats = {name for name, field in model.model_fields.items() if field.annotation is float}
    return {key: NAN if value is None and key in floats else value for key, value in row.items()}


def _arrow(model: type[BaseModel], rows: list[Any]) -> Any:
    import pyarrow as pa

    kinds: dict[Any, Any] = {
        int: pa.int64(),
        int | None: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        bool: pa.bool_(),
        Ratio | None: pa.struct([(name, pa.float64()) for name in Ratio._fields]),
    }
    columns = {}
    for name, field in model.model_fields.items():
        kind = kinds.get(field.annotation, pa.string())
        values = [getattr(row, name) for row in rows]
        columns[name] = pa.array([v._asdict() if isinstance(v, Ratio) else v for v in values], type=kind)
    return pa.table(columns)


def _frame(model: type[BaseModel], rows: list[Any]) -> Any:
    pd = optional("pandas", "findings as a DataFrame", "pandas")
    return pd.DataFrame([row.model_dump() for row in rows], columns=list(model.model_fields))
