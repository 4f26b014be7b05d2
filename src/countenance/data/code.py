"""A user's own code, named as `package.module:attr`: a model or a task from a file beside them."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from countenance.data.tables import near
from countenance.errors import InputError


def load_code(kind: str, name: str) -> Any:
    """What `module:attr` names; `kind` (model, task) is for the messages.

    >>> load_code("model", "math:sqrt")(4.0)
    2.0
    >>> load_code("task", "math:sqr")
    Traceback (most recent call last):
    countenance.errors.InputError: task 'math:sqr': math has no 'sqr' (did you mean sqrt...)
    """
    module_name, _, attribute = name.partition(":")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # a user's own file beside them is what module:attr is for
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(f"{kind} {name!r}: no module {error.name!r}; run from its folder or install it") from None
    except (Exception, SystemExit) as error:
        problem = f"{type(error).__name__}: {error}"
        raise InputError(f"{kind} {name!r}: importing {module_name} failed ({problem})") from error
    target: Any = module
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise InputError(f"{kind} {name!r}: {module_name} has no {part!r}{near(part, dir(target))}")
        target = getattr(target, part)
    return target
