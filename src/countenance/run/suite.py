"""What a suite (a published protocol) adds to a run: sections of its report, files of its own, scores made again.

A suite is found by the name that its runs carry, through a table here or the entry point `countenance.suites`, so that
neither the run nor the report imports one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from countenance.run.run import Run

GROUP = "countenance.suites"
_HOME = {
    "fhibe": "countenance.suites.fhibe.suite:FHIBE",
    "happyfaces": "countenance.suites.happyfaces.suite:HAPPYFACES",
    "mask_fairness": "countenance.suites.mask_fairness.suite:MASK_FAIRNESS",
}

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
    """A suite by its name."""
    if name in _HOME:
        module, _, attribute = _HOME[name].partition(":")
        found: Suite = getattr(import_module(module), attribute)
        return found
    for point in entry_points(group=GROUP, name=name or ""):
        loaded: Suite = point.load()
        return loaded
    return None
