"""Withdrawn consent in FHIBE's layout: a model's outputs, pictures and published files, which are beside its runs.

Runs are purged as every run is (`countenance.run.purge`); what is here cleans what the protocol keeps outside of them
and scores those who are left again. A model's default and strict runs share their outputs, so both are purged together.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from countenance.errors import InputError
from countenance.run.auditing import audit_again, read_audit, store_audit
from countenance.run.purge import Purged, without_results
from countenance.run.purge import purge as purge_runs
from countenance.run.run import Run
from countenance.run.store import AUDIT, FAILURES, MANIFEST, REPORT, RESULTS, SCORES
from countenance.run.subjects import read_subjects
from countenance.suites.fhibe import recording
from countenance.suites.fhibe.evaluate import score
from countenance.suites.fhibe.outputs import FILE, Images, read_entries, write_entries
from countenance.suites.fhibe.rundir import FOLDERS, MODEL_CARD, PDF, VERIFICATION, FhibeRun, settings_of
from countenance.suites.fhibe.table import FhibeTable, read_table

__all__ = ["Purged", "purge", "read_subjects"]


def purge(path: Path | str, subjects: Iterable[str]) -> Purged:
    """Remove people from a run and make everything again that rests on them (see `countenance.run.purge.purge`)."""
    from countenance.report import pages_again

    return purge_runs(path, subjects, pages_again)


def related(run: Run) -> list[str]:
    """The runs of the same model's outputs."""
    try:
        *_, outputs = FhibeRun(run.place).folders()
    except InputError:
        return []
    places = [outputs / name for name in FOLDERS.values()]
    return [str(place) for place in places if (place / MANIFEST).is_file()]


def rescore(run: Run, gone: Sequence[str]) -> list[str]:
    """Clean the outputs and the published files, and score whoever is left as the run was scored."""
    from countenance.run.rows import failure_table

    finished = FhibeRun(run.place)
    try:
        asked, (data, _, outputs) = finished.fhibe, finished.folders()
    except InputError as error:  # the run was copied without its outputs: only its own files can be cleaned
        return without_results(run, error)
    folder = outputs if run.path.parent.resolve() == outputs.resolve() else run.path.parent
    table = read_table(data, asked["dataset"], asked["task"], tuple(asked["attributes"]), strict=True)
    made = _purge_outputs(outputs, table, asked["task"], set(gone))
    others = [FhibeRun(place) for place in related(run) if Path(place).resolve() != run.path.resolve()]
    if not any(one.fhibe.get("layout") and not set(gone) & set(one.scores()["sample"].to_pylist()) for one in others):
        _remove_published(outputs)  # unless another run of these outputs has been purged and wrote them again
    for name in asked.get("reports", ()):
        (outputs / name).unlink(missing_ok=True)
    here = set(run.scores()["sample"].to_pylist())
    if not here:
        return made
    evaluation = score(settings_of(finished, {name for name in table.text("filepath") if name not in here}))
    if asked.get("layout"):
        evaluation.write_files()
        made.append("the published files")
    scores, lost = recording.score_table(evaluation), recording.failures(evaluation)
    names = [name.removeprefix("attr.") for name in scores.column_names if name.startswith("attr.")]
    store = run.store
    store.write_table(SCORES, scores)
    store.write_table(FAILURES, failure_table(lost, dict.fromkeys(names, "string")))
    store.write_results(evaluation.scored.results)
    recording.write_rates(store, evaluation)
    told = {"about": asked | {"problems": recording.about(evaluation)["problems"]}, "failed": len(lost)}
    store.write_manifest(store.manifest().model_copy(update=told))
    prefix = f"{run.path.name}/" if folder == outputs and run.path.name != FOLDERS["default"] else ""
    return [*made, *(f"{prefix}{name}" for name in (SCORES, RESULTS, MANIFEST))]


def files_again(run: Run, names: Sequence[str]) -> list[str]:
    """The pages of a run again: with the regions and the gallery that they had."""
    from countenance.report.plots.style import is_installed
    from countenance.suites.fhibe.report import write_pages

    wanted = [name for name in (REPORT, PDF) if name in names]
    if PDF in wanted and not is_installed(pdf=True):
        wanted.remove(PDF)  # it was removed; without the extra `plots` it is not written again
    if not wanted or not run.store.storage.entries(AUDIT):
        return [VERIFICATION] if VERIFICATION in names else []
    finished = FhibeRun(run.place)
    finished.largest_regions = bool(finished.fhibe.get("group_largest_regions"))
    settings = read_audit(run).settings
    finished.compared = tuple(settings["by"])
    if finished.largest_regions:
        store_audit(finished, audit_again(finished, settings))
    shown = finished.fhibe.get("gallery", "off")
    write_pages(finished, run.path / (REPORT if REPORT in wanted else PDF), gallery=shown, pdf=PDF in wanted)
    return wanted


def _remove_published(folder: Path) -> None:
    """Published per-row files and grouped results name people or rest on them."""
    for file in folder.glob("*.json"):
        if file.name not in (FILE, MODEL_CARD):
            file.unlink()


def _purge_outputs(folder: Path, table: FhibeTable, task: str, gone: set[str]) -> list[str]:
    """Remove the answers and pictures of the images that are gone."""
    made = []
    names = table.output_keys(task)
    images = Images(names)
    lost = {images.index[name] for name, file in zip(names, table.text("filepath"), strict=True) if file in gone}
    path = folder / FILE
    for partial in folder.glob("*.partial.jsonl"):
        partial.unlink()  # what a stopped model left
    if path.exists():
        kept = []
        for name, entry in read_entries(path):
            if images.find(name) in lost:
                picture = entry.get("super_res_filename") if isinstance(entry, dict) else None
                if picture and (folder / Path(picture).name).is_file():
                    (folder / Path(picture).name).unlink()
            else:
                kept.append((name, entry))
        write_entries(path, kept)
        made.append(FILE)
    pictures = folder / "face_encodings"
    if pictures.is_dir():
        for file in gone:
            (pictures / Path(file).name).unlink(missing_ok=True)
        made.append("face_encodings")
    return made
