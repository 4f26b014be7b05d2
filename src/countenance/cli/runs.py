"""Commands about finished runs: verify."""

import typer

from countenance.cli.places import RunPlace
from countenance.errors import InputError

MOST_PROBLEMS = 20


def verify(run: RunPlace) -> None:
    """Check that every file of a run has the content that was written (exit 0: intact, 2: damaged)."""
    from countenance.run.store import RunStore
    from countenance.run.verify import verify as check

    found = check(RunStore(run))
    if found.problems:
        for problem in found.problems[:MOST_PROBLEMS]:
            typer.echo(f"damaged  {problem}")
        more = len(found.problems) - MOST_PROBLEMS
        if more > 0:
            typer.echo(f"         and {more} more")
        count = "1 problem" if len(found.problems) == 1 else f"{len(found.problems)} problems"
        raise InputError(f"{run}: {count}; the same `countenance run` command repairs what it can")
    if found.hashed:
        typer.echo(f"intact   {found.files} files of {run} have the content that was written")
    else:
        typer.echo(f"readable {found.files} tables of {run}; the run was made before hashes were kept")


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(verify)
