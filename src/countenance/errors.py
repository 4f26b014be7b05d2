"""What goes wrong because of the input, told apart from what goes wrong because of us.

The command line prints an `InputError` as one line and exits with 2; anything else is our bug (exit 3).
"""


class InputError(ValueError):
    """The user's input is wrong. The message names the place, what was found, what was expected, the remedy."""


class GateFailed(Exception):
    """A gate was asked for and the run did not pass it (exit 1)."""


class MissingExtra(InputError):
    """An optional part is not installed; the message is the one command that installs it.

    >>> raise MissingExtra("rendering people", "render")
    Traceback (most recent call last):
    countenance.errors.MissingExtra: rendering people needs an optional part: pip install 'countenance[render]'
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'countenance[{extra}]'")
