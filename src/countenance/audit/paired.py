"""Room: audit. `paired`: the same rows under two conditions (counterfactual twins, model v1 and v2)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from countenance.audit._dist import both, quantile
from countenance.audit.comparisons import Draft, untestable
from countenance.audit.effects import cohen_h
from countenance.audit.estimates import interval, resampled
from countenance.audit.sides import side_of
from countenance.audit.table import Array, Attribute, Source
from countenance.audit.tests import Test, mcnemar
from countenance.errors import InputError


def paired(
    condition: Attribute,
    values: Array,
    kind: str,
    pairs: Array,
    clusters: Array | None,
    *,
    metric: str,
    alpha: float,
    min_n: int,
    replicates: int,
    seed: int,
) -> tuple[list[Draft], list[tuple[str, int, int, str]]]:
    """Every two conditions compared on the pairs that have both; rows without a partner are reported."""
    if condition.rows is not None:
        raise InputError(f"attribute {condition.name!r}: lists of values cannot be the condition of paired rows")
    size = int(pairs.max(initial=-1)) + 1
    place = []
    for code, level in enumerate(condition.levels):
        rows = np.flatnonzero((condition.codes == code) & (pairs >= 0))
        where = np.full(size, -1)
        where[pairs[rows]] = rows
        if len(rows) != int((where >= 0).sum()):
            twice = rows[np.flatnonzero(np.bincount(pairs[rows])[pairs[rows]] > 1)[:2]]
            raise InputError(
                f"pair: rows {twice[0] + 1} and {twice[1] + 1} have the same pair and the same condition "
                f"({condition.name} = {level!r}); name more columns in pair so that each occurs once"
            )
        place.append(where)
    drafts, lonely = [], []
    for one, two in itertools.combinations(range(len(place)), 2):
        together = (place[one] >= 0) & (place[two] >= 0)
        first, second = place[one][together], place[two][together]
        usable = ~np.isnan(values[first]) & ~np.isnan(values[second])
        missing = int((condition.codes == one).sum() + (condition.codes == two).sum()) - 2 * int(usable.sum())
        if missing:
            lonely.append(
                (
                    f"{condition.levels[one]} / {condition.levels[two]}",
                    missing,
                    missing,
                    "rows without a partner, or without the metric on both sides",
                )
            )
        drafts.append(
            _compare(
                condition,
                one,
                two,
                values,
                kind,
                first[usable],
                second[usable],
                clusters,
                metric=metric,
                alpha=alpha,
                min_n=min_n,
                replicates=replicates,
                seed=seed,
            )
        )
    return drafts, lonely


def _compare(
    condition: Attribute,
    one: int,
    two: int,
    values: Array,
    kind: str,
    first: Array,
    second: Array,
    clusters: Array | None,
    *,
    metric: str,
    alpha: float,
    min_n: int,
    replicates: int,
    seed: int,
) -> Draft:
    side1, side2 = side_of(first, values, clusters), side_of(second, values, clusters)
    low, high, deff = interval(side1, kind, alpha)
    low2, high2, deff2 = interval(side2, kind, alpha)
    names = condition.levels[one], condition.levels[two]
    own = np.arange(len(first)) if clusters is None else _together(clusters[first], clusters[second])
    count = int(own.max(initial=-1)) + 1
    draft = Draft(
        {
            "metric": metric,
            "attribute": condition.name,
            "group": names[0],
            "versus": names[1],
            "comparison": "paired",
            "n": len(first),
            "clusters": count,
            "n_versus": len(second),
            "clusters_versus": count,
            "estimate": side1.mean,
            "low": low,
            "high": high,
            "estimate_versus": side2.mean,
            "low_versus": low2,
            "high_versus": high2,
            "deff": deff,
            "deff_versus": deff2,
            "kind": kind,
            "effect_name": "difference",
        }
    )
    units = "clusters of pairs" if clusters is not None else "pairs"
    if not len(first):
        draft.untestable = f"no units in {names[0]} paired with {names[1]}"
        return draft
    change = values[first] - values[second]
    d = float(change.mean())
    draft.values["difference"] = draft.values["effect"] = d
    if count < min_n:
        draft.untestable = f"{count} {units}, fewer than {min_n}"
        return draft
    draft.untestable = untestable(side1, side2, *names, kind, 0, clusters is not None)
    if draft.untestable or (kind == "mean" and not change.any()):
        draft.untestable = draft.untestable or "no variance: every pair is equal"
        return draft
    sums = np.bincount(own, change, minlength=count)
    rows = np.bincount(own, minlength=count).astype(float)
    draft.df = math.inf if count == len(first) else count - 1.0
    if kind == "rate":
        test, shift = _rates(draft, change, sums, rows, own, count)
        half = quantile(1 - alpha / 2, draft.df) * draft.se
        bounds = min(d, shift - half), max(d, shift + half)
        draft.severity_effect = abs(cohen_h(side1.mean, side2.mean))
    else:
        means = resampled(np.column_stack([sums, rows]), replicates, seed)
        means = means[:, 0] / means[:, 1]
        draft.se, draft.df = float(means.std(ddof=1)), count - 1.0
        t = d / draft.se if draft.se > 0 else math.nan
        test = Test(
            "paired cluster bootstrap" if clusters is not None else "paired bootstrap",
            t,
            both(t, draft.df),
            t,
        )
        bounds = float(np.quantile(means, alpha / 2)), float(np.quantile(means, 1 - alpha / 2))
        draft.severity_effect = abs(float((np.sign(change)).mean()))
    draft.unit = draft.se
    draft.values |= {
        "diff_low": bounds[0],
        "diff_high": bounds[1],
        "effect_low": bounds[0],
        "effect_high": bounds[1],
        "test": test.name,
        "statistic": test.statistic,
        "p": test.p,
        "z": test.z,
        "df": draft.df,
        "se": draft.se,
    }
    return draft


def _rates(draft: Draft, change: Array, sums: Array, rows: Array, own: Array, count: int) -> tuple[Test, float]:
    gains = np.bincount(own, change > 0, minlength=count)
    losses = np.bincount(own, change < 0, minlength=count)
    n, d = len(change), float(change.mean())
    b, c = float(gains.sum()), float(losses.sum())
    # Agresti and Min: half a pair added to each cell keeps the interval honest when few pairs disagree.
    variance = ((b + c + 1) - (b - c) ** 2 / (n + 2)) / (n + 2) ** 2
    simple = float(((change - d) ** 2).sum()) / n**2
    if count < n and simple > 0:
        variance *= max(1.0, count / (count - 1) * float(((sums - d * rows) ** 2).sum()) / n**2 / simple)
    draft.se = math.sqrt(variance)
    return mcnemar(gains, losses), (b - c) / (n + 2)


def _together(first: Array, second: Array) -> Array:
    """Pairs that share a cluster on either side are in one cluster."""
    from scipy import sparse

    size = int(max(first.max(initial=-1), second.max(initial=-1))) + 1
    graph = sparse.coo_matrix((np.ones(len(first)), (first, second)), shape=(size, size))
    part = sparse.csgraph.connected_components(graph, directed=False)[1][first]
    return np.asarray(np.unique(part, return_inverse=True)[1])


def paired_tables(
    a: Any, b: Any, on: Sequence[str], names: tuple[str, str] = ("a", "b"), condition: str = "model"
) -> Any:
    """Two score tables of the same rows, one above the other, with a column saying which; ready for `paired`.

    Columns only one table has are dropped. Audit it with `by=[condition], comparison="paired", pair=on`.

    >>> old, new = {"sample": ["s", "t"], "m.ok": [1, 0]}, {"sample": ["s", "t"], "m.ok": [1, 1]}
    >>> t = paired_tables(old, new, ["sample"])
    >>> t.column("model").to_pylist()
    ['a', 'a', 'b', 'b']
    """
    import pyarrow as pa

    sources = Source(a), Source(b)
    shared = [name for name in sources[0].names if name in sources[1].names and name != condition]
    for source in sources:
        for name in on:
            source.resolve(name)
    parts = []
    for source, called in zip(sources, names, strict=True):
        columns = source.read([], shared)
        rows = len(columns[shared[0]]) if shared else 0
        parts.append(pa.table(columns | {condition: pa.array([called] * rows)}))
    return pa.concat_tables(parts, promote_options="permissive")
