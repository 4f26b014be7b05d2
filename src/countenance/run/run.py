"""`Run`: a finished (or unfinished) run, for reading."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countenance.errors import InputError
from countenance.run.manifest import Manifest
from countenance.run.store import FAILURES, FINDINGS, RunStore
from countenance.storage import is_url

if TYPE_CHECKING:
    from countenance.answers import Answer
    from countenance.audit import Audit
    from countenance.data import Dataset
    from countenance.storage import Storage
    from countenance.tasks import Result


class Run:
    """A run in a folder or at a URL.

    `scores()`, `failures()` and `findings()` are Arrow tables, `results()` the numbers and curves of the whole run;
    `manifest` says what was evaluated.
    """

    def __init__(self, place: "Path | str | Storage") -> None:
        self.store = RunStore(place)
        self.manifest: Manifest = self.store.manifest()

    def __repr__(self) -> str:
        return f"Run({self.place!r}, {self.manifest.task} of {self.model_name} on {self.dataset_name})"

    @property
    def place(self) -> str:
        """Where the run is: a folder or a URL."""
        return self.store.place

    @property
    def path(self) -> Path:
        """The run's folder; InputError for a run at a URL, which has none."""
        if is_url(self.place):
            raise InputError(f"{self.place}: is in an object store and has no folder; name a file, such as --out FILE")
        return Path(self.place)

    @property
    def model_name(self) -> str:
        return self.manifest.model.name

    @property
    def dataset_name(self) -> str:
        return self.manifest.dataset.card.name

    @property
    def notes(self) -> list[str]:
        """What a reader of the numbers should know, such as boxes that look as if they were read wrongly."""
        return list(self.manifest.notes)

    @property
    def complete(self) -> bool:
        return self.manifest.status == "complete"

    def scores(self) -> Any:
        """The score table: one row for each unit that can fail."""
        return self.store.scores()

    def failures(self) -> Any:
        """The images without a prediction, each with its reason and who is in it."""
        return self.store.table(FAILURES)

    def findings(self) -> Any:
        """The findings of the last audit."""
        return self.store.table(FINDINGS)

    def results(self) -> "list[Result]":
        """Numbers, curves, matrices and tables of the whole run."""
        return self.store.results()

    def answers(self) -> "dict[str, Answer]":
        """Every stored prediction, by sample id."""
        return dict(self.store.answers())

    def dataset(self, source: str | None = None) -> "Dataset":
        """The dataset that was evaluated, loaded again as it is now; the manifest has its fingerprint as it was.

        `source` says where it is when the run was made on another machine.
        """
        from countenance.data import load_dataset

        wanted = source or self.store.local().source or self.manifest.dataset.source
        if wanted is None:
            raise InputError(f"{self.place}: the dataset was made in a program and cannot be loaded again")
        return load_dataset(wanted, categories=self.manifest.dataset.categories)

    def audit(self, by: list[str] | None = None, metrics: list[str] | None = None, **settings: Any) -> "Audit":
        """Audit this run's scores and store the findings; see `countenance.audit.audit` for the settings."""
        from countenance.run.auditing import audit_run, store_audit

        found = audit_run(self, by=by, metrics=metrics, **settings)
        store_audit(self, found)
        return found

    def report(self, out: Path | str | None = None, **options: Any) -> Path:
        """Write the report of the last audit (or of the default one) and return its path.

        The page is report.html in the run directory unless `out` says otherwise.
        """
        from importlib import import_module

        from countenance.run.store import AUDIT

        if not self.store.storage.has(AUDIT):
            self.audit()

        # The report package reads runs; this one step to the right is for the user's convenience.
        write: Callable[..., Path] = import_module("countenance.report").write_report
        return write(self, None if out is None else Path(out), **options)
