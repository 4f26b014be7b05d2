"""Short sentences on an audit's findings."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countenance.auditing import Audit, Finding
from countenance.auditing.headline import (
    by_weight,
    delta_words,
    deltas_of,
    few_were_tested,
    leading,
)
from countenance.auditing.units import nouns, row_noun, stored_nouns
from countenance.auditing.verdict import SMALLER, times
from countenance.report import numbers
from countenance.report.metric_words import is_share, noun_of
from countenance.report.names import Names

DISPARITY, INSUFFICIENT, UNTESTABLE = "disparity", "insufficient evidence", "untestable"
SEVERE, MINOR, NONE, UNSURE, UNTESTED = "severe", "minor", "none", "unsure", "untested"
FAVOURED = "favoured"
"""The mark of the side that a disparity serves better; a verdict itself never has it."""
DIFFERS = "differs"
"""The mark of a disparity by a metric whose better direction is not known: no side is served worse."""
RANK = {SEVERE: 0, MINOR: 1, DIFFERS: 1, UNSURE: 2, NONE: 3, UNTESTED: 4}
MORE = 1.3
"""How many times larger an intersection's effect must be than its group's to be listed beside it."""
MOST_TO_COLLECT = 10_000
"""More people than a study can collect."""
WORSE, BETTER = "worse", "better"
"""Directions of a finding; with any other value the direction is unknown, and no side is called failed or served
better."""


def mark(verdict: str, severity: str | None = None) -> str:
    """The mark of a verdict, one of five, in every figure and table.

    >>> mark("disparity", "severe"), mark("none larger than 0.05"), mark("insufficient evidence")
    ('severe', 'none', 'unsure')
    """
    if verdict == DISPARITY:
        return SEVERE if severity != "minor" else MINOR
    if verdict.startswith("none"):
        return NONE
    return UNTESTED if verdict == UNTESTABLE else UNSURE


def verdict_label(verdict: str, *, kind: str = "rate", direction: str = WORSE, many: str = "people") -> str:
    """A verdict in the words of pages; the codes stay in the API and in files.

    `direction` is that of the side described, `many` what the audit counts (`counted_nouns`).

    >>> verdict_label("disparity"), verdict_label("disparity", direction="better")
    ('served worse', 'served better')
    >>> verdict_label("none larger than 0.05"), verdict_label("none larger than 0.05", kind="mean")
    ('no gap of 5 points or more', 'no gap of 0.05 or more')
    >>> verdict_label("insufficient evidence"), verdict_label("untestable")
    ('not enough people to tell', 'too few people to test')
    """
    if verdict == DISPARITY:
        return {WORSE: "served worse", BETTER: "served better"}.get(direction, "differs")
    if verdict.startswith("none"):
        return f"no gap of {_size(verdict, kind)} or more"
    return {INSUFFICIENT: not_enough(many), UNTESTABLE: too_few(many)}.get(verdict, verdict)


def not_enough(many: str) -> str:
    """The words for a comparison without enough evidence; `many` is what the audit counts.

    >>> not_enough("people"), too_few("rows")
    ('not enough people to tell', 'too few rows to test')
    """
    return f"not enough {many} to tell"


def too_few(many: str) -> str:
    """The words for a comparison that was not tested."""
    return f"too few {many} to test"


def _size(verdict: str, kind: str) -> str:
    """The δ that a verdict names, in points for rates."""
    size = verdict.removeprefix("none larger than ")
    try:
        return numbers.points(float(size)) if kind == "rate" else size
    except ValueError:
        return size if size != verdict else "that size"


def finding_label(finding: Finding, settings: Mapping[str, Any], group: str | None = None, kind: str = "") -> str:
    """The label of a finding for one of its sides, by default the one named first; `kind` is how its sizes are printed.

    By default sizes are printed as the kind of its metric. `settings` are those of the audit.
    """
    turned = group is not None and group != finding.group
    way = finding.direction
    if turned:
        way = {WORSE: BETTER, BETTER: WORSE}.get(way, way)
    many = counted_nouns(settings)[1]
    return verdict_label(finding.verdict, kind=kind or finding.metric_kind, direction=way, many=many)


def mark_of(finding: Finding | None, group: str) -> str:
    """The mark of one side of a comparison; a better-served side has another mark than a failed one."""
    if finding is None:
        return UNTESTED
    favoured = BETTER if finding.group == group else WORSE
    if finding.verdict == DISPARITY and finding.direction == favoured:
        return FAVOURED
    return own_mark(finding)


def own_mark(finding: Finding) -> str:
    """The mark of a finding itself, whichever side is looked at."""
    if finding.verdict == DISPARITY and finding.direction not in (WORSE, BETTER):
        return DIFFERS
    return mark(finding.verdict, finding.severity)


def failed_side(finding: Finding) -> str:
    """The group that a comparison shows to be served worse; the named group if the other side is everyone else."""
    return finding.versus if _can_turn(finding) else finding.group


def only_favoured(audit: Audit) -> bool:
    """Whether every disparity is a group that is served better than everyone else, so that nobody is failed."""
    disparities = [f for f in audit.findings if f.verdict == DISPARITY]
    return bool(disparities) and all(_favoured(f) for f in disparities)


def _favoured(finding: Finding) -> bool:
    """Whether a group is served better than everyone else."""
    return finding.versus == "rest" and finding.direction == BETTER


def untested_groups(audit: Audit) -> list[tuple[str, str]]:
    """The groups of named attributes that were not tested."""
    named = audit.settings.get("named")
    left = [e for e in audit.excluded if e.get("untested") and (named is None or e["attribute"] in named)]
    return list(dict.fromkeys((str(e["attribute"]), str(e["group"])) for e in left))


@dataclass(frozen=True)
class Statement:
    """A comparison in words: its subject, and the statement."""

    who: str
    text: str
    metric: str
    key: tuple[str, str, str] | None = None
    """Metric, attribute and group of the side that is named first."""


def statement(finding: Finding, names: Names, noun: str = "", kind: str = "") -> Statement:
    """One comparison as a sentence: who, how much, against whom, by how much.

    The side that is served worse is named first, whichever the audit put first. `noun` is the metric in words, `kind`
    how its sizes are printed, by default as the kind of the metric.
    """
    group, versus = names.who(finding.attribute, finding.group), names.versus(finding.attribute, finding.versus)
    own = (finding.estimate, finding.low, finding.high)
    other = (finding.estimate_versus, finding.low_versus, finding.high_versus)
    difference, low, high = finding.difference, finding.diff_low, finding.diff_high
    if _can_turn(finding):
        group, versus, own, other = versus, group, other, own
        difference, low, high = -difference, -high, -low
    kind = kind or finding.metric_kind
    what = noun or finding.metric
    what = f"the share without {what}" if finding.kind == "missing" else what
    sides = (
        f"{what} is {numbers.value(own[0], kind)} ({numbers.span(own[1], own[2], kind)}), "
        f"against {numbers.value(other[0], kind)} for {versus}"
    )
    who = group[:1].upper() + group[1:]
    key = (finding.metric, finding.attribute, failed_side(finding)) if finding.kind == "group" else None
    if not math.isfinite(difference) or difference == 0:
        return Statement(who, f"{sides}.", finding.metric, key)
    word = "lower" if difference < 0 else "higher"
    if finding.statistic == "rank":
        pass  # which of the typical values is worse is said after the means
    elif _favoured(finding):
        word += ", which is better"
    elif difference > 0 and finding.direction in (WORSE, BETTER):
        word += ", which is worse"
    near, far = sorted((abs(low), abs(high)))
    if low * high > 0:  # all on one side: written without signs, since the word before gives the direction
        bounds = f"{numbers.change(near, kind, sign=False).removesuffix(' points')} to "
        bounds += numbers.change(far, kind, sign=False).removesuffix(" points")
    else:
        bounds = numbers.change_span(low, high, kind)
    text = f"{sides}: {numbers.change(difference, kind, sign=False)} {word} (interval {bounds}){_also(finding)}."
    return Statement(who, text, finding.metric, key)


def _also(finding: Finding) -> str:
    """What is added to a difference: the ratio of rare failures, the typical value, how few people there are."""
    parts = []
    ratio = finding.failure_ratio
    failures = f"times as many failures{' of the others' if finding.direction == BETTER else ''}"
    if ratio is not None and ratio.low is not None and ratio.low > 1 and finding.kind != "missing":
        if ratio.value is None or ratio.high is None:
            parts.append(f"at least {times(ratio.low, 2)} {failures}")
        else:
            parts.append(f"{times(ratio.value, 3)} {failures}, {times(ratio.low, 2)} to {times(ratio.high, 3)}")
    if finding.statistic == "rank":
        lower = (finding.effect < 0) != _can_turn(finding)
        judged = f", which is {BETTER if _favoured(finding) else WORSE}" if finding.direction in (WORSE, BETTER) else ""
        parts.append(f"by ranks, the typical value is {'lower' if lower else 'higher'}{judged}")
    if finding.small_group:
        parts.append("a small group, tested by permutation")
    return "".join(f"; {part}" for part in parts)


def _can_turn(finding: Finding) -> bool:
    return finding.versus != "rest" and finding.direction == BETTER and finding.kind != "twins"


def how_sure(finding: Finding, settings: Mapping[str, Any]) -> str:
    """How sure a disparity is, in words."""
    p, size = finding.p_adjusted, max(finding.family_size, 1)
    if settings.get("adjust") == "bh":
        return (
            f"Its p value, adjusted so that few of the reported differences are chance (Benjamini–Hochberg), "
            f"is {numbers.probability(p)}."
        )
    counted = f"all {numbers.plural(size, 'comparison')} counted" if size > 1 else "one comparison"
    return f"If the model treated everyone alike, chance would produce a gap this clear {odds_words(p)} ({counted})."


def odds_words(p: float) -> str:
    """A probability as a frequency in words.

    >>> odds_words(0.00001), odds_words(0.02), odds_words(0.3)
    ('less than once in 1,000 audits', 'about once in 50 audits', 'about 3 times in 10 audits')
    """
    if p < 0.001:
        return "less than once in 1,000 audits"
    if p < 0.15:
        return f"about once in {_round(1 / p):,} audits"
    return f"about {round(10 * p)} times in 10 audits"


def _round(number: float) -> int:
    """Two figures at most: 47.3 is about 47, 213 is about 210."""
    return int(round(number, min(0, 2 - len(str(int(number))))))


def strongest(findings: Sequence[Finding], names: Names, most: int = 4) -> list[Finding]:
    """The disparities to state first: who is failed, each group once, by the metric that shows it most.

    A group stands for its intersections, except for those that are failed clearly more than the group itself. Groups
    that are served better than everyone else are stated only if there is no other disparity, or if they stand out most.
    """
    chosen: dict[tuple[tuple[str, str], ...], Finding] = {}
    ordered = by_weight(findings)
    failed = [f for f in ordered if not _favoured(f)]
    first = [leading(ordered)] if ordered and _favoured(leading(ordered)) else []
    for finding in [*first, *(failed or ordered)]:
        parts = tuple(names.parts(finding.attribute, failed_side(finding)))
        wholes = [chosen[(part,)] for part in parts if len(parts) > 1 and (part,) in chosen]
        if all(abs(finding.effect) > MORE * abs(whole.effect) for whole in wholes if whole.metric == finding.metric):
            chosen.setdefault(parts, finding)
    return list(chosen.values())[:most]


def unconfirmed(findings: Sequence[Finding], most: int = 2) -> list[Finding]:
    """The largest gaps to a group's disadvantage for which the evidence is too thin, so that none is passed over."""
    thin = [f for f in findings if f.verdict == INSUFFICIENT and math.isfinite(f.effect)]
    worse = [f for f in thin if not _favoured(f)]
    return sorted(worse, key=lambda f: -abs(f.effect))[:most]


def in_short(
    audit: Audit, names: Names, nouns: Mapping[str, str], kinds: Mapping[str, str] | None = None
) -> list[Statement]:
    """For a verdict without a disparity: the largest observed gap, and the group about which least is known.

    `nouns` has each metric in words, `kinds` how its sizes are printed, by default as the kind of the metric.
    """
    kinds = kinds or {}
    tested = [f for f in audit.findings if f.verdict != UNTESTABLE]
    if not tested:
        return []
    statements = []
    first = min(f.depth for f in tested)
    seen = [f for f in tested if f.depth == first and math.isfinite(f.effect)]
    if seen:
        widest = max(seen, key=lambda f: abs(f.effect))
        widest_gap = statement(widest, names, nouns[widest.metric], kinds.get(widest.metric, ""))
        who = names.who(widest.attribute, failed_side(widest))
        statements.append(Statement("Largest gap seen", f"{who}; {widest_gap.text}", widest.metric))
    unsure = [f for f in tested if mark(f.verdict) == UNSURE and f.depth == first and math.isfinite(f.mde)]
    if unsure:
        least = max(unsure, key=lambda f: f.mde)
        text = f"{names.who(least.attribute, least.group)} ({nouns[least.metric]}, n = {numbers.count(least.n)}): "
        if math.isfinite(least.mde_difference):
            kind = kinds.get(least.metric, least.metric_kind)
            gap = numbers.change(least.mde_difference, kind, sign=False)
            text += f"only a gap of about {gap} would have shown"
        else:
            text += "no gap, however large, would have shown reliably"
        more = more_needed(least, audit.settings)
        if more and more != "enough":
            text += f"; one of {gap_words(audit.settings, points=in_points(audit))} takes about {more}"
        statements.append(Statement("Least is known about", f"{text}.", least.metric))
    return statements


def summary(audit: Audit) -> str:
    """For a verdict without a disparity: one sentence on all the comparisons."""
    tested = sum(f.verdict != UNTESTABLE for f in audit.findings)
    unsure = sum(mark(f.verdict) == UNSURE for f in audit.findings)
    delta = gap_words(audit.settings, points=in_points(audit))
    among = f"the {numbers.plural(tested, 'comparison')} that could be tested"
    none = "The only comparison that could be tested shows no difference" if tested == 1 else ""
    if not tested and audit.findings:
        many = numbers.plural(len(audit.findings), "comparison")
        tested_all_the_same = few_were_tested(audit)
        if len(audit.findings) == 1:
            tried = "shows no difference, and clears nobody" if tested_all_the_same else "could not be tested"
            return f"The only comparison {tried}: {audit.reason.removeprefix('nothing could be compared: ')}."
        least, unit = int(audit.settings.get("min_n", 20)), counted_nouns(audit.settings)[1]
        few = all(min(f.clusters, f.clusters_versus) < least for f in audit.findings)
        why = f"each has fewer than {least} {unit} on one side" if few else audit.findings[0].reason
        tried = "shows a difference, and none clears anybody" if tested_all_the_same else "could be tested"
        return f"None of the {many} {tried}: {why}."
    if not tested:
        return f"{audit.reason[:1].upper()}{audit.reason[1:]}."
    if not unsure:
        real = sum(SMALLER in f.reason for f in audit.findings)
        small = (
            f" {numbers.plural(real, 'difference is', 'differences are')} real, and smaller than that." if real else ""
        )
        alpha = float(audit.settings.get("alpha", 0.05))
        by = f"by its {100 * (1 - 2 * alpha):g} % interval; the {100 * (1 - alpha):g} % intervals shown are wider"
        all_of_them = "The only comparison that could be tested" if tested == 1 else f"Of {among}, each"
        return f"{all_of_them} excludes a difference of {delta} or more ({by}).{small}"
    if all(value is None for value in deltas_of(audit.settings).values()):
        return f"{none or f'Of {among}, none shows a difference'}; which size would matter was not said."
    if unsure == tested:
        cannot = "and cannot" if none else "and none can"
        return f"{none or f'Of {among}, none shows a difference'}, {cannot} exclude one of {delta} or more."
    return f"Of {among}, none shows a difference, but {unsure:,} cannot exclude one of {delta} or more."


def in_points(audit: Audit) -> bool:
    """Whether gaps of an audit are of percentages: any of its metrics is a rate or a mean of shares."""
    return not audit.overall or any(e.metric_kind == "rate" or is_share(e.metric) for e in audit.overall)


def gap_words(settings: Mapping[str, Any], *, points: bool = True) -> str:
    """The smallest gap that matters, in a page's words; `points`: in points where it is a share.

    >>> gap_words({"delta": {"ok": 0.05}, "metrics": ["ok"]}), gap_words({"delta": {"ms": 5.0}})
    ('5 points', '5')
    >>> gap_words({"delta": {"SSIM": 0.05, "PSNR": None}})
    '0.05 (likeness)'
    """
    deltas = {name: delta for name, delta in deltas_of(settings).items() if delta is not None}
    sizes = set(deltas.values())
    if points and len(sizes) == 1 and 0 < (size := next(iter(sizes))) < 1 and len(deltas) == len(deltas_of(settings)):
        return numbers.points(size)
    return delta_words({"delta": {noun_of(name): delta for name, delta in deltas_of(settings).items()}})


def is_sized(settings: Mapping[str, Any]) -> bool:
    """Whether any metric has a smallest difference that matters."""
    return any(delta is not None for delta in deltas_of(settings).values())


def no_gap_words(settings: Mapping[str, Any], *, points: bool = True) -> str:
    """The words for a difference shown to be small, with the smallest one that matters if all metrics share it.

    >>> no_gap_words({"delta": {"ok": 0.05}, "metrics": ["ok"]}), no_gap_words({"delta": {"ok": 0.05, "ms": None}})
    ('no gap of 5 points or more', 'no gap that matters')
    """
    sizes = set(deltas_of(settings).values())
    one_size = len(sizes) == 1 and None not in sizes
    return f"no gap of {gap_words(settings, points=points)} or more" if one_size else "no gap that matters"


@dataclass(frozen=True)
class Tally:
    """How many comparisons ended with one verdict."""

    mark: str
    label: str
    n: int


def tally(audit: Audit) -> list[Tally]:
    """The comparisons counted by verdict, worst first; verdicts that did not occur are left out."""
    labels = {
        SEVERE: "large gap shown",
        MINOR: "small gap shown",
        DIFFERS: "group differs",
        UNSURE: not_enough(counted_nouns(audit.settings)[1]),
        NONE: no_gap_words(audit.settings, points=in_points(audit)),
        UNTESTED: too_few(counted_nouns(audit.settings)[1]),
    }
    counts = dict.fromkeys(labels, 0)
    for finding in audit.findings:
        counts[own_mark(finding)] += 1
    many = {SEVERE: "large gaps shown", MINOR: "small gaps shown", DIFFERS: "groups differ"}
    return [Tally(kind, (many if n > 1 else labels).get(kind, labels[kind]), n) for kind, n in counts.items() if n]


def more_needed(finding: Finding, settings: Mapping[str, Any]) -> str:
    """How many more people of the group would show the difference that matters; short, for a table."""
    if not finding.clusters_needed:
        return numbers.NOTHING
    more = finding.clusters_needed - finding.clusters
    noun, many = counted_nouns(settings)
    if more <= 0:
        return "enough"
    rows = f" ({numbers.plural(finding.n_needed, 'row')} in all)" if finding.n_needed else ""
    return numbers.plural(more, f"more {noun}", f"more {many}") + rows


def what_is_missing(finding: Finding, settings: Mapping[str, Any]) -> str:
    """What a test would need, for a comparison that could not be tested."""
    need = int(settings.get("min_n", 20))
    unit = counted_nouns(settings)[1]
    if finding.clusters < need:
        return f"at least {need} {unit}"
    if finding.clusters_versus < need:
        return f"at least {need} {unit} on the other side, there are {finding.clusters_versus}"
    return "rows that differ"


_EACH = re.compile(r"row: each of the [\d,]+ rows? has another (\S+)")
_UNIT = re.compile(
    r"(?P<unit>.+?) \(columns? (?P<column>.+?)\): (?P<rows>[\d,]+) rows? of (?P<units>[\d,]+ .+?)(?P<more>; .*)?"
)


def unit_words(unit: str) -> str:
    """What was taken as independent, in a page's words.

    >>> unit_words("person (column identity): 800 rows of 200 people")
    '800 pictures of 200 people; pictures of one person are counted together'
    >>> unit_words("person (column identity): 80 rows of 20 people and 4 rows of nobody named")
    '80 pictures of 20 people and 4 that name nobody; pictures of one person are counted together'
    >>> unit_words("person (column person_id): 80 rows of 20 people")
    '80 rows of 20 people; rows of one person are counted together'
    >>> unit_words("row: the 3 rows are taken as independent")
    'row: the 3 rows are taken as independent'
    """
    known = _UNIT.fullmatch(unit.replace(" rows of nobody named", " that name nobody"))
    if known is None:
        return unit
    rows = f"{row_noun([known['column']])}s"
    together = f"{rows} of one {known['unit']} are counted together"
    return f"{known['rows']} {rows} of {known['units']}; {together}{known['more'] or ''}"


def cluster_noun(settings: Mapping[str, Any]) -> tuple[str, str]:
    """The noun for a cluster, singular and plural.

    >>> cluster_noun({"ways": ["identity"]}), cluster_noun({"ways": []}), cluster_noun({"cluster": "sample"})
    (('person', 'people'), ('row', 'rows'), ('image', 'images'))
    """
    if "ways" in settings:
        return stored_nouns(settings)
    cluster = settings.get("cluster")  # older stored audits have no entry for units
    return nouns([str(cluster).partition(" else ")[0]] if cluster and cluster != "auto" else [])


def counted_nouns(settings: Mapping[str, Any]) -> tuple[str, str]:
    """The noun for what an audit counts, singular and plural.

    A row is a person where each row has another person. Otherwise it stays a row, since nothing says what it is: in a
    table from elsewhere `sample` may name recordings or questions. Of people and pictures that name nobody, people.

    >>> each = "row: each of the 300 rows has another identity"
    >>> counted_nouns({"nouns": ["row", "rows"], "unit": each}), counted_nouns({"nouns": ["row", "rows"]})
    (('person', 'people'), ('row', 'rows'))
    >>> counted_nouns({"ways": ["sample"]})
    ('picture', 'pictures')
    """
    noun, many = (part.partition(" or unnamed ")[0] for part in cluster_noun(settings))
    each = _EACH.fullmatch(str(settings.get("unit") or ""))
    if noun == "row" and each and (person := nouns([each[1]]))[0] != "image":
        noun, many = person
    return ("picture", "pictures") if noun == "image" else (noun, many)
