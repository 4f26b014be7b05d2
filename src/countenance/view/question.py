"""The question of a page about a run: the state in an address, completed from the run's own audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from countenance.auditing import Audit
from countenance.auditing.attributes import split_names
from countenance.auditing.settings import ADJUSTMENTS, parse_delta, parse_where
from countenance.view.parameters import Parameters

DEEPEST = 4
"""Attributes of an intersection."""
KEYS = ("by", "metric", "where", "given", "depth", "alpha", "delta", "adjust")
"""The parts of an address that say what is compared and how."""


@dataclass(frozen=True)
class Question:
    """Attributes, metrics and rows to compare, and how comparisons are judged."""

    by: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    where: Mapping[str, list[str]] = field(default_factory=dict)
    depth: int | None = None
    alpha: float = 0.05
    delta: str = ""
    adjust: str = ""
    given: tuple[str, ...] = ()
    """Conditions that are held equal."""
    stored: Mapping[str, Any] = field(default_factory=dict)
    """The settings of the run's stored audit: clusters, seed, denominators and whatever the address does not say."""

    @classmethod
    def of(cls, parameters: Parameters, audit: Audit | None, defaults: Question) -> Question:
        """Read an address. `by` and `metric` are lists with commas or repeated; `where` is ATTRIBUTE=VALUE[,VALUE…]."""
        stored = dict(audit.settings) if audit else {}
        base = replace(defaults, stored=stored)
        if audit is not None:
            base = replace(
                base,
                by=tuple(stored.get("by") or defaults.by),
                metrics=tuple(stored.get("metrics") or defaults.metrics),
                where=parse_where(stored.get("where")),
                depth=stored.get("depth"),
                alpha=float(stored.get("alpha", 0.05)),
                adjust=str(stored.get("adjust_asked") or ""),
                given=tuple(stored.get("given") or ()),
            )
        by = [name for text in parameters.all("by") for name in split_names(text)]
        metrics = [name.strip() for text in parameters.all("metric") for name in text.split(",") if name.strip()]
        conditions = [text for text in parameters.all("where") if text.strip()]
        question = replace(
            base,
            by=tuple(dict.fromkeys(by)) or base.by,
            metrics=tuple(dict.fromkeys(metrics)) or base.metrics,
            where=parse_where(conditions) if parameters.has("where") else base.where,
            depth=parameters.number("depth", base.depth or 0, DEEPEST) or None,
            alpha=parameters.share("alpha", base.alpha),
            delta=parameters.text("delta") or base.delta,
            adjust=parameters.choice("adjust", ("", *ADJUSTMENTS), base.adjust),
            given=tuple(split_names(parameters.text("given"))) if parameters.has("given") else base.given,
        )
        parse_delta(question.delta or None)
        return question

    @property
    def cluster(self) -> Any:
        """The unit that the run's audit took as independent."""
        named = self.stored.get("cluster", "auto")
        return "auto" if isinstance(named, str) and " else " in named else named

    @property
    def about(self) -> tuple[str, ...]:
        """The metrics whose rows are counted: those of the stored audit if it has all those requested."""
        audited = tuple(self.stored.get("metrics") or ())
        return audited if set(self.metrics) <= set(audited) else self.metrics

    @property
    def as_stored(self) -> bool:
        """Whether the stored audit answers exactly this question."""
        stored = self.stored
        return (
            bool(stored)
            and not self.delta
            and (
                list(self.by) == list(stored.get("by") or [])
                and list(self.metrics) == list(stored.get("metrics") or [])
                and dict(self.where) == parse_where(stored.get("where"))
                and self.depth == stored.get("depth")
                and self.alpha == stored.get("alpha")
                and self.adjust == (stored.get("adjust_asked") or "")
                and list(self.given) == list(stored.get("given") or [])
            )
        )

    def key(self) -> tuple[Any, ...]:
        """A key that identifies the question."""
        where = tuple((name, tuple(values)) for name, values in sorted(self.where.items()))
        return self.by, self.metrics, where, self.depth, self.alpha, self.delta, self.adjust, self.given

    def figures(self) -> tuple[Any, ...]:
        """The part of the question that estimates depend on: not how comparisons are judged. Attributes come first."""
        return self.key()[:-3]

    def query(self, **further: Any) -> str:
        """The question as the query of an address; `further` parts come after it, empty ones are left out."""
        pairs: list[tuple[str, str]] = [("by", ",".join(self.by)), ("metric", ",".join(self.metrics))]
        pairs += [("where", f"{name}={','.join(values)}") for name, values in self.where.items()]
        if not self.where and parse_where(self.stored.get("where")):
            pairs.append(("where", ""))
        if self.depth is not None:
            pairs.append(("depth", str(self.depth)))
        if self.alpha != 0.05:
            pairs.append(("alpha", f"{self.alpha:g}"))
        pairs += [(name, value) for name, value in (("delta", self.delta), ("adjust", self.adjust)) if value]
        if self.given or self.stored.get("given"):
            pairs.append(("given", ",".join(self.given)))
        pairs += [(name, str(value)) for name, value in further.items() if value not in (None, "")]
        return urlencode(pairs)
