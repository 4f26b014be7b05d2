"""Models of other libraries, given as objects: recognised by the object itself, adapted to the task.

No library is imported unless the object comes from it. Each module of this package has one function
`adapt(model, request)`, which returns the adapted model or refuses it with the remedy.
"""

from importlib import import_module
from typing import Any

from countenance.answers.libraries import library_of
from countenance.models.adapters.base import AdaptedModel, Request

__all__ = ["AdaptedModel", "Request", "adapt"]


def adapt(model: Any, request: Request) -> AdaptedModel | None:
    """The model as the engine calls it, with its card; None for objects of other libraries."""
    library = library_of(model)
    if library is None:
        return None
    adapted: AdaptedModel = import_module(f"countenance.models.adapters.{library}").adapt(model, request)
    return adapted
