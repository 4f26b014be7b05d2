"""Findings of kind `given`: whether a gap remains between rows with the same conditions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from countenance.auditing.comparisons import direction
from countenance.auditing.finding import Finding
from countenance.auditing.given_finding import (
    EXPLAINED,
    HELD_EQUAL,
    HIDDEN,
    NO_OVERLAP,
    ON_THE_FACE,
    PART_OF_GAP,
    REMAINS,
    Explained,
    GivenFinding,
    Stratum,
)
from countenance.auditing.groups import GROUP, Grouping
from countenance.auditing.held_equal_cells import CellSums, Decomposed, blocks_of, decomposed
from countenance.auditing.held_equal_covariates import Covariate, HeldConditions, unit_codes
from countenance.auditing.held_equal_fit import FEWEST_PEOPLE, ComparableRows, Fit, HeldGap
from countenance.auditing.held_equal_propensity import PropensityFit, design_of, fitted_propensity
from countenance.auditing.held_equal_shuffle import Family, TestedColumn
from countenance.auditing.ordering import role_of
from countenance.auditing.table import Array
from countenance.auditing.units import plural
from countenance.auditing.verdict import DISPARITY, INSUFFICIENT, none_larger, shown

if TYPE_CHECKING:
    from countenance.auditing.computation import Computation

REST = "rest"
MOST_STRATA = 12
"""Strata that a finding lists, the heaviest first."""
NAMED_SHARE = 0.1
"""A covariate that explains at least this much of a gap is named in its verdict."""


def given_findings(work: Computation, conditions: HeldConditions, raw: Sequence[Finding]) -> list[GivenFinding]:
    """Every group of every named attribute against the rest, with conditions held equal."""
    rows, covariates = work.rows, conditions.covariates
    units = unit_codes(work)
    held_attributes = []
    for grouping in conditions.groupings:
        if len(grouping.cells) < 2:
            continue
        members = grouping.members(rows.attributes, rows.size)
        if members.overlap:
            work.notes.append(f"{grouping.name} has several values in a row and is not compared with conditions equal")
            continue
        attribute = _HeldAttribute(work, grouping, members.cells, covariates, units)
        held_attributes.append(attribute)
        if not attribute.gaps:
            names = ", ".join(covariate.name.removeprefix("attr.") for covariate in covariates)
            work.notes.append(
                f"{grouping.name} is not compared with {names} held equal: no two groups have scored rows of which "
                f"{'it is' if len(covariates) == 1 else 'all of them are'} known"
            )
    tested = [(attribute, *attribute.tested()) for attribute in held_attributes]
    many = len(tested)
    return [
        finding
        for attribute, p, adjusted, how in tested
        for finding in attribute.findings(raw, p, np.minimum(adjusted * many, 1.0), how)
    ]


class _HeldAttribute:
    """The comparisons of one attribute."""

    def __init__(
        self,
        work: Computation,
        grouping: Grouping,
        cells: Array,
        covariates: Sequence[Covariate],
        units: tuple[Array, ...],
    ) -> None:
        self.work, self.grouping, self.covariates, self.settings = work, grouping, covariates, work.settings
        self.pair = len(grouping.cells) == 2
        known = np.logical_and.reduce([covariate.codes >= 0 for covariate in covariates]) & (cells >= 0)
        self.fits, self.unknown = [], []
        for column in work.rows.columns:
            there = ~np.isnan(column.values)
            places = np.flatnonzero(known & there)
            self.unknown.append(int((there & (cells >= 0)).sum()) - len(places))
            values = column.values + column.centre
            self.fits.append(Fit(ComparableRows.of(values, cells, len(grouping.cells), units, covariates, places)))
        self.gaps: dict[tuple[int, int], tuple[HeldGap, PropensityFit | None]] = {}
        for metric, fit in enumerate(self.fits):
            design: Array | None = None
            for group in self._groups(metric):
                gap, propensity = fit.measured(group), None
                if gap.effective < FEWEST_PEOPLE and len(fit.rows.values):
                    design = design_of(covariates, fit.rows) if design is None else design
                    propensity = fitted_propensity(fit.rows, group, design)
                    gap = propensity.measured()
                self.gaps[metric, group] = gap, propensity

    def _groups(self, metric: int) -> list[int]:
        count = self.fits[metric].n.sum(0)
        there = [group for group in range(len(self.grouping.cells)) if count[group]]
        if len(there) < 2:
            return []
        return [0] if self.pair else there

    def tested(self) -> tuple[dict[tuple[int, int], float], Array, str]:
        """p of each comparison that has enough people, adjusted p, and how they were tested."""
        tested = [
            TestedColumn(metric, group, propensity, gap.df)
            for (metric, group), (gap, propensity) in self.gaps.items()
            if gap.effective >= FEWEST_PEOPLE and gap.error >= 0
        ]
        self.columns = {(column.metric, column.group): i for i, column in enumerate(tested)}
        p, adjusted, how = Family(self.fits, tested, self.settings.seed, self.settings.alpha).adjusted()
        return {key: float(p[i]) for key, i in self.columns.items()}, adjusted, how

    def findings(
        self, raw: Sequence[Finding], p: dict[tuple[int, int], float], adjusted: Array, how: str
    ) -> list[GivenFinding]:
        """Every comparison with its verdict."""
        findings = []
        for metric, fit in enumerate(self.fits):
            groups = self._groups(metric)
            parts = self._parts(fit) if groups else None
            for group in groups:
                own = (metric, group)
                number = self.columns.get(own)
                tested = (p.get(own, math.nan), math.nan if number is None else float(adjusted[number]), how)
                assert parts is not None
                findings.append(self._finding(raw, metric, group, parts, tested))
        return findings

    def _parts(self, fit: Fit) -> Decomposed:
        rows = fit.rows
        people = np.unique(rows.people, return_inverse=True)[1]
        label = np.zeros(int(people.max(initial=-1)) + 1, dtype=np.int64)
        label[people] = rows.groups
        cells = rows.strata.count * rows.count * (2 + rows.numbers.shape[1] * (3 + rows.numbers.shape[1]))
        blocks, count = blocks_of(label, self.settings.seed, cells)
        sums = CellSums.of(rows.values, rows.numbers, rows.strata, rows.groups, (rows.count, count), blocks[people])
        return decomposed(sums, rows.strata, rows.numeric)

    def _finding(
        self, raw: Sequence[Finding], metric: int, group: int, parts: Decomposed, tested: tuple[float, float, str]
    ) -> GivenFinding:
        fit, name, alpha = self.fits[metric], self.work.rows.metrics[metric], self.settings.alpha
        gap, propensity = self.gaps[metric, group]
        testable = not math.isnan(tested[1])
        if not testable:  # with too few people on one side the value is no estimate
            gap = HeldGap(math.nan, math.nan, math.nan, gap.effective)
        inside = fit.rows.groups == group
        people = [len(np.unique(fit.rows.people[side])) for side in (inside, ~inside)]
        means = [float(fit.rows.values[side].mean()) if side.any() else math.nan for side in (inside, ~inside)]
        low, high = gap.interval(alpha)
        values: dict[str, Any] = {
            "metric": name,
            "attribute": self.grouping.name,
            "group": self.grouping.cells[group],
            "kind": HELD_EQUAL,
            "versus": self.grouping.cells[1 - group] if self.pair else REST,
            "comparison": self.settings.comparison,
            "n": int(inside.sum()),
            "clusters": people[0],
            "n_versus": int((~inside).sum()),
            "clusters_versus": people[1],
            "estimate": means[0],
            "estimate_versus": means[1],
            "low": low,
            "high": high,
            "difference": gap.estimate,
            "diff_low": low,
            "diff_high": high,
            "se": gap.error,
            "df": gap.df,
            "test": tested[2],
            "p": tested[0],
            "p_adjusted": tested[1],
            "depth": self.grouping.depth,
            "metric_kind": self.work.rows.columns[metric].kind,
            "family": HELD_EQUAL,
            "family_size": len(self.columns),
            "role": role_of(self.grouping.name.split(" × "), self.settings.roles or {}),
            "given": [covariate.name for covariate in self.covariates],
            "held_equal": gap.estimate,
            "overlap": fit.overlap(group),
            "unknown_conditions": self.unknown[metric],
            "effective_people": gap.effective,
            "method": "strata" if propensity is None else "propensity",
            "strata": self._strata(fit, group),
        }
        values |= self._decomposition(parts, group, alpha) if testable else self._only_raw(parts, group, alpha)
        question = self.work.question()
        values["counted"] = question.counted(values["n"], people[0])
        values["counted_versus"] = question.counted(values["n_versus"], people[1])
        judged = self.work.judged[name]
        values["direction"] = direction(gap.estimate, judged.better)
        if any(covariate.name.startswith(ON_THE_FACE) for covariate in self.covariates):
            values["note"] = PART_OF_GAP
        before = next(
            (
                f
                for f in raw
                if f.kind == GROUP
                and (f.metric, f.attribute) == (name, self.grouping.name)
                and (f.group == values["group"] or (self.pair and f.versus == values["group"]))
            ),
            None,
        )
        verdict = verdict_of(values, before, alpha, judged.delta)
        return GivenFinding(**values, verdict=verdict, reason=_reason(values, verdict, self.work.nouns[1]))

    def _decomposition(self, parts: Decomposed, group: int, alpha: float) -> dict[str, Any]:
        raw, composition = parts.raw[:, group], parts.parts.sum(0)[:, group]
        named = {}
        with np.errstate(divide="ignore", invalid="ignore"):
            for place, covariate in enumerate(self.covariates):
                own = parts.parts[place][:, group]
                share, part = parts.interval(own / raw, alpha), parts.interval(own, alpha)
                named[covariate.name] = Explained(
                    share=_finite(share[0]),
                    low=_finite(share[1]),
                    high=_finite(share[2]),
                    part=_finite(part[0]),
                    part_low=_finite(part[1]),
                    part_high=_finite(part[2]),
                )
            every = [_finite(end) for end in parts.interval(composition / raw, alpha)]
        whole = [_finite(end) for end in parts.interval(composition, alpha)]
        return self._only_raw(parts, group, alpha) | {
            "composition": whole[0],
            "composition_low": whole[1],
            "composition_high": whole[2],
            "explained": named,
            "explained_share": every[0],
            "explained_low": every[1],
            "explained_high": every[2],
        }

    def _only_raw(self, parts: Decomposed, group: int, alpha: float) -> dict[str, Any]:
        """The finding without overlap: only the raw gap is known."""
        ends = [_finite(end) for end in parts.interval(parts.raw[:, group], alpha)]
        unknown = {covariate.name: Explained() for covariate in self.covariates}
        return {"raw": ends[0], "raw_low": ends[1], "raw_high": ends[2], "explained": unknown}

    def _strata(self, fit: Fit, group: int) -> list[Stratum]:
        size = fit.n.sum(1)
        inside = fit.n[:, group]
        weight = inside * (size - inside) / np.maximum(size, 1)
        total = weight.sum() or 1.0
        cells = 2 * fit.rows.strata.codes + (fit.rows.groups == group)
        sums = np.bincount(cells, fit.rows.values, 2 * len(size))
        order = np.argsort(-weight, kind="stable")[:MOST_STRATA]
        return [
            Stratum(
                conditions={
                    covariate.name: covariate.levels[int(level)]
                    for covariate, level in zip(self.covariates, fit.rows.strata.levels[s], strict=True)
                },
                n=int(inside[s]),
                n_versus=int(size[s] - inside[s]),
                estimate=float(sums[2 * s + 1] / inside[s]) if inside[s] else math.nan,
                estimate_versus=float(sums[2 * s] / (size[s] - inside[s])) if size[s] > inside[s] else math.nan,
                weight=float(weight[s] / total),
            )
            for s in order
            if weight[s] > 0
        ]


def _finite(value: Any) -> float:
    return float(value) if math.isfinite(float(value)) else math.nan


def verdict_of(values: dict[str, Any], raw: Finding | None, alpha: float, delta: float | None) -> str:
    """The verdict on a gap with conditions held equal, beside the verdict of the raw comparison."""
    if math.isnan(values["p_adjusted"]):
        return NO_OVERLAP
    before, held = values["raw"], values["held_equal"]
    disparity = raw is not None and raw.verdict == DISPARITY
    if values["p_adjusted"] < alpha:
        turned = before * held < 0
        if turned or (not disparity and abs(before) < abs(held) / 2):
            return f"{HIDDEN} {_names(values['explained'], against=held)}"
        return REMAINS
    if disparity and values["explained_low"] > 0.5:
        ends = [f"{100 * values[name]:.0f}" for name in ("explained_share", "explained_low", "explained_high")]
        return f"{EXPLAINED} {_names(values['explained'])} ({ends[0]} %, {ends[1]} to {ends[2]})"
    if not disparity and delta is not None and values["low"] > -delta and values["high"] < delta:
        return none_larger(delta)
    return INSUFFICIENT


def _names(explained: dict[str, Explained], against: float | None = None) -> str:
    """The covariates that matter, the one with the largest part first."""
    sizes = {
        name: part.share if against is None else -math.copysign(1.0, against) * part.part
        for name, part in explained.items()
    }
    ordered = sorted(sizes, key=lambda name: -sizes[name] if math.isfinite(sizes[name]) else 0.0)
    least = NAMED_SHARE if against is None else NAMED_SHARE * abs(sizes[ordered[0]])
    named = [name for name in ordered if sizes[name] >= least] or ordered[:1]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _reason(values: dict[str, Any], verdict: str, people: str) -> str:
    conditions = " and ".join(values["given"])
    lost = 1 - values["overlap"]
    lost_words = f"; {100 * lost:.1f} % of rows have nobody to compare with" if lost > 0.0005 else ""
    if values["unknown_conditions"]:
        lost_words += f"; {plural(values['unknown_conditions'], 'row', 'rows')} without recorded conditions left out"
    if verdict == NO_OVERLAP:
        return (
            f"with {conditions} held equal, one side has {values['effective_people']:.0f} effective {people}, fewer "
            f"than {FEWEST_PEOPLE}{lost_words}"
        )
    words = (
        f"with {conditions} held equal the difference is {values['held_equal']:+.3f} ({values['low']:+.3f} to "
        f"{values['high']:+.3f}) instead of {values['raw']:+.3f}, adjusted p {shown(values['p_adjusted'])}{lost_words}"
    )
    if values["method"] == "propensity":
        words += "; strata were too thin, so a logistic propensity with overlap weights was used"
    return f"{words}; {PART_OF_GAP}" if values.get("note") else words
