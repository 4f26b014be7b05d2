"""Errors because of wrong input, as distinct from bugs.

The command line prints an `InputError` as one line and exits with 2; anything else is our bug (exit 3).
"""

import importlib
from typing import Any


class InputError(ValueError):
    """The user's input is wrong. The message names the place, what was found, what was expected, the remedy.

    >>> import countenance as ct
    >>> ct.audit([1, 0], by="group")
    Traceback (most recent call last):
    countenance.errors.InputError: table: found list, expected a path (...), a pyarrow Table, ...
    """


class DataError(InputError):
    """A dataset, a table or a picture is not as expected.

    >>> issubclass(DataError, InputError)
    True
    """


class ModelError(InputError):
    """A model, its weights or its predictions are not as expected.

    >>> issubclass(ModelError, InputError)
    True
    """


class RunError(InputError):
    """A run is damaged, unfinished, foreign or of another kind.

    >>> issubclass(RunError, InputError)
    True
    """


class OptionError(InputError):
    """An argument has a wrong name or value; the command line shows flags in place of the names in `arguments`.

    >>> OptionError("workers", "workers is 0, expected at least 1").argument
    'workers'
    """

    def __init__(self, argument: str, problem: str, *further: str) -> None:
        super().__init__(problem)
        self.argument, self.arguments = argument, (argument, *further)


class CannotAnswer(Exception):
    """A model's own assumption fails on these data, and it says so instead of answering; no error of the run.

    >>> raise CannotAnswer("all photos are of one type")
    Traceback (most recent call last):
    countenance.errors.CannotAnswer: all photos are of one type
    """


class GateFailed(Exception):
    """A run did not pass a gate (exit 1)."""


class MissingExtra(InputError):
    """An optional package is not installed; the message names the command that installs it.

    >>> raise MissingExtra("a picture of it", "plots")
    Traceback (most recent call last):
    countenance.errors.MissingExtra: a picture of it needs an optional part: pip install 'countenance[plots]'
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional part: pip install 'countenance[{extra}]'")


def optional(module: str, what: str, extra: str) -> Any:
    """A module that comes with an extra; where it is not installed, the error names the extra.

    >>> optional("math", "a root", "roots").sqrt(4)
    2.0
    >>> optional("no_such_module", "a root", "roots")
    Traceback (most recent call last):
    countenance.errors.MissingExtra: a root needs an optional part: pip install 'countenance[roots]'
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(what, extra) from None


def opencv(what: str) -> Any:
    """OpenCV, which only some detectors and FHIBE's polygons need."""
    return optional("cv2", what, "opencv")
