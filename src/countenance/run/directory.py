"""The run directory: the only source of truth. Written atomically, one writer at a time, read by everybody."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.answers import Answer
    from countenance.audit import Audit
    from countenance.data import Dataset

MANIFEST = "run.json"


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Call `write` on a temporary sibling, then put it in place: readers see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(temporary)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)  # the user knows the target, not our temporary name
        raise


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically; numbers that are not finite become null."""
    text = json.dumps(_finite(content), indent=2, ensure_ascii=False, default=str) + "\n"
    write_atomically(path, lambda part: part.write_text(text, encoding="utf-8"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a run directory; a second writer is refused. The lock goes with the process, however it ends."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another run is writing here; wait for it or name another folder") from None
        yield


class Run:
    """A run directory, for reading.

    `scores()`, `failures()` and `findings()` are Arrow tables; `manifest` is what was asked.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        try:
            self.manifest: dict[str, Any] = json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{self.path}: no run here ({MANIFEST} is missing); `countenance run` makes one") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{self.path / MANIFEST}: not JSON ({error})") from error
        try:
            self.manifest["task"], self.model_name, self.dataset_name
        except (KeyError, TypeError):
            raise InputError(f"{self.path / MANIFEST}: not a run's manifest; `countenance run` makes one") from None

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, {self.manifest.get('task')} of {self.model_name} on {self.dataset_name})"

    @property
    def model_name(self) -> str:
        return str(self.manifest["model"]["name"])

    @property
    def dataset_name(self) -> str:
        return str(self.manifest["dataset"]["card"]["name"])

    @property
    def notes(self) -> list[str]:
        """Sentences about answers that look like a mistake, such as boxes in another reading."""
        return [str(note) for note in self.manifest.get("notes", [])]

    @property
    def complete(self) -> bool:
        return self.manifest.get("status") == "complete"

    def scores(self) -> Any:
        """The score table: one row per unit that can fail."""
        return self._table("scores.parquet")

    def failures(self) -> Any:
        """The images without an answer, each with its reason."""
        return self._table("failures.parquet")

    def findings(self) -> Any:
        """The findings of the last audit."""
        return self._table("findings.parquet")

    def answers(self) -> dict[str, "Answer"]:
        """Every stored answer, by sample id."""
        from countenance.answers.store import read_answers

        return read_answers(self.path / "answers")

    def dataset(self) -> "Dataset":
        """The dataset that was asked about, loaded again as it is now; the manifest has its fingerprint as it was."""
        from countenance.data import load_dataset

        source = self.manifest["dataset"]["source"]
        if source is None:
            raise InputError(f"{self.path}: the dataset was made in a program and cannot be loaded again")
        return load_dataset(source, categories=self.manifest["dataset"].get("categories"))

    def _table(self, name: str) -> Any:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path / name
        if not path.exists():
            hint = (
                "`countenance audit` writes it"
                if name == "findings.parquet"
                else "the run did not finish; run it again"
            )
            raise InputError(f"{path}: missing; {hint}")
        try:
            return pq.read_table(path)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: not a readable Parquet file ({str(error).splitlines()[0]})") from error

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

        if not (self.path / "audit.json").exists():
            self.audit()

        # The report room reads runs; this one step to the right is for the user's convenience.
        write: Callable[..., Path] = import_module("countenance.report").write_report
        return write(self, None if out is None else Path(out), **options)
