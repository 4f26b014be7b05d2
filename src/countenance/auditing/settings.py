"""The settings of an audit, checked, and the short texts in which a command line gives them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

from pydantic import model_validator

from countenance.auditing import ordering
from countenance.auditing.directions import HIGHER, LOWER, inferred
from countenance.errors import InputError, OptionError
from countenance.settings.audit import AuditFields

COMPARISONS = ("rest", "pairs", "reference", "spread", "paired")
ADJUSTMENTS = ("minp", "holm", "bh")
CHANGES = ("change", "bounded", "mean")
"""Differences of two 0/1 scores, of two scores between 0 and 1, and of any two numbers."""
FEWEST = 5
"""Fewer people than that are never a disparity and never cleared, whatever `min_n` is."""
DELTA = 0.05
"""The smallest difference that matters in a rate, or in a metric between 0 and 1, unless another is named."""


class AuditSettings(AuditFields):
    """How an audit compares: every option of `audit`, `estimates` and `plan_for` besides table, `by` and metrics.

    >>> AuditSettings(alpha=0.01).alpha
    0.01
    """

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if self.comparison not in COMPARISONS:
            known = ", ".join(COMPARISONS)
            raise OptionError("comparison", f"comparison {self.comparison!r}, expected one of {known}")
        if self.adjust not in ADJUSTMENTS:
            raise InputError(f"adjust {self.adjust!r}, expected minp, holm or bh")
        for name in ("depth", "min_n", "replicates", "seed", "max_groups"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, Integral)):
                raise InputError(f"{name} {value!r:.60}, expected a whole number")
        for name in ("alpha", "h0", "r0", "power", "poor"):
            if not isinstance(getattr(self, name), Real):
                raise InputError(f"{name} {getattr(self, name)!r:.60}, expected a number")
        for name, value, top in (("alpha", self.alpha, 0.5), ("h0", self.h0, 4.0), ("power", self.power, 1.0)):
            if not 0 < value < top:
                raise InputError(f"{name} {value!r}, expected a number above 0 and below {top:g}")
        if (self.depth is not None and self.depth < 1) or self.replicates < 100 or self.min_n < 1:
            raise InputError("depth and min_n must be at least 1, replicates at least 100")
        ordering.checked(self.ordered)
        for name, role in (self.roles or {}).items():
            if role not in (ordering.PERSON, ordering.CONDITION):
                raise InputError(f"roles: {name} = {role!r}, expected {ordering.PERSON} or {ordering.CONDITION}")
        if self.paired_by is not None and set(self.paired_by) != {"base", "change"}:
            raise InputError(f"paired_by {dict(self.paired_by)!r:.60}, expected the columns of base and change")
        if self.comparison == "paired" and self.pair is None:
            raise InputError("comparison 'paired' needs pair: the column(s) that tell which rows belong together")
        if isinstance(self.given, str) and not self.given_names:
            raise OptionError("given", f"given {self.given!r}, expected names of columns, such as light,masked")
        if self.given_names and self.comparison != "rest":
            raise InputError(f"given holds conditions equal between a group and the rest, not for {self.comparison!r}")
        return self

    @property
    def given_names(self) -> list[str]:
        """The conditions to hold equal, each as it was named."""
        from countenance.auditing.attributes import split_names

        return split_names(self.given) if isinstance(self.given, str) else named(self.given, "given") or []

    @property
    def pair_names(self) -> list[str]:
        """The columns that tell which rows belong together."""
        return [] if self.pair is None else [self.pair] if isinstance(self.pair, str) else list(self.pair)

    @property
    def conditions(self) -> dict[str, list[str]]:
        """Which rows are kept: columns with the values that they may have."""
        return parse_where(self.where)


def named(names: Any, what: str) -> list[str] | None:
    """The names that a user gave (a list or one text), as a list; None stays None.

    >>> named("gender", "by"), named(["gender", "age:18,40"], "by")
    (['gender'], ['gender', 'age:18,40'])
    """
    if names is None:
        return None
    listed = [names] if isinstance(names, str) or not hasattr(names, "__iter__") else list(names)
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong:
        raise InputError(f"{what}: found {wrong[0]!r:.60}, expected names of columns")
    return listed


def parse_where(where: Any) -> dict[str, list[str]]:
    """From "change=none,mask" (or a list of such texts, or a mapping) to {"change": ["none", "mask"]}.

    >>> parse_where(["change=none,mask", "light=dim"])
    {'change': ['none', 'mask'], 'light': ['dim']}
    """
    if not where:
        return {}
    if isinstance(where, Mapping):
        return {
            str(name): [_word(values)] if isinstance(values, str | bool | int | float) else [_word(v) for v in values]
            for name, values in where.items()
        }
    chosen: dict[str, list[str]] = {}
    for condition in [where] if isinstance(where, str) else where:
        name, equals, values = str(condition).partition("=")
        listed = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or not name.strip() or not listed:
            raise OptionError(
                "where", f"where {condition!r}: expected ATTRIBUTE=VALUE[,VALUE…], such as change=none,mask"
            )
        chosen[name.strip()] = listed
    return chosen


def _word(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def parse_delta(delta: Any) -> tuple[float | None, dict[str, float]]:
    """The difference that matters for rates and bounded metrics (None: the default), and those of single metrics.

    In a mapping, the empty name has the value of the metrics that are not named.

    >>> parse_delta(".02,latency_ms=5"), parse_delta({"latency_ms": 5}), parse_delta(0.1)
    ((0.02, {'latency_ms': 5.0}), (None, {'latency_ms': 5.0}), (0.1, {}))
    >>> parse_delta({"": 0.02, "latency_ms": 5})
    (0.02, {'latency_ms': 5.0})
    """
    if delta is None:
        return None, {}
    if isinstance(delta, Mapping):
        each = {str(name): _positive(f"delta of {name}", value) for name, value in delta.items()}
        return each.pop("", None), each
    if not isinstance(delta, str):
        return _positive("delta", delta), {}
    common: float | None = None
    named: dict[str, float] = {}
    for part in (piece.strip() for piece in delta.split(",") if piece.strip()):
        name, equals, value = part.rpartition("=")
        if equals:
            named[name.strip()] = _positive(f"delta of {name.strip()}", value)
        else:
            common = _positive("delta", value)
    return common, named


def _positive(what: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise OptionError(
            "delta", f"{what} {value!r}, expected a number above 0 (such as .05, or correct=.01,latency_ms=5)"
        )
    return number


def parse_better(better: Any) -> dict[str, str | None]:
    """Which way metrics are better, from a mapping or "latency_ms=lower,correct=higher"; None: not known.

    One word alone holds for every metric that is not named; its name is empty.

    >>> parse_better("latency_ms=lower"), parse_better({"size": None}), parse_better("lower")
    ({'latency_ms': 'lower'}, {'size': None}, {'': 'lower'})
    """
    if not better:
        return {}
    if isinstance(better, str):
        pairs = [piece.rpartition("=") for piece in better.split(",") if piece.strip()]
        if nameless := next((way for name, sign, way in pairs if sign and not name.strip()), None):
            raise OptionError(
                "better", f"better is '={nameless}', expected higher, lower or none, or METRIC=higher,METRIC=lower"
            )
        better = {name.strip(): None if way.strip() == "none" else way.strip() for name, _, way in pairs}
    for name, way in better.items():
        if way not in (HIGHER, LOWER, None):
            place = f"better of {name!r}" if name else "better"
            raise OptionError(
                "better", f"{place} is {way!r}, expected higher, lower or none, or METRIC=higher,METRIC=lower"
            )
    return dict(better)


def parse_families(text: str | None) -> Any:
    """Smaller families, from "metric", "metric,attribute" or "safety=recall,missed;speed=latency_ms".

    >>> parse_families("metric"), parse_families("safety=recall,missed;speed=latency_ms")
    ('metric', {'safety': ['recall', 'missed'], 'speed': ['latency_ms']})
    """
    if text is None or "=" not in text:
        parts = [part.strip() for part in (text or "").split(",") if part.strip()]
        return None if not parts else parts[0] if len(parts) == 1 else parts
    families: dict[str, list[str]] = {}
    for family in (piece for piece in text.split(";") if piece.strip()):
        name, equals, members = family.partition("=")
        listed = [member.strip() for member in members.split(",") if member.strip()]
        if not equals or not name.strip() or not listed:
            raise OptionError(
                "families", f"families {text!r}: expected NAME=METRIC[,METRIC…][;NAME=…], metric, attribute or depth"
            )
        families[name.strip()] = listed
    return families


@dataclass(frozen=True)
class Judged:
    """How one metric is judged: the smallest difference that matters (None: not known) and which way is better."""

    delta: float | None
    better: str | None
    inferred: bool = False
    """Whether the direction comes from the metric's name."""


def judged(settings: AuditSettings, metrics: Sequence[str], bounded: Sequence[bool]) -> dict[str, Judged]:
    """For each metric, the smallest difference that matters and the better direction.

    A rate, and a metric whose values lie in [0, 1], has a default difference that matters; any other metric has only
    what was named. The direction is the one named, else the one that the metric's name says.
    """
    common, deltas = parse_delta(settings.delta)
    ways = parse_better(settings.better)
    for what, named in (("delta", deltas), ("better", ways)):
        if stray := [name for name in named if name and name not in metrics]:
            raise OptionError(what, f"{what}: {stray[0]!r} is not one of the metrics ({', '.join(metrics)})")
    judgements = {}
    for name, inside in zip(metrics, bounded, strict=True):
        usual = (DELTA if common is None else common) if inside else None
        stated = name if name in ways else ""
        way = ways[stated] if stated in ways else inferred(name)
        judgements[name] = Judged(deltas.get(name, usual), way, stated not in ways and way is not None)
    return judgements


def direction_notes(judged: Mapping[str, Judged]) -> list[str]:
    """Notes on the directions taken from the names of metrics, and on metrics whose direction is not known.

    >>> direction_notes({"wer": Judged(0.05, "lower", True), "ok": Judged(0.05, None)})
    ['wer: lower is better, as its name says (the setting better says otherwise)',
     'ok: which way is better is not known (the setting better says it)']
    """
    notes = [
        f"{name}: {judgement.better} is better, as its name says (the setting better says otherwise)"
        for name, judgement in judged.items()
        if judgement.inferred
    ]
    return notes + [
        f"{name}: which way is better is not known (the setting better says it)"
        for name, judgement in judged.items()
        if not judgement.better
    ]


def delta_of_rates(settings: AuditSettings) -> float:
    """The smallest difference that matters in a rate without its own setting, such as the share of missing scores."""
    common, _ = parse_delta(settings.delta)
    return DELTA if common is None else common
