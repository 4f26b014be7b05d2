"""Who loses by a confirmed gap, and how many: the content of the first screen, the largest harm first."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from countenance.auditing import Estimate, Finding
from countenance.auditing.directions import LOWER
from countenance.auditing.groups import SPLIT
from countenance.auditing.ordering import PERSON
from countenance.auditing.units import row_noun
from countenance.report import numbers, words
from countenance.report.metric_words import MetricWords, words_of
from countenance.report.names import REST
from countenance.report.source import Audited
from countenance.report.twin_words import version_words
from countenance.tasks import Metric

TWINS, MISSING, EVERYONE = "twins", "missing", "everyone"
WHOSE = {
    "truth_negative": " whose truth is negative",
    "truth_positive": " whose truth is positive",
    "predicted_positive": " predicted positive",
}
"""Words after the noun of a row, by the denominator of a rate of predictions."""
ONE_PERSON = ("person", "speaker", "patient", "participant", "user", "row")
"""Units that are one person each; each independent row counts as one."""
FACE = "face"
PEOPLE_NOUNS = (*ONE_PERSON[:-1], "image", "photo", "picture")
"""Beginnings of the nouns of units that are people or show them."""
ROWS, OTHER_ROWS = "rows", "other rows"
NO_ANSWER = MetricWords("missing predictions", "gives no prediction for", "without a prediction", "with a prediction")


@dataclass(frozen=True)
class HarmSide:
    """One side of a comparison: how many people or rows it has, and how many of them the model fails."""

    attribute: str
    group: str
    """`rest` is everyone else."""
    label: str
    people: str
    n: int
    clusters: int
    estimate: float
    low: float
    high: float
    failed: int | None
    """None for a mean."""
    unit: str
    """What n counts, of `clusters` people: picture or row; empty where it counts people."""
    of_rows: bool = False
    """Whether `people` names rows, because the data does not say that they are of people."""

    @property
    def counts(self) -> str:
        """Counts as words: "7 of 50", "none of 600"; empty for a mean."""
        if self.failed is None:
            return ""
        return f"{numbers.count(self.failed) if self.failed else 'none'} of {numbers.count(self.n)}"

    @property
    def failed_people(self) -> str:
        """The failures with their people: "7 of 50 masked people", "36 of 80 pictures of 20 women"."""
        if self.group == REST and not self.attribute and not self.of_rows:
            return f"{self.counts} {self.unit}s of others" if self.unit else f"{self.counts} others"
        if not self.unit or self.of_rows:
            return f"{self.counts} {self.people}"
        if self.unit == FACE and self._many_people == "people":
            return f"{self.counts} {self.unit}s"
        return f"{self.counts} {self.unit}s of {self._many_people}"

    @property
    def _many_people(self) -> str:
        """The people behind some rows, with their number if it is known."""
        known = self.clusters and self.clusters != self.n
        people = "person" if known and self.clusters == 1 and self.people == "people" else self.people
        return f"{numbers.count(self.clusters)} {people}" if known else people

    @property
    def many_people(self) -> str:
        """The people with their number: "44 people over 60", "80 pictures of 20 women"."""
        if not self.unit or self.of_rows:
            return f"{numbers.count(self.n)} {self.people}"
        return f"{numbers.plural(self.n, self.unit)} of {self._many_people}"


@dataclass(frozen=True)
class Harm:
    """A gap to a group's disadvantage, seen from the losing side."""

    finding: Finding
    metric: Metric
    words: MetricWords
    losing: HarmSide
    other: HarmSide
    swatch: Markup
    gap: float
    """How much worse, in the metric's own units; above 0."""
    whom: str = "people"
    """What is counted if no unit is named: people, or rows if the table has no people."""

    @property
    def key(self) -> tuple[str, str, str]:
        """Metric, attribute and group, as the audit names them."""
        return self.finding.metric, self.finding.attribute, self.losing.group

    @property
    def is_person(self) -> bool:
        """Whether it is about a person's attribute, not only about the picture."""
        return self.finding.role == PERSON

    @property
    def kind(self) -> str:
        """Rate or mean."""
        return self.finding.metric_kind

    @property
    def by_ranks(self) -> bool:
        """Whether the typical value shows the harm; the means may even differ the other way."""
        return self.finding.statistic == "rank" and self.finding.kind != TWINS

    @property
    def typical(self) -> str:
        """How the typical value of the losing side differs, in words."""
        value = f"{'share' if self.words.share else 'value'} of {self.words.noun}"
        return f"the typical {value} is {'higher' if self.metric.better == LOWER else 'lower'}"

    def means(self, others: str) -> str:
        """Both means in words, beside a statement about typical values."""
        value, other = (share_or_number(side.estimate, self.words) for side in (self.losing, self.other))
        return f"mean {value}, {others} {other}"

    @property
    def text(self) -> str:
        """The numbers for a line of a list."""
        if self.finding.kind == TWINS and self.finding.lost is not None and self.kind == "rate":
            lost, gained = self.finding.lost, self.finding.gained or 0
            turned = f"{lost} of {self.finding.bases} {self.words.failed} by this alone"
            if version_words(self.finding.attribute, self.losing.group) is None:
                turned += " (the others have it already)"
            return f"{turned}, {gained} the other way" if gained else turned
        others = "others" if self.other.group == REST else self.other.label
        if self.by_ranks:
            return f"{self.typical}; {self.means(others)}"
        if self.losing.failed is None:
            value, other = (share_or_number(side.estimate, self.words) for side in (self.losing, self.other))
            return f"{self.words.noun} {value}, {others} {other}"
        unit = f" {self.losing.unit}s" if self.losing.unit else ""
        return f"{self.losing.counts}{unit} {self.words.failed}; {others} {self.other.counts}"

    @property
    def more(self) -> str:
        """The size of the harm for planning: this many more per 1,000."""
        if self.finding.small_group:
            side = min(self.losing, self.other, key=lambda side: side.clusters)
            few = f"only {numbers.plural(side.clusters, 'person', 'people')}" if side.clusters else ""
            few += " on the other side" if few and side is self.other else ""
            return f"{few}{': ' if few else ''}a gap is shown, its size is not"
        if self.kind != "rate" or not math.isfinite(self.gap):
            return ""
        each = round(1000 * self.gap)
        what = f"{self.losing.unit}s" if self.losing.unit else self.whom
        return f"{numbers.count(each)} more {self.words.failed} per 1,000 {what}" if each else ""


def share_or_number(value: float, wording: MetricWords) -> str:
    """A mean as a page prints it: a share as percent, any other number as it is.

    >>> share_or_number(0.367, MetricWords("true matches accepted", share="true matches"))
    '37\u202f%'
    >>> share_or_number(3.25, MetricWords("years off"))
    '3.25'
    """
    return numbers.percent(value, "rate") if wording.share else numbers.short(value)


def shown_kind(kind: str, wording: MetricWords) -> str:
    """How a page prints a metric: a mean of shares as a rate, in percent and points.

    >>> shown_kind("mean", MetricWords("named right", share="attributes")), shown_kind("mean", MetricWords("years off"))
    ('rate', 'mean')
    """
    return "rate" if wording.share and kind == "mean" else kind


def metric_words(source: Audited, name: str) -> tuple[Metric, MetricWords]:
    """A metric of an audit with its words."""
    metric = next((m for m in source.metrics if m.name == name), Metric(name, "", None))
    return metric, words_of(metric, source.task)


def kind_shown(finding: Finding, source: Audited) -> str:
    """How a page prints the numbers of a finding."""
    return shown_kind(finding.metric_kind, metric_words(source, finding.metric)[1])


def failing_share(value: float, better: str | None, kind: str = "") -> float:
    """How often a rate fails, whether it counts successes or failures.

    >>> failing_share(0.75, "higher"), failing_share(0.25, "lower"), failing_share(0.25, "higher", "missing")
    (0.25, 0.25, 0.25)
    """
    return value if better == LOWER or kind == MISSING else 1 - value


def harms(source: Audited) -> list[Harm]:
    """Every confirmed gap to a group's disadvantage, each group once, the largest harm first."""
    best: dict[tuple[str, str], Harm] = {}
    splits: dict[str, tuple[str, str]] = {}
    for harm in sorted((h for f in source.audit.findings if (h := harm_of(f, source))), key=size_key):
        group = harm.finding.attribute, harm.losing.group
        if _is_split(harm.finding, source) and splits.setdefault(harm.finding.attribute, group) != group:
            continue  # the widest split of an ordered attribute represents the others
        if harm.finding.kind == TWINS and (harm.finding.attribute, TWINS) in best:
            continue  # the largest change of one thing represents its other changes
        best.setdefault((harm.finding.attribute, TWINS) if harm.finding.kind == TWINS else group, harm)
    return sorted(best.values(), key=size_key)


def _is_split(finding: Finding, source: Audited) -> bool:
    """Whether a comparison cuts an ordered attribute in two: its groups are ranges, not values."""
    levels = source.names.levels.get(finding.attribute)
    return finding.kind == SPLIT or (finding.kind == MISSING and levels is not None and finding.group not in levels)


def harm_of(finding: Finding, source: Audited, *, confirmed: bool = True) -> Harm | None:
    """A finding from the losing side; None if no side is shown to lose."""
    if confirmed and finding.verdict != words.DISPARITY:
        return None
    if finding.direction == words.BETTER and (finding.versus == REST or finding.kind == TWINS):
        return None
    if finding.direction not in (words.WORSE, words.BETTER):
        return None
    metric, wording = metric_words(source, finding.metric)
    wording = NO_ANSWER if finding.kind == MISSING else wording
    first, second = sides(finding, metric, source)
    losing, other = (second, first) if finding.direction == words.BETTER else (first, second)
    swatch = source.names.swatch(finding.attribute, losing.group)
    whom = _all_noun(source.audit.settings)
    return Harm(finding, metric, wording, losing, other, swatch, abs(finding.difference), whom)


def size_key(harm: Harm) -> tuple[int, float]:
    """A key by which the largest harm comes first: shares of people by points, then other numbers by their effect."""
    finding = harm.finding
    if (finding.metric_kind == "rate" or harm.words.share) and finding.effect_name != "ratio":
        return 0, -harm.gap
    effect = abs(finding.effect) if math.isfinite(finding.effect) else 0.0
    return (1 if finding.effect_name != "ratio" else 2), -effect


def sides(finding: Finding, metric: Metric, source: Audited) -> tuple[HarmSide, HarmSide]:
    """Both sides of a comparison."""
    f = finding
    rate = f.metric_kind == "rate" and metric.better is not None and f.effect_name != "ratio"
    first = _side(f, f.group, (f.n, f.clusters), (f.estimate, f.low, f.high), metric, source, rate)
    numbers_of_other = (f.estimate_versus, f.low_versus, f.high_versus)
    second = _side(f, f.versus, (f.n_versus, f.clusters_versus), numbers_of_other, metric, source, rate)
    if f.versus == REST:
        rest = OTHER_ROWS if second.of_rows else "everyone else"
        second = replace(second, attribute="", label=rest, people=rest)
    return first, second


def _side(
    f: Finding, group: str, size: tuple[int, int], value: Sequence[float], metric: Metric, source: Audited, rate: bool
) -> HarmSide:
    n, clusters = size
    failed = round(failing_share(value[0], metric.better, f.kind) * n) if rate and math.isfinite(value[0]) else None
    named = group != REST
    rows = f.role != PERSON and not of_people(source.audit.settings)
    people = source.names.people(f.attribute, group, ROWS if rows else "people") if named else "everyone else"
    return HarmSide(
        f.attribute,
        group,
        source.names.who(f.attribute, group) if named else "everyone else",
        people + whose(metric.name, source.audit.settings),
        n,
        people_counted(clusters, source.audit.settings),
        value[0],
        value[1],
        value[2],
        failed,
        unit_in(source, n, clusters, source.overall.get(metric.name)),
        rows,
    )


def of_people(settings: Mapping[str, Any]) -> bool:
    """Whether the rows are of people, as far as the audited data says: a table of cameras or of plain rows is not.

    >>> of_people({"ways": ["camera"]}), of_people({"ways": ["identity"]}), of_people({"ways": ["sample"]})
    (False, True, True)
    """
    noun = words.counted_nouns(settings)[0]
    return noun.startswith(PEOPLE_NOUNS) or bool(settings.get("paired_by"))


def whose(metric: str, settings: Mapping[str, Any]) -> str:
    """The words after "women" that say whom a rate of predictions counts: a rate of false positives counts no others.

    >>> whose("false_positive_rate", {"denominators": {"false_positive_rate": "truth_negative"}}), whose("ok", {})
    (' whose truth is negative', '')
    """
    return WHOSE.get((settings.get("denominators") or {}).get(metric, ""), "")


def unit_of(n: int, clusters: int, settings: Mapping[str, Any], whole: Estimate | None = None) -> str:
    """The noun for rows that are not people: pictures of fewer people, or without identities; empty for people.

    Where images have several rows (in `whole`, all rows of the metric), a row is one of the people in them.

    >>> unit_of(80, 20, {"ways": ["identity"], "nouns": ["person", "people"]}), unit_of(80, 80, {"ways": ["sample"]})
    ('picture', 'picture')
    >>> unit_of(80, 50, {"ways": ["sample"]}), unit_of(80, 20, {"ways": ["person_id"]})
    ('', 'row')
    """
    noun = words.cluster_noun(settings)[0]
    if noun == "image":
        alone = n == clusters if whole is None else whole.n == whole.clusters
        return "picture" if alone else ""
    if not clusters or clusters == n:
        return ""
    return row_noun(settings.get("ways") or [])


def unit_in(source: Audited, n: int, clusters: int, whole: Estimate | None = None) -> str:
    """As `unit_of`; a row of somebody in an image of several people is a face, where the task is about faces."""
    settings = source.audit.settings
    unit = unit_of(n, clusters, settings, whole)
    needs = source.task.needs if source.task else ()
    return FACE if unit == "row" and of_people(settings) and {"face", "embedding"} & set(needs) else unit


def people_counted(clusters: int, settings: Mapping[str, Any]) -> int:
    """The number of people; 0 where the units are not people, or not people alone.

    >>> people_counted(40, {"ways": ["identity"], "nouns": ["person", "people"]})
    40
    >>> people_counted(140, {"ways": ["identity"], "nouns": ["person or unnamed image", "people or unnamed images"]})
    0
    >>> people_counted(40, {"ways": ["camera"], "nouns": ["camera cluster", "camera clusters"]})
    0
    """
    return clusters if words.cluster_noun(settings)[0] in ONE_PERSON else 0


def _all_noun(settings: Mapping[str, Any]) -> str:
    """What all rows are: people, or plain rows where nothing says that they are of people."""
    return "people" if of_people(settings) else ROWS


def all_label(source: Audited) -> str:
    """The label for the number of all: everyone, or all rows where neither rows nor groups are said to be of people."""
    about_people = of_people(source.audit.settings) or any(f.role == PERSON for f in source.audit.findings)
    return EVERYONE if about_people else "all rows"


def everyone(source: Audited, metric: Metric) -> HarmSide | None:
    """All rows of a metric as one side; the versions of twins are pictures of fewer people."""
    whole: Estimate | None = source.overall.get(metric.name)
    if whole is None:
        return None
    rate = whole.metric_kind == "rate" and metric.better is not None
    failed = round(failing_share(whole.estimate, metric.better) * whole.n) if rate else None
    settings = source.audit.settings
    unit = unit_in(source, whole.n, whole.clusters) or ("picture" if settings.get("paired_by") else "")
    return HarmSide(
        EVERYONE,
        EVERYONE,
        all_label(source),
        f"{_all_noun(settings)}{whose(metric.name, settings)}",
        whole.n,
        people_counted(whole.clusters, settings),
        whole.estimate,
        whole.low,
        whole.high,
        failed,
        unit,
        not of_people(settings),
    )
