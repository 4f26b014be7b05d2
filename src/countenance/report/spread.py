"""Chooses pictures of a dataset to show: spread evenly over its parts and the values of its attributes."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from countenance.data import Sample
from countenance.data.balance import MOST_VALUES
from countenance.data.vocabulary import NUMERIC, in_order

MOST_CANDIDATES = 4000
MOST_CHOSEN = 500
"""From more pictures than this, some are taken at equal distances: choosing one by one would take minutes."""
Pair = tuple[str, str]


def spread_evenly(samples: Sequence[Sample], most: int) -> list[Sample]:
    """At most `most` samples: in turn from each part, each time a person and attribute values shown least.

    The choice depends on the samples alone, so that a page can be reproduced.
    """
    parts: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        parts[str(sample.attributes.get("part", ""))].append(sample)
    names = [name for name in in_order("part", parts) if parts[name]]
    quota = _quotas([len(parts[name]) for name in names], most)
    return [sample for name, n in zip(names, quota, strict=True) for sample in _varied(parts[name], n)]


def _quotas(sizes: Sequence[int], most: int) -> list[int]:
    """An equal share for each part; shares that a small part cannot fill go to the others.

    >>> _quotas([100, 2, 100], 20)
    [9, 2, 9]
    """
    quota = [0] * len(sizes)
    left = most
    while left > 0 and any(q < size for q, size in zip(quota, sizes, strict=True)):
        for i, size in enumerate(sizes):
            if left > 0 and quota[i] < size:
                quota[i] += 1
                left -= 1
    return quota


def _varied(samples: Sequence[Sample], most: int) -> list[Sample]:
    if most >= len(samples):
        return list(samples)
    if most > MOST_CHOSEN:
        return [samples[i * len(samples) // most] for i in range(most)]
    candidates = list(range(0, len(samples), -(-len(samples) // MOST_CANDIDATES)))
    values = {i: _values(samples[i]) for i in candidates}
    distinct: dict[str, set[str]] = defaultdict(set)
    for pairs in values.values():
        for name, value in pairs:
            distinct[name].add(value)
    groups = {name for name, different in distinct.items() if 1 < len(different) <= MOST_VALUES}
    compared = {i: [pair for pair in pairs if pair[0] in groups] for i, pairs in values.items()}
    people = {i: [("identity", s.identity) for s in samples[i].subjects if s.identity is not None] for i in candidates}
    shown: Counter[Pair] = Counter()
    chosen: list[int] = []
    for _ in range(min(most, len(candidates))):
        best = min(candidates, key=lambda i: (_seen(shown, people[i]), _seen(shown, compared[i]), i))
        candidates.remove(best)
        shown.update([*compared[best], *people[best]])
        chosen.append(best)
    return [samples[i] for i in sorted(chosen)]


def _seen(shown: Counter[Pair], pairs: Sequence[Pair]) -> float:
    return sum(shown[pair] for pair in pairs) / max(1, len(pairs))


def _values(sample: Sample) -> list[Pair]:
    pairs = []
    for attributes in (sample.attributes, *(subject.attributes for subject in sample.subjects[:3])):
        for name, value in attributes.items():
            if name not in NUMERIC:
                pairs += [(name, str(item)) for item in (value if isinstance(value, tuple) else (value,))]
    return pairs
