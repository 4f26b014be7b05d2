"""The methods by name; each lives in one file and is imported when asked for."""

from importlib import import_module
from typing import Any

from countenance.errors import InputError
from countenance.suites.happyfaces.interface import Method

METHODS = {
    "erm": ("erm", "ERM"),
    "divdis": ("divdis", "DivDis"),
    "dbat": ("dbat", "DBat"),
    "topk": ("topk", "TopK"),
    "topk-exp": ("topk", "TopKExponential"),
    "spatial": ("spatial", "SpatialDiscovery"),
    "spatial-deep": ("spatial", "SpatialDiscoveryDeep"),
    "spatial-topk": ("spatial_topk", "SpatialThenTopK"),
}


def make_method(name: str, seed: int = 0, **options: Any) -> Method:
    """A method by name.

    >>> make_method("spatal")
    Traceback (most recent call last):
    countenance.errors.InputError: method 'spatal' is not known (did you mean spatial...
    """
    if name not in METHODS:
        from countenance.data.tables import near

        raise InputError(f"method {name!r} is not known{near(name, tuple(METHODS))}; there are {', '.join(METHODS)}")
    module, kind = METHODS[name]
    made: Method = getattr(import_module(f"{__name__}.{module}"), kind)(seed=seed, **options)
    return made
