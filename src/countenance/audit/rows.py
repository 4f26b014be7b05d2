"""Room: audit. The columns an audit asked for, as arrays: attributes coded, metrics as floats, clusters and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countenance.audit.table import Array, Attribute, Source, attribute, metric
from countenance.errors import InputError


class Rows:
    """The table as arrays."""

    def __init__(
        self,
        table: Any,
        by: list[str],
        metrics: list[str],
        cluster: str | None,
        pair: str | Sequence[str] | None,
        denominators: dict[str, str],
        max_groups: int,
    ) -> None:
        source = Source(table)
        attributes = [source.resolve(name, "attr.", "attribute") for name in by]
        measured = [source.resolve(name, "m.", "metric") for name in metrics]
        if both := set(attributes) & set(measured):
            raise InputError(f"column {sorted(both)[0]!r} is named both as an attribute and as a metric")
        masks = {name: source.resolve(column, "m.", "denominator") for name, column in denominators.items()}
        if stray := [name for name in masks if name not in metrics]:
            raise InputError(f"denominators: {stray[0]!r} is not one of the metrics ({', '.join(metrics)})")
        self.pair_names = None if pair is None else [pair] if isinstance(pair, str) else list(pair)
        pairs = [source.resolve(name, "attr.", "pair column") for name in self.pair_names or []]
        if cluster == "auto":
            grouped: list[str] = [name for name in ("identity", "sample") if name in source.names]
        else:
            grouped = [] if cluster is None else [source.resolve(cluster, "attr.", "cluster column")]
        self.cluster_name = " else ".join(grouped) or None
        columns = source.read([*attributes, *pairs, *grouped], [*measured, *masks.values()])
        self.by, self.metrics = by, metrics
        self.attributes: list[Attribute] = [
            attribute(name, columns[c], max_groups) for name, c in zip(by, attributes, strict=True)
        ]
        parsed = [metric(name, columns[c]) for name, c in zip(metrics, measured, strict=True)]
        self.values: list[Array] = [values for values, _ in parsed]
        self.kinds = [kind for _, kind in parsed]
        for name, column in masks.items():
            mask, kind = metric(column, columns[column])
            if kind != "rate":
                raise InputError(f"denominator {column!r}: expected true/false or 0/1")
            index = metrics.index(name)
            self.values[index] = np.where(mask == 1, self.values[index], np.nan)
        self.total = len(self.values[0])
        self.clusters: Array | None = clusters([columns[name] for name in grouped]) if grouped else None
        self.pairs: Array | None = _pairs([columns[name] for name in pairs]) if pairs else None
        if self.clusters is not None and self.pairs is None and all(a.rows is None for a in self.attributes):
            self._by_cluster(self.clusters)

    def _by_cluster(self, codes: Array) -> None:
        """Put the rows of a cluster side by side: sums over clusters then walk through memory in order."""
        order = np.argsort(codes, kind="stable")
        self.clusters = codes[order]
        self.values = [values[order] for values in self.values]
        self.attributes = [Attribute(a.name, a.levels, a.codes[order]) for a in self.attributes]


def _pairs(columns: list[Any]) -> Array:
    """One code per combination of values; -1 where any is null."""
    codes = np.zeros(len(columns[0]), dtype=np.int64)
    known = np.ones(len(codes), dtype=bool)
    for column in columns:
        own = np.asarray(column.dictionary_encode().indices.fill_null(-1)).astype(np.int64)
        known &= own >= 0
        codes = np.unique(codes * (own.max(initial=0) + 2) + own, return_inverse=True)[1]
    return np.where(known, codes, -1)


def clusters(columns: Sequence[Any]) -> Array:
    """Cluster codes: rows equal in the first column that is not null; a row with none is its own cluster.

    >>> import pyarrow as pa
    >>> clusters([pa.array(["p", None, "p", None]), pa.array(["s", "s", "t", None])]).tolist()
    [0, 1, 0, 2]
    """
    rows = len(columns[0])
    codes = np.full(rows, -1, dtype=np.int64)
    start = 0
    for column in columns:
        encoded = column.dictionary_encode()
        own = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
        empty = [i for i, v in enumerate(encoded.dictionary.to_pylist()) if v is None or v == "" or v != v]
        if empty:
            own[np.isin(own, empty)] = -1
        fill = (codes < 0) & (own >= 0)
        codes[fill] = own[fill] + start
        start += len(encoded.dictionary)
    alone = codes < 0
    codes[alone] = start + np.arange(int(alone.sum()))
    used = np.zeros(start + int(alone.sum()), dtype=bool)
    used[codes] = True
    result: Array = (np.cumsum(used) - 1)[codes]
    return result
