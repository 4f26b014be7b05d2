"""Room: audit. From numbers to words: each finding's verdict with its reason, and the audit's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.audit.comparisons import Draft
from countenance.audit.finding import Finding
from countenance.audit.multiplicity import benjamini_hochberg, holm
from countenance.audit.power import equivalent, rows_needed
from countenance.errors import InputError

UNTESTABLE, DISPARITY, INSUFFICIENT = "untestable", "disparity", "insufficient evidence"


@dataclass(frozen=True)
class Rules:
    """What counts as evidence: level, difference that matters, effect that is severe, power."""

    alpha: float = 0.05
    delta: float = 0.05
    h0: float = 0.2
    r0: float = 0.2
    adjust: str = "holm"
    power: float = 0.8

    @property
    def negligible(self) -> str:
        """The words for a difference shown to be small.

        >>> Rules(delta=0.1).negligible
        'none larger than 0.1'
        """
        return f"none larger than {self.delta:g}"


def family_of(values: Mapping[str, Any], families: Any) -> str:
    """The family a comparison is in: all (None), by columns ('metric'), or as named in a mapping.

    A mapping gives each family's metrics or attributes: {"safety": ["recall"], "rest": ["iou"]}.

    >>> family_of({"metric": "recall", "attribute": "age"}, "metric")
    'recall'
    """
    if families is None:
        return "all"
    if isinstance(families, Mapping):
        for name, members in families.items():
            if values["metric"] in members or values["attribute"] in members:
                return str(name)
        return "all others"
    columns = [families] if isinstance(families, str) else list(families)
    if unknown := [c for c in columns if c not in ("metric", "attribute", "depth", "comparison")]:
        raise InputError(
            f"families: {unknown[0]!r}, expected metric, attribute, depth, or a mapping of names to members"
        )
    return " · ".join(str(values[column]) for column in columns)


def conclude(drafts: Sequence[Draft], rules: Rules, families: Any = None) -> list[Finding]:
    """Adjust every family's p values and give each comparison its verdict and reason.

    >>> conclude([], Rules())
    []
    """
    names = [family_of(draft.values, families) for draft in drafts]
    p = np.array([math.nan if d.untestable else min(1.0, d.values.get("p", math.nan) * d.weight) for d in drafts])
    adjusted = np.full(len(drafts), np.nan)
    sizes: dict[str, int] = {}
    for name in dict.fromkeys(names):
        here = np.array([n == name for n in names])
        adjusted[here] = (holm if rules.adjust == "holm" else benjamini_hochberg)(p[here])
        sizes[name] = int((~np.isnan(p[here])).sum())
    return [_one(d, float(q), name, sizes[name], rules) for d, q, name in zip(drafts, adjusted, names, strict=True)]


def _one(draft: Draft, p_adjusted: float, family: str, size: int, rules: Rules) -> Finding:
    values = draft.values | {"family": family, "family_size": size}
    if draft.untestable or math.isnan(p_adjusted):
        why = draft.untestable or "the test has no value here"
        blank = {"p": math.nan, "statistic": math.nan, "z": math.nan, "test": ""}
        return Finding(**(values | blank | {"verdict": UNTESTABLE, "reason": why}))
    level = rules.alpha / max(size, 1) / draft.weight
    mde, gap = draft.detectable(level, rules.power)
    name = values["effect_name"]
    target = {"h": rules.h0, "rank-biserial": rules.r0}.get(name, rules.delta)
    needed = rows_needed(values["n"], mde, target)
    tost = (
        draft.tost if math.isfinite(draft.tost) else equivalent(values["difference"], draft.se, rules.delta, draft.df)
    )
    values |= {
        "p_adjusted": p_adjusted,
        "mde": mde,
        "mde_difference": gap,
        "mde_alpha": level,
        "n_needed": needed,
        "p_equivalence": tost,
    }
    sides = f"{values['estimate']:.3f} against {values['estimate_versus']:.3f}"
    if p_adjusted < rules.alpha:
        severe = draft.severity_effect > (rules.h0 if values["kind"] == "rate" else rules.r0)
        reason = f"{sides}: difference {values['difference']:+.3f}, adjusted p {p_adjusted:.2g}"
        if name != "difference":
            reason += f", {name} {values['effect']:+.2f}"
        return Finding(**values, verdict=DISPARITY, severity="severe" if severe else "minor", reason=reason)
    if tost < rules.alpha:
        return Finding(
            **values,
            verdict=rules.negligible,
            reason=f"{sides}: any difference is smaller than {rules.delta:g} (TOST p {tost:.2g})",
        )
    see = f"; with these sizes {name} = {mde:.2f} would be seen {rules.power:.0%} of the time"
    if math.isfinite(gap) and name == "h":
        see += f" (about {gap:.3f})"
    more = (
        f"seeing {target:g} needs about {needed:,} rows here, there are {values['n']:,}"
        if needed > values["n"]
        else f"{target:g} would have been seen, {rules.delta:g} is not excluded"
    )
    return Finding(**values, verdict=INSUFFICIENT, reason=f"{sides}: adjusted p {p_adjusted:.2g}{see}; {more}")


def overall(findings: Sequence[Finding], excluded: Sequence[Mapping[str, Any]], rules: Rules) -> tuple[str, str]:
    """The worst of the findings: disparity, then insufficient evidence, then none larger than δ.

    Untestable comparisons do not decide, but they are counted in the reason; if there is nothing else, the
    audit is untestable.

    >>> overall([], [], Rules())
    ('untestable', 'nothing could be compared')
    """
    counts = {
        v: [f for f in findings if f.verdict == v] for v in (DISPARITY, INSUFFICIENT, rules.negligible, UNTESTABLE)
    }
    tested = len(findings) - len(counts[UNTESTABLE])
    aside = f"; {len(counts[UNTESTABLE])} more could not be tested" if counts[UNTESTABLE] else ""
    if counts[DISPARITY]:
        worst = min(counts[DISPARITY], key=lambda f: (f.severity != "severe", f.p_adjusted))
        severe = sum(f.severity == "severe" for f in counts[DISPARITY])
        return DISPARITY, (
            f"{len(counts[DISPARITY])} of {tested} comparisons differ ({severe} severe); strongest: "
            f"{worst.metric} of {worst.attribute} = {worst.group} against {worst.versus}, "
            f"{worst.reason}{aside}"
        )
    if counts[INSUFFICIENT]:
        weakest = max(counts[INSUFFICIENT], key=lambda f: f.mde if math.isfinite(f.mde) else -1.0)
        return INSUFFICIENT, (
            f"no disparity shown, but {len(counts[INSUFFICIENT])} of {tested} comparisons cannot exclude "
            f"a difference of {rules.delta:g}; least is known about {weakest.metric} of {weakest.group} "
            f"({weakest.attribute}): {weakest.reason}{aside}"
        )
    if counts[rules.negligible]:
        words = f"all {tested} tested comparisons exclude a difference of {rules.delta:g}{aside}"
        return rules.negligible, words
    whys = list(dict.fromkeys(str(entry["why"]) for entry in excluded))
    return UNTESTABLE, "nothing could be compared" + (f": {'; '.join(whys[:3])}" if whys else "")
