"""`evaluate`: from a model and a dataset to a finished run directory."""

import datetime
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from countenance.answers import Boxes
from countenance.data import Dataset, Sample, load_dataset
from countenance.data.sample import Value
from countenance.errors import InputError
from countenance.metrics.readings import CORNERS, Reading
from countenance.models import ModelSpec, card_of_callable
from countenance.run.directory import MANIFEST, Run, locked, write_atomically, write_json
from countenance.run.early_stop import Watch
from countenance.run.engine import missing_orders, run_here, run_workers
from countenance.run.matching import refuse_mismatch
from countenance.run.plan import Plan, make_plan
from countenance.run.rows import columns_of, concatenate
from countenance.tasks import Context, Task, findable, load_task

Notes = Callable[[Sequence[Sample], Mapping[str, Any], Context], list[str]]
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
    categories: str | None = None,
    reading: Reading = CORNERS,
    allow_mismatch: bool = False,
    notes: Notes | None = None,
    progress: ProgressMaker | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Run:
    """Evaluate `model` on every image of `data` by `task`, score the answers, return the run.

    A model is a name, a path, `module:attr` (run in worker processes) or any callable on a list of images
    (run here). An interrupted run goes on where it stopped; a changed model, dataset or version starts a new run.

    `categories` chooses the categories of a COCO file (`face=1,person=18`). `reading` says what the four numbers of
    the model's boxes are. `allow_mismatch` evaluates a model that finds something else than the task needs. A model
    that fails on every one of the first images stops the run (`countenance.run.early_stop`). `notes` replaces the
    task's own notes on answers that look like a mistake; they are stored in the manifest.
    """
    the_task = load_task(task)
    dataset = load_dataset(data, categories=categories)
    for note in dataset.notes:
        say(note)
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
    if not allow_mismatch:
        refuse_mismatch(card, the_task)
    if reading != CORNERS and the_task.answer is not Boxes:
        raise InputError(f"{the_task.name} has no boxes to read as {reading}; leave --box-format and --units out")
    # A task that lives in this program alone cannot be sent to another process.
    here = spec is None or findable(the_task) is None
    plan = make_plan(the_task, dataset, card, source=source, batch=batch, seed=seed, limit=limit, reading=reading)
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
        manifest["dataset"] |= {"categories": categories, "notes": list(dataset.notes)}
        write_json(folder / MANIFEST, manifest)
        done_before = len(plan.samples) - sum(o.end - o.start for o in missing_orders(plan, folder))
        if done_before:
            say(f"{folder}: going on; {done_before} of {len(plan.samples)} images are done")
        if spec is not None and here:
            say(f"task {the_task.name!r} lives in this program alone: asked here, without workers or time limit")
        told = notes or the_task.notes
        watch = Watch(max_failures, _answered_before(folder), lambda boxes: _on_refused(plan, told, boxes))
        with _progress(progress, len(plan.samples)) as step:
            step(done_before)
            if spec is None or here:
                loaded = model if spec is None else spec.load()
                run_here(plan, loaded, folder, strict=strict, watch=watch, progress=step)
            else:
                run_workers(
                    plan, spec, folder, workers=workers, time_limit=time_limit, strict=strict, threads=threads,
                    watch=watch, progress=step,
                )  # fmt: skip
        manifest["max_failures"] = max_failures
        seconds = time.perf_counter() - started
        _finish(plan, folder, manifest, seconds, len(plan.samples) - done_before, watch, told)
    return Run(folder)


def _answered_before(folder: Path) -> int:
    """How many images earlier attempts at this run have stored answers for."""
    import json

    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "work").glob("*.json"))]
    return sum(int(shard["answered"]) for shard in stored)


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


def _on_refused(plan: Plan, notes: Notes, boxes: Mapping[str, list[list[float]]]) -> list[str]:
    """What the notes say about answers that were refused."""
    samples = [sample for sample in plan.samples if sample.id in boxes]
    return notes(samples, {name: Boxes(rows) for name, rows in boxes.items()}, plan.context())


def _finish(
    plan: Plan, folder: Path, manifest: dict[str, Any], seconds: float, asked: int, watch: Watch, notes: Notes
) -> None:
    """Put the shards together and say that the run is complete; the manifest is the last thing written."""
    import json

    import pyarrow.parquet as pq

    from countenance.answers.store import read_answers

    numbers = range(len(plan.shards()))
    work = folder / "work"
    failures = [row for n in numbers for row in json.loads((work / f"{n:05d}.json").read_text())["failures"]]
    try:
        watch.finished(failures, len(plan.samples))
    except InputError:
        shutil.rmtree(work)  # the same command tries again once the cause is removed
        raise
    write_atomically(
        folder / "scores.parquet",
        lambda part: concatenate([work / f"{n:05d}.scores.parquet" for n in numbers], part),
    )
    table = failure_table(failures, plan)
    write_atomically(folder / "failures.parquet", lambda part: pq.write_table(table, part))
    answers = read_answers(folder / "answers")
    answered = [sample for sample in plan.samples if sample.id in answers]
    manifest |= {
        "status": "complete",
        "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "failed": len(failures),
        "seconds": round(seconds, 3),
        "images_per_second": round(asked / seconds, 2) if asked else None,
        "cores": os.cpu_count(),
        "summaries": [vars(summary) for summary in plan.task.summarise(answered, answers, plan.seed)],
        "notes": notes(answered, answers, plan.context()),
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
