"""Average precision of a whole run, of everybody and of each group, from columns on disk.

A detection costs 16 bytes in temporary files (score, image, kind of person found) and a true box 8; memory does not
grow with their number, except for one byte an image while images are resampled, and for the distinct combinations of
people in images.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.detection import RankedDetections, average_precisions
from countenance.scratch import temporary_file
from countenance.tasks.reduce import Reduced, State, Whole
from countenance.tasks.results import Number

MEANING = "COCO's average precision at overlap 0.5 (101 recalls), all images together"
GROUP_MEANING = (
    "average precision at overlap 0.5 of a group's own boxes; boxes that hit somebody else do not count, and one that "
    "hits nobody counts by the group's share of the people in its image (of all people where it shows nobody)"
)
REPLICATES = 200
BLOCK = 131_072
"""Detections that are read at once."""
RUN = 1_048_576
"""Detections that are sorted at once."""
ROW = np.dtype([("score", "<f8"), ("image", "<u4"), ("kind", "<i4")])
"""A detection on disk."""
TRUTH = np.dtype([("image", "<u4"), ("kind", "<i4")])
Group = tuple[str, str]


class DiskColumn:
    """Rows of one kind in a temporary file, written one after the other and read block by block."""

    def __init__(self, dtype: Any) -> None:
        self.dtype, self.rows = np.dtype(dtype), 0

    def __enter__(self) -> "DiskColumn":
        self.file = temporary_file()
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def add(self, rows: NDArray[Any]) -> None:
        """Append rows to those already written."""
        self.file.seek(self.rows * self.dtype.itemsize)
        self.file.write(np.ascontiguousarray(rows, self.dtype).tobytes())
        self.rows += len(rows)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The rows of a range, or fewer at the end."""
        self.file.seek(start * self.dtype.itemsize)
        count = max(min(stop, self.rows) - start, 0)
        return np.frombuffer(self.file.read(count * self.dtype.itemsize), self.dtype)

    def blocks(self, size: int) -> Iterator[NDArray[Any]]:
        """All rows, a block at a time."""
        for start in range(0, self.rows, size):
            yield self.read(start, start + size)


def sorted_by_score(rows: DiskColumn, into: DiskColumn, run: int, block: int) -> None:
    """Write rows, the highest score first; rows of equal score keep their order.

    Each part that fits into memory is sorted. Splitting scores are taken at even distances from every part, and again
    from these: between two neighbouring splits there are at most two blocks of rows, which are sorted together, and
    rows with exactly a splitting score need no sorting.

    >>> with DiskColumn(ROW) as rows, DiskColumn(ROW) as ranked:
    ...     rows.add(np.array([(0.5, 0, 0), (0.9, 1, 0), (0.5, 2, 0), (0.7, 3, 0)], ROW))
    ...     sorted_by_score(rows, ranked, run=2, block=2)
    ...     ranked.read(0, 4)["image"].tolist()
    [1, 3, 0, 2]
    """
    with DiskColumn(ROW) as parts:
        starts, drawn = list(range(0, rows.rows, run)), []
        if not starts:
            return
        step = max(block // len(starts), 1)
        for start in starts:
            part = rows.read(start, start + run)
            part = part[np.argsort(-part["score"], kind="stable")]
            drawn.append(part["score"][::step].copy())  # a view would keep the whole array in memory
            parts.add(part)
        at, chosen = list(starts), np.sort(np.concatenate(drawn))[:: len(starts)]
        for score in [*np.unique(chosen)[::-1].tolist(), -np.inf]:
            above, equal = [], []
            for k, start in enumerate(starts):
                stop = min(start + run, rows.rows)
                first = _first_below(parts, at[k], stop, score, strictly=False)
                last = _first_below(parts, first, stop, score, strictly=True)
                above.append((at[k], first))
                equal.append((first, last))
                at[k] = last
            between = np.concatenate([parts.read(*span) for span in above])
            into.add(between[np.argsort(-between["score"], kind="stable")])
            for low, high in equal:
                for start in range(low, high, block):
                    into.add(parts.read(start, min(start + block, high)))


def _first_below(parts: DiskColumn, low: int, high: int, score: float, *, strictly: bool) -> int:
    """The place of the first of some falling scores that is below `score` (`strictly`), or not above it."""
    while low < high:
        middle = (low + high) // 2
        value = float(parts.read(middle, middle + 1)["score"][-1])
        if value < score or (value == score and not strictly):
            high = middle
        else:
            low = middle + 1
    return low


class Kinds:
    """The combinations of groups that people have, each with a number."""

    def __init__(self, attributes: Sequence[str]) -> None:
        self.attributes = attributes
        self.values: list[dict[tuple[str, ...], int]] = [{} for _ in attributes]
        self.numbers: dict[tuple[int, ...], int] = {}

    def of(self, rows: Any) -> NDArray[np.int32]:
        """The kind of each row of a score table."""
        if not rows.num_rows:  # a table without rows may lack columns too
            return np.zeros(0, np.int32)
        codes = np.zeros((rows.num_rows, len(self.attributes)), np.int64)
        for k, attribute in enumerate(self.attributes):
            known = self.values[k]
            column = rows[f"attr.{attribute}"].combine_chunks()
            if str(column.type) == "string":  # each different word once
                encoded = column.dictionary_encode()
                words = [known.setdefault((word,), len(known)) for word in encoded.dictionary.to_pylist()]
                none = known.setdefault((), len(known)) if column.null_count else 0
                codes[:, k] = np.array([*words, none])[encoded.indices.fill_null(len(words)).to_numpy()]
            else:
                values = (tuple(map(str, _each(value))) for value in column.to_pylist())
                codes[:, k] = [known.setdefault(value, len(known)) for value in values]
        different, place = np.unique(codes, axis=0, return_inverse=True)
        numbers = [self.numbers.setdefault(tuple(row), len(self.numbers)) for row in different.tolist()]
        return np.array(numbers, np.int32)[place.ravel()]

    def groups(self) -> dict[Group, NDArray[np.bool_]]:
        """For each attribute and value, which kinds have it."""
        members: dict[Group, NDArray[np.bool_]] = {}
        for k, attribute in enumerate(self.attributes):
            values = {code: value for value, code in self.values[k].items()}
            for group in sorted({name for value in values.values() for name in value}):
                members[attribute, group] = np.array([group in values[codes[k]] for codes in self.numbers])
        return members


class Companies:
    """The combinations of kinds of people in images, each with a number; 0 is an image without people."""

    def __init__(self) -> None:
        self.numbers: dict[bytes, int] = {b"": 0}

    def of(self, owner: NDArray[Any], kind: NDArray[np.int32], images: int) -> NDArray[np.int32]:
        """The combination in each of some images, from the image and the kind of each true box."""
        order = np.lexsort((kind, owner))
        people, ends = kind[order], np.cumsum(np.bincount(owner, minlength=images)).tolist()
        keys = (people[start:stop].tobytes() for start, stop in itertools.pairwise([0, *ends]))
        return np.array([self.numbers.setdefault(key, len(self.numbers)) for key in keys], np.int32)

    def shares(self, members: NDArray[np.bool_]) -> NDArray[np.float64]:
        """For each group (a row of flags, one for each kind) its share of the people in each combination.

        >>> companies = Companies()
        >>> companies.of(np.array([0, 0, 2]), np.array([1, 0, 1], np.int32), 3).tolist()
        [1, 0, 2]
        >>> companies.shares(np.array([[True, True], [False, True]]))[:, 1:].tolist()
        [[1.0, 1.0], [0.5, 1.0]]
        """
        shares = np.zeros((len(members), len(self.numbers)))
        for key, number in self.numbers.items():
            if key:
                shares[:, number] = members[:, np.frombuffer(key, np.int32)].mean(axis=1)
        return shares


def _each(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else () if value is None else (value,)


def collected_precisions(states: Iterable[State], whole: Whole) -> Reduced:
    """Average precision of everybody and of each group, from the states of the shards in their order."""
    with collected(states, whole) as (detections, groups):
        return Reduced() if detections is None else Reduced(numbers_of(detections, groups, seed=whole.seed))


@contextmanager
def collected(states: Iterable[State], whole: Whole) -> Iterator[tuple[RankedDetections | None, list[Group]]]:
    """All detections of a run, best score first, and its groups; None without true boxes.

    A state has the predicted boxes' `score`, `image` and `truth` (-1: none), the image of each true box (`owner`), both
    numbered within the state, and the number of `images`. It may say which true boxes are `counted` (default: all).
    """
    with ExitStack() as files:
        detections, ranked = (files.enter_context(DiskColumn(ROW)) for _ in range(2))
        truths, kinds_of = files.enter_context(DiskColumn(TRUTH)), files.enter_context(DiskColumn("<i4"))
        kinds, companies = _kinds(whole, kinds_of), Companies()
        images, count, owners = 0, kinds_of.rows, 0
        for state in states:
            owner, truth = state["owner"], state["truth"]
            kind = kinds_of.read(owners, owners + len(owner))
            kind = np.concatenate([kind, np.zeros(len(owner) - len(kind), np.int32)])
            counted = state.get("counted", np.ones(len(owner), bool))
            truths.add(_rows(TRUTH, image=(owner + images)[counted], kind=kind[counted]))
            here = int(state["images"].sum())
            nobody = -1 - companies.of(owner[counted], kind[counted], here)[state["image"]]
            detected = np.where(truth >= 0, kind[truth] if len(kind) else -1, nobody)
            detections.add(_rows(ROW, score=state["score"], image=state["image"] + images, kind=detected))
            images, owners = images + here, owners + len(owner)
        if not truths.rows:
            yield None, []
            return
        groups = kinds.groups() if owners == count else {}  # every true box has its row, in the same order
        sorted_by_score(detections, ranked, RUN, BLOCK)
        members = np.array([np.ones(max(len(kinds.numbers), 1), bool), *groups.values()])
        found_all = RankedDetections(
            images,
            lambda: ((block["image"], block["kind"]) for block in ranked.blocks(BLOCK)),
            lambda: ((block["image"], block["kind"]) for block in truths.blocks(BLOCK)),
            members,
            companies.shares(members),
        )
        yield found_all, list(groups)


def _kinds(whole: Whole, into: DiskColumn) -> Kinds:
    """Write the kind of every person with a row; returns the kinds with their groups."""
    kinds = Kinds(whole.attributes)
    columns = ["subject", *(f"attr.{name}" for name in whole.attributes)]
    for rows in whole.blocks(columns):
        people = rows.filter(rows["subject"].is_valid())
        into.add(kinds.of(people))
    return kinds


def _rows(dtype: Any, **columns: NDArray[Any]) -> NDArray[Any]:
    rows = np.empty(len(next(iter(columns.values()))), dtype)
    for name, values in columns.items():
        rows[name] = values
    return rows


def numbers_of(
    detections: RankedDetections, groups: Sequence[Group], *, name: str = "average_precision@0.5", seed: int = 0
) -> list[Any]:
    """The results for everybody, who come first, and for the groups named."""
    about: list[tuple[str | None, str | None]] = [(None, None), *groups]
    return [
        Number(
            name=name,
            meaning=GROUP_MEANING if group else MEANING,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n=estimate.n,
            unit="boxes",
            better="higher",
            attribute=attribute,
            group=group,
            published="AP@0.5",
        )
        for (attribute, group), estimate in zip(
            about, average_precisions(detections, replicates=REPLICATES, seed=seed), strict=True
        )
    ]
