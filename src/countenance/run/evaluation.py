"""One evaluation: the missing parts of a run are predicted, scored and combined."""

import shlex
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from countenance.answers import Boxes
from countenance.data.conditions import Conditions
from countenance.data.manifest_writer import ManifestWriter
from countenance.errors import InputError, RunError
from countenance.run.chosen_model import ChosenModel
from countenance.run.early_stop import AllFailed, Watch
from countenance.run.engine import Engine, InProcess, Job, Workers
from countenance.run.engine.local import thread_environment
from countenance.run.file_names import AUDIT, FINDINGS, JOURNAL, LOCAL, MANIFEST, REPORT, is_own, marker_name
from countenance.run.manifest import DamagedManifest, Manifest, Place, located, published_command
from countenance.run.marker import Marker
from countenance.run.pictures import changed_picture
from countenance.run.plan import InManifest, InMemory, Piece, RunPlan
from countenance.run.rows import columns_of
from countenance.run.run import Run
from countenance.run.stages import Notes, finish, score
from countenance.run.staleness import draw, lowest_score, some
from countenance.run.store import RunStore
from countenance.run.surroundings import prepare_samples, remove_samples
from countenance.run.trust import code_folder
from countenance.run.verification import verify
from countenance.run.withdrawals import withdrawn_from
from countenance.scratch import temporary_folder
from countenance.settings.engine import EngineSettings, ProgressMaker
from countenance.storage import Missing, is_url
from countenance.tasks import findable

LONG = 10_000
"""From this many images on, a run says beforehand what it will cost."""
ATTEMPTS = 3
"""Times that a shard is processed when it does not arrive whole."""


@dataclass(frozen=True)
class Evaluation:
    """One call of `evaluate`."""

    plan: RunPlan
    model: ChosenModel
    store: RunStore
    settings: EngineSettings
    notes: Notes
    read: Mapping[str, Any]
    """How the dataset was read, for the manifest."""
    people: tuple[str, ...] | None = None
    """Who withdrew, where a run from another machine is resumed."""
    labels: tuple[Path, ...] = ()
    """The label files beside the dataset."""

    def run(self) -> Run:
        """Do the missing parts of the run and return it."""
        self._make_way()
        if self.people and not self.store.exists():
            raise RunError(
                f"{self.store.place}: a new run, from which nobody was withdrawn; withdrawn= is for one that resumes "
                "on another machine. Take their pictures out of the dataset, or `countenance purge` after the run"
            )
        if self.store.exists():  # the same run: withdrawn people stay out
            withdrawn = withdrawn_from(self.store, self.plan, self.people)
            return replace(self, plan=replace(self.plan, withdrawn=withdrawn))._go_on()
        return self._try()

    def _go_on(self) -> Run:
        """Resume the existing run, unless its pictures have changed since."""
        changed = changed_picture(self.plan, self.store, self.store.committed(rows=False))
        if changed is not None:
            self._move_aside(f"the picture of {changed} has changed, or of another sample of its shard")
        return self._try()

    def _try(self) -> Run:
        try:
            return self._run()
        except _OtherModel as other:
            self._move_aside(str(other))
            return self._run()

    def _run(self) -> Run:
        place, pieces = self.store.place, self.plan.pieces()
        with self.store.storage.hold(), ExitStack() as resources:
            if folders := self.store.tidy():
                self.settings.say(f"{place}: folders were in place of {', '.join(folders)}; moved out of the way")
            engine = _Lazy(lambda: self._engine(resources))
            intact = self._intact() and not self._other_groups()
            markers = self.store.committed(rows=False) if intact else self._repaired()
            if not intact:
                self.store.sweep(markers)
            if markers:
                self._check_model(engine, markers)
            missing = [piece for piece in pieces if piece.number not in markers]
            if intact and not missing:
                self.settings.say(f"{place}: already complete, nothing to do")
                return Run(place)
            manifest = self._start()
            done = sum(piece.images for piece in pieces if piece.number in markers)
            if done:
                self.settings.say(f"{place}: resuming; {done} of {self.plan.images()} images are done")
            self._say_cost(missing, engine)
            started = time.perf_counter()
            with _progress(self.settings.progress, self.plan.images()) as step:
                step(done)
                markers = self._work_off(pieces, missing, engine, step)
            seconds, evaluated = time.perf_counter() - started, sum(piece.images for piece in missing)
            speed = round(evaluated / seconds, 2) if evaluated else None
            manifest = manifest.model_copy(update={"seconds": round(seconds, 3), "images_per_second": speed})
            self._finish(markers, manifest, engine)
        return Run(place)

    def _say_cost(self, missing: list[Piece], engine: "_Lazy") -> None:
        """Print, before a long run, the number of images, the speed on a few of them, and the expected time."""
        images = sum(piece.images for piece in missing)
        if images >= LONG and (rate := engine().rate(missing[0])) is not None:
            self.settings.say(f"{self.store.place}: {rate.estimate(images)}")

    def _work_off(
        self, pieces: list[Piece], missing: list[Piece], engine: "_Lazy", step: Callable[[int], None]
    ) -> dict[int, Marker]:
        """Process the missing shards. A shard that arrived incomplete (a broken upload) is repeated."""
        for _ in range(ATTEMPTS):
            if missing:
                engine().run(missing, step)
            markers = self.store.committed()
            missing = [piece for piece in pieces if piece.number not in markers]
            if not missing:
                return markers
            step = _silent
            for piece in missing:
                self.store.forget_shard(piece.number)
        raise RunError(
            f"{self.store.place}: shard {missing[0].number} did not arrive whole {ATTEMPTS} times; check the disk or "
            "the network, then run the same command again"
        )

    def _finish(self, markers: Mapping[int, Marker], manifest: Manifest, engine: "_Lazy") -> None:
        """Put the run together."""
        watch = self._watch() if engine.engine is None else engine.engine.watch
        if watch.differed:
            numbers = ", ".join(str(number) for number in sorted(watch.differed)[:5])
            note = f"the model is nondeterministic: shard {numbers} was predicted twice, differently; the first is kept"
            self.settings.say(f"{self.store.place}: {note}")
            manifest = manifest.model_copy(update={"notes": [*manifest.notes, note]})
        self.store.sweep(markers)
        try:
            finish(
                self.plan, self.store, markers, manifest, watch=watch, notes=self.notes, progress=self.settings.progress
            )
        except AllFailed:
            for number in markers:  # the same command tries again once the cause is removed
                self.store.forget_shard(number)
            raise

    def _watch(self) -> Watch:
        """The watch over the run from its first image; images of an earlier attempt count as answered."""
        before = sum(marker.answered for marker in self.store.committed(rows=False).values())
        return Watch(self.settings.max_failures, before, self._on_refused)

    def _on_refused(self, boxes: Mapping[str, list[list[float]]]) -> list[str]:
        """The notes on predictions that were refused."""
        samples = [sample for piece in self.plan.pieces() for sample in self.plan.read(piece) if sample.id in boxes]
        return self.notes(samples, {name: Boxes(rows) for name, rows in boxes.items()}, self.plan.context())

    def _make_way(self) -> None:
        """Make sure that the place is empty or holds the same run; another run is moved aside and never mixed in."""
        names = [entry.name for entry in self.store.storage.entries() if entry.name != LOCAL]
        if not names:
            return
        if not self.store.exists():
            if all(name.startswith(("shards/", "answers/", "work/")) for name in names):
                return  # killed before the manifest was written
            if self.store.broken():
                return self._move_aside(f"{MANIFEST} is missing")
            raise RunError(f"{self.store.place}: exists and holds no run; name a folder that is new or empty")
        if JOURNAL in names:
            raise RunError(f"{self.store.place}: a purge was interrupted; `countenance purge` resumes it")
        try:
            if self.store.manifest().key != self.plan.key():
                self._move_aside("model, data, settings or version changed")
        except DamagedManifest:
            self._move_aside(f"{MANIFEST} is damaged")

    def _move_aside(self, why: str) -> None:
        place = self.store.place
        self.settings.say(f"{place}: held another run ({why}); it is kept as {self.store.move_aside()}")

    def _intact(self) -> bool:
        """Whether the run is finished and no file has changed; damage is reported, a damaged audit or page deleted."""
        if not self.store.exists() or self.store.manifest().status != "complete":
            return False
        try:
            problems = verify(self.store).problems
        except InputError as error:
            problems = [str(error)]
        if problems:
            self.settings.say(f"{self.store.place}: damaged ({problems[0]}); repairing")
            for name in (FINDINGS, AUDIT, REPORT):
                if any(problem.startswith(f"{name}:") for problem in problems):
                    self.store.storage.delete(name)
        return not problems

    def _other_groups(self) -> bool:
        """Whether results are requested for other attributes than a finished run has."""
        if self.plan.by is None or self.plan.task.reduce is None:
            return False
        return self.store.manifest().by != list(self.plan.by)

    def _repaired(self) -> dict[int, Marker]:
        """The shards that count; intact predictions without rows are scored again, damaged shards discarded."""
        whole = self.store.committed()
        pieces = {piece.number: piece for piece in self.plan.pieces()}
        again = {n: stored for n, stored in self.store.committed(rows=False).items() if n not in whole and n in pieces}
        conditions = self._conditions() if again else Conditions()
        for number, marker in again.items():
            score(self.plan, self.store, pieces[number], marker, conditions)
        markers = self.store.committed()
        counts = {marker_name(number) for number in markers}
        for entry in self.store.storage.entries("shards/"):
            if is_own(entry.name) and entry.name not in counts:  # what a user put there stays
                self.store.storage.delete(entry.name)
        return markers

    def _conditions(self) -> Conditions:
        """The pictures' conditions in an earlier score table; empty without one."""
        try:
            return Conditions.stored(self.store.scores())
        except (InputError, Missing):
            return Conditions()

    def _check_model(self, engine: "_Lazy", markers: Mapping[int, Marker]) -> None:
        """Repeat a few stored predictions where the model's hash does not cover everything that it is made of."""
        if self.model.card.hashed:
            return
        pieces = some([piece for piece in self.plan.pieces() if piece.number in markers], self.plan.settings.seed)
        stored = {
            piece.number: {
                name: lowest_score(answer) for name, answer in self.store.shard_answers(piece.number).items()
            }
            for piece in pieces
        }
        chosen = draw(stored, self.plan.settings.seed)
        difference = engine().probe(pieces, chosen) if chosen else None
        if difference is None:
            return
        if difference.repeatable:
            raise _OtherModel(f"its prediction for {difference.sample} is not what the model predicts now")
        self.settings.say(
            f"{self.store.place}: the model is nondeterministic: it predicts {difference.sample} differently "
            "each time; continuing with what is stored"
        )

    def _start(self) -> Manifest:
        """Record in the store that the run is in progress."""
        decoders = self.settings.decode_processes(self.model.device, self.plan.settings.decode)
        engine = {
            "name": "local" if self._in_process() else self.settings.engine,
            "workers": 0 if self._in_process() else self.settings.workers,
            "threads": self.settings.threads,
            "decoders": 0 if self._in_process() else decoders,
            "device": self.model.device,
            "time_limit": self.settings.time_limit,
        }
        manifest = self.plan.manifest().model_copy(
            update={
                "engine": engine,
                "command": published_command(),
                "max_failures": self.settings.max_failures,
                "notes": list(self.model.notes),
                "withdrawn": sorted(self.plan.withdrawn.hashes),
                "purged": len(self.plan.withdrawn.hashes),
            }
        )
        remaining = self.store.manifest().dataset.remaining if self.store.exists() else []
        manifest.dataset = manifest.dataset.model_copy(update={**self.read, "remaining": remaining})
        here = Place(
            source=located(self.plan.source),
            command=shlex.join(sys.argv),
            paths={f"labels:{path.name}": str(path.absolute()) for path in self.labels},
            code=code_folder(self.plan.task.source),
        )
        self.store.write_local(here, manifest)
        self.store.write_manifest(manifest)
        return manifest

    def _in_process(self) -> bool:
        """Whether this process must evaluate: a model object, saved predictions or a local task."""
        spec = self.model.spec
        return spec is None or not spec.needs_process or findable(self.plan.task) is None

    def _engine(self, resources: ExitStack) -> Engine:
        columns = columns_of(self.plan.task, self.plan.samples.attributes)
        if self._in_process():
            if self.model.spec is not None and self.model.spec.needs_process:
                self.settings.say(
                    f"task {self.plan.task.name!r} exists in this program alone: evaluated here, "
                    "without workers or time limit"
                )
            return InProcess(
                self.plan,
                self.model.here(),
                self.store,
                columns,
                self._watch(),
                self.settings.strict,
                self.settings.time_limit,
            )
        task, spec = self.plan.task, self.model.spec
        assert spec is not None
        threads = self.settings.threads or (1 if self.settings.engine == "ray" else None)
        job = Job(
            task=task.source or task.name,
            options=None if task.options is None else task.options.model_dump(mode="json"),
            model=spec.located(),
            manifest=self._manifest_place(resources),
            store=self.store.place if is_url(self.store.place) else str(Path(self.store.place).absolute()),
            columns=columns,
            batch=self.plan.settings.batch,
            decoders=self.settings.decode_processes(self.model.device, self.plan.settings.decode),
            decode=self.plan.settings.decode,
            strict=self.settings.strict,
            time_limit=self.settings.time_limit,
            max_failures=self.settings.max_failures,
            withdrawn=self.plan.withdrawn,
            context=self.plan.context(),
            fit=self.plan.fit,
            environment=thread_environment(self.settings.workers, threads),
        )
        if self.settings.engine == "local":
            workers = Workers(job, self._watch(), self.settings.workers)
            resources.callback(workers.close)
            return workers
        from countenance.run.engine.ray import RayEngine

        engine = RayEngine(
            job,
            self._watch(),
            self.plan.key(),
            self.settings.workers,
            self.settings.address,
            self.settings.gpus_per_worker,
            threads or 1,
        )
        resources.callback(engine.close)
        return engine

    def _manifest_place(self, resources: ExitStack) -> str:
        """The place where workers read the samples: the dataset's own manifest, or a temporary one."""
        samples = self.plan.samples
        if isinstance(samples, InManifest):
            return samples.manifest.storage.place
        assert isinstance(samples, InMemory)
        if self.settings.engine == "ray":
            # Every node must find it, so it is beside the run, with the pictures where that is an object store.
            beside = prepare_samples(self.store.place)
            resources.callback(remove_samples, beside)
            far = is_url(self.store.place)
            writer = ManifestWriter(beside, samples.card, partition=len(samples.samples), embed=far, sizes=False)
            return writer.write(samples.samples).storage.place
        folder = str(resources.enter_context(temporary_folder("samples")))
        ManifestWriter(folder, samples.card, partition=len(samples.samples), sizes=False).write(samples.samples)
        return folder


def _silent(images: int = 1) -> None:
    """No progress, for work that was counted before."""


class _OtherModel(Exception):
    """The stored predictions come from another model."""


class _Lazy:
    """An engine that is created on first use: a finished run needs none."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        self.make, self.engine = make, None

    engine: Engine | None

    def __call__(self) -> Engine:
        if self.engine is None:
            self.engine = self.make()
        return self.engine


def _progress(maker: ProgressMaker | None, total: int) -> AbstractContextManager[Callable[..., None]]:
    return nullcontext(lambda n=1: None) if maker is None else maker("evaluating", total)
