"""One run (a method, a mix rate, a seed) and the sweep over many: resumable, in parallel if asked for."""

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import countenance
from countenance.suites.happyfaces.dataset import HappyFaces, Photos, read_happyfaces
from countenance.suites.happyfaces.interface import CannotAnswer, Heads
from countenance.suites.happyfaces.methods import make_method
from countenance.suites.happyfaces.sampler import draw, method_input
from countenance.suites.happyfaces.scores import assign_heads, auc, by_type, lowest_mix_rate_above

Record = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One run of a sweep."""

    method: str
    mix_rate: float
    seed: int
    options: tuple[tuple[str, Any], ...] = ()

    def file_name(self) -> str:
        """Where the run's record is kept.

        >>> Task("spatial", 0.1, 3).file_name()
        'spatial_0.100_3.json'
        """
        return f"{self.method}_{self.mix_rate:.3f}_{self.seed}.json"


def run(data: HappyFaces, task: Task) -> tuple[Record, Heads | None]:
    """Draw, fit on pixels and labelled labels alone, score on validation and on the unlabelled photos not drawn."""
    chosen = draw(data.unlabelled.tags, task.mix_rate, task.seed)
    method = make_method(task.method, task.seed, **dict(task.options))
    start, cpu = time.perf_counter(), time.process_time()
    record: Record = {
        "method": task.method, "mix_rate": task.mix_rate, "seed": task.seed, "options": dict(task.options),
    }  # fmt: skip
    heads: Heads | None = None
    try:
        heads = method.fit(*method_input(data, chosen.drawn, task.seed))
    except CannotAnswer as reason:
        record |= {"answered": False, "reason": str(reason)}
    if heads is not None:
        record |= {"answered": True, "notes": heads.notes}
        record |= score(heads, data.validation, data.unlabelled.take(chosen.not_drawn), data.features)
    record |= {"seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - cpu}
    return record, heads


def score(heads: Heads, validation: Photos, not_drawn: Photos, features: tuple[str, str]) -> Record:
    """Both heads on validation and on the photos not drawn.

    A method does not say which head is about which feature. The heads are named by validation truth, in the better of
    the two ways, as the benchmark does; the photos not drawn are scored with the same names.
    """
    record: Record = {}
    ways: tuple[int, int] = (0, 1)
    for name, photos in (("validation", validation), ("not_drawn", not_drawn)):
        if not len(photos):
            record[name] = None
            continue
        predicted, truth = heads.predict(photos.pixels) > 0.5, photos.truth()
        if name == "validation":
            ways = assign_heads(predicted, truth)
        right = predicted[:, ways] == truth
        record[name] = {
            "photos": len(photos),
            "worst_head": float(right.mean(0).min()),
            "heads": {
                feature: {"accuracy": float(right[:, k].mean()), "by_type": by_type(right[:, k], photos.tags)}
                for k, feature in enumerate(features)
            },
        }
    record["ways"] = list(ways)
    return record


def sweep(
    source: Path,
    tasks: Iterable[Task],
    kept: Path,
    *,
    jobs: int = 1,
    step: Callable[..., None] = lambda n=1: None,
) -> list[Record]:
    """Run what is missing in the folder `kept`; a record made from other data or by other code counts as missing."""
    kept.mkdir(parents=True, exist_ok=True)
    data = _data(str(source))
    stamp = {"data": data.fingerprint(), "version": countenance.__version__, "code": _code()}
    wanted = list(tasks)
    done: dict[Task, Record] = {}
    for task in wanted:
        record = _kept(kept / task.file_name(), task, stamp)
        if record is not None:
            done[task] = record
            step()
    missing = [task for task in wanted if task not in done]
    if jobs <= 1 or len(missing) <= 1:
        for task in missing:
            done[task] = _run_and_keep(str(source), task, kept, stamp)
            step()
    else:
        with ProcessPoolExecutor(min(jobs, len(missing)), mp_context=get_context("spawn")) as pool:
            futures = {pool.submit(_run_and_keep, str(source), task, kept, stamp): task for task in missing}
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                step()
    return [done[task] for task in wanted]


@lru_cache(maxsize=1)
def _code() -> str:
    """A hash of this suite's own code: a version number does not change with every edit."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=1)
def _data(source: str) -> HappyFaces:
    return read_happyfaces(Path(source))


def _run_and_keep(source: str, task: Task, kept: Path, stamp: Mapping[str, str]) -> Record:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):  # the matrices are small: threads cost more than they bring
        record, _ = run(_data(source), task)
    record |= stamp
    write_json(record, kept / task.file_name())
    return record


def _kept(path: Path, task: Task, stamp: Mapping[str, str]) -> Record | None:
    if not path.exists():
        return None
    try:
        record: Record = json.loads(path.read_text("utf-8"))
    except ValueError:
        return None
    same = all(record.get(key) == value for key, value in stamp.items()) and record.get("options") == dict(task.options)
    return record if same else None


def write_json(content: Any, path: Path) -> None:
    """Write to a sibling first, so that a reader never finds half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(content, indent=1, ensure_ascii=False, default=float) + "\n", "utf-8")
    part.replace(path)


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
    for name, key in (("worst_head", "validation"), ("not_drawn", "not_drawn")):
        values = [record[key]["worst_head"] for record in answered if record[key]]
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
