"""What a suite (a published protocol) adds to a run: sections of its report, files of its own, scores made again.

A suite is found by the name that its runs carry, through the entry point `countenance.suites`, so that neither the run
nor the report imports one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any

from countenance.run.run import Run

GROUP = "countenance.suites"

Section = tuple[str, str, str]
"""A section of a report: its id, its title, its markup."""


@dataclass(frozen=True)
class Suite:
    """A published protocol as a value."""

    name: str
    question: str
    datasets: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    sections: Callable[[Any], list[Section]] = lambda source: []
    """Sections of the report of a run, from its `report.source.Source`."""
    files: Callable[[Run, Sequence[str]], list[str]] = lambda run, names: []
    """Makes those of the files named again that are the suite's own, from scores and audit; returns their names."""
    rescore: Callable[[Run, Sequence[str]], list[str]] | None = None
    """Makes scores and results again once images (their ids) were removed; None: the task's reducer does."""
    related: Callable[[Run], Sequence[str]] = lambda run: ()
    """Other runs that rest on the same predictions: whoever leaves one leaves them all."""


def suite_of(run: Run) -> Suite | None:
    """The suite of a run; None for a run without one, and where its package is not installed.

    >>> from countenance.run.suite import suite_named
    >>> suite_named("mask_fairness").tasks
    ('mask_detection', 'mask_detection_one_face')
    """
    return suite_named(run.manifest.suite)


def suite_named(name: str | None) -> Suite | None:
    """A suite by its name; None where there is none of that name here."""
    points = entry_points(group=GROUP, name=name) if name else ()
    found: list[Suite] = [point.load() for point in points]
    return found[0] if found else None
