"""Lines for the terminal. What could steer a terminal is shown as its code, and credentials are not shown."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from countenance.text import printable, redacted


class Stopped(Exception):
    """Ctrl-C, where the command has said itself what it means."""


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a line, to the standard error where `err`. Everything that the commands print goes through here."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    clean = printable(redacted(str(text))).encode(encoding, "backslashreplace")
    try:
        typer.echo(clean.decode(encoding), err=err, nl=nl)
    except BrokenPipeError:
        mute(stream)


def mute(stream: Any) -> None:
    """Send what a stream still gets to nowhere: its reader is gone (`… | head -1`), and that is no result of ours."""
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def flushed() -> None:
    """Write out what is left, so that a reader who is gone does not become the exit code of the interpreter."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # it was closed before we began (`… >&-`)
            continue
        try:
            stream.flush()
        except BrokenPipeError:
            mute(stream)


def note(line: object) -> None:
    """Print a line to the standard error: what a command says beside its result."""
    say(line, err=True)
