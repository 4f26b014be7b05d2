"""Withdrawn consent: take people out of a run and make again everything that rests on them.

Every image in which a withdrawn person appears goes, with its answers, its scores and its pictures, because an answer
about an image is an answer about everybody in it. What was sent elsewhere cannot be recalled; the command says so.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.data.tables import read_text
from countenance.errors import InputError
from countenance.files import write_atomically, write_json
from countenance.run import Run, audit_run, store_audit
from countenance.run.store import MANIFEST
from countenance.storage.local import LocalStorage
from countenance.suites.fhibe.outputs import FILE, Matcher, read_entries, write_entries
from countenance.suites.fhibe.rundir import MODEL_CARD, FhibeRun
from countenance.suites.fhibe.scoring.verification import keys_of
from countenance.suites.fhibe.table import Table, read_table


@dataclass(frozen=True)
class Purged:
    """What was taken out."""

    people: int
    images: int
    rows: int
    unknown: int
    """Names on the list that the run does not hold."""
    made_again: list[str]


def read_subjects(path: Path) -> set[str]:
    """The ids of the people who withdrew: one on each line, or a CSV with a column subject_id; # begins a comment."""
    lines = [line.split("#", 1)[0].strip() for line in read_text(path).splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        raise InputError(f"{path}: names nobody; write one subject id on each line")
    head = [cell.strip().strip('"') for cell in lines[0].split(",")]
    if "subject_id" in head:
        column = head.index("subject_id")
        return {line.split(",")[column].strip().strip('"') for line in lines[1:]}
    return set(lines)


def purge(path: Path | str, subjects: Iterable[str]) -> Purged:
    """Take people out of a run and make its findings and report again.

    `subjects` are identities as the score table has them (FHIBE: subject_id).
    """
    run = Run(path)
    wanted = set(subjects)
    scores = run.scores()
    rows = scores.select([n for n in ("sample", "subject", "identity") if n in scores.column_names]).to_pylist()
    hit = [row for row in rows if row.get("identity") in wanted or row.get("subject") in wanted]
    gone = {row["sample"] for row in hit}
    held = {row.get("identity") for row in hit} | {row.get("subject") for row in hit}
    people = len(wanted & held)
    removed = sum(row["sample"] in gone for row in rows)
    counts = (people, len(gone), removed, len(wanted - held))
    if not gone:
        return Purged(*counts, [])
    if run.manifest.get("fhibe"):
        return Purged(*counts, _purge_fhibe(FhibeRun(run.path), gone))
    return Purged(*counts, _purge_any(run, gone))


def _purge_any(run: Run, gone: set[str]) -> list[str]:
    """Any run: filter its tables, then audit and report again as before."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    listed = pa.array(sorted(gone), pa.string())
    made = []
    audited, reported = _settings(run), (run.path / "report.html").exists()
    with LocalStorage(run.path).hold():
        for file in (
            run.path / "scores.parquet",
            run.path / "failures.parquet",
            *(run.path / "answers").glob("*.parquet"),
        ):
            if not file.exists():
                continue
            table = pq.read_table(file)
            kept = table.filter(pc.invert(pc.is_in(table.column("sample"), listed)))
            if kept.num_rows != table.num_rows:
                write_atomically(file, lambda part, kept=kept: pq.write_table(kept, part, compression="zstd"))  # type: ignore[misc]
                made.append(str(file.relative_to(run.path)))
        _forget(run.path)
        manifest = run.manifest.model_dump()
        images = max(int(manifest["dataset"]["images"]) - len(gone), 0)
        manifest["dataset"]["images"] = images
        manifest["purged"] += len(gone)
        write_json(run.path / MANIFEST, manifest)
    again = Run(run.path)
    if audited is not None and images:
        store_audit(again, audit_run(again, audited["by"], audited["metrics"], depth=audited["depth"]))
        made += ["findings.parquet", "audit.json"]
        if reported:
            again.report()
            made.append("report.html")
    return made


def _settings(run: Run) -> dict[str, Any] | None:
    path = run.path / "audit.json"
    if not path.exists():
        return None
    settings: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["settings"]
    return settings


def _forget(folder: Path) -> None:
    """Remove what was computed from everybody and could show somebody."""
    for name in ("findings.parquet", "audit.json", "report.html", "report.pdf", "verification.json"):
        (folder / name).unlink(missing_ok=True)


def _purge_fhibe(run: FhibeRun, gone: set[str]) -> list[str]:
    """A FHIBE run: clean the model's outputs and the published files, then score, audit and report again."""
    from countenance.suites.fhibe.api import evaluate_task

    about, folder = run.fhibe, run.path.parent
    audited = _settings(run)
    reported, pdf = (run.path / "report.html").exists(), (run.path / "report.pdf").exists()
    had_layout = any(folder.glob("intersectional_results_*.json"))
    task, dataset = about["task"], about["dataset"]
    table = read_table(about["data_rootdir"], dataset, task, tuple(about["attributes"]), strict=True)
    made = _purge_outputs(folder, table, task, gone)
    with LocalStorage(run.path).hold():
        _forget(run.path)
    for file in folder.glob("*.json"):
        if file.name not in (FILE, MODEL_CARD):
            file.unlink()  # per-row files and grouped results name people or rest on them
    in_mini = folder.parents[2].name == "mini"
    results = folder.parents[3] if in_mini else folder.parents[2]
    size = len(run.scores()) if in_mini else 50
    again = evaluate_task(
        about["data_rootdir"],
        dataset,
        None,
        about["model_name"],
        task,
        metrics={name: {"thresholds": levels} for name, levels in about["thresholds"].items()} or about["metrics"],
        attributes=about["attributes"],
        use_mini_dataset=in_mini,
        mini_dataset_size=size,
        downsampled=dataset.endswith("_downsampled"),
        reuse_model_outputs=True,
        results_rootdir=results,
        compat=about["compat"],
        fhibe_layout=had_layout,
        without=gone,
        command=str(run.manifest["command"]),
        **{k: v for k, v in about["options"].items() if k in ("custom_keypoints", "map_ears_to_skin", "lpips_weights")},
    )
    again.manifest.purged = run.manifest.purged + len(gone)
    write_json(again.path / MANIFEST, again.manifest.model_dump(exclude={"format"}))
    made += ["scores.parquet", MANIFEST] + (["the published files"] if had_layout else [])
    if audited is not None:
        again.report(by=audited["by"], depth=int(audited["depth"]), gallery=about.get("gallery", "off"), pdf=pdf)
        made += ["findings.parquet", "audit.json", "report.html"] + (["report.pdf"] if pdf else [])
        if not reported:
            (again.path / "report.html").unlink()
    return made


def _purge_outputs(folder: Path, table: Table, task: str, gone: set[str]) -> list[str]:
    """Remove the answers and pictures of the images that are gone."""
    made = []
    names = keys_of(table) if task == "face_verification" else table.keys()
    matcher = Matcher(names)
    lost = {matcher.index[name] for name, file in zip(names, table.text("filepath"), strict=True) if file in gone}
    path = folder / FILE
    if path.exists():
        kept = []
        for name, entry in read_entries(path):
            if matcher.find(name) in lost:
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
