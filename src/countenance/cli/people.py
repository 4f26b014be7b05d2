"""`countenance people`: where the embedded population comes from."""

from countenance.cli.settings import Commands
from countenance.errors import InputError

app = Commands("The rendered people that come with the package.")
RENDERER = (
    "rendering is a project of its own, in the folder people of the repository: pip install ./people, then "
    "countenance-people render --n 40 --out more"
)


@app.callback()
def _group() -> None:
    """The rendered people that come with the package."""


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def render() -> None:
    """Print how to render more people."""
    raise InputError(RENDERER)
