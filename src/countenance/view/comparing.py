"""What the comparison pages say: the same groups side by side, how they changed, and the samples that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from countenance.auditing import Estimate
from countenance.comparing import Change, Comparison, Gap, compare, leaderboard
from countenance.comparing.decision import amount, number
from countenance.data.vocabulary import in_order
from countenance.errors import InputError
from countenance.report import numbers
from countenance.report.names import CROSS, Names, attribute_label
from countenance.run.auditing import WHOLE
from countenance.view.library import Summary
from countenance.view.opened import OpenRun
from countenance.view.question import Question
from countenance.view.rows import Selection
from countenance.view.site import Site

MOST_RUNS = 6
MOST_CANDIDATES = 100
"""Runs to choose from on the page of a comparison."""


@dataclass(frozen=True)
class Several:
    """Runs that are compared, and what is asked of all of them. The first is what the others are compared with."""

    runs: list[OpenRun]
    asked: Question

    @classmethod
    def of(cls, site: Site, parameters: Sequence[tuple[str, str]]) -> Several:
        """Read an address: `run` repeated, and a question as on the page of one run."""
        ids = list(dict.fromkeys(value for name, value in parameters if name == "run"))
        if len(ids) > MOST_RUNS:
            raise InputError(f"{len(ids)} runs; at most {MOST_RUNS} are compared on one page")
        runs = [site.library.open(one) for one in ids]
        parts = [pair for pair in parameters if pair[0] != "run"]
        if not any(name == "depth" for name, _ in parts):
            parts.append(("depth", "1"))  # intersections of changes are looked at when they are asked for
        return cls(runs, runs[0].question(parts) if runs else Question())

    def query(self, **further: Any) -> str:
        """The same as the query of an address."""
        return urlencode([("run", one.id) for one in self.runs]) + "&" + self.asked.query(**further)

    @property
    def names(self) -> list[str]:
        """The models' names where they differ, else the folders', else the ids."""
        for called in ([one.run.model_name for one in self.runs], [one.name for one in self.runs]):
            if len(set(called)) == len(called):
                return called
        return [one.id for one in self.runs]


@dataclass(frozen=True)
class SideBySide:
    """One group in every run."""

    attribute: str
    group: str
    cells: list[tuple[str, str, str, int]]
    """For each run: estimate, interval, address of its rows, n."""
    spread: str


def compare_context(site: Site, parameters: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The page: which runs, and their estimates side by side."""
    several = Several.of(site, parameters)
    summaries = [one for one in site.library.summaries() if one.status == "complete" and not one.problem]
    made: dict[str, Any] = {
        "title": "Compare runs",
        "several": several,
        "candidates": _candidates(several, summaries),
        "more": len(summaries) > MOST_CANDIDATES,
        "tables": [],
        "query": "",
    }
    if len(several.runs) < 2:
        return made
    first = several.runs[0]
    found = [_estimates(one, several.asked) for one in several.runs]
    tables = []
    for metric in several.asked.metrics:
        rows = _side_by_side(several, metric, found)
        if rows:
            tables.append((metric, rows))
    return made | {
        "tables": tables,
        "query": several.query(),
        "asked": several.asked,
        "conditions": [f"{name}={','.join(values)}" for name, values in several.asked.where.items()],
        "groupable": first.groupable,
        "measures": first.metrics,
        "singles": [name for name in several.asked.by if name in first.columns.attributes],
        "further": ", ".join(name for name in several.asked.by if name not in first.columns.attributes),
    }


def _candidates(several: Several, summaries: Sequence[Summary]) -> list[Summary]:
    """Runs to choose from: those chosen, then those that fit the first of them, then the latest."""
    chosen = [one.id for one in several.runs]
    first = next((one for one in summaries if chosen and one.id == chosen[0]), None)
    alike = {one.id for one in summaries if first and (one.task, one.dataset) == (first.task, first.dataset)}
    ordered = sorted(summaries, key=lambda one: (one.id not in chosen, one.id not in alike))
    return ordered[: max(MOST_CANDIDATES, len(chosen))]


def _estimates(opened: OpenRun, asked: Question) -> list[Estimate]:
    """A run's estimates of a question of another run; its own audit says what is independent."""
    parts = [("by", ",".join(asked.by)), ("metric", ",".join(asked.metrics)), ("depth", str(asked.depth or 1))]
    parts += [("where", f"{name}={','.join(values)}") for name, values in asked.where.items()] or [("where", "")]
    return opened.estimates(opened.question(parts))


def _side_by_side(several: Several, metric: str, found: Sequence[Sequence[Estimate]]) -> list[SideBySide]:
    by_key = [{(one.attribute, one.group): one for one in each if one.metric == metric} for each in found]
    names = several.runs[0].names(list(found[0]))
    made = []
    for one in names.ordered(by_key[0].values()):
        key = (one.attribute, one.group)
        if one.depth > 1 or not one.n:
            continue
        here = [each.get(key) for each in by_key]
        cells = []
        for opened, estimate in zip(several.runs, here, strict=True):
            if estimate is None or not estimate.n:
                cells.append((numbers.NOTHING, "", "", 0))
                continue
            rows = Selection(opened, several.asked, metric, _written(several.asked, key[0]), key[1]).query()
            text = numbers.value(estimate.estimate, estimate.metric_kind)
            interval = numbers.span(estimate.low, estimate.high, estimate.metric_kind)
            cells.append((text, interval, f"/runs/{opened.id}/rows?{rows}", estimate.n))
        known = [estimate.estimate for estimate in here if estimate is not None and estimate.n]
        spread = numbers.change(known[-1] - known[0], one.metric_kind) if len(known) > 1 else ""
        made.append(SideBySide(attribute_label(key[0]), names.group(*key), cells, spread))
    return made


def _written(asked: Question, attribute: str) -> str:
    """An attribute, or an intersection, as the question names it, with its bins."""
    named = {text.partition(":")[0].strip(): text.strip() for one in asked.by for text in one.split("*")}
    parts = [attribute] if attribute in named else attribute.split(CROSS)
    return "*".join(named.get(part, part) for part in parts)


@dataclass(frozen=True)
class ChangeRow:
    """One line of the table of changes."""

    metric: str
    who: str
    a: str
    b: str
    difference: str
    interval: str
    p: str
    verdict: str
    mark: str
    n: int
    samples: str
    rows: tuple[str, str]
    """The addresses of the rows in either run."""


def changes_context(site: Site, parameters: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """How the second run (and every further one) differs from the first: changes, and gaps that moved."""
    several = Several.of(site, parameters)
    if len(several.runs) < 2:
        raise InputError("name two runs to compare")
    ranking, comparisons = compared(site, several)
    parts = []
    for index, found in enumerate(comparisons, 1):
        names = _names_of(found)
        gaps = names.ordered(gap for gap in found.gaps if not gap.mirrors)
        parts.append(
            {
                "found": found,
                "overall": [_change_row(one, names, several, index) for one in found.overall],
                "headline": _headline(found),
                "groups": [_change_row(one, names, several, index) for one in names.ordered(found.groups)],
                "gaps": [_gap_row(gap, names, several, index) for gap in gaps],
                "samples": _samples_address(several, index, found.overall[0].metric if found.overall else ""),
            }
        )
    return {"title": "Changes", "several": several, "parts": parts, "ranking": ranking}


def compared(site: Site, several: Several) -> tuple[str, list[Comparison]]:
    """Every further run against the first, as `countenance compare` does it; of three or more also who is best.

    Three or more are one family: each two by themselves would let the last look worse by luck.
    """
    asked = several.asked
    key = (*((one.id, one.stamp) for one in several.runs), asked.key())
    if key not in site.compared:
        while len(site.compared) >= 16:
            del site.compared[next(iter(site.compared))]
        runs = [one.run for one in several.runs]
        settings: dict[str, Any] = {
            "by": [name for name in asked.by if name != WHOLE], "metrics": list(asked.metrics),
            "names": several.names, "cluster": asked.cluster, "depth": asked.depth or 1, "alpha": asked.alpha,
            "delta": asked.delta or None, "adjust": asked.adjust or "minp", "where": dict(asked.where) or None,
        }  # fmt: skip
        if len(runs) == 2:
            site.compared[key] = "", [compare(runs[0], runs[1], **settings)]
        else:
            ranked = leaderboard(runs, against_first=True, **settings)
            site.compared[key] = ranked.decisions[0], ranked.against_first()
    found: tuple[str, list[Comparison]] = site.compared[key]
    return found


def _headline(found: Comparison) -> str:
    """What became of the first metric, for a heading; the decision says the rest."""
    if not found.overall:
        return f"{found.b} against {found.a}"
    one = found.overall[0]
    if one.verdict in ("better", "worse", "higher", "lower"):
        return f"{found.b} is {one.verdict} than {found.a} by {one.metric}."
    return f"{found.b} against {found.a} by {one.metric}: {one.verdict}."


def _names_of(found: Comparison) -> Names:
    levels: dict[str, list[str]] = {}
    for one in found.groups:
        if one.depth == 1 and one.group not in levels.setdefault(one.attribute, []):
            levels[one.attribute].append(one.group)
    ordered = {name: in_order(name, values) for name, values in levels.items()}
    return Names(list(levels), ordered, max([1, *(one.depth for one in found.groups)]))


MARKS = {"better": "none", "worse": "severe", "higher": "minor", "lower": "minor"}


def _change_row(one: Change, names: Names, several: Several, index: int) -> ChangeRow:
    who = names.who(one.attribute, one.group) if one.attribute else "everyone"
    mark = MARKS.get(one.verdict, "none" if one.verdict.startswith("no difference") else "unsure")
    return ChangeRow(
        one.metric, who, numbers.value(one.estimate_a, one.kind), numbers.value(one.estimate_b, one.kind),
        amount(one, one.difference), f"{number(one, one.low, sign=True)} to {number(one, one.high, sign=True)}",
        numbers.probability(one.p_adjusted), one.verdict, mark, one.n,
        _samples_address(several, index, one.metric, _written(several.asked, one.attribute), one.group),
        _rows_addresses(several, index, one),
    )  # fmt: skip


def _gap_row(gap: Gap, names: Names, several: Several, index: int) -> dict[str, Any]:
    moved = gap.moved or gap.verdict
    mark = {"widened": "severe", "reversed": "minor", "narrowed": "none"}.get(gap.moved, "unsure")
    return {
        "metric": gap.metric, "who": names.who(gap.attribute, gap.group),
        "versus": names.versus(gap.attribute, gap.versus),
        "a": amount(gap, gap.gap_a), "b": amount(gap, gap.gap_b), "change": amount(gap, gap.difference),
        "interval": f"{number(gap, gap.low, sign=True)} to {number(gap, gap.high, sign=True)}",
        "p": numbers.probability(gap.p_adjusted), "moved": moved, "mark": mark, "n": gap.n,
        "rows": _rows_addresses(several, index, gap),
        "samples": _samples_address(several, index, gap.metric, _written(several.asked, gap.attribute), gap.group),
    }  # fmt: skip


def _rows_addresses(several: Several, index: int, one: Change | Gap) -> tuple[str, str]:
    """The rows of a change's group in the first run and in the other."""
    by = _written(several.asked, one.attribute)
    queries = [(run, Selection(run, several.asked, one.metric, by, one.group).query())
               for run in (several.runs[0], several.runs[index])]  # fmt: skip
    first, other = (f"/runs/{run.id}/rows?{query}" for run, query in queries)
    return first, other


def _samples_address(several: Several, index: int, metric: str, by: str = "", group: str = "") -> str:
    pair = urlencode([("run", several.runs[0].id), ("run", several.runs[index].id)])
    return f"/compare/samples?{pair}&{several.asked.query(by_metric=metric, of=by, group=group)}"
