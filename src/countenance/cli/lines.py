"""Lines for the terminal. Names come from foreign files, so what could steer a terminal is shown as its code."""

import sys

import typer

from countenance.text import printable


class Stopped(Exception):
    """Ctrl-C, where the command has said itself what it means."""


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a line, to the standard error where `err`. Everything that the commands print goes through here."""
    stream = sys.stderr if err else sys.stdout
    encoding = getattr(stream, "encoding", None) or "utf-8"
    clean = printable(str(text)).encode(encoding, "backslashreplace")
    typer.echo(clean.decode(encoding), err=err, nl=nl)


def note(line: object) -> None:
    """Print a line to the standard error: what a command says beside its result."""
    say(line, err=True)
