"""The content of the comparison pages: the same groups side by side, their changes, and the samples that changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from countenance.auditing import Estimate
from countenance.comparing import Change, Comparison, Gap, compare, leaderboard
from countenance.errors import InputError
from countenance.report import changes, numbers
from countenance.report.charts.forest import ChangeRow, Forest, ForestRow
from countenance.report.comparison import change_plots, first_screen, gap_plots
from countenance.report.harms import shown_kind
from countenance.report.metric_words import words_of
from countenance.report.names import CROSS, attribute_label
from countenance.run.auditing import WHOLE
from countenance.view.library import MOST_OPEN, Summary
from countenance.view.open_run import OpenRun
from countenance.view.pages import album_of, waiting
from countenance.view.question import Question
from countenance.view.rows import Selection
from countenance.view.site import Site

MOST_RUNS = MOST_OPEN
MOST_CANDIDATES = 100
"""Runs to choose from on the page of a comparison."""


@dataclass(frozen=True)
class Several:
    """The runs to compare, and the question about all of them. The others are compared with the first."""

    runs: list[OpenRun]
    question: Question

    @classmethod
    def of(cls, site: Site, parameters: Sequence[tuple[str, str]]) -> Several:
        """Read an address: repeated `run` parameters, and a question as on the page of one run."""
        ids = list(dict.fromkeys(value for name, value in parameters if name == "run"))
        if len(ids) > MOST_RUNS:
            raise InputError(f"{len(ids)} runs; at most {MOST_RUNS} are compared on one page")
        runs = [site.library.open(key) for key in ids]
        parts = [pair for pair in parameters if pair[0] != "run"]
        if not any(name == "depth" for name, _ in parts):
            parts.append(("depth", "1"))  # intersections of changes are computed on request
        return cls(runs, runs[0].question(parts) if runs else Question())

    def query(self, **further: Any) -> str:
        """The query of the address."""
        return urlencode([("run", opened.id) for opened in self.runs]) + "&" + self.question.query(**further)

    @property
    def names(self) -> list[str]:
        """The models' names where they differ, else the folders', else the ids."""
        models, folders = [opened.run.model_label for opened in self.runs], [opened.name for opened in self.runs]
        for names in (models, folders):
            if len(set(names)) == len(names):
                return names
        return [opened.id for opened in self.runs]


@dataclass(frozen=True)
class SideBySide:
    """One group in every run."""

    attribute: str
    group: str
    cells: list[tuple[str, str, str, int]]
    """For each run: estimate, interval, address of its rows, n."""
    spread: str


def compare_context(site: Site, parameters: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The content of the page: the runs, and their estimates side by side."""
    several = Several.of(site, parameters)
    summaries = [each for each in site.library.summaries() if each.status == "complete" and not each.problem]
    context: dict[str, Any] = {
        "title": "Compare runs",
        "several": several,
        "candidates": _candidates(several, summaries),
        "more": len(summaries) > MOST_CANDIDATES,
        "tables": [],
        "query": "",
    }
    if len(several.runs) < 2:
        return context
    first = several.runs[0]
    estimates = [_estimates(opened, several.question) for opened in several.runs]
    tables = []
    for metric in several.question.metrics:
        rows = _side_by_side(several, metric, estimates)
        if rows:
            tables.append((metric, rows))
    return context | {
        "tables": tables,
        "query": several.query(),
        "question": several.question,
        "conditions": [f"{name}={','.join(values)}" for name, values in several.question.where.items()],
        "groupable": first.groupable,
        "measures": first.metrics,
        "singles": [name for name in several.question.by if name in first.columns.attributes],
        "further": ", ".join(name for name in several.question.by if name not in first.columns.attributes),
    }


def _candidates(several: Several, summaries: Sequence[Summary]) -> list[Summary]:
    """Runs to choose from: those chosen, then those comparable with the first, then the latest."""
    chosen = [opened.id for opened in several.runs]
    first = next((each for each in summaries if chosen and each.id == chosen[0]), None)
    alike = {each.id for each in summaries if first and (each.task, each.dataset) == (first.task, first.dataset)}
    ordered = sorted(summaries, key=lambda each: (each.id not in chosen, each.id not in alike))
    return ordered[: max(MOST_CANDIDATES, len(chosen))]


def _estimates(opened: OpenRun, question: Question) -> list[Estimate]:
    """A run's estimates for a question of another run; the independent unit is that of its own audit."""
    parts = [
        ("by", ",".join(question.by)),
        ("metric", ",".join(question.metrics)),
        ("depth", str(question.depth or 1)),
    ]
    parts += [("where", f"{name}={','.join(values)}") for name, values in question.where.items()] or [("where", "")]
    return opened.estimates(opened.question(parts))


def _side_by_side(several: Several, metric: str, estimates: Sequence[Sequence[Estimate]]) -> list[SideBySide]:
    by_key = [{(e.attribute, e.group): e for e in each if e.metric == metric} for each in estimates]
    names = several.runs[0].names(list(estimates[0]))
    kind = next((e.metric_kind for e in by_key[0].values()), "mean")
    measures = {measure.name: measure for measure in several.runs[0].metrics}
    if metric in measures:
        kind = shown_kind(kind, words_of(measures[metric], several.runs[0].task))
    rows = []
    for first in names.ordered(by_key[0].values()):
        key = (first.attribute, first.group)
        if first.depth > 1 or not first.n:
            continue
        here = [each.get(key) for each in by_key]
        cells = []
        for opened, estimate in zip(several.runs, here, strict=True):
            if estimate is None or not estimate.n:
                cells.append((numbers.NOTHING, "", "", 0))
                continue
            by = _written(several.question, key[0])
            address = Selection(opened, several.question, metric, by, key[1]).query()
            text = numbers.value(estimate.estimate, kind)
            interval = numbers.span(estimate.low, estimate.high, kind)
            cells.append((text, interval, f"/runs/{opened.id}/rows?{address}", estimate.n))
        known = [estimate.estimate for estimate in here if estimate is not None and estimate.n]
        spread = numbers.change(known[-1] - known[0], kind) if len(known) > 1 else ""
        rows.append(SideBySide(attribute_label(key[0]), names.group(*key), cells, spread))
    return rows


def _written(question: Question, attribute: str) -> str:
    """An attribute, or an intersection, with its bins as the question names it."""
    named = {text.partition(":")[0].strip(): text.strip() for name in question.by for text in name.split("*")}
    parts = [attribute] if attribute in named else attribute.split(CROSS)
    return "*".join(named.get(part, part) for part in parts)


def changes_context(site: Site, parameters: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The differences of the second run (and every further run) from the first: changes, and gaps that moved."""
    several = Several.of(site, parameters)
    if len(several.runs) < 2:
        raise InputError("name two runs to compare")
    return differences(site, several)


def differences(site: Site, several: Several, *, linked: bool = True) -> dict[str, Any]:
    """How runs differ from the first of them; a static copy has no links from numbers."""
    ranking, comparisons = compared(site, several)
    shown = [opened for opened in several.runs[1:] if not opened.run.manifest.dataset.card.real_people]
    loading = waiting(site, shown)
    parts = []
    metric = several.question.metrics[0]
    for index, comparison in enumerate(comparisons, 1):
        links = partial(_links, several, index) if linked else lambda change: ("", "", "")
        pair = several.runs[0], several.runs[index]
        addresses = {way: _samples_address(several, index, metric) + f"&change={way}" for way in ("lost", "gained")}
        albums = changes.first_faces(comparison, [opened.run for opened in pair], album_of(site, pair[1]))
        parts.append(
            first_screen(comparison, links)
            | {
                "galleries": [
                    replace(album, more=addresses[way] if linked else "")
                    for album, way in zip(albums, addresses, strict=True)
                ],
                "changes": _linked(change_plots(comparison), links),
                "gaps": _linked(gap_plots(comparison), links),
                "samples": _samples_address(several, index, metric) if linked else "",
            }
        )
    return {
        "title": "Changes",
        "several": several,
        "parts": parts,
        "ranking": ranking,
        "waiting": loading,
    }


Links = Callable[[Change | Gap], tuple[str, str, str]]


def _linked(plots: Sequence[Forest], links: Links) -> list[dict[str, Any]]:
    """The rows of forest plots with the links of their numbers."""
    return [
        {
            "plot": plot,
            "blocks": [(block.label, _addressed(block.rows, links)) for block in plot.blocks],
        }
        for plot in plots
    ]


def _addressed(rows: Sequence[ForestRow], links: Links) -> list[tuple[ForestRow, tuple[str, str, str]]]:
    return [(row, links(row.change)) for row in rows if isinstance(row, ChangeRow)]


def _links(several: Several, index: int, change: Change | Gap) -> tuple[str, str, str]:
    """The links of a group's numbers: its rows in both runs, and the samples that changed."""
    by = _written(several.question, change.attribute)
    first, other = (
        f"/runs/{run.id}/rows?{Selection(run, several.question, change.metric, by, change.group).query()}"
        for run in (several.runs[0], several.runs[index])
    )
    return first, other, _samples_address(several, index, change.metric, by, change.group)


def compared(site: Site, several: Several) -> tuple[str, list[Comparison]]:
    """Every further run against the first, as by `countenance compare`; of three or more runs also the best.

    The comparisons of three or more runs are one family, since separate ones would raise the chance of a false finding.
    """
    question = several.question
    key = (*((opened.id, opened.stamp) for opened in several.runs), question.key())
    if key not in site.compared:
        while len(site.compared) >= 16:
            del site.compared[next(iter(site.compared))]
        runs = [opened.run for opened in several.runs]
        settings: dict[str, Any] = {
            "by": [name for name in question.by if name != WHOLE],
            "metrics": list(question.metrics),
            "names": several.names,
            "cluster": question.cluster,
            "depth": question.depth or 1,
            "alpha": question.alpha,
            "delta": question.delta or None,
            "adjust": question.adjust or "minp",
            "where": dict(question.where) or None,
        }
        if len(runs) == 2:
            site.compared[key] = "", [compare(runs[0], runs[1], **settings)]
        else:
            ranked = leaderboard(runs, against_first=True, **settings)
            site.compared[key] = ranked.decisions[0], ranked.against_first()
    known: tuple[str, list[Comparison]] = site.compared[key]
    return known


def _samples_address(several: Several, index: int, metric: str, by: str = "", group: str = "") -> str:
    pair = urlencode([("run", several.runs[0].id), ("run", several.runs[index].id)])
    return f"/compare/samples?{pair}&{several.question.query(by_metric=metric, of=by, group=group)}"
