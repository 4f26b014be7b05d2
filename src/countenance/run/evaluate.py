"""`evaluate`: the road from a model and a dataset to a finished run directory."""

import datetime
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from countenance.data import Dataset, load_dataset
from countenance.data.sample import Value
from countenance.errors import InputError
from countenance.models import ModelSpec, card_of_callable
from countenance.run.directory import MANIFEST, Run, locked, write_atomically, write_json
from countenance.run.engine import missing_orders, run_here, run_workers
from countenance.run.plan import Plan, make_plan
from countenance.run.rows import columns_of, concatenate
from countenance.tasks import Task, findable, load_task

ProgressMaker = Callable[[str, int], AbstractContextManager[Callable[..., None]]]


def evaluate(
    model: Any,
    task: str | Task,
    data: str | Path | Dataset,
    *,
    out: str | Path | None = None,
    weights: str | Path | None = None,
    device: str = "cpu",
    settings: dict[str, Any] | None = None,
    workers: int = 1,
    threads: int | None = None,
    batch: int = 8,
    limit: int | None = None,
    seed: int = 0,
    strict: bool = False,
    time_limit: float = 120.0,
    max_failures: float = 0.05,
    progress: ProgressMaker | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Run:
    """Ask `model` the question of `task` about every image of `data`, score the answers, return the run.

    A model is a name, a path, `module:attr` (run in worker processes) or any callable on a list of images
    (run here). An interrupted run goes on where it stopped; a changed model, dataset or version starts anew.
    """
    the_task = load_task(task)
    dataset = load_dataset(data)
    source = None if isinstance(data, Dataset) else str(data)
    if workers < 1:
        raise InputError(f"workers is {workers}, expected at least 1")
    spec = None
    if isinstance(model, (str, Path)):
        spec = ModelSpec(str(model), None if weights is None else str(weights), device, settings or {})
        card = spec.card()
    elif isinstance(model, ModelSpec):
        spec, card = model, model.card()
    elif callable(model):
        card = card_of_callable(model)
    else:
        raise InputError(f"model is a {type(model).__name__}, expected a name, a path or a callable on images")
    # A task that lives in this program alone cannot be sent to another process.
    here = spec is None or findable(the_task) is None
    plan = make_plan(the_task, dataset, card, source=source, batch=batch, seed=seed, limit=limit)
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="countenance-run-"))
    _prepare(folder, plan.key(), say)
    with locked(folder):
        if _finished(folder, plan.key()):
            say(f"{folder}: already complete, nothing to do")
            return Run(folder)
        engine = {
            "workers": 0 if here else workers,
            "threads": threads,
            "device": device,
            "time_limit": time_limit,
        }
        started = time.perf_counter()
        manifest = plan.manifest() | {"status": "running", "engine": engine, "command": _command()}
        write_json(folder / MANIFEST, manifest)
        done_before = len(plan.samples) - sum(o.end - o.start for o in missing_orders(plan, folder))
        if done_before:
            say(f"{folder}: going on; {done_before} of {len(plan.samples)} images are done")
        if spec is not None and here:
            say(f"task {the_task.name!r} lives in this program alone: asked here, without workers or time limit")
        with _progress(progress, len(plan.samples)) as step:
            step(done_before)
            if spec is None or here:
                run_here(plan, model if spec is None else spec.load(), folder, strict=strict, progress=step)
            else:
                run_workers(
                    plan, spec, folder, workers=workers, time_limit=time_limit, strict=strict, threads=threads,
                    progress=step,
                )  # fmt: skip
        _finish(
            plan,
            folder,
            manifest,
            time.perf_counter() - started,
            len(plan.samples) - done_before,
            max_failures,
        )
    return Run(folder)


def _progress(maker: ProgressMaker | None, total: int) -> AbstractContextManager[Callable[..., None]]:
    from contextlib import nullcontext

    if maker is None:
        return nullcontext(lambda n=1: None)
    return maker("asking", total)


def _command() -> str:
    import shlex

    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    return shlex.join([program, *sys.argv[1:]])


def _prepare(folder: Path, key: str, say: Callable[[str], None]) -> None:
    """Make sure that `folder` is new or holds this very run; another run's folder is moved aside, never mixed."""
    if not folder.exists() or not any(child.name != ".lock" for child in folder.iterdir()):
        return
    manifest_path = folder / MANIFEST
    if not manifest_path.exists():
        raise InputError(f"{folder}: exists and holds no run; name a folder that is new or empty")
    old = str(Run(folder).manifest.get("key", "unknown"))
    if old == key:
        return
    with locked(folder):
        aside = folder.with_name(f"{folder.name}-{old[:8]}")
        if aside.exists():
            raise InputError(f"{folder}: holds another run, and {aside} is taken; name another folder")
        folder.rename(aside)
    say(f"{folder}: held another run (model, data or version changed); it is kept as {aside}")


def _finished(folder: Path, key: str) -> bool:
    if not (folder / MANIFEST).exists():
        return False
    run = Run(folder)
    return run.complete and run.manifest.get("key") == key and (folder / "scores.parquet").exists()


def _finish(
    plan: Plan, folder: Path, manifest: dict[str, Any], seconds: float, asked: int, max_failures: float
) -> None:
    """Put the shards together and say that the run is complete; the manifest is the last thing written."""
    import json

    import pyarrow.parquet as pq

    numbers = range(len(plan.shards()))
    work = folder / "work"
    write_atomically(
        folder / "scores.parquet",
        lambda part: concatenate([work / f"{n:05d}.scores.parquet" for n in numbers], part),
    )
    failures = [row for n in numbers for row in json.loads((work / f"{n:05d}.json").read_text())["failures"]]
    table = failure_table(failures, plan)
    write_atomically(folder / "failures.parquet", lambda part: pq.write_table(table, part))
    summary = _summaries(plan, folder)
    manifest |= {
        "status": "complete",
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "failed": len(failures),
        "max_failures": max_failures,
        "seconds": round(seconds, 3),
        "images_per_second": round(asked / seconds, 2) if asked else None,
        "cores": os.cpu_count(),
        "summaries": summary,
    }
    write_json(folder / MANIFEST, manifest)
    shutil.rmtree(work)


def failure_table(failures: list[dict[str, str]], plan: Plan) -> Any:
    """The failures as a table that also says who is in the pictures: `attr.*` lists every person's value."""
    import pyarrow as pa

    shown = {sample.id: sample for sample in plan.samples}
    names = [
        name
        for name, kind in columns_of(plan.task, plan.samples).items()
        if name.startswith("attr.") and kind != "double"
    ]
    rows = []
    for row in failures:
        sample = shown[row["sample"]]
        people: list[Mapping[str, Value]] = [subject.attributes for subject in sample.subjects] or [{}]
        values = {
            name: [{**sample.attributes, **person}.get(name.removeprefix("attr.")) for person in people]
            for name in names
        }
        rows.append(row | {name: [None if v is None else str(v) for v in found] for name, found in values.items()})
    text = [(name, pa.string()) for name in ("sample", "kind", "reason")]
    return pa.Table.from_pylist(rows, schema=pa.schema([*text, *((name, pa.list_(pa.string())) for name in names)]))


def _summaries(plan: Plan, folder: Path) -> list[dict[str, Any]]:
    from countenance.answers.store import read_answers

    answers = read_answers(folder / "answers")
    answered = [sample for sample in plan.samples if sample.id in answers]
    return [vars(summary) for summary in plan.task.summarise(answered, answers, plan.seed)]
