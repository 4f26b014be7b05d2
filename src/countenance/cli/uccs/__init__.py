"""`countenance uccs`: the challenge's commands, with the original's options."""

import typer

from countenance.cli.uccs import baseline, evaluate

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="UCCS challenge: detect and recognise faces in an open set, evaluate and check submissions.",
)
app.add_typer(baseline.app)
app.add_typer(evaluate.app)
