"""`countenance doctor`: the installation, the settings, and files of killed processes (which are removed)."""

import os
import platform
import sys
from importlib.util import find_spec

import typer

import countenance
from countenance.cli.lines import say
from countenance.errors import InputError

SUPPORTED = ("linux", "darwin")
TELLING = {
    "opencv": "cv2",
    "torch": "torch",
    "dlib": "dlib",
    "s3": "obstore",
    "ray": "ray",
    "view": "fastapi",
    "large": "duckdb",
    "interactive": "plotly",
    "plots": "fpdf",
    "pandas": "pandas",
    "hub": "huggingface_hub",
}
"""For each optional part a module that is installed exactly where the part is."""


def doctor() -> None:
    """Show what is installed and set on this machine, and remove files that killed commands left behind."""
    wrong = 0
    for name, make in PARTS.items():
        try:
            say(f"{name:9} {make()}")
        except InputError as error:
            wrong += 1
            say(f"{name:9} WRONG: {error}")
    if wrong:
        raise InputError(f"{_count(wrong, 'setting is', 'settings are')} wrong; see above")


def _version() -> str:
    python = f"Python {platform.python_version()}"
    return f"countenance {countenance.__version__}, {python}, {platform.system()} ({_support()})"


def _support() -> str:
    if sys.platform in SUPPORTED:
        return "supported"
    from countenance.worker_process import NO_WORKERS

    return NO_WORKERS


def _temporary() -> str:
    from countenance.scratch import is_private, root, sweep, swept

    sweep()
    leftovers = swept()
    left = f"removed what {_count(leftovers.removed, 'killed command', 'killed commands')} left"
    left += (
        f" and {_count(leftovers.files, 'unfinished file', 'unfinished files')} elsewhere" if leftovers.files else ""
    )
    state = left if leftovers.removed else "nothing was left behind"
    if root().exists() and not is_private(root()):
        state += "; others can use this folder, so it is not used: remove it"
    return f"{root()}: {state}; {_count(leftovers.at_work, 'command', 'commands')} at work"


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _secret() -> str:
    from countenance.run.trust import STATE, kept_secret, state_folder

    place = state_folder() / "secret"
    if kept_secret() is not None:
        return f"{place}: kept, so that runs made here can be told from others"
    return f"{place}: cannot be kept, so later commands treat runs made here as made elsewhere; set {STATE} to a folder"


def _limits() -> str:
    from countenance.data.image import max_pixels
    from countenance.data.paths import MAX_UNPACKED
    from countenance.decoding import MEMORY, setting

    unpacked, memory = setting("COUNTENANCE_MAX_UNPACKED", MAX_UNPACKED), setting("COUNTENANCE_MAX_MEMORY", MEMORY)
    return (
        f"pictures {max_pixels():,} pixels (COUNTENANCE_MAX_PIXELS), archives {unpacked:,} bytes "
        f"(COUNTENANCE_MAX_UNPACKED), tables {memory:,} bytes (COUNTENANCE_MAX_MEMORY)"
    )


def _parts() -> str:
    missing = [name for name, module in TELLING.items() if find_spec(module) is None]
    there = ", ".join(name for name in TELLING if name not in missing) or "none"
    remedy = f"; not installed: {', '.join(missing)} (pip install 'countenance[{missing[0]}]')" if missing else ""
    return f"installed: {there}{remedy}"


def _store() -> str:
    from countenance.storage.s3 import address

    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    keys = ", ".join(name for name in names if os.environ.get(name))
    return f"{address() or 'Amazon S3'}; set: {keys or 'no credentials'}"


PARTS = {
    "version": _version,
    "temporary": _temporary,
    "secret": _secret,
    "limits": _limits,
    "parts": _parts,
    "store": _store,
}


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(doctor)
