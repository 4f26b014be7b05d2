"""The data on which a model is fitted before it predicts: arrays, with no hint at what it will predict."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FitContext:
    """Everything that a model sees when it is fitted: arrays by name.

    >>> FitContext({"labels": np.array([1, 0])})["labels"].tolist()
    [1, 0]
    """

    arrays: Mapping[str, NDArray[np.generic]]

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        return self.arrays[name]

    def copied(self) -> "FitContext":
        """The same data in separate arrays, since a model may write to its input."""
        return FitContext({name: array.copy() for name, array in self.arrays.items()})


@dataclass(frozen=True)
class FitInput:
    """The data that a task passes to a model that is fitted first.

    >>> FitInput(FitContext({"pictures": np.zeros((2, 8, 8, 3))}), seen=frozenset({"a", "b"})).seen == {"a", "b"}
    True
    """

    context: FitContext
    seen: frozenset[str] = frozenset()
    """The samples that the arrays show: they are not evaluated, and the model never learns their names."""
