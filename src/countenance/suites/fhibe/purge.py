"""Withdrawn consent: remove people from a run and make everything that rests on them again.

Every image in which a withdrawn person appears goes, with its answers, its scores and its pictures, because an answer
about an image is an answer about everybody in it. What was sent elsewhere cannot be recalled; the command says so.
A model's default and strict runs share their outputs, so both are purged together.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.data.tables import read_text
from countenance.errors import InputError
from countenance.files import write_atomically, write_json
from countenance.run import Run, audit_run, store_audit
from countenance.run.store import MANIFEST
from countenance.storage.local import LocalStorage
from countenance.suites.fhibe.outputs import FILE, Matcher, read_entries, write_entries
from countenance.suites.fhibe.rundir import DERIVED, FOLDERS, MODEL_CARD, FhibeRun
from countenance.suites.fhibe.scoring.verification import keys_of
from countenance.suites.fhibe.table import Table, read_table


@dataclass(frozen=True)
class Purged:
    """What was removed."""

    people: int
    images: int
    rows: int
    unknown: int
    """Names on the list that the run does not hold."""
    made_again: list[str]
    removed: list[str] = field(default_factory=list)
    """Reports that were removed and not made again."""


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
    """Remove people from a run and make its findings and report again.

    `subjects` are identities as the score table has them (FHIBE: subject_id).
    """
    run = Run(path)
    fhibe = _siblings(run) if run.manifest.get("fhibe") else []
    wanted = set(subjects)
    runs: Sequence[Run] = fhibe or [run]
    rows = {row for one in runs for row in _people(one)}
    hit = [row for row in rows if wanted & set(row[1:])]
    gone = {row[0] for row in hit}
    held = {name for row in hit for name in row[1:]}
    counts = (len(wanted & held), len(gone), sum(row[0] in gone for row in rows), len(wanted - held))
    if not gone:
        return Purged(*counts, [])
    return Purged(*counts, *_purge_fhibe(fhibe, gone)) if fhibe else Purged(*counts, _purge_any(run, gone))


def _people(run: Run) -> Iterable[tuple[str, str | None, str | None]]:
    """Of each row: the image, the identity and the subject."""
    scores = run.scores()
    empty = [None] * len(scores)
    named = [scores.column(n).to_pylist() if n in scores.column_names else empty for n in ("identity", "subject")]
    return zip(scores.column("sample").to_pylist(), *named, strict=True)


def _siblings(run: Run) -> list[FhibeRun]:
    """The runs of the same model's outputs, the latest last: its published files replaced those of the others."""
    folders = [run.path.parent / name for name in FOLDERS.values()]
    found = {path.resolve(): path for path in [run.path, *folders] if (path / MANIFEST).is_file()}
    return sorted((FhibeRun(path) for path in found.values()), key=lambda one: str(one.manifest.get("finished")))


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
    for name in DERIVED:
        (folder / name).unlink(missing_ok=True)


def _purge_fhibe(runs: list[FhibeRun], gone: set[str]) -> tuple[list[str], list[str]]:
    """The runs of one model: clean its outputs and the published files, then score, audit and report again.

    Returns what was made again, and which reports were removed for good.
    """
    about, folder = runs[0].fhibe, runs[0].path.parent
    table = read_table(about["data_rootdir"], about["dataset"], about["task"], tuple(about["attributes"]), strict=True)
    reports = {run.path: [(run.path / f"report.{kind}").exists() for kind in ("html", "pdf")] for run in runs}
    audits = {run.path: _settings(run) for run in runs}
    made = _purge_outputs(folder, table, about["task"], gone)
    for run in runs:
        with LocalStorage(run.path).hold():
            _forget(run.path)
    for file in folder.glob("*.json"):
        if file.name not in (FILE, MODEL_CARD):
            file.unlink()  # per-row files and grouped results name people or rest on them
    others = sorted({name for run in runs for name in run.fhibe.get("reports", ()) if (folder / name).is_file()})
    for name in others:
        (folder / name).unlink()
    for run in runs:
        again = _score_again(run, table, gone)
        audited, (reported, pdf) = audits[run.path], reports[run.path]
        prefix = "" if len(runs) == 1 else f"{run.path.name}/"
        made += [f"{prefix}scores.parquet", f"{prefix}{MANIFEST}"]
        made += ["the published files"] if run.fhibe.get("layout") else []
        if audited is None:
            continue
        again.report(
            by=audited["by"], depth=int(audited["depth"]), gallery=run.fhibe.get("gallery", "off"), pdf=pdf,
            group_largest_regions=bool(run.fhibe.get("group_largest_regions")),
        )  # fmt: skip
        made += [f"{prefix}{name}" for name in ("findings.parquet", "audit.json", "report.html")]
        made += [f"{prefix}report.pdf"] if pdf else []
        if not reported:
            (again.path / "report.html").unlink()
    return made, others


def _score_again(run: FhibeRun, table: Table, gone: set[str]) -> FhibeRun:
    """Evaluate a run again as it was, without the images that are gone now or were removed before."""
    from countenance.suites.fhibe.api import evaluate_task

    about, folder = run.fhibe, run.path.parent
    in_mini = folder.parents[2].name == "mini"
    here = set(run.scores().column("sample").to_pylist())
    again = evaluate_task(
        about["data_rootdir"],
        about["dataset"],
        None,
        about["model_name"],
        about["task"],
        metrics={name: {"thresholds": levels} for name, levels in about["thresholds"].items()} or about["metrics"],
        attributes=about["attributes"],
        use_mini_dataset=in_mini,
        mini_dataset_size=about.get("mini") or (len(run.scores()) if in_mini else 50),
        downsampled=about["dataset"].endswith("_downsampled"),
        reuse_model_outputs=True,
        results_rootdir=folder.parents[3] if in_mini else folder.parents[2],
        compat=about["compat"],
        fhibe_layout=bool(about.get("layout")),
        dataset_version=run.manifest.dataset.card.version,
        without=gone | {name for name in table.text("filepath") if name not in here},
        command=str(run.manifest["command"]),
        **{k: v for k, v in about["options"].items() if k in ("custom_keypoints", "map_ears_to_skin", "lpips_weights")},
    )
    again.manifest.purged = run.manifest.purged + len(gone & here)
    write_json(again.path / MANIFEST, again.manifest.model_dump(exclude={"format"}))
    return again


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
