"""The methods by name; each is in one file, imported on use. A custom method is `module:attr`."""

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.loading import load_code
from countenance.suites.happyfaces.interface import CannotAnswer, Floats, Heads, Labels, Method, Pictures

METHODS = {
    "erm": ("erm", "ERM"),
    "divdis": ("divdis", "DivDis"),
    "dbat": ("dbat", "DBat"),
    "topk": ("topk", "TopK"),
    "topk-exp": ("topk", "TopKExponential"),
    "spatial": ("spatial", "SpatialDiscovery"),
    "spatial-deep": ("spatial", "SpatialDiscoveryDeep"),
    "spatial-landmarks": ("spatial", "SpatialDiscoveryLandmarks"),
    "spatial-topk": ("spatial_topk", "SpatialThenTopK"),
}


def is_code(method: Any) -> bool:
    """Whether a method is code that does not come with the package."""
    return not isinstance(method, str) or ":" in method


def method_name(method: Any) -> str:
    """The name of a method.

    >>> method_name("spatial"), method_name("mine:Heads")
    ('spatial', 'mine:Heads')
    """
    if isinstance(method, str):
        return method
    kind = method if inspect.isclass(method) else type(method)
    return str(getattr(method, "name", None) or kind.__name__)


def make_method(name: Any, seed: int = 0, **options: Any) -> Method:
    """A method by its name, as `module:attr`, or as an object or a class with `fit(labelled, labels, unlabelled)`.

    >>> make_method("spatal")
    Traceback (most recent call last):
    countenance.errors.InputError: method 'spatal' is not known (did you mean spatial...
    """
    if is_code(name):
        target = load_code("method", name) if isinstance(name, str) else name
        return _Foreign(method_name(name), target, seed, options)
    if name not in METHODS:
        known = ", ".join(METHODS)
        raise InputError(f"method {name!r} is not known{near(name, tuple(METHODS))}; there are {known}, or module:attr")
    module, kind = METHODS[name]
    method: Method = getattr(import_module(f"{__name__}.{module}"), kind)(seed=seed, **options)
    return method


class _Foreign:
    """A foreign method: a constructor that takes `seed` gets it, and its return value is checked."""

    def __init__(self, name: str, target: Any, seed: int, options: Mapping[str, Any]) -> None:
        self.name = name
        if inspect.isclass(target) or (callable(target) and not hasattr(target, "fit")):
            with _blamed(name):
                takes = inspect.signature(target).parameters
                target = target(**({"seed": seed} if "seed" in takes else {}), **options)
        if not callable(getattr(target, "fit", None)):
            raise InputError(f"method {name!r}: {type(target).__name__} has no fit(labelled, labels, unlabelled)")
        self.target = target

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        with _blamed(self.name):
            heads = self.target.fit(labelled, labels, unlabelled)
        if not callable(getattr(heads, "predict", None)):
            kind = type(heads).__name__
            raise InputError(f"method {self.name!r}: fit returned {kind}, expected something with predict(photos)")
        notes = getattr(heads, "notes", {})

        def predict(photos: Pictures) -> Floats:
            with _blamed(self.name):
                answers = heads.predict(photos.copy())  # the photos are the same as in every other evaluation
            return checked(answers, len(photos), f"method {self.name!r}: predict returned")

        return Heads(predict, dict(notes) if isinstance(notes, Mapping) else {})


def checked(probabilities: Any, photos: int, place: str) -> Floats:
    """Photos × 2 probabilities; anything else is refused.

    >>> checked([[0.2, 1.0]], 1, "here")
    array([[0.2, 1. ]])
    >>> checked([[2, 0]], 1, "method 'm': predict returned")
    Traceback (most recent call last):
    countenance.errors.InputError: method 'm': predict returned numbers from 0 to 2, expected probabilities from 0 to 1
    """
    try:
        numbers = np.asarray(probabilities, np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{place} {type(probabilities).__name__}, expected {photos} × 2 probabilities") from None
    if numbers.shape != (photos, 2):
        raise InputError(f"{place} an array of {' × '.join(map(str, numbers.shape))}, expected {photos} × 2")
    low, high = numbers.min(initial=0), numbers.max(initial=0)
    if not (low >= 0 and high <= 1):  # nor is NaN
        raise InputError(f"{place} numbers from {low:g} to {high:g}, expected probabilities from 0 to 1")
    return numbers


@contextmanager
def _blamed(name: str) -> Iterator[None]:
    """Turns any error in a foreign method into an error that names it."""
    try:
        yield
    except (InputError, CannotAnswer):
        raise
    except (Exception, SystemExit) as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise InputError(f"method {name!r} raised {type(error).__name__}: {first}") from error
