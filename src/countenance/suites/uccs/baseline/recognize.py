"""The recognition baseline: templates from the training faces (or the gallery), cosines to every detected face."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.metrics.curves import best_detection
from countenance.metrics.topk import cosine_top_k, unit_rows
from countenance.models import ModelSpec
from countenance.suites.uccs.baseline.cache import Arrays, digest
from countenance.suites.uccs.baseline.detect import Baseline, Detections, find_faces, show
from countenance.suites.uccs.baseline.embeddings import write_embeddings
from countenance.suites.uccs.baseline.score import gallery_file, probe_file, write_scores
from countenance.suites.uccs.baseline.work import BaselineJob, How, check, run_jobs
from countenance.suites.uccs.protocol import image_folder, protocol_path, read_gallery, read_protocol
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


def _from_file(asked: Baseline, kept: Kept) -> Detections:
    """The detections of a version 3 file instead of a detector's."""
    protocol = read_protocol(asked.data, asked.which, 3)
    scores = read_scores(kept.detections, 3)
    image, _ = on_protocol(scores, protocol.images, protocol.path.name)
    order = np.argsort(image, kind="stable")
    ends = np.searchsorted(image[order], np.arange(len(protocol.images) + 1))
    rows = [order[start:end] for start, end in pairwise(ends.tolist())]
    found: list[Arrays] = [{"box": scores.box[own], "score": scores.score[own]} for own in rows]
    return Detections(protocol, asked.images or image_folder(asked.data, asked.which, 3), protocol.images, found)


def recognize(asked: Baseline, how: How, kept: Kept | None = None) -> Path:
    """Enrol, compare, and write a recognition file (version 2) or a scoring file (version 3)."""
    version = asked.of_version()
    out = asked.out("recognition" if version == 2 else "scoring")
    check(how, asked.face_detector(how), asked.face_embedding(how))
    templates = (_templates_of_training if version == 2 else _templates_of_gallery)(asked, how)
    detections = _from_file(asked, kept) if kept else find_faces(asked, asked.which, how)
    probes = _embedded(detections, how, asked.face_embedding(how))
    if version == 2:
        rows = [
            (name, list(zip(one["box"].tolist(), one["score"].tolist(), named(templates, own, asked.labels),
                            strict=True)))
            for name, one, own in zip(detections.images, detections.found, probes, strict=True)
        ]  # fmt: skip
        write_v2(out, rows, recognition=True)
    else:
        gallery: Arrays = {"subject": templates.subject, "embedding": templates.vector}
        table = _probe_table(detections, probes)
        folder, suffix = how.cache.folder, asked.suffix
        write_embeddings(kept.gallery if kept else gallery_file(folder, suffix), gallery)
        write_embeddings(kept.probes if kept else probe_file(folder, asked.which, suffix), table)
        write_scores(gallery, table, out)
    show(asked, detections)
    return out


def _embedded(detections: Detections, how: How, embedder: ModelSpec) -> list[NDArray[np.float32]]:
    paths = [detections.path(name) for name in detections.images]
    jobs = [BaselineJob(path, one["box"]) for path, one in zip(paths, detections.found, strict=True) if len(one["box"])]
    made = iter(run_jobs("embeddings", embedder, jobs, how))
    nothing = np.zeros((0, 0), np.float32)
    return [next(made)["embedding"] if len(one["box"]) else nothing for one in detections.found]


def _templates_of_training(asked: Baseline, how: How) -> Templates:
    """Of each training face the detection that overlaps it most; faces that were not detected are not enrolled."""
    training = protocol_path(asked.data, "training", 2)
    if not training.is_file():
        raise InputError(f"{training}: missing; the subjects are enrolled from the training set")
    found = find_faces(asked, "training", how)
    protocol = found.protocol
    box = np.concatenate([one["box"] for one in found.found])
    image = np.repeat(np.arange(len(found.images)), [len(one["box"]) for one in found.found])
    row, _ = best_detection(protocol.box, protocol.image, box, image)
    use = (row >= 0) & (protocol.subject != 0)
    if asked.debug is not None:
        first = np.unique(protocol.subject[protocol.subject > 0])[: asked.debug]
        use &= np.isin(protocol.subject, [*first, UNKNOWN])
    if not use.any():
        raise InputError(f"{protocol.path}: none of its faces was detected, so nobody can be enrolled")
    wanted = np.flatnonzero(use)
    jobs, owners = [], []
    for k, name in enumerate(found.images):
        here = wanted[protocol.image[wanted] == k]
        if here.size:
            jobs.append(BaselineJob(found.path(name), box[row[here]]))
            owners.append(protocol.subject[here])
    return _enrolled(asked, how, jobs, np.concatenate(owners), "training faces")


def _templates_of_gallery(asked: Baseline, how: How) -> Templates:
    """Gallery pictures are cropped faces already: the landmarks say where the face lies in them."""
    entries = read_gallery(asked.data)
    if asked.debug is not None:
        first = sorted({entry.subject for entry in entries})[: asked.debug]
        entries = [entry for entry in entries if entry.subject in first]
    jobs = []
    for entry in entries:
        path = gallery_picture(asked.data, entry.file, f"{asked.data / 'gallery.csv'} line {entry.line}")
        jobs.append(BaselineJob(path, box_of_landmarks(np.array(entry.landmarks).reshape(5, 2))[None]))
    return _enrolled(asked, how, jobs, np.array([entry.subject for entry in entries], dtype=np.int64), "gallery faces")


def _enrolled(asked: Baseline, how: How, jobs: list[BaselineJob], subject: NDArray[np.int64], label: str) -> Templates:
    made = run_jobs("embeddings", asked.face_embedding(how), jobs, how, label=label)
    embedding = np.concatenate([one["embedding"] for one in made])
    key = digest("templates", subject, embedding)
    kept = how.cache.get("templates", key)
    if kept is None:
        fresh = enroll(np.where(subject < 0, UNKNOWN, subject), embedding)
        kept = {"subject": fresh.subject, "vector": fresh.vector}
        how.cache.put("templates", key, kept)
    return Templates(kept["subject"], kept["vector"])


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


def _probe_table(detections: Detections, probes: list[NDArray[np.float32]]) -> Arrays:
    filled = [one for one in probes if len(one)]
    return {
        "image": np.repeat(np.array(detections.images, dtype=np.str_), [len(one["box"]) for one in detections.found]),
        **{name: np.concatenate([one[name] for one in detections.found]) for name in ("box", "score")},
        "embedding": np.concatenate(filled) if filled else np.empty((0, 0), np.float32),
    }
