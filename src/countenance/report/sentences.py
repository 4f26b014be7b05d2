"""The sentence of the first screen: whom the model fails, in counts, from the losing side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from countenance.auditing import Estimate
from countenance.auditing.headline import (
    NOTHING_TESTED,
    deltas_of,
    failing,
    few_were_tested,
    nobody_worse,
    where_words,
    which_interval,
)
from countenance.report import numbers, words
from countenance.report.harms import (
    NO_ANSWER,
    TWINS,
    Harm,
    everyone,
    failing_share,
    harm_of,
    harms,
    kind_shown,
    metric_words,
    shown_kind,
    sides,
    size_key,
)
from countenance.report.metric_words import MetricWords
from countenance.report.names import REST, sentence_case
from countenance.report.source import Audited
from countenance.report.twin_words import thing_words
from countenance.report.words import DISPARITY, UNTESTABLE

MOST_NUMBERS = 3
"""The most numbers in a sentence of the terminal."""


def sentence(
    source: Audited, model: str, ordered: Sequence[Harm] | None = None, *, too_many_failed: bool = False
) -> str:
    """The audit's finding in one sentence, or that too many images have no prediction or the model fails everybody."""
    where = where_words(source.audit.settings)
    ordered = harms(source) if ordered is None else ordered
    if too_many_failed:
        return f"{where}Too many images have no prediction to rely on this run."
    poor = failed_by_all(source)
    if poor is not None:
        return where + _everybody(source, model, poor)
    return where + finding_sentence(source, model, ordered)


def failed_by_all(source: Audited) -> Estimate | None:
    """The metric by which the model fails more than the limit of all rows: the worst rate, else the worst mean of
    shares."""
    poor = failing(source.audit)
    if poor is not None:
        return poor
    limit = float(source.audit.settings.get("poor", 0.2))
    shares = [
        (failing_share(whole.estimate, metric.better), whole)
        for metric in source.metrics
        if metric.better and metric_words(source, metric.name)[1].share and (whole := source.overall.get(metric.name))
    ]
    share, worst = max(shares, key=lambda pair: pair[0], default=(0.0, None))
    return worst if share > limit else None


def _everybody(source: Audited, model: str, poor: Estimate) -> str:
    metric, wording = metric_words(source, poor.metric)
    if wording.share:
        share = numbers.percent(failing_share(poor.estimate, metric.better), "rate")
        return f"{model} fails everybody: it {wording.verb} {share} of {wording.share}{average_words(wording)}."
    whole = everyone(source, metric)
    return f"{model} fails everybody: it {wording.verb} {whole.failed_people if whole else 'most people'}."


def average_words(wording: MetricWords) -> str:
    """What shares are averaged over, for the end of a sentence.

    >>> average_words(MetricWords("true matches accepted", each="picture")), average_words(MetricWords("faces found"))
    (' (average over pictures)', '')
    """
    return f" (average over {wording.each}s)" if wording.each else ""


def finding_sentence(source: Audited, model: str, ordered: Sequence[Harm]) -> str:
    """The sentence on the largest confirmed harm, or, without one, on what is known."""
    audit = source.audit
    if ordered:
        return harm_sentence(model, ordered[0])
    if audit.verdict == DISPARITY:
        return _without_losers(source, model)
    if audit.verdict == UNTESTABLE:
        few = f": too few {words.counted_nouns(audit.settings)[1]} in every group" if audit.findings else ""
        return f"{'No gap is shown, and nobody can be cleared' if few_were_tested(audit) else NOTHING_TESTED}{few}."
    gap = words.gap_words(audit.settings, points=words.in_points(audit))
    if audit.verdict.startswith("none"):
        return f"{model} serves no group worse by {gap} or more{which_interval(audit)}."
    missing = words.untested_groups(audit)
    if missing and not any(words.mark(f.verdict) == words.UNSURE for f in audit.findings):
        many = numbers.plural(len(missing), "group was", "groups were")
        return f"Cannot tell: {many} not tested; the others show no gap of {gap} or more."
    if all(delta is None for delta in deltas_of(audit.settings).values()):
        return "No gap is shown; which gap would matter was not said."
    unsure = sum(words.mark(f.verdict) == words.UNSURE for f in audit.findings)
    thin = words.not_enough(words.counted_nouns(audit.settings)[1])
    if len(audit.findings) == 1:
        return f"No gap is shown, but the comparison has {thin}."
    have = "has" if unsure == 1 else "have"
    return f"No gap is shown, but {unsure:,} of {len(audit.findings):,} comparisons {have} {thin}."


def in_sentences(text: str, verb: str) -> str:
    """A sentence about two sides, as two sentences if it has more than three numbers.

    >>> in_sentences("MTCNN misses 7 of 50 masked people over 60, and 1 of 750 pictures of others.", "misses")
    'MTCNN misses 7 of 50 masked people over 60. It misses 1 of 750 pictures of others.'
    >>> in_sentences("MTCNN misses 7 of 50 masked people, and none of 60 others.", "misses")
    'MTCNN misses 7 of 50 masked people, and none of 60 others.'
    """
    return " ".join(part for part in in_two(text, verb) if part)


def in_two(text: str, verb: str) -> tuple[str, str]:
    """A headline and the sentence after it, which is empty if one sentence holds all.

    >>> in_two("MTCNN misses 7 of 50 masked people over 60, and 1 of 750 pictures of others.", "misses")
    ('MTCNN misses 7 of 50 masked people over 60.', 'It misses 1 of 750 pictures of others.')
    >>> in_two(f"It {NO_ANSWER.verb} 4 of 16 pictures of 2 women, and none of 60 others.", NO_ANSWER.verb)
    ('It gives no prediction for 4 of 16 pictures of 2 women.', 'It has one for all 60 others.')
    """
    head, sign, rest = text.partition(", and ")
    if not sign or len(re.findall(r"\d[\d,.]*", text)) <= MOST_NUMBERS:
        return text, ""
    if verb == NO_ANSWER.verb and rest.startswith("none of "):
        return f"{head}.", f"It has one for all {rest.removeprefix('none of ')}"
    return f"{head}.", f"It {verb} {rest}"


def harm_sentence(model: str, harm: Harm) -> str:
    """One harm as a sentence."""
    losing, other = harm.losing, harm.other
    if harm.finding.kind == TWINS:
        alone = f"By {thing_words(harm.finding.attribute)} alone"
        model = "the model" if model == "The model" else model
        if harm.finding.lost is not None and harm.kind == "rate":
            lost = f"{harm.finding.lost} of {harm.finding.bases}"
            if harm.finding.bases != harm.finding.clusters:  # several pictures of a person
                people = numbers.plural(harm.finding.clusters, "person", "people")
                return f"{alone}, {model} {harm.words.verb} {lost} pictures of {people} that it had {harm.words.right}."
            return f"{alone}, {model} {harm.words.verb} {lost} people whom it had {harm.words.right}."
        values = [numbers.short(side.estimate) for side in (losing, other)]
        return f"{alone}, {harm.words.noun} is {values[0]} ({losing.label}) against {values[1]}."
    others = "everyone else" if other.group == REST else other.people
    if harm.by_ranks:
        many = losing.many_people
        return f"{model} serves {many} worse: {harm.typical} than for {others} ({harm.means('for ' + others)})."
    if losing.failed is None and harm.words.share and harm.finding.effect_name != "ratio":
        shares = [numbers.percent(failing_share(s.estimate, harm.metric.better), "rate") for s in (losing, other)]
        what = f"the {harm.words.share} of {losing.people}, and {shares[1]} of those of {others}"
        return f"{model} {harm.words.verb} {shares[0]} of {what}{average_words(harm.words)}."
    if losing.failed is None:
        values = [numbers.short(side.estimate) for side in (losing, other)]
        many = losing.many_people if harm.finding.effect_name != "ratio" else losing.people
        return f"{model} serves {many} worse: {harm.words.noun} {values[0]}, against {values[1]} for {others}."
    return f"{model} {harm.words.verb} {losing.failed_people}, and {other.failed_people}."


def decision(source: Audited) -> str:
    """The verdict of an audit and its decisive comparison, in words."""
    audit = source.audit
    gap = words.gap_words(audit.settings, points=words.in_points(audit))
    many = words.counted_nouns(audit.settings)[1]
    labels = {
        DISPARITY: "Somebody is served worse",
        UNTESTABLE: words.too_few(many),
        words.INSUFFICIENT: words.not_enough(many),
    }
    label = sentence_case(labels.get(audit.verdict, f"no gap of {gap} or more"))
    if audit.verdict == DISPARITY and words.only_favoured(audit):
        label = f"Somebody is served better; {nobody_worse(audit, 'be served')}"
    differing = [f for f in audit.findings if f.verdict == DISPARITY]
    deciding = [harm.finding for harm in harms(source)[:1]] or words.strongest(differing, source.names, most=1)
    if not deciding:
        return f"{label}. {words.summary(audit)}"
    wording = metric_words(source, deciding[0].metric)[1]
    kind = shown_kind(deciding[0].metric_kind, wording)
    text = words.statement(deciding[0], source.names, wording.noun, kind)
    return f"{label}. {text.who}: {text.text} {words.how_sure(deciding[0], audit.settings)}"


def counts_sentence(source: Audited, model: str) -> str:
    """How many of all the model fails, if no group leads; empty if nothing is counted."""
    for metric in source.metrics:
        whole = everyone(source, metric)
        if whole is not None and whole.failed is not None:
            wording = metric_words(source, metric.name)[1]
            if not whole.failed and wording.verb != "fails":  # the metric has words of its own
                return f"All {whole.many_people} are {wording.right}."
            return f"{model} {wording.verb} {whole.failed_people}."
    return ""


def wider_sentence(harm: Harm) -> str:
    """A second harm below the leading one: "Of masked people it misses 8 of 200"."""
    unit = f" {harm.losing.unit}s" if harm.losing.unit else ""
    return f"Of {harm.losing.people} it {harm.words.verb} {harm.losing.counts}{unit}."


def _without_losers(source: Audited, model: str) -> str:
    disparities = [f for f in source.audit.findings if f.verdict == DISPARITY]
    first = max(disparities, key=lambda f: abs(f.difference) if f.difference == f.difference else 0.0)
    group = source.names.people(first.attribute, first.group)
    if words.only_favoured(source.audit):
        return f"{model} serves {group} better than the others; {nobody_worse(source.audit, 'be served')}."
    metric, wording = metric_words(source, first.metric)
    values = [numbers.value(value, kind_shown(first, source)) for value in (first.estimate, first.estimate_versus)]
    if first.kind == TWINS:
        labels = [side.label for side in sides(first, metric, source)]
        both = " against ".join(f"{value} ({label})" for value, label in zip(values, labels, strict=True))
        return f"By {thing_words(first.attribute)} alone, {wording.noun} is {both}; which way is better was not said."
    named = first.versus != REST
    others = source.names.people(first.attribute, first.versus) if named else "everyone else"
    numbers_told = f"{wording.noun} is {values[0]} for {group}, {values[1]} for {others}"
    return f"{numbers_told[:1].upper()}{numbers_told[1:]}; which way is better was not said."


def unconfirmed_line(source: Audited) -> str:
    """The largest unconfirmed gap in one sentence; empty if there is none."""
    thin = [f for f in source.audit.findings if f.verdict == words.INSUFFICIENT and f.bases is None]
    looks = [harm for f in thin if (harm := harm_of(f, source, confirmed=False)) is not None and harm.gap > 0]
    if not looks:
        return ""
    first = min(looks, key=size_key)
    others = len(thin) - 1
    more = f"; {numbers.plural(others, 'more comparison', 'more comparisons')} could not be decided" if others else ""
    return f"Looks worse, not confirmed: {first.losing.label}, {first.text}{more}."
