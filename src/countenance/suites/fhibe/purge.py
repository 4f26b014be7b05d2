"""Withdrawn consent in FHIBE's layout: a model's outputs, pictures and published files, which are beside its runs.

Runs are purged as every run is (`countenance.run.purge`); what is here cleans what the protocol keeps outside of them
and scores those who are left again. A model's default and strict runs share their outputs, so both are purged together.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from countenance.data.reading.entries import read_entries, write_entries
from countenance.errors import InputError
from countenance.run.auditing import audit_again, read_audit, store_audit
from countenance.run.purge import Purged, without_results
from countenance.run.purge import purge as purge_runs
from countenance.run.rows import failure_table
from countenance.run.run import Run
from countenance.run.store import AUDIT, FAILURES, MANIFEST, REPORT, RESULTS, SCORES
from countenance.run.subjects import read_subjects
from countenance.suites.fhibe import recording
from countenance.suites.fhibe.evaluate import score
from countenance.suites.fhibe.outputs import ENCODINGS, FILE, Images
from countenance.suites.fhibe.published import write_published
from countenance.suites.fhibe.rundir import FOLDERS, MODEL_CARD, PDF, FhibeRun, settings_of
from countenance.suites.fhibe.table import FhibeTable, read_table

__all__ = ["Purged", "purge", "read_subjects"]


def purge(path: Path | str, subjects: Iterable[str]) -> Purged:
    """Remove people from a run and make everything again that rests on them (see `countenance.run.purge.purge`)."""
    from countenance.report import pages_again

    return purge_runs(path, subjects, pages_again)


def _opened(place: Path | str) -> FhibeRun:
    """A run whose files are being changed, so that they need not have the hashes that are listed."""
    run = FhibeRun(place, verified=False)
    run.cautions.clear()
    return run


def related(run: Run) -> list[str]:
    """The runs of the same model's outputs."""
    try:
        *_, outputs = _opened(run.place).folders()
    except InputError:
        return []
    return [str(outputs / name) for name in FOLDERS.values() if (outputs / name / MANIFEST).is_file()]


def rescore(run: Run, gone: Sequence[str]) -> list[str]:
    """Clean the outputs and the published files, and score whoever is left as the run was scored."""
    finished, store = _opened(run.place), run.store
    try:
        asked, (data, _, outputs) = finished.fhibe, finished.folders()
    except InputError as error:  # the run was copied without its outputs: only its own files can be cleaned
        return without_results(run, error)
    table = read_table(data, asked["dataset"], asked["task"], tuple(asked["attributes"]), strict=True)
    made = _purge_outputs(outputs, table, asked["task"], set(gone))
    others = [_opened(place) for place in related(run) if Path(place).resolve() != run.path.resolve()]
    if not any(one.fhibe.get("layout") and not set(gone) & set(one.scores()["sample"].to_pylist()) for one in others):
        for file in outputs.glob("*.json"):  # unless another run of these outputs was purged and wrote them again
            if file.name not in (FILE, MODEL_CARD):
                file.unlink()
    for name in asked.get("reports", ()):
        (outputs / Path(name).name).unlink(missing_ok=True)
    here = set(run.scores()["sample"].to_pylist())
    if not here:
        return made
    evaluation = score(settings_of(finished, {name for name in table.text("filepath") if name not in here}))
    if asked.get("layout"):
        write_published(evaluation)
        made.append("the published files")
    lost = recording.failures(evaluation)
    store.write_table(SCORES, recording.score_table(evaluation))
    store.write_table(FAILURES, failure_table(lost, dict.fromkeys(asked["attributes"], "string")))
    store.write_results(evaluation.results)
    told = {"about": asked | {"problems": recording.about(evaluation)["problems"]}, "failed": len(lost)}
    store.write_manifest(store.manifest().model_copy(update=told))
    beside = run.path.parent.resolve() == outputs.resolve() and run.path.name != FOLDERS["default"]
    return [*made, *(f"{run.path.name}/{name}" if beside else name for name in (SCORES, RESULTS, MANIFEST))]


def _purge_outputs(folder: Path, table: FhibeTable, task: str, gone: set[str]) -> list[str]:
    """Remove the answers and pictures of the images that are gone, and what a stopped model left."""
    made, names = [], table.output_keys(task)
    images = Images(names)
    lost = {images.index[name] for name, file in zip(names, table.text("filepath"), strict=True) if file in gone}
    for partial in folder.glob("*.partial.jsonl"):
        partial.unlink()
    if (folder / FILE).exists():
        kept = []
        for name, entry in read_entries(folder / FILE):
            if images.find(name) not in lost:
                kept.append((name, entry))
            elif isinstance(entry, dict):
                picture = folder / Path(str(entry.get("super_res_filename"))).name
                if picture.is_file():
                    picture.unlink()
        write_entries(folder / FILE, kept)
        made.append(FILE)
    if (folder / ENCODINGS).is_dir():
        for file in gone:
            (folder / ENCODINGS / Path(file).name).unlink(missing_ok=True)
        made.append(ENCODINGS)
    return made


def files_again(run: Run, names: Sequence[str]) -> list[str]:
    """The pages of a run again: with the regions and the gallery that they had."""
    from countenance.report.plots.style import is_installed
    from countenance.suites.fhibe.report import write_pages

    # A PDF was removed with the person; without the extra `plots` it is not written again.
    wanted = [name for name in (REPORT, PDF) if name in names and (name != PDF or is_installed(pdf=True))]
    if not wanted or not run.store.storage.entries(AUDIT):
        return []
    finished, settings = _opened(run.place), read_audit(run).settings
    finished.largest_regions = bool(finished.fhibe.get("group_largest_regions"))
    finished.compared = tuple(settings["by"])
    if finished.largest_regions:
        store_audit(finished, audit_again(finished, settings))
    write_pages(finished, run.path / wanted[0], gallery=finished.fhibe.get("gallery", "off"), pdf=PDF in wanted)
    return wanted
