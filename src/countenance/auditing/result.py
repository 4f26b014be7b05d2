"""The result of an audit: its verdict, every finding, and what could not be tested."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, PrivateAttr

from countenance.auditing.conversion import arrow, frame, plain, unplain
from countenance.auditing.finding import Equity, Estimate, Finding, MissingScores, Split, Widest
from countenance.errors import InputError


class Origin:
    """What was audited: a run, a path or a table. Audits with the same content are equal, whatever their origin."""

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
        """The same audit with the run that it belongs to, for `report`."""
        known = self.model_copy()
        known._origin = Origin(source)
        return known

    @property
    def audited(self) -> Any:
        """What was audited: a run, a path or a table; None for an audit that was read from a file."""
        return self._origin.source

    def __repr__(self) -> str:
        """The audit in five lines; `print(audit.to_json())` prints all of it."""
        return str(import_module("countenance.report.notebook").audit_lines(self.without_given()))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """The first screen, for a notebook."""
        return str(import_module("countenance.report.notebook").audit_html(self.without_given()))

    _given_findings: list[Any] = PrivateAttr(default_factory=list)

    @property
    def given(self) -> list[Any]:
        """The findings with conditions held equal; those that `without_given` set aside are still here."""
        return self._given_findings or [finding for finding in self.findings if finding.kind == "given"]

    def without_given(self) -> Audit:
        """The audit without the findings that hold conditions equal."""
        held = self.given
        if not held:
            return self
        stripped = self.model_copy(update={"findings": [f for f in self.findings if f.kind != "given"]})
        stripped._given_findings = held
        return stripped

    @property
    def notes(self) -> list[str]:
        """Notes on how sure the verdict is."""
        notes: list[str] = self.settings.get("notes", [])
        return notes

    def plot(self, metric: str | None = None, depth: int = 1) -> Any:
        """A forest plot of one metric (default: the first) as a plotly figure."""
        return import_module("countenance.report.draw.interactive").forest(self, metric, depth)

    def to_dict(self, *, groups: bool = False) -> dict[str, Any]:
        """The audit as plain values (NaN and infinities as None); equity measures if they were computed."""
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
        """The audit as JSON, also written to `path` if there is one."""
        text = json.dumps(self.to_dict(groups=groups), indent=1, ensure_ascii=False, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def to_arrow(self) -> Any:
        """The findings as a pyarrow Table, one row each."""
        return arrow(Finding, self.findings)

    def to_pandas(self) -> Any:
        """The findings as a pandas DataFrame, one row each."""
        return frame(Finding, self.findings)

    def short(self) -> Any:
        """The findings as a pandas DataFrame of ten columns: who, how many, the number and the verdict."""
        return self.to_pandas()[list(SHORT)]

    def report(self, out: str | Path = "audit.html") -> Path:
        """Write the page of this audit and return its path; for the audit of a run it is the report of the run."""
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
        """The audit from its plain values."""
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
        return self._of_extremes(lambda low, high: low / high if high else math.nan)

    def _of_extremes(self, of: Callable[[float, float], float]) -> dict[str, dict[str, float]]:
        from countenance.auditing.table import UNKNOWN

        numbers: dict[str, dict[str, float]] = {}
        for metric, attributes in self.by_group.items():
            for attribute, groups in attributes.items():
                known = [value for name, value in groups.items() if name != UNKNOWN and not math.isnan(value)]
                numbers.setdefault(metric, {})[attribute] = of(min(known), max(known)) if known else math.nan
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
