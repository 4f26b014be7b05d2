"""The samples that two runs score differently, with the predictions of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np

from countenance.errors import InputError
from countenance.run.auditing import WHOLE, check_names
from countenance.view.comparing import Several
from countenance.view.open_run import OpenRun
from countenance.view.pages import group_words, waiting
from countenance.view.parameters import Parameters
from countenance.view.question import Question
from countenance.view.rows import Selection
from countenance.view.samples import Item
from countenance.view.site import Site

CHANGES = {"lost": "got worse", "gained": "got better", "any": "changed"}
SIZE = 24
KEYS = ("sample", "subject")


@dataclass(frozen=True)
class ChangedSample:
    """One sample that two runs score differently, with the predictions of both."""

    old: Item
    new: Item
    before: str
    after: str


def samples_context(site: Site, parameters: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The samples that changed between two runs, the largest changes first."""
    several = Several.of(site, [pair for pair in parameters if pair[0] not in ("of", "group")])
    if len(several.runs) != 2:
        raise InputError("name two runs to see the samples that changed")
    values = Parameters(parameters)
    change, by, group = values.choice("change", CHANGES, "lost"), values.text("of"), values.exact("group")
    first, second = several.runs
    for opened in several.runs:
        check_names(opened.place, [by] if by else None, [*opened.columns.attributes, WHOLE])
    selections = [
        Selection(
            opened,
            several.question,
            opened.metric(values.text("by_metric", several.question.metrics[0])),
            by,
            group,
            "all",
            "table",
        )
        for opened in several.runs
    ]
    pairs, before, after = _pairs(first, second, selections)
    sign = -1.0 if selections[0].better == "lower" else 1.0
    gain = sign * (after - before)
    moved = gain < 0 if change == "lost" else gain > 0 if change == "gained" else gain != 0
    order = np.argsort(-np.abs(gain[moved]), kind="stable")
    pairs, before, after = pairs[moved][order], before[moved][order], after[moved][order]
    pages = max(1, -(-len(pairs) // SIZE))
    page = min(values.number("page", 1), pages)
    here = slice((page - 1) * SIZE, page * SIZE)
    loading = waiting(site, several.runs)
    old = _items(site, first, several.question, pairs[here, 0])
    new = _items(site, second, several.question, pairs[here, 1])
    metric = selections[0].metric
    base = [("run", first.id), ("run", second.id)]
    query = urlencode(base) + "&" + several.question.query(by_metric=metric, of=by, group=group)
    return {
        "title": "Samples that changed",
        "several": several,
        "metric": metric,
        "change": change,
        "changes": CHANGES,
        "items": [
            ChangedSample(first_item, second_item, f"{a:.4g}", f"{b:.4g}")
            for first_item, second_item, a, b in zip(old, new, before[here], after[here], strict=True)
        ],
        "waiting": loading,
        "total": len(pairs),
        "page": page,
        "pages": pages,
        "query": query,
        "group": group_words(first, selections[0]) if by else "",
        "privacy": site.privacy.sentence(first.run.manifest.dataset.card.real_people),
    }


def _items(site: Site, opened: OpenRun, question: Question, places: Any) -> list[Item]:
    by = [name for name in question.by if name in opened.columns.attributes]
    return site.gallery(opened).items(opened.rows_at([int(place) for place in places]), by, [])


def _pairs(first: OpenRun, second: OpenRun, chosen: Sequence[Selection]) -> tuple[Any, Any, Any]:
    """The rows of both runs: their places in both, and the metric in both."""
    sides = []
    for opened, selection in zip((first, second), chosen, strict=True):
        places, _ = selection.places()
        values = opened.columns.numbers(selection.metric)[places]
        sides.append(
            (
                places,
                values,
                [
                    opened.columns.read([name], [])[name].take(_array(places))
                    for name in KEYS
                    if name in opened.columns.names
                ],
            )
        )
    keys = [list(zip(*(column.to_pylist() for column in columns), strict=True)) for _, _, columns in sides]
    there = {key: place for place, key in enumerate(keys[1])}
    both = [(i, there[key]) for i, key in enumerate(keys[0]) if key in there]
    index = np.array(both, dtype=np.int64).reshape(-1, 2)
    pairs = np.stack([sides[0][0][index[:, 0]], sides[1][0][index[:, 1]]], axis=1)
    return pairs, sides[0][1][index[:, 0]], sides[1][1][index[:, 1]]


def _array(places: Any) -> Any:
    import pyarrow as pa

    return pa.array(places)
