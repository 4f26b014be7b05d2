"""Runs in a folder or at a URL (s3://bucket/prefix), as arguments and options of commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.storage import is_url, place_of

if TYPE_CHECKING:
    from countenance.run import Run

RunPlace = Annotated[
    Any, typer.Argument(help="A run: its folder or its URL (s3://bucket/prefix).", metavar="RUN", parser=place_of)
]
OutPlace = Annotated[
    Any,
    typer.Option(
        "--out",
        help="The run: a folder or s3://bucket/prefix; the same command again resumes it.",
        metavar="RUN",
        parser=place_of,
    ),
]


def is_run(place: Path | str) -> bool:
    """Whether a place can hold a run: a folder or a URL, not a file."""
    return is_url(place) or Path(place).is_dir()


def write_page(run: "Run", out: Path | None = None, *, gallery: str = "auto", evidence: bool = False) -> str:
    """Write the report, or the evidence page, into the run or to the file named, and return where it is."""
    from countenance.report import write_evidence, write_report

    page = write_evidence(run, out) if evidence else write_report(run, out, gallery=gallery)
    return str(page.resolve()) if out is not None or not is_url(run.place) else f"{run.place}/{page}"
