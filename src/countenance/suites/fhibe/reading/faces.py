"""The tasks about faces: label maps, embeddings and pictures (encoding, super-resolution).

Label maps are read one picture at a time; pictures are compared with their originals at 256 × 256.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Embedding, LabelMap, Picture
from countenance.answers.formats.fhibe import label_map_of, label_runs_of, vector_of
from countenance.auditing.groups import CROSS
from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.metrics.pairs.groups import Groups
from countenance.models.face_embedding import face_similarity, load_embedding
from countenance.models.zoo.lpips_weights import load_perceptual_weights
from countenance.suites.fhibe import truth as true
from countenance.suites.fhibe.evaluation import Array, FhibeEvaluation, Stored
from countenance.suites.fhibe.groups import AttributeLabels, all_groups
from countenance.suites.fhibe.outputs import ENCODINGS, FILE, Images
from countenance.tasks.face_encoding import SIDE, at_256, picture_scores
from countenance.tasks.face_parsing import FACE_LABELS, label_scores
from countenance.tasks.validation_rate import Pictures

FILES = {
    "PSNR": "psnr_scores.json", "LPIPS": "lpips_scores.json", "SSIM": "ssim_scores.json",
    "CURRICULAR_FACE": "curricular_face_scores.json",
}  # fmt: skip


def score_parsing(job: FhibeEvaluation) -> None:
    """F1 of each row: the plain mean over the labels that the truth has, background included."""
    table = job.table
    images = Images(table.keys())
    rows_of = images.rows()
    by_label: list[dict[str, float]] = [{} for _ in range(len(table))]
    sizes = None if job.strict else table.sizes()
    for i, place, _, labels in job.answers(images, LabelMap):
        for row in rows_of[i]:
            truth = true.face_labels(table, row)
            if sizes is not None and truth.shape != sizes[row]:
                raise InputError(
                    f"{table.place(row, 'CelebA')}: a mask of {truth.shape[1]}×{truth.shape[0]}, "
                    f"the picture is {sizes[row][1]}×{sizes[row][0]}"
                )
            runs = label_runs_of(labels, place, (truth.shape[0], truth.shape[1]))
            by_label[row] = label_scores(truth, runs, job.settings.scoring)
            job.step(1)
    for row, scores in enumerate(by_label):
        if not scores:  # no answer
            by_label[row] = {FACE_LABELS[label]: 0.0 for label in np.unique(true.face_labels(table, row)).tolist()}
    job.rows["F1"] = np.array([float(np.mean(list(scores.values()))) for scores in by_label])
    if not job.strict:
        for label in FACE_LABELS:
            if any(label in scores for scores in by_label):
                job.rows[f"F1 {label}"] = np.array([scores.get(label, np.nan) for scores in by_label])
    if job.settings.layout:
        job.files["F1_scores.json"] = dict(zip(table.keys(), by_label, strict=True))
    job.stored = lambda: (
        (rows_of[i][0], label_map_of(labels, place))
        for i, place, _, labels in job.answers(images, LabelMap, report=False)
        if labels
    )


def read_embeddings(job: FhibeEvaluation) -> tuple[Array, NDArray[np.bool_]]:
    """The embedding of each row (NaN: the face could not be aligned) and whether the outputs name it at all."""
    table, path = job.table, job.folder / FILE
    images = Images(table.output_keys("face_verification"), table.keys())
    vectors: dict[int, Array] = {}
    for i, place, _, value in job.answers(images, Embedding):
        vectors[i] = vector_of(value, place)
        first = len(next(iter(vectors.values())))
        if len(vectors[i]) != first:
            raise InputError(f"{place}: an embedding of {len(vectors[i])} numbers, the first has {first}")
    if not vectors:
        raise InputError(f"{path}: no embedding of any image of {table.path}")
    if failed := len(images.names) - len(job.missing) - len(vectors):
        job.notes.append(f"{path}: {failed} images without an embedding (no face was aligned)")
    stack = np.full((len(images.names), first), np.nan)
    for i in list(vectors):
        stack[i] = vectors.pop(i)
    unnamed = [row for rows in job.missing for row in rows]
    return stack[images.of_rows], ~np.isin(np.arange(len(table)), unnamed)


def score_verification(job: FhibeEvaluation) -> None:
    """VAL of any group of rows."""
    job.table = table = true.usable(job.table)
    if not len(table):
        raise InputError(f"{table.path}: no person has two pictures alone; verification needs pairs")
    vectors, named = read_embeddings(job)
    pictures = Pictures(vectors, np.array(table.text("subject_id")))
    whole = np.isin(np.arange(len(table)), pictures.embedded)
    job.stored = lambda: ((int(row), Embedding(vectors[row] if whole[row] else None)) for row in np.flatnonzero(named))
    if job.strict:
        keys = table.output_keys("face_verification")
        job.of_group["VAL"] = lambda rows: pictures.published(rows[named[rows]], keys)
        return
    job.rows["enrolled"] = whole.astype(np.float64)
    job.of_group["VAL"] = pictures.entry

    def overall() -> None:
        results, columns = pictures.overall()
        groups = all_groups(job.labels, job.settings.depth or 2)
        named = ((CROSS.join(one.attributes), CROSS.join(map(str, one.values)), one.rows) for one in groups)
        by = {one.attribute: _groups(one) for one in job.labels}
        job.results += [*results, pictures.table(named), *pictures.false_matches(by)]
        job.rows |= columns

    job.whole = overall


def _groups(labels: AttributeLabels) -> Groups:
    """The groups of an attribute; a row of unknown value is in none."""
    return Groups.of([labels.known(row) for row in range(len(labels.rows))], list(labels.members()))


def score_pictures(job: FhibeEvaluation) -> None:
    """PSNR, SSIM, LPIPS and face similarity of each row. A picture that is not there has no score and is reported."""
    from countenance.metrics.perceptual import lpips

    table, images = job.table, Images(job.table.keys())
    paths = _picture_paths(job, images)
    weights, embed = _models(job)
    names = job.computed
    if not names and not job.strict:
        names = ["PSNR", "SSIM"]
        job.notes.append("none of the metrics asked for could be computed; PSNR and SSIM are reported instead")
    job.rows |= {name: np.full(len(table), np.nan) for name in names}
    other: list[str] = []
    for row, i in enumerate(images.of_rows.tolist()):
        if (path := paths[i]) is None:
            continue
        original, answer = LazyImage(table.file(row, "filepath")).load(), LazyImage(path).load()
        if original.shape != answer.shape:
            (height, width), (tall, wide) = original.shape[:2], answer.shape[:2]
            other.append(f"{path}: a picture of {wide}×{tall}, the original is {width}×{height}")
            if job.settings.task == "face_super_resolution" and not job.strict:
                raise InputError(other[0])
        found = picture_scores(original, answer, names, job.settings.compat)
        if weights is not None:
            found["LPIPS"] = lpips(at_256(original), at_256(answer), weights)
        if embed is not None:
            found["CURRICULAR_FACE"] = face_similarity(embed, original, answer)
        for name, value in found.items():
            job.rows[name][row] = value
        job.step(1)
    if other:  # published: an encoding may be of any size, and all pictures are compared at 256 × 256
        share = f"{len(other)} of {len(table)} pictures differ from their original in size"
        job.notes.append(f"{other[0]}; {share}, and all are compared at {SIDE}×{SIDE}")
    for name in names if job.settings.layout else ():
        job.files[FILES[name]] = dict(zip(table.keys(), job.rows[name].tolist(), strict=True))
    job.stored = lambda: (
        (rows[0], Stored({"png": path.read_bytes()}))
        for rows, path in zip(images.rows(), paths, strict=True)
        if path is not None
    )


def _picture_paths(job: FhibeEvaluation, images: Images) -> list[Path | None]:
    """The model's picture of each image; None where there is none, which is reported."""
    place, found = job.folder / FILE, dict[int, Path | None]()
    if job.settings.task == "face_encoding":
        place = job.folder / ENCODINGS
        made = [place / Path(name).name for name in images.names]
        found = {i: path for i, path in enumerate(made) if path.is_file()}
    else:
        for i, where, _, name in job.answers(images, Picture, report=False):
            found[i] = _picture_path(job, name, where)
    paths = [found.get(i) for i in range(len(images.names))]
    job.report_missing(images, [path is not None for path in paths], place)
    return paths


def _picture_path(job: FhibeEvaluation, name: str, place: str) -> Path | None:
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


def _models(job: FhibeEvaluation) -> tuple[Mapping[str, NDArray[np.float32]] | None, Any]:
    """The weights of LPIPS and the face embedding; a metric that lacks its own is skipped with the reason."""
    weights = embed = None
    if "LPIPS" in job.settings.metrics:
        weights, reason = load_perceptual_weights(job.settings.options.get("lpips_weights"))
        if weights is None:
            job.skipped["LPIPS"] = reason
    if "CURRICULAR_FACE" in job.settings.metrics:
        embed = load_embedding(job.settings.options.get("face_embedding"))
        if embed is None:
            job.skipped["CURRICULAR_FACE"] = (
                "no face embedding given (face_embedding=a model, or the IR-101 weights by path); nothing is downloaded"
            )
    return weights, embed
