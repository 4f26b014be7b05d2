"""The recognition baseline: templates from the training faces (or the gallery), cosines to every detected face."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.metrics.curves import best_detection
from countenance.metrics.topk import cosine_top_k, unit_rows
from countenance.models import ModelSpec
from countenance.suites.uccs.baseline.cache import Arrays, digest, save_arrays
from countenance.suites.uccs.baseline.detect import (
    Detections,
    default_result_file,
    detector,
    find_faces,
    partly,
)
from countenance.suites.uccs.baseline.score import gallery_file, probe_file, write_scores
from countenance.suites.uccs.baseline.work import How, Job, check, run_jobs
from countenance.suites.uccs.gallery_file import read_gallery
from countenance.suites.uccs.protocol import detect_version, protocol_path, read_protocol
from countenance.suites.uccs.scores import MOST_LABELS, on_protocol, read_scores
from countenance.suites.uccs.write import write_v2

UNKNOWN = -1


@dataclass(frozen=True)
class Templates:
    """One vector of length 1 for each subject; -1 stands for all known unknowns together."""

    subject: NDArray[np.int64]
    vector: NDArray[np.float32]


def enroll(subject: NDArray[np.int64], embedding: NDArray[np.float32]) -> Templates:
    """The mean of each subject's embeddings, brought back to length 1.

    >>> enroll(np.array([3, 3, -1]), np.array([[1.0, 0], [0, 1], [0, 1]], dtype=np.float32)).vector.round(2)
    array([[0. , 1. ], [0.71, 0.71]], dtype=float32)
    """
    subjects = np.unique(subject)
    means = np.array([embedding[subject == one].mean(axis=0) for one in subjects], dtype=np.float32)
    return Templates(subjects, unit_rows(means))


def named(templates: Templates, probes: NDArray[np.float32], most: int = MOST_LABELS) -> list[list[tuple[int, float]]]:
    """The (ten) most similar subjects of each probe, cut after -1 when it is among them.

    >>> named(Templates(np.array([-1, 4]), np.eye(2, dtype=np.float32)), np.array([[0.8, 0.6]], dtype=np.float32))
    [[(-1, 0.800000011920929)]]
    """
    if not len(probes):
        return []
    index, cosine = cosine_top_k(probes, templates.vector, most)
    found = []
    for row, values in zip(templates.subject[index].tolist(), cosine.tolist(), strict=True):
        stop = row.index(UNKNOWN) + 1 if UNKNOWN in row else len(row)
        found.append(list(zip(row[:stop], values[:stop], strict=True)))
    return found


@dataclass(frozen=True)
class Kept:
    """Where version 3's scripts keep what passes between them."""

    gallery: Path
    probes: Path
    """Folders of embeddings."""
    detections: Path
    images: Path


def _from_file(data: Path, which: str, kept: Kept) -> Detections:
    """The detections of a version 3 file instead of a detector's."""
    protocol = read_protocol(data, which, 3)
    scores = read_scores(kept.detections, 3)
    image, _ = on_protocol(scores, protocol.images, protocol.path.name)
    order = np.argsort(image, kind="stable")
    ends = np.searchsorted(image[order], np.arange(len(protocol.images) + 1))
    rows = [order[start:end] for start, end in pairwise(ends.tolist())]
    found: list[Arrays] = [{"box": scores.box[own], "score": scores.score[own]} for own in rows]
    return Detections(protocol, kept.images, protocol.images, found)


def recognize(
    data: Path,
    *,
    how: How,
    which: str = "validation",
    version: int | None = None,
    model: str = "dlib",
    weights: Path | None = None,
    detector_model: str = "mtcnn",
    detector_weights: Path | None = None,
    result_file: Path | None = None,
    debug: int | None = None,
    display: Path | None = None,
    most: int = MOST_LABELS,
    kept: Kept | None = None,
) -> Path:
    """Enrol, compare, and write a recognition file (version 2) or a scoring file (version 3).

    `debug` keeps so many identities only, and says so in the name of the result file.
    """
    version = version or detect_version(data, which)
    task = "recognition" if version == 2 else "scoring"
    out = partly(result_file or default_result_file(which, version, task), debug)
    embedder = ModelSpec(model, None if weights is None else str(weights), how.device())
    faces = detector(detector_model, how, detector_weights)
    check(how, faces, embedder)
    if version == 2:
        templates = _templates_of_training(data, how, faces, embedder, debug)
    else:
        templates = _templates_of_gallery(data, how, faces, embedder, debug)
    detections = _from_file(data, which, kept) if kept else find_faces(data, which, version, how, spec=faces)
    probes = _embedded(detections, how, embedder)
    if version == 2:
        rows = [
            (
                name,
                list(zip(one["box"].tolist(), one["score"].tolist(), named(templates, embedding, most), strict=True)),
            )
            for name, one, embedding in zip(detections.images, detections.found, probes, strict=True)
        ]
        write_v2(out, rows, recognition=True)
    else:
        gallery: Arrays = {"subject": templates.subject, "embedding": templates.vector}
        table = _probe_table(detections, probes)
        suffix = "" if debug is None else f"-debug-{debug}"
        save_arrays(kept.gallery / "gallery.npz" if kept else gallery_file(how.cache.folder, suffix), gallery)
        save_arrays(kept.probes / "probes.npz" if kept else probe_file(how.cache.folder, which, suffix), table)
        write_scores(gallery, table, out)
    if display is not None:
        from countenance.suites.uccs.baseline.display import write_pictures

        write_pictures(detections, display)
    return out


def _embedded(detections: Detections, how: How, embedder: ModelSpec) -> list[NDArray[np.float32]]:
    paths = [inside(detections.folder, name, "FILE") for name in detections.images]
    jobs = [Job(path, one["box"]) for path, one in zip(paths, detections.found, strict=True)]
    some = [job for job in jobs if job.boxes is not None and len(job.boxes)]
    made = iter(run_jobs("embeddings", embedder, some, how))
    nothing = np.zeros((0, 0), np.float32)
    return [next(made)["embedding"] if len(one["box"]) else nothing for one in detections.found]


def _templates_of_training(data: Path, how: How, faces: ModelSpec, embedder: ModelSpec, debug: int | None) -> Templates:
    """Of each training face the detection that overlaps it most; faces that were not detected are not enrolled."""
    if not protocol_path(data, "training", 2).is_file():
        raise InputError(
            f"{protocol_path(data, 'training', 2)}: missing; the subjects are enrolled from the training set"
        )
    found = find_faces(data, "training", 2, how, spec=faces)
    protocol = found.protocol
    counts = [len(one["box"]) for one in found.found]
    box = np.concatenate([one["box"] for one in found.found])
    image = np.repeat(np.arange(len(found.images)), counts)
    row, _ = best_detection(protocol.box, protocol.image, box, image)
    use = (row >= 0) & (protocol.subject != 0)
    if debug is not None:
        kept = np.unique(protocol.subject[protocol.subject > 0])[:debug]
        use &= np.isin(protocol.subject, [*kept, UNKNOWN])
    if not use.any():
        raise InputError(f"{protocol.path}: none of its faces was detected, so nobody can be enrolled")
    wanted = np.flatnonzero(use)
    jobs, owners = [], []
    for k, name in enumerate(found.images):
        here = wanted[protocol.image[wanted] == k]
        if here.size:
            jobs.append(Job(inside(found.folder, name, f"{protocol.path}: FILE"), box[row[here]]))
            owners.append(protocol.subject[here])
    made = run_jobs("embeddings", embedder, jobs, how, label="training faces")
    return _cached_templates(how, np.concatenate(owners), np.concatenate([one["embedding"] for one in made]))


def _cached_templates(how: How, subject: NDArray[np.int64], embedding: NDArray[np.float32]) -> Templates:
    key = digest("templates", subject, embedding)
    kept = how.cache.get("templates", key)
    if kept is None:
        made = enroll(np.where(subject < 0, UNKNOWN, subject), embedding)
        kept = {"subject": made.subject, "vector": made.vector}
        how.cache.put("templates", key, kept)
    return Templates(kept["subject"], kept["vector"])


def _templates_of_gallery(data: Path, how: How, faces: ModelSpec, embedder: ModelSpec, debug: int | None) -> Templates:
    """Gallery pictures are cropped faces already: the landmarks say where the face lies in them."""
    entries = read_gallery(data)
    if debug is not None:
        kept = sorted({entry.subject for entry in entries})[:debug]
        entries = [entry for entry in entries if entry.subject in kept]
    jobs = []
    for entry in entries:
        path = gallery_picture(data, entry.file, f"{data / 'gallery.csv'} line {entry.line}")
        points = np.array(entry.landmarks).reshape(5, 2)
        jobs.append(Job(path, box_of_landmarks(points)[None]))
    made = run_jobs("embeddings", embedder, jobs, how, label="gallery faces")
    subject = np.array([entry.subject for entry in entries], dtype=np.int64)
    return _cached_templates(how, subject, np.concatenate([one["embedding"] for one in made]))


def gallery_picture(data: Path, file: str, place: str) -> Path:
    """A gallery picture lies in `gallery_images`, by itself or in its subject's folder."""
    folder = data / "gallery_images"
    for name in (file, f"{file.split('_')[0]}/{file}"):
        path = inside(folder, name, place)
        if path.is_file():
            return path
    raise InputError(f"{place}: {file!r} is not in {folder}; extract the gallery images there")


def box_of_landmarks(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Left, top, width, height of the face around five landmarks: twice as wide as the eyes are apart, and more.

    >>> box_of_landmarks(np.array([[10.0, 10], [20, 10], [15, 15], [11, 20], [19, 20]]))
    array([ 4., 3., 22., 22.])
    """
    centre = points.mean(axis=0)
    eyes, mouth = points[:2].mean(axis=0), points[3:].mean(axis=0)
    side = 2.2 * max(float(np.linalg.norm(points[0] - points[1])), float(np.linalg.norm(eyes - mouth)), 1.0)
    return np.array([centre[0] - side / 2, (eyes[1] + mouth[1]) / 2 - side / 2 - side * 0.045, side, side]).round(0)


def _probe_table(detections: Detections, probes: list[NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
    counts = [len(one["box"]) for one in detections.found]
    stack: Arrays = {name: np.concatenate([one[name] for one in detections.found]) for name in ("box", "score")}
    filled = [one for one in probes if len(one)]
    return {
        "image": np.repeat(np.array(detections.images, dtype=np.str_), counts),
        "box": stack["box"],
        "score": stack["score"],
        "embedding": np.concatenate(filled) if filled else np.empty((0, 0), np.float32),
    }
