"""Withdrawn consent in FHIBE's layout: removes a model's outputs, pictures and published files beside its runs.

Runs are purged as every run is (`countenance.run.purge`); this module removes the protocol's files outside of them. A
model's default and strict runs share their outputs, so both are purged together.
"""

from collections.abc import Sequence
from pathlib import Path

from countenance.data.adapters.fhibe.table import read_table
from countenance.data.names import ImageNames
from countenance.data.paths import pictures_below
from countenance.data.reading.entries import read_entries, write_entries
from countenance.errors import InputError
from countenance.run.auditing import audit_again, read_audit, store_audit
from countenance.run.file_names import AUDIT, MANIFEST, REPORT
from countenance.run.purge import reduce_again
from countenance.run.run import Run
from countenance.suites.fhibe.evaluation import ABOUT, read
from countenance.suites.fhibe.published import is_published, write_published
from countenance.suites.fhibe.report import PDF, ReportedRun, write_pages
from countenance.suites.fhibe.settings import ENCODINGS, FILE, RUNS, FhibeSettings


def folders(run: Run) -> tuple[Path, Path, Path]:
    """The data root, the results root and the model's outputs on this machine."""
    paths = run.local.paths
    if not {"data", "results", "outputs"} <= set(paths):
        raise InputError(f"{run.place}: was not made here, so where its data and outputs are is not known")
    return Path(paths["data"]), Path(paths["results"]), Path(paths["outputs"])


def settings_of(run: Run) -> FhibeSettings:
    """The settings with which a run was made."""
    facts, (data, results, _) = run.manifest.about, folders(run)
    return FhibeSettings(
        data,
        metrics={name: {"thresholds": levels} for name, levels in facts["thresholds"].items()} or facts["metrics"],
        attributes=facts["attributes"],
        results=results,
        options={name: value for name, value in facts["options"].items() if name != "face_embedding"},
        downsampled=facts["dataset"].endswith("_downsampled"),
        **{name: facts[name] for name in ABOUT if name in facts},
    )


def related(run: Run) -> list[str]:
    """The runs on the same model's outputs."""
    outputs = run.local.paths.get("outputs")
    places = [] if outputs is None else [Path(outputs) / name for name in RUNS.values()]
    return [str(place) for place in places if (place / MANIFEST).is_file()]


def rescore(run: Run, gone: Sequence[str]) -> list[str]:
    """Clean the outputs and the published files, and recompute the results of the remaining people."""
    facts = run.manifest.about
    try:
        data, _, outputs = folders(run)
    except InputError:  # the run was copied without its outputs: only its own files can be cleaned
        return reduce_again(run, gone)
    table = read_table(data, facts["dataset"], (), (), strict=True)
    cleaned = _clean_outputs(outputs, ImageNames(list(dict.fromkeys(table.text("filepath")))), set(gone))
    others = [Run(place, verified=False) for place in related(run) if Path(place).resolve() != run.path.resolve()]
    if not any(other.manifest.about.get("layout") and _is_clean(other, gone) for other in others):
        for file in outputs.glob("*.json"):  # unless another run of these outputs was purged and wrote them again
            if is_published(file.name):
                file.unlink()
    for name in facts.get("reports", ()):
        (outputs / name).unlink(missing_ok=True)
    cleaned += reduce_again(run, gone)
    if facts.get("layout") and run.scores().num_rows:
        settings = settings_of(run)
        write_published(Run(run.store.storage, verified=False), read(settings), settings)
        cleaned.append("the published files")
    return cleaned


def _is_clean(run: Run, gone: Sequence[str]) -> bool:
    return not set(gone) & set(run.scores()["sample"].to_pylist())


def _clean_outputs(folder: Path, names: ImageNames, gone: set[str]) -> list[str]:
    """Remove the answers and pictures of the removed images."""
    cleaned = []
    if (folder / FILE).exists():
        left = []
        for name, entry in read_entries(folder / FILE):
            if names.find(name) not in gone:
                left.append((name, entry))
            elif isinstance(entry, dict) and entry.get("super_res_filename"):
                _delete_picture(folder, Path(str(entry["super_res_filename"])).name)
        write_entries(folder / FILE, left)
        cleaned.append(FILE)
    if (folder / ENCODINGS).is_dir():
        for file in gone:
            (folder / ENCODINGS / Path(file).name).unlink(missing_ok=True)
        cleaned.append(ENCODINGS)
    return cleaned


def _delete_picture(folder: Path, name: str) -> None:
    """Delete the pictures with exactly this name, which comes from the model's outputs; no other file is deleted."""
    for path in pictures_below(folder):
        if path.name == name:
            path.unlink()


def files_again(run: Run, names: Sequence[str]) -> list[str]:
    """Write the pages of a run again, with the same regions and gallery as before."""
    from countenance.report.draw.mpl.style import is_installed

    # A PDF was removed with the person; without the extra `plots` it is not written again.
    pages = [name for name in (REPORT, PDF) if name in names and (name != PDF or is_installed(pdf=True))]
    if not pages or not run.store.storage.has(AUDIT):
        return []
    settings, facts = read_audit(run).settings, run.manifest.about
    shown = ReportedRun(run.place, verified=False)
    shown.cautions.clear()
    shown.largest_regions = bool(facts.get("group_largest_regions"))
    shown.compared = tuple(settings["by"])
    if shown.largest_regions:
        store_audit(shown, audit_again(shown, settings))
    write_pages(shown, run.path / pages[0], gallery=facts.get("gallery", "off"), pdf=PDF in pages)
    return pages
