"""States of a reducer as bytes and on disk: arrays by name, without pickle.

A worker stores the state of its shard beside the shard; the process that finishes the run reads them in order.
"""

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.scratch import temporary_file

State = Mapping[str, NDArray[Any]]
LENGTH = 8
"""Bytes that say how long the description of the arrays is."""
PLAIN = re.compile(r"[<>|=][biufcmMSUV][0-9]+(\[\w+\])?")
"""Types of arrays of numbers, texts, truth values or times."""


class Unstorable(ValueError):
    """A state holds arrays that are not of plain numbers or texts."""


class _Place(NamedTuple):
    """The place of an array in some bytes."""

    dtype: str
    shape: tuple[int, ...]
    start: int

    @property
    def size(self) -> int:
        return int(np.dtype(self.dtype).itemsize) * math.prod(self.shape)

    def of(self, content: bytes) -> NDArray[Any]:
        return np.frombuffer(content, self.dtype).reshape(self.shape).copy()  # one that may be written on


def state_to_bytes(state: State) -> bytes:
    """A state as bytes; equal states have equal bytes. Unstorable: an array not of numbers or texts.

    >>> state_from_bytes(state_to_bytes({"n": np.array([1, 2])}))
    {'n': array([1, 2])}
    """
    arrays = {str(name): np.ascontiguousarray(array) for name, array in state.items()}
    for name, array in arrays.items():
        if array.dtype.hasobject or array.dtype.names:
            raise Unstorable(f"{name}: an array of {array.dtype}, expected numbers, texts or truth values")
    about = json.dumps([[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]).encode()
    return b"".join([len(about).to_bytes(LENGTH, "little"), about, *(array.tobytes() for array in arrays.values())])


def state_from_bytes(content: bytes) -> State:
    """The state that `state_to_bytes` wrote; ValueError when the bytes are damaged."""
    return {name: place.of(content[place.start : place.start + place.size]) for name, place in _places(content).items()}


def _places(content: bytes) -> dict[str, _Place]:
    start = LENGTH + int.from_bytes(content[:LENGTH], "little")
    places = {}
    try:
        for name, dtype, shape in json.loads(content[LENGTH:start]):
            sides = tuple(map(index, shape))
            if not PLAIN.fullmatch(dtype) or min(sides, default=0) < 0:  # the next arrays would lie over this one
                raise ValueError(f"an array of {dtype} with the sides {shape}")
            places[str(name)] = _Place(dtype, sides, start)
            start += places[str(name)].size
    except (TypeError, OverflowError, RecursionError) as error:
        raise ValueError(f"not a description of arrays ({error})") from None
    if start != len(content):
        raise ValueError(f"{len(content)} bytes, expected {start}")
    return places


class Spool(Mapping[str, NDArray[Any]]):
    """States in a temporary file, in the order in which they came. As a mapping it has their arrays, joined.

    Memory holds only the places of the arrays, some hundred bytes for each state.

    >>> with Spool() as spool:
    ...     spool.add({"a": np.array([1])})
    ...     spool.add({"a": np.array([2, 3])})
    ...     spool["a"], len(list(spool.states()))
    (array([1, 2, 3]), 2)
    """

    def __init__(self) -> None:
        self._places: list[dict[str, _Place]] = []
        self._end = 0

    def __enter__(self) -> "Spool":
        self._file = temporary_file()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, state: State) -> None:
        """Store a further state."""
        content = state_to_bytes(state)
        self._file.seek(self._end)
        self._file.write(content)
        moved = {name: place._replace(start=place.start + self._end) for name, place in _places(content).items()}
        self._places.append(moved)
        self._end += len(content)

    def states(self, *names: str) -> Iterator[State]:
        """The states one after the other, or only the arrays named."""
        for places in self._places:
            yield {name: self._read(places[name]) for name in (names or places)}

    @property
    def count(self) -> int:
        """How many states there are."""
        return len(self._places)

    def _read(self, place: _Place) -> NDArray[Any]:
        self._file.seek(place.start)
        return place.of(self._file.read(place.size))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if not self._places or name not in self._places[0]:
            raise KeyError(name)
        return np.concatenate([self._read(places[name]) for places in self._places])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places[0] if self._places else ())

    def __len__(self) -> int:
        return len(self._places[0]) if self._places else 0


def merged(states: Iterable[State], merge: Callable[[State, State], State]) -> State | None:
    """All states as one, merged pairwise, like a tree, as they arrive; None without any state.

    No array is copied more than log n times, and at most log n states are held at once.

    >>> merged([{"n": np.array([i])} for i in range(5)], lambda a, b: {"n": np.append(a["n"], b["n"])})
    {'n': array([0, 1, 2, 3, 4])}
    """
    waiting: list[tuple[int, State]] = []  # each with its height in the tree
    for state in states:
        waiting.append((0, state))
        while len(waiting) > 1 and waiting[-2][0] == waiting[-1][0]:
            (height, first), (_, second) = waiting[-2:]
            waiting[-2:] = [(height + 1, merge(first, second))]
    left = [state for _, state in waiting]
    return functools.reduce(lambda second, first: merge(first, second), reversed(left)) if left else None
