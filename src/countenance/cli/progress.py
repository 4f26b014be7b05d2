"""Progress for long work: a bar with rate and time left in a terminal, plain lines elsewhere, nothing when quiet."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from countenance.cli.lines import note
from countenance.text import printable

SHORTEST = 0.01
"""Seconds below which no rate is printed."""


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False) -> Iterator[Callable[..., None]]:
    """Yields a function to call after each step: `step()` or `step(n)`."""
    if quiet or not total:
        yield lambda n=1: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            Task,
            TimeRemainingColumn,
        )
        from rich.text import Text

        class Rate(ProgressColumn):
            def render(self, task: Task) -> Text:
                return Text(f"{task.speed or 0:.1f}/s")

        columns = ("{task.description}", BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(escape(printable(what)), total=total)
            yield lambda n=1: bar.update(task, advance=n)
    else:
        yield _plain_lines(what, total)


def _plain_lines(what: str, total: int) -> Callable[..., None]:
    start = last = time.monotonic()
    done = 0

    def step(n: int = 1) -> None:
        nonlocal done, last
        done += n
        now = time.monotonic()
        if done == total or now - last >= 10:
            last = now
            seconds = now - start
            if seconds < SHORTEST:  # nothing was left to do, so a rate would mislead
                note(f"{what}: {done}/{total}")
                return
            note(f"{what}: {done}/{total}, {done / seconds:.1f}/s, {(total - done) * seconds / done:.0f} s left")

    return step
