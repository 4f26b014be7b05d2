"""The rows behind a number: selected and ordered as in the audit, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.auditing.table import UNKNOWN, Array
from countenance.run.auditing import WHOLE, check_names
from countenance.tasks import Metric
from countenance.view.open_run import OpenRun
from countenance.view.parameters import Parameters
from countenance.view.question import Question

SHOWS = {"all": "all rows", "failed": "failed", "passed": "passed"}
ORDERS = {"worst": "worst first", "best": "best first", "table": "in file order"}
SIZES = (24, 48, 96)
LARGEST_PAGE = 200
SIDES = {"": "the group", "rest": "everyone else"}


@dataclass(frozen=True)
class Page:
    """A page of the selected rows."""

    rows: list[dict[str, Any]]
    number: int
    pages: int
    total: int
    of: int
    """Rows before `show` was applied."""


@dataclass(frozen=True)
class Selection:
    """The selected rows: of one group by one metric, in an order, a page of them."""

    opened: OpenRun
    question: Question
    metric: str
    by: str = ""
    group: str = ""
    show: str = "all"
    order: str = "worst"
    number: int = 1
    size: int = 48
    side: str = ""
    """`rest` for everyone else: those of whom the attribute is known and who are not in the group."""

    @classmethod
    def of(cls, opened: OpenRun, parameters: Sequence[tuple[str, str]], show: str = "all") -> Selection:
        """Read an address: `of` is the attribute (or intersection) and `group` its value; neither means everybody."""
        values = Parameters(parameters)
        question = opened.question(values.without("of").pairs)
        metric = opened.metric(values.text("by_metric", question.metrics[0]))
        by = values.text("of")
        check_names(opened.place, [by] if by else None, [*opened.columns.attributes, WHOLE])
        return cls(
            opened,
            question,
            metric,
            by,
            values.exact("group"),
            values.choice("show", SHOWS, show),
            values.choice("order", ORDERS, "worst"),
            values.number("page", 1),
            min(values.number("size", SIZES[1]), LARGEST_PAGE),
            values.choice("side", SIDES, ""),
        )

    def query(self, **changed: Any) -> str:
        """The selection as the query of an address, with some parts changed."""
        own: dict[str, Any] = {
            "by_metric": self.metric,
            "of": self.by,
            "group": self.group,
            "show": self.show,
            "order": self.order if self.order != "worst" else "",
            "size": self.size if self.size != SIZES[1] else "",
            "page": self.number if self.number > 1 else "",
            "side": self.side,
        }
        return self.question.query(**(own | changed))

    @property
    def better(self) -> str:
        """The better direction of the metric."""
        known: dict[str, Metric] = {metric.name: metric for metric in self.opened.metrics}
        return (known[self.metric].better if self.metric in known else None) or "higher"

    def places(self) -> tuple[Array, int]:
        """The places of all selected rows, in order, and their number before `show` was applied."""
        key = (
            "places",
            self.question.key(),
            self.question.about,
            self.metric,
            self.by,
            self.group,
            self.side,
            self.show,
            self.order,
        )
        places: tuple[Array, int] = self.opened.columns.keep_latest(key, self._places)
        return places

    def _places(self) -> tuple[Array, int]:
        # A metric of other rows (such as false alarms of an image) is shown by its own rows.
        about = self.opened.of_rows(self.question.about) if self.metric in self.question.about else [self.metric]
        rows = self.opened.columns.about(about).where(dict(self.question.where))
        values = rows.numbers(self.metric)
        known = np.isfinite(values)
        if self.by:
            here = rows.members(self.by, self.group)
            known &= ~here & ~rows.members(self.by, UNKNOWN) if self.side else here
        chosen = np.flatnonzero(known)
        bad = values[chosen] if self.better == "lower" else -values[chosen]
        count = len(chosen)
        if self.show != "all" and count:
            failed = bad >= _cut(values[np.isfinite(values)], self.better)
            keep = failed if self.show == "failed" else ~failed
            chosen, bad = chosen[keep], bad[keep]
        if self.order != "table":
            keys = [bad if self.order == "best" else -bad]
            if (tie := self._tie()) is not None and len(chosen):
                keys.insert(0, tie[0] * rows.numbers(tie[1])[chosen] * (1 if self.order == "best" else -1))
            chosen = chosen[np.lexsort(keys)] if len(keys) > 1 else chosen[np.argsort(keys[0], kind="stable")]
        return rows.places()[chosen], count

    def failures(self, groups: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
        """For each group (attribute and value): how many of its rows failed, and how many it has."""
        everybody = replace(self, by="", group="", side="", order="table")
        failed, every = (replace(everybody, show=show).places()[0] for show in ("failed", "all"))
        rows = self.opened.columns
        written = {name.partition(":")[0].strip(): name for name in self.question.by}
        counts = []
        for attribute, group in groups:
            members = rows.members(written.get(attribute, attribute), group)
            counts.append((int(members[failed].sum()), int(members[every].sum())))
        return counts

    def _tie(self) -> tuple[float, str] | None:
        """A finer metric that orders rows of equal value: the metric of the task's curve."""
        task = self.opened.task
        if task is None or task.curve_of is None or task.curve_of == self.metric:
            return None
        finer = task.metric(task.curve_of)
        if finer is None or finer.name not in self.opened.columns.metrics or finer.better != self.better:
            return None
        return (1.0 if finer.better == "lower" else -1.0), finer.name

    def page(self) -> Page:
        """The rows of the page requested."""
        places, count = self.places()
        pages = max(1, -(-len(places) // self.size))
        number = min(max(self.number, 1), pages)
        shown = places[(number - 1) * self.size : number * self.size]
        return Page(self.opened.rows_at([int(place) for place in shown]), number, pages, len(places), count)


def _cut(values: Array, better: str) -> float:
    """The value from which a row has failed, with its sign changed if higher is better.

    For a rate it is a miss, for a count of errors one error, and for any other metric the worst tenth.
    """
    bad = values if better == "lower" else -values
    if better == "higher" and bool(np.isin(values, (0.0, 1.0)).all()):
        return 0.0
    if better == "lower" and bool((values >= 0).all()) and bool((values == np.floor(values)).all()):
        return 0.5
    return max(float(np.quantile(bad, 0.9)), float(np.nextafter(bad.min(), np.inf)))
