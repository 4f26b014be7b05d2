"""Face encoding and super-resolution: the model's picture against the original, at 256 × 256."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.suites.fhibe.outputs import FILE, Images
from countenance.suites.fhibe.scored import Scored, ScoringJob, Stored
from countenance.suites.fhibe.weights import load_embedding, load_perceptual_weights
from countenance.tasks.face_encoding import SIDE, Pixels, at_256, picture_scores

FILES = {
    "PSNR": "psnr_scores.json", "LPIPS": "lpips_scores.json", "SSIM": "ssim_scores.json",
    "CURRICULAR_FACE": "curricular_face_scores.json",
}  # fmt: skip


def score_pictures(job: ScoringJob) -> Scored:
    """PSNR, SSIM, LPIPS and face similarity of each row. A picture that is not there has no score and is reported."""
    table, metrics = job.table, job.settings.metrics
    scored, images = Scored(table), Images(table.keys())
    find = encoded if job.settings.task == "face_encoding" else restored
    paths = find(job, scored, images)
    weights, embed = _models(job, scored)
    names = [m for m in metrics if m not in scored.skipped]
    if not names and not job.strict:
        names = ["PSNR", "SSIM"]
        scored.problems.append("none of the metrics asked for could be computed; PSNR and SSIM are reported instead")
    values = {name: np.full(len(table), np.nan) for name in names}
    other: list[str] = []
    for row, path in enumerate(paths):
        if path is None:
            continue
        original, answer = LazyImage(table.image_path(row)).load(), LazyImage(path).load()
        if original.shape != answer.shape:
            other.append(
                f"{path}: a picture of {answer.shape[1]}×{answer.shape[0]}, "
                f"the original is {original.shape[1]}×{original.shape[0]}"
            )
            if job.settings.task == "face_super_resolution" and not job.strict:
                raise InputError(other[0])
        for name, value in _measure(original, answer, names, weights, embed, job).items():
            values[name][row] = value
        job.step(1)
    scored.rows.update(values)
    if other:  # published: an encoding may be of any size, and all pictures are compared at 256 × 256
        share = f"{len(other)} of {len(paths)} pictures differ from their original in size"
        scored.problems.append(f"{other[0]}; {share}, and all are compared at {SIDE}×{SIDE}")
    if job.files:
        for name in names:
            scored.files[FILES[name]] = dict(zip(table.keys(), values[name].tolist(), strict=True))
    first = {i: row for row, i in reversed(list(enumerate(images.of_rows.tolist())))}
    scored.answers = lambda: (
        (row, Stored({"png": path.read_bytes()})) for row in sorted(first.values()) if (path := paths[row]) is not None
    )
    return scored


def encoded(job: ScoringJob, scored: Scored, images: Images) -> list[Path | None]:
    """The encoded picture of each row; None where there is none."""
    folder = job.folder / "face_encodings"
    paths = [folder / Path(name).name for name in job.table.text("filepath")]
    found = [path if path.is_file() else None for path in paths]
    answered = np.zeros(len(images.names), dtype=bool)
    answered[[i for i, path in zip(images.of_rows, found, strict=True) if path]] = True
    scored.report_missing(images, answered, folder)
    return found


def restored(job: ScoringJob, scored: Scored, images: Images) -> list[Path | None]:
    """The super-resolution picture of each row; None where there is none."""
    found: list[Path | None] = [None] * len(images.names)
    seen = Scored(job.table)
    for i, place, _, name in job.answers(
        seen, images, name="super_res_filename", kind=str, expected="a file's name", null="wrong"
    ):
        found[i] = _picture_path(job, name, place)
    scored.report_missing(images, [path is not None for path in found], job.folder / FILE)
    return [found[i] for i in images.of_rows.tolist()]


def _picture_path(job: ScoringJob, name: str, place: str) -> Path | None:
    """Where a super-resolution picture is: inside the results or the dataset, nowhere else."""
    given = Path(name) if Path(name).is_absolute() else job.folder / name
    path = given.resolve()
    roots = (job.folder.resolve(), job.table.root.resolve(), job.settings.results.resolve())
    if any(path.is_relative_to(root) for root in roots):
        if path.is_file():
            return path
    elif not (job.folder / given.name).is_file():
        raise InputError(f"{place}: {name!r} leads out of the results and the dataset; keep the pictures beside {FILE}")
    moved = job.folder / given.name  # the results were moved: the picture is still beside its list
    return moved if moved.is_file() else None


def _models(job: ScoringJob, scored: Scored) -> tuple[Mapping[str, NDArray[np.float32]] | None, Any]:
    """The weights of LPIPS and the face embedding; a metric that lacks its own is skipped with the reason."""
    weights = embed = None
    if "LPIPS" in job.settings.metrics:
        weights, reason = load_perceptual_weights(job.settings.options.get("lpips_weights"))
        if weights is None:
            scored.skipped["LPIPS"] = reason
    if "CURRICULAR_FACE" in job.settings.metrics:
        embed = load_embedding(job.settings.options.get("face_embedding"))
        if embed is None:
            scored.skipped["CURRICULAR_FACE"] = (
                "no face embedding given (face_embedding=a model, or the IR-101 weights by path); nothing is downloaded"
            )
    return weights, embed


def _measure(
    original: Pixels, answer: Pixels, names: list[str], weights: Mapping[str, Any] | None, embed: Any, job: ScoringJob
) -> dict[str, float]:
    from countenance.metrics.perceptual import lpips

    out = picture_scores(original, answer, names, job.settings.compat)
    if "LPIPS" in names and weights is not None:
        out["LPIPS"] = lpips(at_256(original), at_256(answer), weights)
    if "CURRICULAR_FACE" in names and embed is not None:
        out["CURRICULAR_FACE"] = face_similarity(embed, original, answer)
    return out


def face_similarity(embed: Any, original: Pixels, answer: Pixels) -> float:
    """The cosine of two faces' embeddings by any embedding model; NaN where it finds no face."""
    first, second = embed([original, answer])
    a, b = (getattr(vector, "vector", vector) for vector in (first, second))
    if a is None or b is None:
        return float("nan")
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / norm) if norm > 0 else float("nan")
