"""What an audit says: a `Finding` for each comparison, an `Audit` of all of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

NAN = math.nan


class Estimate(BaseModel):
    """One group's number, never without its n."""

    model_config = ConfigDict(frozen=True)

    metric: str
    kind: str
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


class Finding(BaseModel):
    """One comparison: both sides, difference, test, effect, what could have been seen, verdict.

    `effect` and `mde` are in the units of `effect_name` (Cohen's h for rates, rank-biserial for means, the
    difference itself for `paired`); `mde_difference` is the same in the metric's own units. The minimum
    detectable effect has 80 % power at `mde_alpha`, the level this comparison must reach at worst, as the adjustment
    has it. `direction` says whether the group is served worse or better than the other side (empty: neither, or it is
    not known which way the metric is better). `alarming`: too few to test, but unlike the others to its disadvantage.
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
    statistic: float = NAN
    p: float = NAN
    p_adjusted: float = NAN
    effect: float = NAN
    effect_name: str = ""
    mde: float = NAN
    verdict: str = ""
    severity: str | None = None
    reason: str = ""
    kind: str = "rate"
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
    direction: str = ""
    clusters_needed: int | None = None
    alarming: bool = False
    note: str = ""


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
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


class Audit(BaseModel):
    """The verdict, its reason, every finding, and what could not be tested.

    >>> from countenance.audit import audit
    >>> rows = {"sex": ["f"] * 150 + ["m"] * 545, "found": [1] * 120 + [0] * 30 + [1] * 400 + [0] * 145}
    >>> found = audit(rows, ["sex"], ["found"])
    >>> found.verdict, len(found.findings), round(found.findings[0].p, 6)
    ('insufficient evidence', 1, 0.098836)
    """

    model_config = ConfigDict(frozen=True)

    verdict: str
    reason: str
    findings: list[Finding]
    excluded: list[dict[str, Any]]
    settings: dict[str, Any]
    groups: list[Estimate] = []
    equity: list[Equity] = []

    @property
    def notes(self) -> list[str]:
        """What a reader should know about how sure the verdict is."""
        found: list[str] = self.settings.get("notes", [])
        return found

    def plot(self, metric: str | None = None, depth: int = 1) -> Any:
        """A forest plot of one metric (default: the first) as a plotly figure."""
        from countenance.audit.plot import forest

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

    def write(self, path: str | Path) -> Path:
        """Write the findings as Parquet; verdict, excluded groups and settings go into its metadata."""
        import pyarrow.parquet as pq

        rest = {key: value for key, value in self.to_dict(groups=True).items() if key != "findings"}
        table = self.to_arrow()
        table = table.replace_schema_metadata({"countenance.audit": json.dumps(rest, ensure_ascii=False)})
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
        rest = json.loads(table.schema.metadata[b"countenance.audit"])
        findings = [Finding(**_unplain(Finding, row)) for row in table.to_pylist()]
        groups = [Estimate(**_unplain(Estimate, row)) for row in rest.pop("groups")]
        equity = [Equity(**_unplain(Equity, row)) for row in rest.pop("equity", [])]
        return cls(findings=findings, groups=groups, equity=equity, **rest)

    @property
    def by_group(self) -> Any:
        """Every group's estimate with interval and n, as a pandas DataFrame."""
        return _frame(Estimate, self.groups)

    @property
    def difference(self) -> Any:
        """The largest minus the smallest group estimate, per metric and attribute (known groups)."""
        return self._extremes().assign(difference=lambda f: f["max"] - f["min"])[["metric", "attribute", "difference"]]

    @property
    def ratio(self) -> Any:
        """The smallest over the largest group estimate, per metric and attribute (known groups)."""
        return self._extremes().assign(ratio=lambda f: f["min"] / f["max"])[["metric", "attribute", "ratio"]]

    def _extremes(self) -> Any:
        from countenance.audit.table import UNKNOWN

        frame = self.by_group
        frame = frame[(frame["group"] != UNKNOWN) & (frame["n"] > 0)]
        return frame.groupby(["metric", "attribute"], sort=False)["estimate"].agg(["min", "max"]).reset_index()


def _unplain(model: type[BaseModel], row: dict[str, Any]) -> dict[str, Any]:
    floats = {name for name, field in model.model_fields.items() if field.annotation is float}
    return {key: NAN if value is None and key in floats else value for key, value in row.items()}


def _arrow(model: type[BaseModel], rows: list[Any]) -> Any:
    import pyarrow as pa

    kinds: dict[Any, Any] = {
        int: pa.int64(), int | None: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()
    }  # fmt: skip
    columns = {}
    for name, field in model.model_fields.items():
        kind = kinds.get(field.annotation, pa.string())
        columns[name] = pa.array([getattr(row, name) for row in rows], type=kind)
    return pa.table(columns)


def _frame(model: type[BaseModel], rows: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame([row.model_dump() for row in rows], columns=list(model.model_fields))
