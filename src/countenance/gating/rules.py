"""Decides each kind of rule: from the evidence to checks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from countenance.auditing.equity import PAIRS
from countenance.auditing.finding import Finding
from countenance.auditing.headline import REST, side_words, versus_words
from countenance.auditing.levels import gaps_at
from countenance.auditing.missing_scores import TOLERATED
from countenance.auditing.units import plural, stored_nouns
from countenance.auditing.verdict import DISPARITY, UNTESTABLE, shown
from countenance.data.vocabulary import UNKNOWN, in_order
from countenance.errors import InputError
from countenance.gating import held_equal_rules, kinds
from countenance.gating.any_time_bounds import any_time_estimates, any_time_gaps
from countenance.gating.bounds import Lacking, Limits, Measurement
from countenance.gating.evidence import RunEvidence, missing, too_many_missing
from countenance.gating.outcome import FAIL, INSUFFICIENT, PASS, RuleCheck
from countenance.gating.questions import RATES, AnsweredQuestion, RuleQuestion, equity_metrics
from countenance.gating.sample_sizes import units_for_distance

LATENCIES = ("latency", "latency_ms", "latency_s")


def estimate(rule: kinds.EstimateRule, evidence: RunEvidence) -> list[RuleCheck]:
    """A number against its limits, for everybody or for each group."""
    limits = Limits(rule.at_least, rule.at_most)
    if evidence.policy.any_time:
        looked = any_time_estimates(evidence, rule.metric, rule.by, rule.group)
        return [each.check(limits, evidence.alpha) for each in looked] or [missing(rule.words(), "there are no rows")]
    measurements = evidence.measured(rule.metric, rule.by, rule.group)
    checks = [measurement.check(limits, evidence.alpha) for measurement in measurements] or [
        missing(rule.words(), "there are no rows")
    ]
    return checks if rule.group else _with_unknown(checks, evidence.unknown(rule.metric, rule.by), rule.by)


def _with_unknown(checks: list[RuleCheck], count: int, by: str | None) -> list[RuleCheck]:
    """The checks of a rule; the first also says how many rows are in no group."""
    if not count:
        return checks
    reason = f"{checks[0].reason}; {plural(count, 'row', 'rows')} with unknown {by} not judged"
    return [checks[0].model_copy(update={"reason": reason}), *checks[1:]]


def gap(rule: kinds.GapRule, evidence: RunEvidence) -> list[RuleCheck]:
    """The difference of every group to the others against the largest that is allowed."""
    evidence.need_metric(rule.metric)
    evidence.need_attribute(rule.by)
    if rule.given:
        return held_equal_rules.gap(rule, evidence)
    if evidence.policy.any_time:
        limits, words = Limits(-rule.at_most, rule.at_most), f"a gap of at most {rule.at_most:g}"
        looked = any_time_gaps(evidence, rule.metric, rule.by, rule.comparison)
        checks = [each.check(limits, evidence.alpha, words) for each in looked]
        return checks or [missing(f"{rule.metric} by {rule.by}", "there are not two groups to compare")]

    answer = evidence.answer(RuleQuestion(rule.by, (rule.metric,), rule.comparison, compares=True))
    findings = _of_rule(rule, answer)
    shared = gaps_at(answer.work, evidence.alpha / max(len(findings), 1))
    cautious = gaps_at(answer.work, evidence.alpha / 2)  # with missing scores as wrong; these intervals are 1 - 2·level
    lacking = _lacking_gaps(rule, evidence)
    nouns = answer.work.nouns
    limits = Limits(-rule.at_most, rule.at_most)
    words = f"a gap of at most {rule.at_most:g}"
    rows: list[RuleCheck] = []
    for finding in findings:
        key = finding.metric, finding.attribute, finding.group, finding.versus
        f, s, c = _from_losing_side(finding), shared[key], cautious[key]
        if f is not finding:
            s, c = s.mirrored(), c.mirrored()
        about = f"{rule.metric}, {side_words(f)} against {versus_words(f)}"
        if (
            math.isnan(f.diff_low) or f.verdict == UNTESTABLE or f.small_group
        ):  # fewer than 20 people: the audit does not compare them
            away = abs(f.difference) - rule.at_most
            wide = math.isnan(f.diff_low)
            takes = None if wide else units_for_distance(f.clusters, f.diff_low, f.diff_high, away, evidence.alpha)
            sizes = _sizes(f, nouns) | _sides(f) | {"needed": max(takes or 0, 20), "beyond": away}
            rows.append(missing(about, f"{f.reason}; wanted {words}").model_copy(update=sizes))
            continue
        measured = Measurement(
            about,
            f.difference,
            f.diff_low,
            f.diff_high,
            s.low,
            s.high,
            f.n,
            f.clusters,
            nouns,
            attribute=f.attribute,
            group=f.group,
            versus=f.versus,
            missing=replace(lacking, low=c.low_equivalence, high=c.high_equivalence) if lacking.count else lacking,
        )
        rows.append(measured.check(limits, evidence.alpha, words).model_copy(update={"direction": f.direction}))
    rows = rows or [missing(f"{rule.metric} by {rule.by}", "there are not two groups to compare")]
    judged = any(f.group == UNKNOWN for f in findings)
    return rows if judged else _with_unknown(rows, evidence.unknown(rule.metric, rule.by), rule.by)


def _of_rule(rule: kinds.GapRule, answer: AnsweredQuestion) -> list[Finding]:
    """The comparisons of groups that a rule is about, in the order of the groups that do worse."""
    assert answer.audit is not None
    findings = [
        f
        for f in answer.audit.findings
        if f.kind == "group" and f.metric == rule.metric and f.comparison == rule.comparison
    ]
    order = in_order(rule.by, [_from_losing_side(f).group for f in findings])
    return sorted(findings, key=lambda f: order.index(_from_losing_side(f).group))


def _from_losing_side(f: Finding) -> Finding:
    """A comparison of two groups, seen from the one that does worse."""
    if f.versus == REST or f.direction != "better" or f.kind == "twins":
        return f
    return f.mirrored()


def _lacking_gaps(rule: kinds.GapRule, evidence: RunEvidence) -> Lacking:
    """How many scores are missing from the groups of a rule; each gap has its own interval with these as wrong."""
    groups = evidence.estimates(rule.metric, rule.by, evidence.alpha)
    count = sum(e.missing for e in groups)
    return Lacking(count, too_many=any(map(too_many_missing, groups))) if count else Lacking()


def _sizes(f: Finding, nouns: tuple[str, str], least: int = 20) -> dict[str, Any]:
    """How many units a group has and needs; a group that could not be tested needs at least 20."""
    needed = f.clusters_needed if f.verdict != UNTESTABLE else least
    return {"n": f.n, "units": f.clusters, "unit": nouns[1], "needed": needed}


def _sides(f: Finding) -> dict[str, str]:
    """The fields of a check that name the two sides of a comparison."""
    return {"attribute": f.attribute, "group": f.group, "versus": f.versus, "direction": f.direction}


def verdict(rule: kinds.VerdictRule, evidence: RunEvidence) -> list[RuleCheck]:
    """The audit's verdict: a check for every comparison that differs or is undecided, and one for all others."""
    from countenance.auditing.attributes import split_names

    by = split_names(rule.by) if isinstance(rule.by, str) else rule.by
    metrics = [rule.metric] if isinstance(rule.metric, str) else rule.metric
    if rule.given:
        return held_equal_rules.verdict(rule, evidence, by, metrics)
    audit = evidence.audit(by, metrics)
    nouns = stored_nouns(audit.settings)
    named = audit.settings.get("named")
    checks, fine = [], 0
    for f in map(_from_losing_side, audit.findings):
        forbidden = f.verdict == DISPARITY and (rule.forbid == "disparity" or f.severity == "severe")
        crossed = named is not None and f.attribute not in named and f.kind != "twins"
        beside = f.kind == "split" or (crossed and f.verdict == UNTESTABLE)
        if forbidden or (f.verdict in ("insufficient evidence", UNTESTABLE) and not beside):
            about = f"{f.measure}, {side_words(f)} against {versus_words(f)}"
            reason = f"{f.severity} disparity: {f.reason}" if forbidden else f.reason
            sizes = {"n": f.n, "units": f.clusters, "unit": nouns[1]} if forbidden else _sizes(f, nouns)
            checks.append(
                RuleCheck(
                    about=about,
                    metric=f.measure,
                    evidence=FAIL if forbidden else INSUFFICIENT,
                    reason=reason,
                    value=f.difference,
                    low=f.diff_low,
                    high=f.diff_high,
                    beyond=abs(f.difference),
                    **_sides(f),
                    **sizes,
                )
            )
        else:
            fine += 1
    if fine:
        checks.append(
            RuleCheck(about="other comparisons", evidence=PASS, reason=f"{plural(fine, 'comparison', 'comparisons')}")
        )
    clear = audit.verdict.startswith("none") or audit.verdict == DISPARITY
    if not clear and not any(check.evidence == INSUFFICIENT for check in checks):
        checks.append(missing("the audit", audit.reason))
    return checks


def equity(rule: kinds.EquityRule, evidence: RunEvidence) -> list[RuleCheck]:
    """An equity measure against its limits; value and interval are the audit's."""
    evidence.need_attribute(rule.by)
    metric = rule.metric or "FMR and FNMR"
    metrics = equity_metrics(rule.metric, evidence.metrics)
    if metrics is None and metric in RATES:
        pairs = " or ".join(" with ".join(pair) for pair in PAIRS)
        raise InputError(f"{evidence.run.place}: no FMR and FNMR; a run of verification has them ({pairs})")
    if metrics is None:
        evidence.need_metric(metric)
    metrics = metrics or [metric]
    audit = evidence.answer(RuleQuestion(rule.by, tuple(metrics), compares=True, equity=True)).audit
    measures = audit.equity if audit is not None else []
    about = f"{rule.measure} of {metric} by {rule.by}"
    measure = next((e for e in measures if e.measure == rule.measure and e.metric == metric), None)
    if measure is None:
        there = ", ".join(dict.fromkeys(e.measure for e in measures if e.metric == metric)) or "none (it is not a rate)"
        raise InputError(f"{evidence.run.place}: {rule.measure} is not given for {metric}; there are {there}")
    if measure.undefined:
        return [missing(about, measure.undefined)]
    groups = evidence.estimates(metrics[0], rule.by, evidence.alpha)
    units = sum(e.clusters for e in groups)
    nouns = evidence.nouns(metrics[0], rule.by)
    lacking = Lacking(sum(e.missing for e in groups), measure.low_wrong, measure.high_wrong)
    measured = Measurement(
        about, measure.value, measure.low, measure.high, measure.low, measure.high, units, units, nouns, missing=lacking
    )
    check = measured.check(Limits(rule.at_least, rule.at_most), evidence.alpha)
    further = f"; a fair system of this size shows {shown(measure.fair)}" if math.isfinite(measure.fair) else ""
    further += f"; left out, too few: {', '.join(measure.left_out)}" if measure.left_out else ""
    return [check.model_copy(update={"reason": f"{check.reason}{further}"})]


def people(rule: kinds.PeopleRule, evidence: RunEvidence) -> list[RuleCheck]:
    """How many different people there are: a count, which needs no interval."""
    counts = evidence.people(rule.by)
    if counts is None:
        return [missing("people", "the run does not say who is who (its rows have no identity)")]
    return [
        RuleCheck(
            about=group if rule.by is None else f"{rule.by} = {group}",
            attribute=rule.by or "",
            group="" if rule.by is None else group,
            evidence=PASS if count >= rule.at_least else FAIL,
            reason=f"{plural(count, 'person', 'people')}; wanted at least {rule.at_least:,}",
            value=count,
            beyond=rule.at_least - count,
            n=count,
            units=count,
            unit="people",
        )
        for group, count in counts.items()
    ]


def failed_images(rule: kinds.FailedImagesRule, evidence: RunEvidence) -> list[RuleCheck]:
    """The share of images without a prediction in this run."""
    failed, images = int(evidence.run.manifest["failed"]), int(evidence.run.manifest["dataset"]["images"])
    if not images:
        return [missing("failed images", "the run does not say how many images it has")]
    share = failed / images
    reason = f"{failed:,} of {plural(images, 'image', 'images')} ({share:.2%}); wanted at most {100 * rule.at_most:g} %"
    evidence_found = PASS if share <= rule.at_most else FAIL
    return [
        RuleCheck(
            about="failed images",
            evidence=evidence_found,
            reason=reason,
            value=share,
            n=images,
            units=images,
            unit="images",
        )
    ]


def speed(rule: kinds.SpeedRule, evidence: RunEvidence) -> list[RuleCheck]:
    """Images per second, as the run recorded it."""
    rate = evidence.run.manifest.images_per_second
    if not rate:
        return [missing("images per second", "the run does not record its speed (saved predictions have none)")]
    return [
        RuleCheck(
            about="images per second",
            evidence=PASS if rate >= rule.at_least else FAIL,
            reason=f"{rate:g} images per second; wanted at least {rule.at_least:g}",
            value=rate,
        )
    ]


def latency(rule: kinds.LatencyRule, evidence: RunEvidence) -> list[RuleCheck]:
    """A quantile of the times of images, with the interval that order statistics give it."""
    from scipy.stats import binom

    name = rule.metric or next((latency_name for latency_name in LATENCIES if latency_name in evidence.metrics), None)
    about = f"{100 * rule.quantile:g} % of images"
    if name is None:
        return [missing(about, f"the run has no times of single images ({' or '.join(LATENCIES)})")]
    evidence.need_metric(name)
    column = evidence.scores[f"m.{name}"].drop_null().to_numpy()
    times = np.sort(np.asarray(column, dtype=np.float64))
    n = len(times)
    if not n:
        return [missing(about, f"no row has {name}")]
    low, high = binom.ppf([evidence.alpha / 2, 1 - evidence.alpha / 2], n, rule.quantile).astype(int)
    value = float(np.quantile(times, rule.quantile, method="inverted_cdf"))
    bounds = float(times[max(low - 1, 0)]), float(times[high]) if high < n else math.inf
    evidence_found = PASS if bounds[1] <= rule.at_most else FAIL if bounds[0] > rule.at_most else INSUFFICIENT
    failed, images = int(evidence.run.manifest["failed"]), int(evidence.run.manifest["dataset"]["images"])
    without = failed > TOLERATED * images  # failed images have no time
    needed = None
    if evidence_found == INSUFFICIENT:  # how many images until the share within the limit differs from the quantile
        inside = float((times <= rule.at_most).mean())
        error = math.sqrt(rule.quantile * (1 - rule.quantile) / n)
        needed = units_for_distance(n, -1.96 * error, 1.96 * error, inside - rule.quantile, evidence.alpha)
        needed = None if needed is None else max(needed, n + 1)
    end = "any" if math.isinf(bounds[1]) else shown(bounds[1])
    reason = f"within {shown(value)} ({shown(bounds[0])} to {end}); wanted at most {rule.at_most:g}"
    if without:
        reason += f"; {failed:,} of {plural(images, 'image', 'images')} have no answer and so no time"
        evidence_found = INSUFFICIENT if evidence_found == PASS else evidence_found
    return [
        RuleCheck(
            about=f"{about} ({name})",
            evidence=evidence_found,
            reason=reason,
            value=value,
            low=bounds[0],
            high=bounds[1],
            n=n,
            units=n,
            unit="images",
            needed=needed,
        )
    ]


def regression(rule: kinds.RegressionRule, evidence: RunEvidence) -> list[RuleCheck]:
    """How much worse than the baseline a metric is, on the same rows."""
    from countenance.gating.regression import paired_changes

    if evidence.baseline is None:
        raise InputError(f'the rule {rule.words()!r} compares with a baseline: add baseline="RUN"')
    evidence.need_metric(rule.metric)
    return paired_changes(rule, evidence, evidence.baseline)


DECIDE: dict[str, Callable[[Any, RunEvidence], list[RuleCheck]]] = {
    "estimate": estimate,
    "gap": gap,
    "verdict": verdict,
    "equity": equity,
    "people": people,
    "failed_images": failed_images,
    "speed": speed,
    "latency": latency,
    "regression": regression,
}
