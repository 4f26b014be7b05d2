"""Lines for the terminal. Names come from foreign files, so what could steer a terminal is shown as its code."""

import typer


def printable(text: str) -> str:
    """The text with control characters as codes; lines and tabs stay.

    >>> printable("red" + chr(27) + "[31m") == "red" + chr(92) + "x1b[31m"
    True
    """
    return "".join(sign if sign.isprintable() or sign in "\n\t" else _code(sign) for sign in text)


def _code(sign: str) -> str:
    return sign.encode("unicode_escape").decode()


def say(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a line, to the standard error where `err`."""
    typer.echo(printable(str(text)), err=err, nl=nl)
