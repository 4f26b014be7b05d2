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
        help="The run: a folder or s3://bucket/prefix; the same command again goes on where it stopped.",
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
    from countenance.report.evidence import EVIDENCE
    from countenance.run.store import REPORT

    def write(path: Path | None) -> Path:
        return write_evidence(run, path) if evidence else write_report(run, path, gallery=gallery)

    if out is not None or not is_url(run.place):
        return str(write(out).resolve())
    import tempfile

    name = EVIDENCE if evidence else REPORT
    with tempfile.TemporaryDirectory(prefix="countenance-report-") as folder:
        page = write(Path(folder) / name)
        with run.store.replacing(name):
            run.store.storage.write(name, page.read_bytes())
    return f"{run.place}/{name}"


def purge_url(place: str, subjects: Path) -> list[str]:
    """Remove people from the runs at a URL; sentences on what was done."""
    from countenance.report.numbers import plural
    from countenance.run.purge import purge, read_subjects
    from countenance.run.store import REPORT

    def again(run: "Run", journal: dict[str, Any]) -> list[str]:
        if REPORT not in journal["files"] or not run.store.storage.has("audit.json"):
            return []
        write_page(run)
        return [REPORT]

    done = purge(place, read_subjects(subjects), again)
    people, images = plural(done.people, "person", "people"), plural(done.images, "image")
    lines = [f"removed {people}, {images} and {plural(done.rows, 'row')} from {place}"]
    if done.unknown:
        lines.append(f"not in this run: {plural(len(done.unknown), 'id')}")
    if done.made_again:
        lines.append("made again: " + ", ".join(done.made_again))
    return lines
