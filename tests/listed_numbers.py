"""Every number that a package names or assumes: constants of its modules, defaults of its functions and records."""

import ast
import dataclasses
import importlib
import inspect
import math
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np


def _modules(package: str) -> Iterator[tuple[str, ModuleType]]:
    start = f"countenance.{package}."
    whole = importlib.import_module(start[:-1])
    for found in pkgutil.walk_packages(whole.__path__, start):
        yield found.name.removeprefix(start), importlib.import_module(found.name)


def _plain(value: Any) -> Any:
    """Arrays as lists, with the numbers as they are written; None for what is no number or has none."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "iuf":
        return [float(str(one)) for one in value]
    if isinstance(value, dict):
        return value if value and all(isinstance(one, int | float) for one in value.values()) else None
    if isinstance(value, tuple | list):
        return value if value and all(_plain(one) is not None for one in value) else None
    return value if isinstance(value, int | float) and not math.isnan(value) else None


def constants(package: str) -> dict[str, Any]:
    """By module and name, what modules of a package assign to names outside of functions."""
    found = {}
    for place, module in _modules(package):
        for node in ast.parse(inspect.getsource(module)).body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", ast.Pass())]
            for name in (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)):
                if (value := _plain(getattr(module, name, None))) is not None:
                    found[f"{place}.{name}"] = value
    return found


def _assumed(module: ModuleType) -> Iterator[tuple[str, str, Any]]:
    """Function or class, name of the parameter or field, and its default."""
    for one in vars(module).values():
        if getattr(one, "__module__", None) != module.__name__:
            continue
        if fields := getattr(one, "_field_defaults", None) or getattr(one, "__pydantic_fields__", None):
            yield from ((one.__name__, name, getattr(field, "default", field)) for name, field in fields.items())
        elif inspect.isclass(one) and dataclasses.is_dataclass(one):
            yield from ((one.__name__, field.name, field.default) for field in dataclasses.fields(one))
        for member in vars(one).values() if inspect.isclass(one) else [one]:
            function = getattr(member, "__func__", member)
            if not inspect.isfunction(function) or function.__module__ != module.__name__:
                continue
            if function.__name__ not in ("__init__", "__new__"):
                for name, parameter in inspect.signature(function).parameters.items():
                    yield function.__qualname__, name, parameter.default


def defaults(package: str) -> dict[str, Any]:
    """By the name of a parameter or field its default; by function too where functions differ."""
    by_name: dict[str, dict[str, Any]] = {}
    for _, module in _modules(package):
        for owner, name, value in _assumed(module):
            if isinstance(value, int | float) and math.isfinite(value):
                by_name.setdefault(name, {})[owner] = value
    return {
        name: values if len({repr(one) for one in values.values()}) > 1 else next(iter(values.values()))
        for name, values in by_name.items()
    }
