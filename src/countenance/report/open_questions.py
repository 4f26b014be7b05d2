"""The open questions: every group without an answer, with how many people it has and how many it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from countenance.auditing import Finding
from countenance.report import numbers, words
from countenance.report.harms import kind_shown
from countenance.report.names import Names, attribute_label
from countenance.report.source import Audited


@dataclass(frozen=True)
class Open:
    """A comparison that has no answer yet."""

    mark: str
    metric: str
    attribute: str
    group: str
    n: int
    clusters: int
    estimate: str
    seen: str
    needed: str
    why: str
    key: tuple[str, str, str]
    """Metric, attribute and group, as the audit names them."""


@dataclass(frozen=True)
class CannotTell:
    """The open questions: single attributes first, then intersections, then groups and attributes not compared."""

    unsure: list[Open]
    unsure_crossed: list[Open]
    untested: list[Open]
    untested_crossed: list[Open]
    excluded: list[Open]
    not_compared: list[tuple[str, str]]
    many: str = "people"
    """What the audit counts."""

    @property
    def nothing(self) -> bool:
        """Whether every comparison has an answer."""
        return not (self.unsure or self.unsure_crossed or self.untested or self.untested_crossed or self.excluded)

    @property
    def sentence(self) -> str:
        """One sentence on how much is open."""
        if self.nothing:
            return "Every comparison has an answer."
        thin, few = len(self.unsure) + len(self.unsure_crossed), len(self.untested) + len(self.untested_crossed)
        parts = []
        if thin:
            parts.append(f"{numbers.plural(thin, 'comparison has', 'comparisons have')} {words.not_enough(self.many)}")
        if few:
            parts.append(f"{numbers.plural(few, 'comparison has', 'comparisons have')} {words.too_few(self.many)}")
        if self.excluded and not parts:
            parts.append(f"{numbers.plural(len(self.excluded), 'group was', 'groups were')} not compared")
        single = thin + few == 1 or (not thin + few and len(self.excluded) == 1)
        groups = "this group" if single else "these groups"
        return f"{' and '.join(parts)}: {groups} may be served worse, and this data would not show it."


def cannot_tell(source: Audited) -> CannotTell:
    """The comparisons without an answer, sorted by kind; none is left out silently."""
    settings, names = source.audit.settings, source.names
    unsure = [f for f in source.audit.findings if words.mark(f.verdict) == words.UNSURE]
    untested = [f for f in source.audit.findings if f.verdict == words.UNTESTABLE]
    unsure, untested = names.ordered(unsure), names.ordered(untested)
    listed = {(f.metric, f.attribute, f.group) for f in untested}
    others = [e for e in source.audit.excluded if (e["metric"], e["attribute"], e["group"]) not in listed]
    left = [entry for entry in settings.get("not_compared", []) if entry["why"] != "not named"]
    unnamed = [str(entry["attribute"]) for entry in settings.get("not_compared", []) if entry["why"] == "not named"]
    not_compared = [(attribute_label(str(entry["attribute"])), str(entry["why"])) for entry in left]
    if unnamed:
        not_compared.append((", ".join(map(attribute_label, unnamed)), "not named"))
    return CannotTell(
        _open([f for f in unsure if f.depth == 1], source),
        _open([f for f in unsure if f.depth > 1], source),
        _open([f for f in untested if f.depth == 1], source),
        _open([f for f in untested if f.depth > 1], source),
        [_excluded(entry, names) for entry in others if entry["n"] or entry["group"] != "(unknown)"],
        not_compared,
        words.counted_nouns(settings)[1],
    )


def _open(findings: Sequence[Finding], source: Audited) -> list[Open]:
    names, settings = source.names, source.audit.settings
    questions = []
    for f in findings:
        kind = kind_shown(f, source)
        versus = "" if f.versus == "rest" else f" against {names.group(f.attribute, f.versus)}"
        gap = f.mde_difference
        questions.append(
            Open(
                words.mark(f.verdict, f.severity),
                f.metric,
                attribute_label(f.attribute),
                names.group(f.attribute, f.group) + versus,
                f.n,
                f.clusters,
                f"{numbers.value(f.estimate, kind)} ({numbers.span(f.low, f.high, kind)})",
                numbers.change(gap, kind, sign=False) if numbers.is_number(gap) else "none",
                words.more_needed(f, settings) if f.verdict != words.UNTESTABLE else words.what_is_missing(f, settings),
                names.reason(f),
                (f.metric, f.attribute, f.group),
            )
        )
    return questions


def _excluded(entry: dict[str, Any], names: Names) -> Open:
    return Open(
        words.UNTESTED,
        str(entry["metric"]),
        attribute_label(str(entry["attribute"])),
        names.group(str(entry["attribute"]), str(entry["group"])),
        int(entry["n"]),
        int(entry["clusters"]),
        "",
        "",
        "the value of the attribute" if entry["group"] == "(unknown)" else "",
        str(entry["why"]),
        (str(entry["metric"]), str(entry["attribute"]), str(entry["group"])),
    )
