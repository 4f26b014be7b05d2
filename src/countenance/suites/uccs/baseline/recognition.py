"""The recognition baseline: templates from the training faces (or the gallery), cosines to every detected face."""

from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.answers.formats.uccs_scores import MOST_LABELS, on_protocol, read_scores
from countenance.data.adapters.uccs_protocol import image_folder, protocol_path, read_gallery, read_protocol
from countenance.data.paths import inside
from countenance.data.reading.arrays import Arrays, digest
from countenance.data.reading.lines import Floats, Ints
from countenance.errors import InputError
from countenance.metrics.curves import best_detection
from countenance.metrics.topk import cosine_top_k
from countenance.run.image_jobs import How, ImageJob, check, run_jobs
from countenance.suites.uccs.baseline.detection import Baseline, Detections, find_faces, show
from countenance.suites.uccs.baseline.embeddings import write_embeddings
from countenance.suites.uccs.baseline.score import Templates, enroll, gallery_file, probe_file, write_scores
from countenance.suites.uccs.baseline.steps import EMBED
from countenance.suites.uccs.score_writer import write_v2

UNKNOWN = -1


def named(templates: Templates, probes: NDArray[np.float32], most: int = MOST_LABELS) -> list[list[tuple[int, float]]]:
    """The (ten) most similar subjects of each probe, cut after -1 if it is among them.

    >>> named(Templates(np.array([-1, 4]), np.eye(2, dtype=np.float32)), np.array([[0.8, 0.6]], dtype=np.float32))
    [[(-1, 0.800000011920929)]]
    """
    if not len(probes):
        return []
    index, cosine = cosine_top_k(probes, templates.embedding, most)
    labels = []
    for row, values in zip(templates.subject[index].tolist(), cosine.tolist(), strict=True):
        stop = row.index(UNKNOWN) + 1 if UNKNOWN in row else len(row)
        labels.append(list(zip(row[:stop], values[:stop], strict=True)))
    return labels


class EmbeddingFiles(NamedTuple):
    """The places of version 3's intermediate files: two folders of embeddings, and a detection file."""

    gallery: Path
    probes: Path
    detections: Path
    only_probes: bool = False
    """Leave the gallery's embeddings as they are, and write no scores."""


def _from_file(baseline: Baseline, path: Path) -> Detections:
    """The detections of a version 3 file instead of a detector's."""
    protocol, scores = read_protocol(baseline.data, baseline.which, 3), read_scores(path, 3)
    image, _ = on_protocol(scores, protocol.images, protocol.path.name)
    order = np.argsort(image, kind="stable")
    ends = np.searchsorted(image[order], np.arange(len(protocol.images) + 1))
    rows = [order[start:end] for start, end in pairwise(ends.tolist())]
    faces: list[Arrays] = [{"box": scores.box[own], "score": scores.score[own]} for own in rows]
    return Detections(
        protocol, baseline.images or image_folder(baseline.data, baseline.which, 3), protocol.images, faces
    )


def recognize(baseline: Baseline, how: How, files: EmbeddingFiles | None = None) -> Path:
    """Enrol, compare, and write a recognition file (version 2) or a scoring file (version 3)."""
    version = baseline.of_version()
    out = baseline.out("recognition" if version == 2 else "scoring")
    check(how, baseline.face_detector(how), baseline.face_embedding(how))
    only_probes = files is not None and files.only_probes
    enrolment = _templates_of_training if version == 2 else _templates_of_gallery
    templates = (
        Templates(np.empty(0, np.int64), np.empty((0, 0), np.float32)) if only_probes else enrolment(baseline, how)
    )
    detections = _from_file(baseline, files.detections) if files else find_faces(baseline, baseline.which, how)
    counts = [len(faces["box"]) for faces in detections.faces]
    jobs = [
        ImageJob(detections.path(name), faces["box"])
        for name, faces in zip(detections.images, detections.faces, strict=True)
        if len(faces["box"])
    ]
    embeddings = [faces["embedding"] for faces in run_jobs(EMBED, baseline.face_embedding(how), jobs, how)]
    probes = np.concatenate(embeddings) if embeddings else np.empty((0, 0), np.float32)
    boxes, scores = (np.concatenate([faces[name] for faces in detections.faces]) for name in ("box", "score"))
    if version == 2:
        rows = list(zip(boxes.tolist(), scores.tolist(), named(templates, probes, baseline.labels), strict=True))
        ends = [0, *np.cumsum(counts).tolist()]
        parts = [rows[start:end] for start, end in pairwise(ends)]
        write_v2(out, zip(detections.images, parts, strict=True), recognition=True)
    else:
        names = np.repeat(np.array(detections.images, dtype=np.str_), counts)
        table: Arrays = {"image": names, "box": boxes, "score": scores, "embedding": probes}
        folder, suffix = how.cache.folder, baseline.suffix
        write_embeddings(files.probes if files else probe_file(folder, baseline.which, suffix), table)
        if not only_probes:
            write_embeddings(files.gallery if files else gallery_file(folder, suffix), templates._asdict())
            write_scores(templates._asdict(), table, out)
    show(baseline, detections)
    return out


def _templates_of_training(baseline: Baseline, how: How) -> Templates:
    """Templates from the detection that overlaps each training face most; undetected faces are not enrolled."""
    training = protocol_path(baseline.data, "training", 2)
    if not training.is_file():
        raise InputError(f"{training}: missing; the subjects are enrolled from the training set")
    detections = find_faces(baseline, "training", how)
    protocol = detections.protocol
    box = np.concatenate([faces["box"] for faces in detections.faces])
    image = np.repeat(np.arange(len(detections.images)), [len(faces["box"]) for faces in detections.faces])
    row, _ = best_detection(protocol.box, protocol.image, box, image)
    use = (row >= 0) & (protocol.subject != 0)
    if baseline.debug is not None:
        first = np.unique(protocol.subject[protocol.subject > 0])[: baseline.debug]
        use &= np.isin(protocol.subject, [*first, UNKNOWN])
    if not use.any():
        raise InputError(f"{protocol.path}: none of its faces was detected, so nobody can be enrolled")
    enrolled = np.flatnonzero(use)
    parts = [enrolled[protocol.image[enrolled] == k] for k in np.unique(protocol.image[enrolled])]
    jobs = [ImageJob(detections.path(protocol.images[protocol.image[own[0]]]), box[row[own]]) for own in parts]
    return _enrolled(baseline, how, jobs, protocol.subject[np.concatenate(parts)], "training faces")


def _templates_of_gallery(baseline: Baseline, how: How) -> Templates:
    """Templates from gallery pictures, which are cropped faces: landmarks give the face's place in them."""
    entries = read_gallery(baseline.data)
    if baseline.debug is not None:
        first = sorted({entry.subject for entry in entries})[: baseline.debug]
        entries = [entry for entry in entries if entry.subject in first]
    jobs = []
    for entry in entries:
        path = gallery_picture(baseline.data, entry.file, f"{baseline.data / 'gallery.csv'} line {entry.line}")
        jobs.append(ImageJob(path, box_of_landmarks(entry.landmarks.reshape(5, 2))[None]))
    return _enrolled(
        baseline, how, jobs, np.array([entry.subject for entry in entries], dtype=np.int64), "gallery faces"
    )


def _enrolled(baseline: Baseline, how: How, jobs: list[ImageJob], subject: Ints, label: str) -> Templates:
    faces = run_jobs(EMBED, baseline.face_embedding(how), jobs, how, label)
    embedding = np.concatenate([arrays["embedding"] for arrays in faces])
    key = digest("enrolled", subject, embedding)
    templates = how.cache.get("enrolled", key)
    if templates is None:
        templates = enroll(np.maximum(subject, UNKNOWN), embedding)._asdict()
        how.cache.put("enrolled", key, templates)
    return Templates(**templates)


def gallery_picture(data: Path, file: str, place: str) -> Path:
    """The path of a gallery picture: in `gallery_images`, directly or in its subject's folder."""
    folder = data / "gallery_images"
    for name in (file, f"{file.split('_')[0]}/{file}"):
        path = inside(folder, name, place)
        if path.is_file():
            return path
    raise InputError(f"{place}: {file!r} is not in {folder}; extract the gallery images there")


def box_of_landmarks(points: Floats) -> Floats:
    """Left, top, width, height of a square face box around five landmarks, at least 2.2 times the eyes' distance wide.

    >>> box_of_landmarks(np.array([[10.0, 10], [20, 10], [15, 15], [11, 20], [19, 20]]))
    array([ 4., 3., 22., 22.])
    """
    centre = points.mean(axis=0)
    eyes, mouth = points[:2].mean(axis=0), points[3:].mean(axis=0)
    side = 2.2 * max(float(np.linalg.norm(points[0] - points[1])), float(np.linalg.norm(eyes - mouth)), 1.0)
    return np.array([centre[0] - side / 2, (eyes[1] + mouth[1]) / 2 - side / 2 - side * 0.045, side, side]).round(0)
