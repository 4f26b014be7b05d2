"""Loads anything by name: a registered name, `module:attr`, or `path.py:attr`.

Kinds are task, model, dataset, format, suite and method. Each kind keeps the table of its own names; other packages add
theirs by the entry points `countenance.tasks`, `countenance.models`, ….
"""

import hashlib
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from countenance.errors import InputError
from countenance.text import kind_and_words


def plugins(kind: str) -> dict[str, EntryPoint]:
    """The names of a kind that installed packages add.

    >>> "mask_fairness" in plugins("suite")
    True
    """
    return _installed(f"countenance.{kind}s", tuple((place, _changed(place)) for place in sys.path))


@cache
def _installed(group: str, _path: tuple[tuple[str, int], ...]) -> dict[str, EntryPoint]:
    """The entry points of a group; looked for again where the path has changed, or what is installed in its folders."""
    return {point.name: point for point in entry_points(group=group)}


def _changed(place: str) -> int:
    try:
        return Path(place).stat().st_mtime_ns
    except OSError:
        return 0


def registered_names(kind: str, own: Mapping[str, str]) -> list[str]:
    """All names of a kind: the package's own (each with its `module:attr`) and those of installed packages."""
    return sorted({*own, *plugins(kind)})


def load_registered(kind: str, name: str, own: Mapping[str, str], *, hint: str = "") -> Any:
    """The object behind a registered name; an unknown name is refused with the nearest known one.

    >>> load_registered("task", "root", {"root": "math:sqrt"})(4.0)
    2.0
    >>> load_registered("task", "rot", {"root": "math:sqrt"})
    Traceback (most recent call last):
    countenance.errors.InputError: no task 'rot' (did you mean root?); there are ...
    """
    if name in own:
        module, _, attribute = own[name].partition(":")
        return getattr(import_module(module), attribute)
    others = plugins(kind)
    if name in others:
        return others[name].load()
    known = sorted({*own, *others})
    raise InputError(f"no {kind} {name!r}{_near(name, known)}; there are {', '.join(known)}{hint}")


def is_code(name: str) -> bool:
    """Whether a name refers to code: `module:attr` or `path.py:attr`.

    >>> is_code("my_package.faces:load"), is_code("readers/mine.py:load"), is_code("people:portraits/x"), is_code("a")
    (True, True, False, False)
    """
    before, colon, after = name.rpartition(":")
    if not colon or not all(part.isidentifier() for part in after.split(".")):
        return False
    return before.endswith(".py") or all(part.isidentifier() for part in before.split("."))


def load_code(kind: str, name: str, *, here: bool = True, folder: str | None = None) -> Any:
    """The object that `module:attr` or `path.py:attr` names; the kind appears in messages.

    `here`: modules in the current folder are found too, for a name that the user typed. `folder` is where a relative
    path begins (default: the current folder).

    >>> load_code("model", "math:sqrt")(4.0)
    2.0
    >>> load_code("task", "math:sqr")
    Traceback (most recent call last):
    countenance.errors.InputError: task 'math:sqr': math has no 'sqr' (did you mean sqrt...)
    """
    module_name, _, attribute = name.rpartition(":")
    if here and "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))  # this makes module:attr work for a file in the current folder
    try:
        if module_name.endswith(".py"):
            module = _module_of_file(Path(folder or ".") / module_name)
        else:
            module = import_module(module_name)
    except FileNotFoundError:
        raise InputError(f"{kind} {name!r}: no file {module_name}") from None
    except ModuleNotFoundError as error:
        remedy = "run from its folder or install it" if here else "install it, or name its folder in PYTHONPATH"
        raise InputError(f"{kind} {name!r}: no module {error.name!r}; {remedy}") from None
    except (Exception, SystemExit) as error:
        raise InputError(f"{kind} {name!r}: importing {module_name} failed ({kind_and_words(error)})") from error
    target: Any = module
    for part in attribute.split("."):
        if not hasattr(target, part):
            raise InputError(f"{kind} {name!r}: {module_name} has no {part!r}{_near(part, dir(target))}")
        target = getattr(target, part)
    return target


def _module_of_file(path: Path) -> ModuleType:
    """A Python file as a module, imported once; modules beside it are found."""
    whole = path.resolve(strict=True)
    if str(whole.parent) not in sys.path:
        sys.path.append(str(whole.parent))
    name = f"{whole.stem}_{hashlib.sha256(str(whole).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, whole)
    if spec is None or spec.loader is None:
        raise InputError(f"{path}: not a Python file")
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _near(name: str, known: list[str]) -> str:
    from countenance.data.tables import near

    return near(name, known)
