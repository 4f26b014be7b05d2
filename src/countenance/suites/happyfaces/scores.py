"""The benchmark's numbers: worst-head accuracy, lowest mix rate above 90 %, area under the curve from 0 to 30 %."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.adapters.happyfaces_layout import Photos
from countenance.suites.happyfaces.formulas.two_views import assign_heads
from countenance.suites.happyfaces.formulas.two_views import worst_head as worst_head
from countenance.suites.happyfaces.interface import Floats

Record = dict[str, Any]
MIX_RATES = tuple(round(i / 10, 1) for i in range(11))
"""The benchmark's mix rates."""
HEADLINE_RATE = 0.1
"""The mix rate of the published headline."""
AUC_RATES = (0.0, 0.1, 0.2, 0.3)
GUESS = 0.5
"""The score of an evaluation in which the method declined to answer."""


def auc(accuracy: Mapping[float, float]) -> float | None:
    """Area under worst-head accuracy over the mix rates 0, .1, .2 and .3, divided by .3; None unless all are there.

    >>> round(auc({0: 0.765, 0.1: 0.921, 0.2: 0.94, 0.3: 0.928}), 4)
    0.9025
    >>> auc({0: 0.765, 0.3: 0.928}) is None
    True
    """
    if any(rate not in accuracy for rate in AUC_RATES):
        return None
    return float(np.trapezoid([accuracy[rate] for rate in AUC_RATES], AUC_RATES) / AUC_RATES[-1])


def lowest_mix_rate_above(accuracy: Mapping[float, float], level: float = 0.9) -> float | None:
    """The lowest mix rate whose worst-head accuracy is above `level`; None if there is no such rate.

    >>> lowest_mix_rate_above({0: 0.765, 0.1: 0.921, 0.2: 0.94})
    0.1
    """
    return min((rate for rate in accuracy if accuracy[rate] > level), default=None)


def score_parts(parts: Mapping[str, tuple[Photos, Floats]], features: Sequence[str]) -> Record:
    """The accuracy of both heads on every part, validation first.

    A method does not name its heads. They are named by validation truth, in the better of the two ways, as the
    benchmark does; every other part is scored with the same names.
    """
    validation, probabilities = parts["validation"]
    ways = assign_heads(probabilities > 0.5, validation.truth()) if len(validation) else (0, 1)
    right = {name: (p > 0.5)[:, ways] == photos.truth() for name, (photos, p) in parts.items()}
    return {name: part_of(right[name], parts[name][0].tags, features) for name in parts} | {"ways": list(ways)}


def part_of(right: NDArray[np.bool_], tags: Sequence[str], features: Sequence[str]) -> Record | None:
    """The record of one part, from photos × 2 (whether the head was right); None for a part without photos.

    >>> part = part_of(np.array([[1, 0], [1, 1]], bool), ["FHWH", "FSWS"], ["face", "writing"])
    >>> part["worst_head"], part["heads"]["writing"]["by_type"]
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
    seeds = sorted({record["seed"] for record in records})
    curve = {rate: value for rate in rates if (value := _counted(records, rate, seeds)) is not None}
    lowest = lowest_mix_rate_above(curve)
    below = [rate for rate in MIX_RATES if rate not in curve and (lowest is None or rate < lowest)]
    return {
        "method": first.get("method"),
        "options": first.get("options", {}),
        "seeds": seeds,
        "heads_named_by": "validation truth, the better of the two ways",
        "mix_rates": rows,
        "accuracy_at_10": curve.get(HEADLINE_RATE),
        "auc_0_30": auc(curve),
        "auc_needs": [rate for rate in AUC_RATES if rate not in curve],
        "lowest_mix_rate_above_90": None if below else lowest,
        "lowest_needs": below,
        "declined": {f"{row['mix_rate']:g}": n for row in rows if (n := row["runs"] - row["answered"])},
        "not_answered": sorted({record["reason"] for record in records if not record["answered"]}),
        "uses_batch": any(record.get("uses_batch") for record in records),
        "cpu_seconds": sum(record["cpu_seconds"] for record in records),
        "data": first.get("data"),
        "data_notes": first.get("data_notes", []),
        "version": first.get("version"),
        "real_people": first.get("real_people"),
    }


def _counted(records: list[Record], rate: float, seeds: Sequence[int]) -> float | None:
    """The mean accuracy of the worse head at a mix rate, a declined answer counted as a guess.

    None unless all seeds were run at it.
    """
    runs = {record["seed"]: record for record in records if record["mix_rate"] == rate}
    if sorted(runs) != list(seeds):
        return None
    return float(np.mean([run["validation"]["worst_head"] if run["answered"] else GUESS for run in runs.values()]))


def needs(rates: Sequence[float]) -> str:
    """The runs that are missing before a number can be computed.

    >>> needs([0.1]), needs([0.1, 0.2])
    ('mix rate 0.1 was not run with every seed', 'mix rates 0.1, 0.2 were not run with every seed')
    """
    listed = ", ".join(f"{rate:g}" for rate in rates)
    single = len(rates) == 1
    return f"mix rate{'' if single else 's'} {listed} {'was' if single else 'were'} not run with every seed"


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
