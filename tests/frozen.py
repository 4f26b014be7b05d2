"""Which dataclasses of a package can be changed after they are made."""

import dataclasses
import importlib
import inspect
import pkgutil
from types import ModuleType


def unfrozen(package: ModuleType, without: tuple[str, ...] = ()) -> set[str]:
    """The names of those classes; modules whose names hold one of `without` are not looked at."""
    found = set()
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not any(part in module.name for part in without):
            found |= {
                name
                for name, one in vars(importlib.import_module(module.name)).items()
                if inspect.isclass(one) and dataclasses.is_dataclass(one) and one.__module__ == module.name
                if not one.__dataclass_params__.frozen
            }
    return found
