"""From a table of rows to a verdict: read, group, sum, compare, adjust, conclude."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countenance.auditing.attributes import bare, written
from countenance.auditing.cautions import zero_inside, zero_notes
from countenance.auditing.computation import Computation, excluded_entry
from countenance.auditing.computed_groups import ComputedGroups, Ratios, own_ratios
from countenance.auditing.condensed_rows import rows_of
from countenance.auditing.equity import equity_of
from countenance.auditing.finding import Estimate, Finding
from countenance.auditing.groups import GROUP
from countenance.auditing.held_equal_covariates import HeldConditions
from countenance.auditing.held_equal_gaps import given_findings
from countenance.auditing.held_equal_warning import confounding_notes
from countenance.auditing.measured_metric import MISSING
from countenance.auditing.ordering import checked
from countenance.auditing.result import Audit
from countenance.auditing.rows import Rows, depth_of
from countenance.auditing.settings import FEWEST, AuditSettings, judged, named
from countenance.auditing.source import Source
from countenance.auditing.table import doubtful_groups
from countenance.auditing.twins import Twins, missing_versions, twin_drafts
from countenance.auditing.verdict import UNTESTABLE, overall


def audit(
    table: Any,
    by: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    *,
    equity: bool = False,
    computed: Sequence[ComputedGroups] = (),
    **settings: Any,
) -> Audit:
    """Compare groups of any table of rows and say what the evidence shows.

    `by` names attributes ("age:18,40,65" and "age:quantiles4" cut numbers into bins, "skin_tone*masked" is an
    intersection; None: every column of text or true/false with 2 to 30 values). `metrics` are the columns to compare;
    rows with null are outside a metric's denominator. `equity` adds equity measures, each with an interval and what a
    fair system of this size would show. `computed` are numbers of groups that rows do not give, such as false match
    rates; they are compared as ratios, in the same family. `settings` are the fields of
    `countenance.auditing.settings.Settings`: cluster, comparison, delta, where, alpha, adjust, and so on.

    >>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
    >>> result = audit(rows, by=["sex"], metrics=["found"], alpha=0.01)
    >>> result.verdict, result.findings[0].severity, round(result.findings[0].difference, 3)
    ('disparity', 'severe', -0.45)
    """
    work = work_of(table, by, metrics, AuditSettings(**settings), equity=equity, computed=computed)
    return audited(work, equity=equity)


def audited(work: Computation, *, equity: bool = False) -> Audit:
    """Make the requested comparisons and conclude; `equity` adds equity measures."""
    conditions = HeldConditions.of(work)  # wrong ones are refused before the permutations
    min_n = max(work.settings.min_n, FEWEST)
    bounded = [name for name, ends in zip(work.rows.metrics, work.rows.ends, strict=True) if ends is not None]
    findings = zero_inside(work.findings(), bounded, work.settings.alpha)
    work.notes += zero_notes(findings)
    excluded = [*work.excluded, *(_left_out(f, min_n) for f in findings if f.verdict == UNTESTABLE)]
    verdict, reason = overall(findings, excluded, work.judged, work.named, work.widest)
    held_equal = given_findings(work, conditions, findings)
    work.notes += [*notes_of_columns(work.rows), *confounding_notes(work)]
    if not work.rows.total:
        reason = "the table has no rows"
    return Audit(
        verdict=verdict,
        reason=reason,
        findings=[*findings, *held_equal],
        excluded=excluded,
        settings=_stored(work.rows, work.settings, work, findings) | {"equity": equity},
        groups=work.groups,
        overall=work.overall(),
        missing=work.missing,
        ordered=work.ordered,
        widest=work.widest,
        equity=equity_of(work) if equity else [],
    )


def notes_of_columns(rows: Rows) -> list[str]:
    """Notes on the compared columns.

    A slice that was searched for is known for some people only, `age` may mean groups of ages, and two groups may be
    the same in two spellings.
    """
    renamed = (
        f"{choice.asked_as} is read as {bare(choice.column)}: this data has groups of {choice.asked_as} and no numbers"
        for choice in rows.chosen.attributes
        if choice.asked_as
    )
    doubtful = (note for attribute in rows.attributes for note in doubtful_groups(attribute))
    return list(dict.fromkeys([*rows.column_notes.values(), *renamed, *doubtful]))


def estimates(
    table: Any, by: Sequence[str] | None = None, metrics: Sequence[str] | None = None, **settings: Any
) -> list[Estimate]:
    """Every group's number with its interval, as `audit` gives them in `groups`, without any test.

    >>> rows = {"sex": ["f"] * 150 + ["m"] * 545, "found": [1] * 120 + [0] * 30 + [1] * 400 + [0] * 145}
    >>> [(e.group, e.n, round(e.low, 3), round(e.high, 3)) for e in estimates(rows, ["sex"], ["found"])]
    [('f', 150, 0.729, 0.856), ('m', 545, 0.695, 0.769)]
    """
    return work_of(table, by, metrics, AuditSettings(**{"adjust": "holm"} | settings)).estimates()


def work_of(
    table: Any,
    by: Sequence[str] | None,
    metrics: Sequence[str] | None,
    settings: AuditSettings,
    *,
    equity: bool = False,
    computed: Sequence[ComputedGroups] = (),
) -> Computation:
    """The requested rows with the settings: everything up to the first sum."""
    by, metrics = named(by, "by"), named(metrics, "metrics")
    computed, settings = own_ratios(computed, settings)
    source = table if isinstance(table, Source) else Source(table)
    twins = Twins.of(source, by, settings)
    rows = rows_of(source if twins is not None else table, by, metrics, settings, equity=equity, twins=twins)
    depth = depth_of(settings, by, rows.chosen)
    work = Computation(rows, settings, judged(settings, rows.metrics, [ends is not None for ends in rows.ends]), depth)
    own = [ratios for ratios in computed if ratios.attribute in work.named and not settings.conditions]
    work.computed = [Ratios(ratios, settings, work.nouns) for ratios in own]
    work.exclude_computed(list(dict.fromkeys(ratios.metric for ratios in computed)))
    if twins is not None:
        _add_twins(work, source, twins, metrics)
    return work


def _add_twins(work: Computation, source: Source, twins: Twins, metrics: list[str] | None) -> None:
    """Add to the work its comparisons of twins, which need all rows of the table."""
    every = work if twins.apart is None and not work.settings.conditions else None
    if every is None:
        rows = Rows(
            source, [twins.columns[1]], metrics, work.settings.changed(paired_by=None, adjust="holm", where=None)
        )
        every = Computation(rows, work.settings, work.judged, 1)
    drafts, decides = twin_drafts(source, twins, every.measured, every.rows.order, work.settings)
    work.further = drafts
    work.missing += [missing_versions(draft.values) for draft in drafts if draft.values["kind"] == MISSING]
    work.notes += [change.sentence() for change in decides]


def _left_out(finding: Finding, min_n: int) -> dict[str, Any]:
    """The entry of the side that is too small: the other side if it has a name and only it is small."""
    other = finding.clusters >= min_n > finding.clusters_versus and finding.versus != "rest"
    group = finding.versus if other else finding.group
    counts = (finding.n_versus, finding.clusters_versus) if other else (finding.n, finding.clusters)
    return excluded_entry(finding.metric, finding.attribute, group, counts, finding.reason, finding.kind == GROUP)


def _stored(rows: Rows, settings: AuditSettings, work: Computation, findings: Sequence[Finding]) -> dict[str, Any]:
    """The settings as an audit keeps them: everything needed to repeat it, and what was decided on the way."""
    chosen = rows.chosen
    by = [written(chosen.attributes[i]) for i in chosen.single]
    by += ["*".join(written(chosen.attributes[i]) for i in cross) for cross in chosen.crosses]
    families = settings.families
    reference = settings.reference
    return {
        "by": by,
        "metrics": [*rows.metrics, *dict.fromkeys(entry.computed.metric for entry in work.computed)],
        "where": settings.conditions,
        "given": settings.given_names,
        "cluster": settings.cluster
        if settings.cluster is None or isinstance(settings.cluster, str)
        else list(settings.cluster),
        "ways": list(rows.units.ways) if rows.units.codes else [],
        "nouns": list(rows.units.nouns),
        "unit": rows.units.sentence(rows.total),
        "comparison": settings.comparison,
        "reference": dict(reference) if isinstance(reference, Mapping) else reference,
        "depth": work.depth,
        "alpha": settings.alpha,
        "delta": {name: entry.delta for name, entry in work.all_judged.items()},
        "better": {name: entry.better for name, entry in work.all_judged.items()},
        "better_inferred": [name for name, entry in work.judged.items() if entry.inferred],
        "h0": settings.h0,
        "r0": settings.r0,
        "min_n": settings.min_n,
        "adjust": work.adjustment.by,
        "adjust_asked": settings.adjust,
        "adjust_why": work.adjustment.why,
        "permutations": work.adjustment.permutations,
        "power": settings.power,
        "families": families if families is None or isinstance(families, str | list | dict) else list(families),
        "seed": settings.seed,
        "replicates": settings.replicates,
        "pair": settings.pair_names or None,
        "poor": settings.poor,
        "ordered": checked(settings.ordered),
        "roles": dict(settings.roles or {}),
        "paired_by": dict(settings.paired_by) if settings.paired_by else None,
        "answered": dict(settings.answered or {}),
        "denominators": dict(settings.denominators or {}),
        "not_compared": chosen.not_compared,
        "levels": {entry.name: entry.levels for entry in rows.attributes},
        "named": work.named,
        "crosses": [[chosen.attributes[i].name for i in cross] for cross in chosen.crosses],
        "bins": {
            choice.name: list(entry.cuts)
            for choice, entry in zip(chosen.attributes, rows.attributes, strict=True)
            if choice.cuts or choice.quantiles
        },
        "max_groups": settings.max_groups,
        "rows": rows.total,
        "comparisons": len(findings),
        "notes": work.notes,
    }
