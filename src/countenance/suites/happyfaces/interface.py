"""The interface of a method: pixels and the labelled labels in, two heads out; it gets no other data.

heads = method.fit(labelled, labels, unlabelled)
heads.predict(photos)        # photos × 2: each head's probability of "happy"
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countenance.errors import CannotAnswer as CannotAnswer

Pictures = NDArray[np.uint8]
Labels = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True)
class Heads:
    """Two heads, in no particular order, and the method's notes on them."""

    predict: Callable[[Pictures], Floats]
    """Photos × 2 probabilities."""
    notes: dict[str, Any] = field(default_factory=dict)
    """Plain JSON values: settings chosen, estimated mix rate, where the heads look."""


class Method(Protocol):
    """Any object with a name that fits two heads."""

    name: str

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Labelled photos (photos × height × width × 3), their labels (1 happy, 0 sad), unlabelled photos."""
        ...
