"""One evaluation (a method, a mix rate, a seed) and the sweep over many: each is a run, and what is there is kept."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.processes import each
from countenance.suites.happyfaces.dataset import HappyFaces, Photos, read_happyfaces
from countenance.suites.happyfaces.interface import CannotAnswer, Floats, Heads
from countenance.suites.happyfaces.methods import make_method, method_name
from countenance.suites.happyfaces.sampler import draw, method_input
from countenance.suites.happyfaces.scores import assign_heads, auc, by_type, lowest_mix_rate_above

Record = dict[str, Any]
HEADLINE_RATE = 0.1
"""The mix rate of the published headline."""


@dataclass(frozen=True)
class MixTask:
    """One evaluation of a sweep; a method is a name, `module:attr`, or an object with `fit`."""

    method: Any
    mix_rate: float
    seed: int
    options: tuple[tuple[str, Any], ...] = ()

    def run_name(self) -> str:
        """Where a sweep keeps the run.

        >>> MixTask("spatial", 0.1, 3).run_name()
        'spatial_0.100_3'
        """
        name = method_name(self.method).replace(":", ".").replace("/", "_")
        return f"{name}_{self.mix_rate:.3f}_{self.seed}"


@dataclass(frozen=True)
class Outcome:
    """What an evaluation gave: its record, the heads, and each part's photos with their probabilities."""

    record: Record
    heads: Heads | None = None
    parts: Mapping[str, tuple[Photos, Floats]] = field(default_factory=dict)


def run(data: HappyFaces, task: MixTask) -> tuple[Record, Heads | None]:
    """Draw, fit on pixels and labelled labels alone, score on validation and on the unlabelled photos not drawn."""
    outcome = evaluate(data, task)
    return outcome.record, outcome.heads


def evaluate(data: HappyFaces, task: MixTask) -> Outcome:
    """The same, with the probabilities of every photo that was scored."""
    chosen = draw(data.unlabelled.tags, task.mix_rate, task.seed)
    method = make_method(task.method, task.seed, **dict(task.options))
    start, cpu = time.perf_counter(), time.process_time()
    record: Record = {
        "method": method_name(task.method), "mix_rate": task.mix_rate, "seed": task.seed,
        "options": dict(task.options),
    }  # fmt: skip
    heads: Heads | None = None
    parts: dict[str, tuple[Photos, Floats]] = {}
    try:
        heads = method.fit(*method_input(data, chosen.drawn, task.seed))
    except CannotAnswer as reason:
        record |= {"answered": False, "reason": str(reason)}
    if heads is not None:
        record |= {"answered": True, "notes": heads.notes}
        parts = predicted(heads, data.scored(chosen.not_drawn))
        record |= score_parts(parts, data.features)
    record |= {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    return Outcome(record, heads, parts)


def predicted(heads: Heads, parts: Mapping[str, Photos]) -> dict[str, tuple[Photos, Floats]]:
    """The probabilities of both heads for the photos of each part."""
    empty = np.zeros((0, 2))
    return {name: (photos, heads.predict(photos.pixels) if len(photos) else empty) for name, photos in parts.items()}


def score(heads: Heads, validation: Photos, not_drawn: Photos, features: tuple[str, str]) -> Record:
    """Both heads on validation and on the photos not drawn."""
    return score_parts(predicted(heads, {"validation": validation, "not_drawn": not_drawn}), features)


def score_parts(parts: Mapping[str, tuple[Photos, Floats]], features: tuple[str, str]) -> Record:
    """The accuracy of both heads on every part, validation first.

    A method does not say which head is about which feature. The heads are named by validation truth, in the better of
    the two ways, as the benchmark does; every other part is scored with the same names.
    """
    ways: tuple[int, int] = (0, 1)
    record: Record = {}
    for name, (photos, probabilities) in parts.items():
        truth = photos.truth()
        if name == "validation" and len(photos):
            ways = assign_heads(probabilities > 0.5, truth)
        right = (probabilities > 0.5)[:, ways] == truth
        record[name] = part_of(right, photos.tags, features) if len(photos) else None
    return record | {"ways": list(ways)}


def part_of(right: Any, tags: tuple[str, ...], features: tuple[str, str]) -> Record:
    """What a record says of one part, from photos × 2: was the head right?"""
    return {
        "photos": len(tags),
        "worst_head": float(right.mean(0).min()),
        "heads": {
            feature: {"accuracy": float(right[:, k].mean()), "by_type": by_type(right[:, k], tags)}
            for k, feature in enumerate(features)
        },
    }


def sweep(
    source: Path,
    tasks: Iterable[MixTask],
    kept: Path,
    *,
    held_back: Path | None = None,
    jobs: int = 1,
    step: Callable[..., None] = lambda n=1: None,
) -> list[Record]:
    """Evaluate what has no run below the folder `kept`; a run of other data or of other code counts as missing."""
    from countenance.suites.happyfaces.runs import kept_record

    if kept.exists() and not kept.is_dir():
        raise InputError(f"{kept}: is a file; name a folder")
    data = _data(source, held_back)
    wanted = list(tasks)
    done: dict[MixTask, Record] = {}
    for task in wanted:
        record = kept_record(kept / task.run_name(), data, task)
        if record is not None:
            done[task] = record
            step()
    missing = [task for task in wanted if task not in done]
    if jobs <= 1 or len(missing) <= 1:
        for task in missing:
            done[task] = run_and_keep(source, task, kept, held_back)
            step()
    else:
        orders = [asdict(task) for task in missing]
        job = {"source": str(source), "kept": str(kept), "held_back": str(held_back or "")}
        found = each(f"{__name__}:worker", job, orders, workers=jobs, done=lambda index, result: step())
        done |= dict(zip(missing, found, strict=True))
    return [done[task] for task in wanted]


def worker(job: Mapping[str, str]) -> Callable[..., Record]:
    """The work of one process of a sweep."""

    def handle(order: Mapping[str, Any], tell: Callable[..., None]) -> Record:
        tell(limit=86400.0)  # a network may learn for hours
        task = MixTask(**{**order, "options": tuple((name, value) for name, value in order["options"])})
        held_back = Path(job["held_back"]) if job["held_back"] else None
        return run_and_keep(Path(job["source"]), task, Path(job["kept"]), held_back)

    return handle


_data = lru_cache(maxsize=1)(read_happyfaces)


def run_and_keep(source: Path, task: MixTask, kept: Path, held_back: Path | None = None) -> Record:
    """Evaluate, store the run and return its record."""
    from threadpoolctl import threadpool_limits

    from countenance.suites.happyfaces.runs import store

    data = _data(source, held_back)
    with threadpool_limits(limits=1):  # the matrices are small: threads cost more than they bring
        outcome = evaluate(data, task)
    store(kept / task.run_name(), data, task, outcome, source)
    return outcome.record


def summary(records: list[Record]) -> Record:
    """The sweep's table: for every mix rate means and deviations over seeds, and the two published metrics."""
    by_rate: dict[float, list[Record]] = {}
    for record in records:
        by_rate.setdefault(record["mix_rate"], []).append(record)
    rows, curve = [], {}
    for rate in sorted(by_rate):
        rows.append(_row(rate, by_rate[rate]))
        if rows[-1]["worst_head_mean"] is not None:
            curve[rate] = rows[-1]["worst_head_mean"]
    reasons = sorted({record["reason"] for record in records if not record["answered"]})
    return {
        "method": records[0]["method"] if records else None,
        "options": records[0]["options"] if records else {},
        "seeds": sorted({record["seed"] for record in records}),
        "heads_named_by": "validation truth, the better of the two ways",
        "mix_rates": rows,
        "accuracy_at_10": curve.get(HEADLINE_RATE),
        "auc_0_30": auc(curve),
        "lowest_mix_rate_above_90": lowest_mix_rate_above(curve),
        "not_answered": reasons,
        "cpu_seconds": sum(record["cpu_seconds"] for record in records),
        "data": records[0].get("data") if records else None,
        "version": records[0].get("version") if records else None,
    }


def _row(rate: float, records: list[Record]) -> Record:
    answered = [record for record in records if record["answered"]]
    row: Record = {"mix_rate": rate, "runs": len(records), "answered": len(answered)}
    for name, key in (("worst_head", "validation"), ("not_drawn", "not_drawn"), ("held_back", "held_back")):
        values = [record[key]["worst_head"] for record in answered if record.get(key)]
        if name == "held_back" and not values:
            continue
        row[f"{name}_mean"] = float(np.mean(values)) if values else None
        row[f"{name}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else None  # one seed has no deviation
    row["worst_head_by_seed"] = {str(record["seed"]): record["validation"]["worst_head"] for record in answered}
    for key in ("validation", "not_drawn"):
        row[f"{key}_heads"] = _heads(answered, key)
    estimates = [r["notes"]["estimated_mix_rate"] for r in answered if r["notes"].get("estimated_mix_rate") is not None]
    row["estimated_mix_rate_mean"] = float(np.mean(estimates)) if estimates else None
    return row


def _heads(records: list[Record], key: str) -> Record:
    """Mean accuracy of each head, whole and by type."""
    out: Record = {}
    with_it = [record[key]["heads"] for record in records if record[key]]
    for feature in with_it[0] if with_it else ():
        types = sorted({kind for heads in with_it for kind in heads[feature]["by_type"]})
        out[feature] = {
            "accuracy_mean": float(np.mean([heads[feature]["accuracy"] for heads in with_it])),
            "by_type": {
                kind: float(np.mean([h[feature]["by_type"][kind] for h in with_it if kind in h[feature]["by_type"]]))
                for kind in types
            },
        }
    return out
