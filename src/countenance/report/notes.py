"""Notes that a reader must know before trusting the first screen, in plain words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from countenance.auditing.cautions import FURTHER_PERSON, UNLIKE_METHODS
from countenance.report.harms import metric_words
from countenance.report.names import attribute_label
from countenance.report.source import Audited

RENDERED = (
    "These people are computer-rendered. They test the method; they do not show that a model is fair to real people"
)
_TOGETHER = re.compile(
    r"(?P<attribute>.+?) goes with (?P<conditions>.+) \(Cramér's V [\d.]+\), which predicts? .+: "
    r'by=".+", given="(?P<given>.+)" holds that equal'
)


@dataclass(frozen=True)
class Together:
    """An attribute whose groups also differ in something else that changes the result."""

    attribute: str
    conditions: str
    option: str

    @property
    def sentence(self) -> str:
        """A sentence on the consequence for the attribute's gaps."""
        name = self.attribute[:1].upper() + self.attribute[1:]
        return f"{name} goes with {self.conditions}: a gap by {self.attribute} may come from that."


def together(notes: list[str]) -> list[Together]:
    """The notes of an audit on attributes that are associated with a condition, in words.

    >>> note = "gender goes with img.size_px and beard (Cramér's V 0.69), which predict recall@0.5: "
    >>> note += 'by="gender", given="img.size_px,beard" holds that equal'
    >>> [pair.sentence for pair in together([note, "another note"])]
    ['Gender goes with size of the face and beard: a gap by gender may come from that.']
    """
    pairs = []
    for match in filter(None, map(_TOGETHER.fullmatch, notes)):
        names = list(dict.fromkeys(condition_label(name) for name in match["given"].split(",")))
        option = f"--by {match['attribute']} --given {match['given']}"
        pairs.append(Together(attribute_label(match["attribute"]), " and ".join(names), option))
    return pairs


def condition_label(name: str) -> str:
    """A condition in words.

    >>> condition_label("img.size_px:quantiles4"), condition_label("hair_colour")
    ('size of the face', 'hair colour')
    """
    return attribute_label(name.partition(":")[0])


def first_notes(source: Audited, notes: list[str], dataset: dict[str, Any]) -> list[str]:
    """Notes that people are rendered, what a reader left out, and which attributes are associated with others.

    Why an interval may hold 0 beside a small p comes last.
    """
    twins = " alone decides"
    raw = [note for note in source.audit.notes if twins not in note]
    of_audit = [source.names.in_text(note) for note in raw]
    card = dataset.get("card") or {}
    warning = [RENDERED] if card.get("warning") and not card.get("real_people", True) else [card.get("warning") or ""]
    plain = [source.names.in_text(in_words(note, source)) for note in raw if not _TOGETHER.fullmatch(note)]
    last = [note for note in plain if note.startswith((FURTHER_PERSON, UNLIKE_METHODS))]
    plain = [note for note in plain if note not in last]
    of_data = dataset.get("notes") or []
    return [str(note) for note in (*notes, *plain, _in_one_line(together(of_audit)), *warning, *of_data, *last) if note]


def in_words(note: str, source: Audited) -> str:
    """A note of an audit with a page's names for groups and metrics."""
    named = {f"{e.attribute} = {e.group}": source.names.who(e.attribute, e.group) for e in source.audit.groups}
    for name in sorted((name for name in named if name in note), key=len, reverse=True):
        note = note.replace(name, named[name])
    for metric in source.metrics:
        noun = metric_words(source, metric.name)[1].noun
        note = re.sub(rf"(?<![\w@.])(?<![^,] ){re.escape(metric.name)}(?=$|[:;)])", noun.replace("\\", r"\\"), note)
    return note


def _in_one_line(pairs: list[Together]) -> str:
    """A note on several attributes: the first in words, the others by name."""
    if not pairs:
        return ""
    others = [pair.attribute for pair in pairs[1:]]
    also = f" The same holds for {', '.join(others)}" if others else ""
    return pairs[0].sentence + also
