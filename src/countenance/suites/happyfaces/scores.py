"""The benchmark's numbers: worst-head accuracy, lowest mix rate above 90 %, area under the curve from 0 to 30 %."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.two_views import assign_heads
from countenance.metrics.two_views import worst_head as worst_head
from countenance.suites.happyfaces.dataset import Photos
from countenance.suites.happyfaces.interface import Floats

Record = dict[str, Any]
HEADLINE_RATE = 0.1
"""The mix rate of the published headline."""


def auc(accuracy: Mapping[float, float], end: float = 0.3) -> float | None:
    """Area under worst-head accuracy from mix rate 0 to `end`, divided by `end`; None unless 0 and `end` are there.

    >>> round(auc({0: 0.765, 0.1: 0.921, 0.2: 0.94, 0.3: 0.928}), 4)
    0.9025
    """
    rates = sorted(rate for rate in accuracy if rate <= end)
    if not rates or (rates[0], rates[-1]) != (0, end):
        return None
    return float(np.trapezoid([accuracy[rate] for rate in rates], rates) / end)


def lowest_mix_rate_above(accuracy: Mapping[float, float], level: float = 0.9) -> float | None:
    """The lowest mix rate whose worst-head accuracy is above `level`; None when there is none.

    >>> lowest_mix_rate_above({0: 0.765, 0.1: 0.921, 0.2: 0.94})
    0.1
    """
    return min((rate for rate in accuracy if accuracy[rate] > level), default=None)


def score_parts(parts: Mapping[str, tuple[Photos, Floats]], features: Sequence[str]) -> Record:
    """The accuracy of both heads on every part, validation first.

    A method does not say which head is about which feature. The heads are named by validation truth, in the better of
    the two ways, as the benchmark does; every other part is scored with the same names.
    """
    validation, probabilities = parts["validation"]
    ways = assign_heads(probabilities > 0.5, validation.truth()) if len(validation) else (0, 1)
    right = {name: (p > 0.5)[:, ways] == photos.truth() for name, (photos, p) in parts.items()}
    return {name: part_of(right[name], parts[name][0].tags, features) for name in parts} | {"ways": list(ways)}


def part_of(right: NDArray[np.bool_], tags: Sequence[str], features: Sequence[str]) -> Record | None:
    """What a record says of one part, from photos × 2: was the head right? None for a part without photos.

    >>> found = part_of(np.array([[1, 0], [1, 1]], bool), ["FHWH", "FSWS"], ["face", "writing"])
    >>> found["worst_head"], found["heads"]["writing"]["by_type"]
    (0.5, {'FHWH': 0.0, 'FSWS': 1.0})
    """
    if not len(tags):
        return None
    kinds = np.asarray(tags)
    heads = {
        feature: {
            "accuracy": float(own.mean()),
            "by_type": {str(kind): float(own[kinds == kind].mean()) for kind in np.unique(kinds)},
        }
        for feature, own in zip(features, right.T, strict=True)
    }
    return {"photos": len(tags), "worst_head": float(right.mean(0).min()), "heads": heads}


def summary(records: list[Record]) -> Record:
    """The sweep's table: for every mix rate means and deviations over seeds, and the published metrics."""
    first = records[0] if records else {}
    rates = sorted({record["mix_rate"] for record in records})
    rows = [_row(rate, [record for record in records if record["mix_rate"] == rate]) for rate in rates]
    curve = {row["mix_rate"]: row["worst_head_mean"] for row in rows if row["worst_head_mean"] is not None}
    return {
        "method": first.get("method"),
        "options": first.get("options", {}),
        "seeds": sorted({record["seed"] for record in records}),
        "heads_named_by": "validation truth, the better of the two ways",
        "mix_rates": rows,
        "accuracy_at_10": curve.get(HEADLINE_RATE),
        "auc_0_30": auc(curve),
        "lowest_mix_rate_above_90": lowest_mix_rate_above(curve),
        "not_answered": sorted({record["reason"] for record in records if not record["answered"]}),
        "cpu_seconds": sum(record["cpu_seconds"] for record in records),
        "data": first.get("data"),
        "version": first.get("version"),
        "real_people": first.get("real_people"),
    }


def _row(rate: float, records: list[Record]) -> Record:
    answered = [record for record in records if record["answered"]]
    row: Record = {"mix_rate": rate, "runs": len(records), "answered": len(answered)}
    for name, key in (("worst_head", "validation"), ("not_drawn", "not_drawn"), ("held_back", "held_back")):
        values = [record[key]["worst_head"] for record in answered if record.get(key)]
        if values or name != "held_back":
            row[f"{name}_mean"] = float(np.mean(values)) if values else None
            row[f"{name}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else None  # one seed has no deviation
    row["worst_head_by_seed"] = {str(record["seed"]): record["validation"]["worst_head"] for record in answered}
    for key in ("validation", "not_drawn"):
        row[f"{key}_heads"] = _heads([record[key]["heads"] for record in answered if record[key]])
    estimates = [r["notes"]["estimated_mix_rate"] for r in answered if r["notes"].get("estimated_mix_rate") is not None]
    row["estimated_mix_rate_mean"] = float(np.mean(estimates)) if estimates else None
    return row


def _heads(runs: list[Record]) -> Record:
    """Mean accuracy of each head, whole and by type."""
    out: Record = {}
    for feature in runs[0] if runs else ():
        heads = [heads[feature] for heads in runs]
        types = sorted({kind for head in heads for kind in head["by_type"]})
        by_type = {kind: [head["by_type"][kind] for head in heads if kind in head["by_type"]] for kind in types}
        out[feature] = {
            "accuracy_mean": float(np.mean([head["accuracy"] for head in heads])),
            "by_type": {kind: float(np.mean(values)) for kind, values in by_type.items()},
        }
    return out
