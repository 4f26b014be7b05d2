"""A run of FHIBE: a run like any other, which also knows its protocol and where its data and outputs are."""

from collections.abc import Set
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from countenance.auditing.groups import CROSS
from countenance.errors import InputError
from countenance.run.run import Run
from countenance.run.store import AUDIT, FINDINGS, MANIFEST, REPORT
from countenance.suites.fhibe.places import LARGEST, is_largest
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.vocabulary import UNKNOWN
from countenance.tasks.results import Number, Result, Table
from countenance.tasks.validation_rate import RATES

PDF = "report.pdf"
FOLDERS = {"default": "run", "strict": "run-strict"}
"""Where the run of each mode is unless another place is named, so that neither replaces the other."""
DERIVED = (FINDINGS, AUDIT, REPORT, PDF)
"""Files that rest on the scores: they go when the scores are replaced."""
KEPT = ("dataset", "task", "model_name", "compat", "mini", "depth", "layout")
"""Settings that a manifest keeps as they are."""
MODEL_CARD = "model_card.json"
"""Beside model_outputs.json: what the model is, where somebody wrote it down."""


class FhibeRun(Run):
    """A run of FHIBE's protocol: a run like any other, which also knows the groups of VAL and its own report."""

    replaced: tuple[str, ...] = ()
    """What `evaluate_task` removed of an earlier run of the same mode here, because it rests on other scores."""

    largest_regions: bool = False
    """Whether `scores()` names ancestry and nationality by continent alone, for a report."""

    compared: tuple[str, ...] | None = None
    """The attributes that a report is about; None: all."""

    def __init__(self, place: Any, **how: Any) -> None:
        super().__init__(place, **how)
        self.manifest.summaries = [  # type: ignore[attr-defined]
            {"name": r.name, "meaning": r.meaning, "estimate": r.value, "low": r.low, "high": r.high, "n": r.n}
            for r in self.results()
            if isinstance(r, Number) and r.group is None
        ]

    def scores(self) -> Any:
        """The score table: one row per person."""
        table = super().scores()
        for attribute, kept in LARGEST.items() if self.largest_regions else ():
            name = f"attr.{attribute}"
            if name in table.column_names:
                known = ([v for v in row or () if v in (*kept, UNKNOWN)] for row in table[name].to_pylist())
                column = [values or [UNKNOWN] for values in known]
                table = table.set_column(table.column_names.index(name), name, [column])
        return table

    def results(self) -> list[Result]:
        """The results of the whole run; those of groups as far as a report is about them."""
        kept: list[Result] = []
        for one in super().results():
            if isinstance(one, Table) and one.name == RATES:
                kept.append(one.model_copy(update={"rows": [row for row in one.rows if self._compares(*row[:2])]}))
            elif self._is_about(one):
                kept.append(one)
        return kept

    def _is_about(self, result: Result) -> bool:
        """Whether a report is about a result: those of everybody, and those of the groups that it compares."""
        attribute = getattr(result, "attribute", None)
        if isinstance(result, Number):
            return not result.group or self._compares(attribute, result.group)
        return attribute is None or self.compared is None or set(attribute.split(CROSS)) <= set(self.compared)

    def _compares(self, by: Any, group: Any) -> bool:
        """Whether a report is about a group, alone or crossed."""
        names = str(by).split(CROSS)
        asked = self.compared is None or set(names) <= set(self.compared)
        return asked and (not self.largest_regions or is_largest(names, str(group).split(CROSS)))

    @property
    def fhibe(self) -> dict[str, Any]:
        """What is FHIBE's alone: compat, attributes, metrics, thresholds, skipped metrics, problems."""
        found = self.manifest.about
        if self.manifest.suite != "fhibe" or not found:
            raise InputError(f"{self.path}: not a run of `countenance fhibe evaluate`")
        return found

    def report(self, out: Path | str | None = None, **options: Any) -> Path:
        """Write the bias report and return its path."""
        from countenance.suites.fhibe.report import write_bias_report

        return write_bias_report(self, out, **options)

    def amend(self, version: str | None = None, **about: Any) -> None:
        """Write facts of the protocol, and the dataset's version, into the manifest."""
        here, manifest = self.local, self.store.manifest()
        with self.store.replacing(MANIFEST):
            manifest.about |= about
            card = manifest.dataset.card
            manifest.dataset.card = card.model_copy(update={"version": version or card.version})
            self.store.write_manifest(manifest)
            if here.mark:  # the mark is over these facts too
                self.store.write_local(here, manifest)
        self.manifest = FhibeRun(self.place).manifest
        del self.local

    def folders(self) -> tuple[Path, Path, Path]:
        """Where the data root, the results root and the model's outputs are on this machine."""
        paths = self.local.paths
        if not {"data", "results", "outputs"} <= set(paths):
            raise InputError(f"{self.path}: was not made here, so where its data and outputs are is not known")
        return Path(paths["data"]), Path(paths["results"]), Path(paths["outputs"])


def load(part: str | None) -> Any:
    """The dataset of such a source, without its scheme."""
    from countenance.suites.fhibe.dataset import read_dataset

    root, _, query = (part or "").partition("?")
    asked = {name: values[0] for name, values in parse_qs(query).items()}
    if not root or {"dataset", "task", "attributes"} - set(asked):
        raise InputError(f"fhibe:{part}: expected fhibe:ROOT?dataset=fhibe_downsampled&task=…&attributes=pronoun,age")
    return read_dataset(root, asked["dataset"], asked["task"], tuple(asked["attributes"].split(",")))


def settings_of(run: FhibeRun, without: Set[str] = frozenset()) -> FhibeSettings:
    """The settings that a run was made with, for the images that are left."""
    asked, (data, results, _) = run.fhibe, run.folders()
    return FhibeSettings(
        data,
        metrics={name: {"thresholds": levels} for name, levels in asked["thresholds"].items()} or asked["metrics"],
        attributes=asked["attributes"],
        results=results,
        options={name: value for name, value in asked["options"].items() if name != "face_embedding"},
        without=without,
        downsampled=asked["dataset"].endswith("_downsampled"),
        **{name: asked[name] for name in KEPT if name in asked},
    )
