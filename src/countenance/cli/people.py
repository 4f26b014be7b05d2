"""`countenance people`: render more of the embedded population."""

from pathlib import Path
from typing import Annotated

import typer

from countenance.cli.lines import say
from countenance.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Render people who do not exist.", rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Render people who do not exist."""


@app.command()
def render(
    n: Annotated[int, typer.Option(min=1, help="How many portraits.")],
    out: Annotated[Path, typer.Option(help="A folder; an interrupted rendering goes on in it.")],
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same pictures.")] = 1,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Render portraits with every truth about them, in the format of the shipped people."""
    from countenance.cli.progress import progress
    from countenance.data.people.render import render as render_people

    if out.exists() and any(out.iterdir()) and not (out / ".truth").is_dir() and not (out / "samples.parquet").exists():
        raise InputError(f"{out}: holds something else; name a folder that is new or empty")
    with progress("rendering", n, quiet=quiet) as step:
        done = 0

        def tell(now: int, total: int, sample: str) -> None:
            nonlocal done
            step(now - done)
            done = now

        render_people(n, seed, out, workers=workers, progress=tell)
    say(f"{n} portraits in {out}; look at them: countenance data show {out} --out {out}/sheet.html")
