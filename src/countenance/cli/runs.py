"""Commands about finished runs: verify, purge."""

from pathlib import Path
from typing import Annotated

import typer

from countenance.cli.lines import say
from countenance.cli.places import RunPlace
from countenance.cli.trust_options import DataPlaces, TrustCode, data_of
from countenance.errors import InputError

MOST_NAMED = 10


def verify(run: RunPlace) -> None:
    """Check that every file of a run has the content that was written (exit 0: intact, 2: damaged)."""
    from countenance.run.store import RunStore
    from countenance.run.verification import verify as check

    verification = check(RunStore(run))
    if verification.problems:
        for problem in verification.problems:
            say(f"damaged  {problem}")
        count = "1 problem" if len(verification.problems) == 1 else f"{len(verification.problems)} problems"
        raise InputError(f"{run}: {count}; the same `countenance run` command repairs what it can")
    say(f"intact   {verification.files} files of {run} have the content that was written")


def purge(
    run: RunPlace,
    subjects: Annotated[
        Path,
        typer.Option(help="A file with one id on each line, or a CSV with a column subject_id, identity or subject."),
    ],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Change nothing; list the files that would change and those that would stay."),
    ] = False,
    data_at: DataPlaces = None,
    trust_code: TrustCode = False,
) -> None:
    """Remove people who withdrew from a run, and recompute its scores, results, findings and reports."""
    from countenance.report import rewrite_pages
    from countenance.report.numbers import plural
    from countenance.run.purge import purge as remove
    from countenance.run.subjects import read_subjects

    done = remove(
        run, read_subjects(subjects), rewrite_pages, dry_run=dry_run, trust_code=trust_code, data=data_of(data_at)
    )
    people, images = plural(done.people, "person", "people"), plural(done.images, "image")
    say(f"{'would remove' if dry_run else 'removed'} {people}, {images} and {plural(done.rows, 'row')} from {run}")
    for name in done.files:
        say(f"changes  {name}")
    if done.unknown:
        more = ", …" if len(done.unknown) > MOST_NAMED else ""
        say(f"not in this run: {plural(len(done.unknown), 'id')} ({', '.join(done.unknown[:MOST_NAMED])}{more})")
    if len(done.runs) > 1:
        say(f"in       {', '.join(done.runs)}")
    if done.made_again:
        say("recomputed: " + ", ".join(dict.fromkeys(done.made_again)))
    if done.removed:
        say("removed, since they may show somebody: " + ", ".join(dict.fromkeys(done.removed)))
    for name in done.left:
        say(f"left     {name} (not ours; check whether it shows somebody)")
    say("Copies of reports and outputs elsewhere, and the dataset itself, must be cleaned by hand.")


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (verify, purge):
        app.command()(command)
