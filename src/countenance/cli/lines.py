"""Lines for the terminal. Control characters are shown as codes, and credentials are left out."""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from countenance.text import printable, redacted


class Stopped(Exception):
    """Ctrl-C, where the command has already printed its own message."""


COLOURS = {
    "severe": "red",
    "minor": "yellow",
    "unsure": "blue",
    "none": "green",
    "differs": "white",
    "favoured": "cyan",
    "untested": "bright_black",
}
"""The colour of each mark of a verdict, as the pages have them."""


class PaintedText(str):
    """Text with the mark of a verdict, which a terminal shows in the mark's colour, and a shorter form of it."""

    mark: str
    short: str

    def __new__(cls, text: str, mark: str = "", short: str = "") -> "PaintedText":
        """The text; a mark that is not known has no colour."""
        cell = super().__new__(cls, text)
        cell.mark, cell.short = mark, short or text
        return cell


class PaintedLine(str):
    """A line of several texts, some of them in the colour of a verdict.

    >>> PaintedLine(["verdict  ", PaintedText("disparity", "severe")])
    'verdict  disparity'
    """

    parts: tuple[str, ...]

    def __new__(cls, parts: Sequence[str]) -> "PaintedLine":
        """The texts one after the other."""
        line = super().__new__(cls, "".join(parts))
        line.parts = tuple(parts)
        return line


def coloured(stream: Any) -> bool:
    """Whether a stream takes colours: a terminal, unless NO_COLOR is set; FORCE_COLOR asks for them anywhere."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """How wide the terminal is; None where the output goes to a file or another program, which gets whole lines."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()
    return max(40, shutil.get_terminal_size().columns) if is_terminal else None


def wrapped(label: str, text: str, columns: int | None = None) -> list[str]:
    """A sentence behind its label, on as many lines as a width takes.

    >>> wrapped("note", "one two three, four five", 30)
    ['note     one two three, four', '         five']
    """
    if columns is None:
        return [f"{label:8} {text}"]
    inside = textwrap.wrap(text, max(20, columns - 9), break_long_words=False, break_on_hyphens=False) or [""]
    return [f"{label if not i else '':8} {part}" for i, part in enumerate(inside)]


def say(text: object = "", *, err: bool = False, nl: bool = True, redact: bool = True) -> None:
    """Print a line, to the standard error where `err`. Everything that the commands print goes through here.

    Credentials are left out; the address of the viewer with the token of this start is the only line that needs them.
    """
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    paint = isinstance(text, PaintedLine) and coloured(stream)
    pieces = []
    for part in text.parts if isinstance(text, PaintedLine) else (str(text),):
        clean = printable(redacted(part) if redact else part).encode(encoding, "backslashreplace").decode(encoding)
        colour = COLOURS.get(part.mark) if paint and isinstance(part, PaintedText) else None
        pieces.append(typer.style(clean, fg=colour) if colour else clean)
    try:
        typer.echo("".join(pieces), err=err, nl=nl, color=paint or None)
    except BrokenPipeError:
        mute(stream)


def mute(stream: Any) -> None:
    """Discard what is still written to a stream whose reader has ended (`… | head -1`); the command has not failed."""
    with suppress(OSError, ValueError), Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def flushed() -> None:
    """Write out the remaining output, so that a closed reader does not become the interpreter's exit code."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # it was closed before we began (`… >&-`)
            continue
        try:
            stream.flush()
        except BrokenPipeError:
            mute(stream)


def note(line: object) -> None:
    """Print a line to the standard error: notes beside the result of a command, with flags for arguments."""
    from countenance.cli.settings import in_flags  # imported here because settings import this module

    say(in_flags(str(line)), err=True)
