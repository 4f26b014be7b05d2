"""Face encoding and super-resolution: the model's picture against the original, at 256 × 256."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.metrics.images import psnr, psnr_float32, ssim
from countenance.suites.fhibe.outputs import FILE, field
from countenance.suites.fhibe.scoring.base import Job, Scored
from countenance.suites.fhibe.weights import PerceptualWeights, load_embedding, load_perceptual_weights

SIDE = 256
Pixels = NDArray[np.uint8]
FILES = {"PSNR": "psnr_scores.json", "LPIPS": "lpips_scores.json", "SSIM": "ssim_scores.json"}


def shrink(pixels: Pixels) -> Pixels:
    """A picture at 256 × 256, bilinear with antialiasing, as the published metrics see it."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    if picture.size == (SIDE, SIDE):
        return pixels
    return np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.uint8)


def answers_of(job: Job, scored: Scored) -> list[Path | None]:
    """The model's picture for each row; None where there is none."""
    table = job.table
    if job.task == "face_encoding":
        folder = job.folder / "face_encodings"
        paths: list[Path | None] = [folder / Path(name).name for name in table.text("filepath")]
        there = [path is not None and path.is_file() for path in paths]
        matcher, image = job.images()
        answered = np.zeros(len(matcher.names), dtype=bool)
        answered[image[np.flatnonzero(there)]] = True
        scored.report_missing(matcher, answered, folder)
        return [path if found else None for path, found in zip(paths, there, strict=True)]
    matcher, image = job.images()
    found_paths: list[Path | None] = [None] * len(matcher.names)
    for i, place, entry in job.entries(matcher):
        name = field(entry, "super_res_filename", place)
        if not isinstance(name, str) or not name:
            raise InputError(f"{place}: super_res_filename is {name!r:.40}, expected a file's name")
        found_paths[i] = _picture_path(job, name, place)
    scored.report_missing(matcher, [path is not None for path in found_paths], job.folder / FILE)
    return [found_paths[i] for i in image.tolist()]


def _picture_path(job: Job, name: str, place: str) -> Path | None:
    """Where a super-resolution picture lies: inside the results or the dataset, nowhere else."""
    given = Path(name) if Path(name).is_absolute() else job.folder / name
    path = given.resolve()
    roots = (
        job.folder.resolve(),
        job.table.root.resolve(),
        Path(job.options.get("results_rootdir", job.folder)).resolve(),
    )
    if any(path.is_relative_to(root) for root in roots):
        if path.is_file():
            return path
    elif not (job.folder / given.name).is_file():
        raise InputError(f"{place}: {name!r} leads out of the results and the dataset; keep the pictures beside {FILE}")
    moved = job.folder / given.name  # the results were moved: the picture still lies beside its list
    return moved if moved.is_file() else None


def score_pictures(job: Job, files: bool = False) -> Scored:
    """PSNR, SSIM, LPIPS and face similarity of each row. A picture that is not there has no score and is reported."""
    table = job.table
    scored = Scored(table)
    paths = answers_of(job, scored)
    weights: PerceptualWeights | None = None
    if "LPIPS" in job.metrics:
        weights, reason = load_perceptual_weights(job.options.get("lpips_weights"))
        if weights is None:
            scored.skipped["LPIPS"] = reason
    embed = load_embedding(job.options.get("face_embedding")) if "CURRICULAR_FACE" in job.metrics else None
    if "CURRICULAR_FACE" in job.metrics and embed is None:
        scored.skipped["CURRICULAR_FACE"] = (
            "no face embedding given (face_embedding=a model, or the IR-101 weights by path); nothing is downloaded"
        )
    names = [m for m in job.metrics if m not in scored.skipped]
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
            if job.task == "face_super_resolution" and not job.strict:
                raise InputError(other[0])
        for name, value in _measure(shrink(original), shrink(answer), names, weights, job.strict).items():
            values[name][row] = value
        if "CURRICULAR_FACE" in values and embed is not None:
            values["CURRICULAR_FACE"][row] = face_similarity(embed, original, answer)
        job.step(1)
    scored.rows.update(values)
    if other:  # published: an encoding may be of any size, and all pictures are compared at 256 × 256
        share = f"{len(other)} of {len(paths)} pictures differ from their original in size"
        scored.problems.append(f"{other[0]}; {share}, and all are compared at {SIDE}×{SIDE}")
    if files:
        for name in names:
            file = FILES.get(name, "curricular_face_scores.json")
            scored.files[file] = dict(zip(table.keys(), values[name].tolist(), strict=True))
    return scored


def _measure(
    a: Pixels, b: Pixels, names: list[str], weights: PerceptualWeights | None, strict: bool
) -> dict[str, float]:
    from countenance.metrics.perceptual import lpips

    out: dict[str, float] = {}
    if "PSNR" in names:
        out["PSNR"] = published_psnr(a, b) if strict else psnr(a, b)
    if "SSIM" in names:
        out["SSIM"] = ssim(a, b)
    if "LPIPS" in names and weights is not None:
        out["LPIPS"] = lpips(a, b, weights.arrays)
    return out


def published_psnr(a: Pixels, b: Pixels) -> float:
    """PSNR bit for bit as published where torch is installed; within 4e-6 dB where it is not.

    The published numbers are single precision, and the order in which torch adds up shows in the last bit.
    """
    try:
        import torch
    except ImportError:
        return psnr_float32(a, b)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        x, y = (torch.from_numpy(p.transpose(2, 0, 1).copy()).float().div(255)[None] for p in (a, b))
        error = torch.mean((x - y) ** 2, dim=[1, 2, 3])
        return float((-10 * torch.log10(error + 1e-8))[0])
    finally:
        torch.set_num_threads(threads)


def face_similarity(embed: Any, original: Pixels, answer: Pixels) -> float:
    """The cosine of two faces' embeddings by any embedding model; NaN where it finds no face."""
    first, second = embed([original, answer])
    a, b = (getattr(vector, "vector", vector) for vector in (first, second))
    if a is None or b is None:
        return float("nan")
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / norm) if norm > 0 else float("nan")
