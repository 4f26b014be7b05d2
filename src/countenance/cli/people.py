"""`countenance people`: where the embedded population comes from."""

from countenance.cli.settings import Commands
from countenance.errors import InputError

app = Commands("The people who do not exist.")
RENDERER = (
    "rendering is a project of its own, in the folder people of the repository: pip install ./people, then "
    "countenance-people render --n 40 --out more"
)


@app.callback()
def _group() -> None:
    """The people who do not exist."""


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def render() -> None:
    """Say how more people are rendered."""
    raise InputError(RENDERER)
