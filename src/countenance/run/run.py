"""`Run`: a finished (or unfinished) run, for reading."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countenance.errors import RunError
from countenance.models.labels import model_label
from countenance.run.file_names import FINDINGS
from countenance.run.manifest import Manifest, Place
from countenance.run.named_tasks import described_task, registered_task, task_with_code
from countenance.run.store import RunStore
from countenance.storage import is_url

if TYPE_CHECKING:
    from countenance.answers import Answer
    from countenance.auditing import Audit
    from countenance.data import Dataset
    from countenance.run.shard_store import Parsed
    from countenance.run.suite import Suite
    from countenance.storage import Storage
    from countenance.tasks import Result, State, Task


UNVERIFIED = "the files of this run were not compared with their hashes (verified=False): anybody may have edited them"


class Run:
    """A run in a folder or at a URL.

    `scores()`, `failures()` and `findings()` are Arrow tables, `results()` the numbers and curves of the whole run;
    `manifest` says what was evaluated. A file that was changed after it was written is refused, unless `verified` is
    False. Code and folders that a run names are used only if this user made the run on this machine; for other runs,
    `trust_code` and `data` (datasets by name, with their place) allow it.

    >>> import countenance as ct
    >>> run = ct.evaluate("haar", "face_localization", "people:portraits", limit=4)
    >>> ct.Run(run.path).manifest.dataset.images, run.complete
    (4, True)
    """

    def __init__(
        self,
        place: "Path | str | Storage",
        *,
        verified: bool = True,
        trust_code: bool = False,
        data: Mapping[str, str | Path] | None = None,
    ) -> None:
        self.store = RunStore(place, verified=verified)
        self.manifest: Manifest = self.store.manifest()
        self.trust_code, self.data = trust_code, dict(data or {})
        self.cautions = [] if verified else [UNVERIFIED]
        """Warnings that a page shows beside the run's own notes."""
        self.unstored: Audit | None = None
        """An audit that could not be stored, because the run cannot be written to."""
        self.loaded: Dataset | None = None
        """The dataset, once this process has read it."""
        self.read_since: float | None = None
        """Since when the pictures of `loaded` are known to be those of the run (`time.time()`); None: not known."""
        self.made_by: Suite | None = None
        """The suite that made the run in this process; later, an installed suite is loaded by its name."""

    def __repr__(self) -> str:
        """The run in at most five lines: where it is, and what its audit found."""
        return str(import_module("countenance.report.notebook").run_lines(self))

    def _repr_html_(self) -> str:
        """The first screen of the run, for a notebook."""
        return str(import_module("countenance.report.notebook").run_html(self))

    @property
    def place(self) -> str:
        """The place of the run: a folder or a URL."""
        return self.store.place

    @property
    def path(self) -> Path:
        """The run's folder; InputError for a run at a URL."""
        if is_url(self.place):
            raise RunError(f'{self.place}: is in an object store and has no folder; name a file, such as out="FILE"')
        return Path(self.place)

    @property
    def model_name(self) -> str:
        """The name of the model that was evaluated."""
        return self.manifest.model.name

    @property
    def model_label(self) -> str:
        """The model as pages call it: MTCNN, not mtcnn."""
        return model_label(self.model_name)

    @property
    def dataset_label(self) -> str:
        """The dataset as pages call it: people:portraits, not people."""
        return self.manifest.dataset.label

    @property
    def dataset_name(self) -> str:
        """The name of the dataset that it was evaluated on."""
        return self.manifest.dataset.card.name

    @property
    def notes(self) -> list[str]:
        """Notes for readers of the numbers, such as boxes that seem to be read wrongly."""
        return [*self.manifest.notes, *self.cautions]

    def plain_manifest(self) -> dict[str, Any]:
        """The manifest as nested dicts, with all notes that pages show."""
        return self.manifest.plain() | {"notes": self.notes}

    @cached_property
    def local(self) -> Place:
        """Where things are on this machine; empty for a run that was made elsewhere or by somebody else."""
        return self.store.local(self.manifest)

    @property
    def made_here(self) -> bool:
        """Whether this user made the run on this machine."""
        return bool(self.local.mark)

    @property
    def complete(self) -> bool:
        """Whether every image was evaluated, or failed for a reason that the run holds."""
        return self.manifest.status == "complete"

    def require_complete(self) -> None:
        """Refuse a run that did not finish."""
        if not self.complete:
            raise RunError(f"{self.place}: the run did not finish; the same `countenance run` command resumes it")

    def scores(self) -> Any:
        """The score table: one row for each unit that can fail."""
        return self.store.scores()

    def failures(self) -> Any:
        """The images without a prediction, each with the reason and the people in it."""
        return self.store.failures()

    def findings(self) -> Any:
        """The findings of the last audit."""
        return self.store.table(FINDINGS)

    def results(self) -> "list[Result]":
        """Numbers, curves, matrices and tables of the whole run."""
        return self.store.results()

    def evidence(self, make: "Callable[[State], Parsed]") -> "Parsed":
        """The result of `make` for the arrays behind the results (`Reduced.evidence`), which may be none.

        It is kept as long as these are the same, so that several pages and tables compute it once. Each function has
        its own result; a closure is the same function at each call, so its result may depend on the run alone.
        """
        return self.store.evidence(make)

    def fit_notes(self) -> dict[str, Any]:
        """The return value of the model's fit, and its duration in seconds; empty for models that are not fitted."""
        return self.store.fit_notes()

    def answers(self) -> "dict[str, Answer]":
        """Every stored prediction, by sample id."""
        return dict(self.store.answers())

    def evaluated(self) -> set[str]:
        """The ids of the samples whose pictures were evaluated."""
        failures = self.failures()
        refused = {row["sample"]: row["kind"] for row in failures.select(["sample", "kind"]).to_pylist()}
        return (self.store.answered() | set(refused)) - {name for name, kind in refused.items() if kind == "image"}

    def dataset(self, source: str | None = None) -> "Dataset":
        """The dataset of the run in its present state, loaded once; the manifest has the evaluated one's fingerprint.

        `source` says where it is when the run was made on another machine.
        """
        if self.loaded is not None and source is None:
            return self.loaded
        from countenance.data import load_dataset
        from countenance.settings import ReadingSettings

        record = self.manifest.dataset
        place = source or self._source()
        reading = {name: record.reading[name] for name in ReadingSettings.names() if name in record.reading}
        if "labels" in reading:
            reading["labels"] = [self._label_file(str(name), place) for name in reading["labels"]]
        dataset = load_dataset(place, **(reading | {"categories": record.categories}))
        if source is None:
            self.loaded = dataset
        return dataset

    def _label_file(self, name: str, source: str) -> Path:
        """The path of a label file: as recorded by a run made here, else in the dataset's folder."""
        stated = self.local.paths.get(f"labels:{name}")
        return Path(source) / Path(name).name if stated is None else Path(stated)

    def _source(self) -> str:
        """The place of the dataset: from `data`, as recorded by a run made here, or in this package."""
        from countenance.data.registry import is_shipped

        record = self.manifest.dataset
        for name in (record.card.name, record.source):
            if name in self.data:
                return str(self.data[name])
        if self.local.source is not None:
            return self.local.source
        if record.source is not None and is_shipped(record.source):
            return record.source
        if record.source is None or self.made_here:
            raise RunError(f"{self.place}: the dataset was made in a program and cannot be loaded again")
        raise RunError(
            f"{self.place}: was not made here, so the dataset that it names is not looked for; say where it is: "
            f'data={{"{record.card.name}": "PATH"}}'
        )

    def task(self) -> "Task | None":
        """The task without importing foreign code: a registered task, or the description that the run stores."""
        if self.trust_code and self.manifest.task_source is not None:
            return self.code_task()
        return registered_task(self.manifest) or described_task(self.manifest)

    def code_task(self) -> "Task":
        """The task with its code, to score or reduce again; InputError if that would import foreign code."""
        return task_with_code(self)

    def audit(self, by: Sequence[str] | None = None, metrics: Sequence[str] | None = None, **settings: Any) -> "Audit":
        """Audit this run's scores and store the findings; see `countenance.auditing.audit` for the settings.

        The stored audit is returned where it has the same settings and the rows are the same.
        """
        from countenance.run.auditing import audit_run, store_audit
        from countenance.run.ledger import noted, question_of, stored_answer

        question = question_of(self, by, metrics, settings)
        if (stored := stored_answer(self, question)) is not None:
            return stored
        audit = noted(self, audit_run(self, by=by, metrics=metrics, **settings))
        store_audit(self, audit, question)
        return audit.of(self)

    def report(self, out: Path | str | None = None, **options: Any) -> Path:
        """Write the report of the last audit (or of the default one) and return its path.

        The page is report.html in the run directory unless `out` says otherwise. A suite may have its own report, with
        its own options.
        """
        from countenance.run.file_names import AUDIT

        suite = import_module("countenance.run.suite").suite_of(self)
        if suite is not None and suite.report is not None:
            own: Path = suite.report(self, out, **options)
            return own
        if not self.store.storage.has(AUDIT):
            self.audit()

        # The report package imports this one; this import in the other direction is for the user's convenience.
        write: Callable[..., Path] = import_module("countenance.report").write_report
        return write(self, None if out is None else Path(out), **options)
