"""The errors that cost most, each with what it costs: false alarms with high scores, faces that nobody found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.metrics.curves import MISSED, best_detection, match_one_to_one
from countenance.suites.uccs.evaluation import Evaluation
from countenance.suites.uccs.protocol import image_folder, real_people

MODES = ("auto", "off", "full")
SIDE = 200


@dataclass(frozen=True)
class Mistake:
    """One error: where it is, what it is, what it costs."""

    kind: str
    image: str
    box: tuple[float, float, float, float]
    score: float | None
    said: str
    cost: str
    faces: tuple[tuple[float, float, float, float], ...] = ()
    """The true faces of the image, to be drawn."""


def show_pictures(data: Path, mode: str) -> bool:
    """Whether pictures may be shown: `auto` shows made people and nobody real."""
    if mode not in MODES:
        raise InputError(f"gallery {mode!r}, expected one of {', '.join(MODES)}")
    if mode != "auto":
        return mode == "full"
    return not real_people(data)


def worst_false_alarms(evaluation: Evaluation, most: int = 12) -> list[Mistake]:
    """The false alarms with the highest scores.

    A false alarm costs what keeping it out would cost: all faces whose score does not exceed its own.
    """
    found = evaluation.units[evaluation.units > MISSED]
    mistakes = []
    for k in np.argsort(-evaluation.negatives, kind="stable")[:most]:
        score, row = float(evaluation.negatives[k]), int(evaluation.negative_row[k])
        lost = int(np.count_nonzero(found <= score))
        cost = f"To keep it out, the threshold must exceed {score:.4g}; that loses {lost} of {len(found)} found faces."
        mistakes.append(_mistake(evaluation, "false alarm", row, score, _named(evaluation, row), cost))
    return mistakes


def _mistake(evaluation: Evaluation, kind: str, row: int, score: float | None, said: str, cost: str) -> Mistake:
    image = int(evaluation.row_image[row])
    box = tuple(evaluation.scores.box[row].tolist())
    return Mistake(kind, evaluation.protocol.images[image], box, score, said, cost, _truth(evaluation, image))


def _truth(evaluation: Evaluation, image: int) -> tuple[tuple[float, float, float, float], ...]:
    return tuple(tuple(box) for box in evaluation.protocol.box[evaluation.protocol.image == image].tolist())


def _named(evaluation: Evaluation, row: int) -> str:
    if evaluation.kind == "FROC":
        return "taken for a face"
    identity, score = evaluation.scores.listed(row)
    return f"named subject {identity[np.argmax(np.where(identity > 0, score, -np.inf))]}"


def missed_faces(evaluation: Evaluation, most: int = 12) -> list[Mistake]:
    """Faces that were not found or not recognised, those first that were lost by least."""
    protocol, scores = evaluation.protocol, evaluation.scores
    if evaluation.version == 2:
        row, _ = best_detection(protocol.box, protocol.image, scores.box, evaluation.row_image)
    else:
        limit = evaluation.settings.overlap
        row = match_one_to_one(protocol.box, protocol.image, scores.box, evaluation.row_image, overlap=limit)
    cost = f"Costs 1 of {evaluation.total}, at every threshold."
    mistakes: list[tuple[float, Mistake]] = []
    for unit in np.flatnonzero(~(evaluation.units > MISSED)):
        face = int(evaluation.unit_face[unit])
        said, gap = _reason(evaluation, face, int(row[face]))
        box = tuple(protocol.box[face].tolist())
        image = int(protocol.image[face])
        mistake = Mistake("miss", protocol.images[image], box, None, said, cost, _truth(evaluation, image))
        mistakes.append((gap, mistake))
    return [mistake for _, mistake in sorted(mistakes, key=lambda item: item[0])[:most]]


def _reason(evaluation: Evaluation, face: int, row: int) -> tuple[str, float]:
    """Why a face was missed, and by how much (infinite when there is nothing to compare)."""
    if row < 0:
        return "no detection on it", np.inf
    if evaluation.kind == "FROC":
        return "no detection covers it well enough", np.inf
    subject = int(evaluation.protocol.subject[face])
    identity, score = evaluation.scores.listed(row)
    own = score[identity == subject]
    if not own.size:
        return f"subject {subject} is not among the names given", np.inf
    rivals = np.where(identity == subject, -np.inf, score)
    best = int(np.argmax(rivals))
    gap = float(rivals[best] - own[-1])
    return f"subject {subject} scored {own[-1]:.4g}, subject {identity[best]} scored {rivals[best]:.4g}", gap


def picture(data: Path, evaluation: Evaluation, mistake: Mistake) -> str | None:
    """The surroundings of an error as a data URI: the error orange, true faces red; None if the image is missing."""
    import base64
    import io

    from PIL import Image, ImageDraw

    folder = image_folder(data, evaluation.protocol.path.stem, evaluation.version)
    path = inside(folder, mistake.image, f"{evaluation.protocol.path}: FILE")
    if not path.is_file():
        return None
    whole = Image.fromarray(LazyImage(path).load())
    x, y, w, h = mistake.box
    side = 3 * max(w, h)
    left, top = x + w / 2 - side / 2, y + h / 2 - side / 2
    zoom = SIDE / side
    cut = whole.crop((round(left), round(top), round(left + side), round(top + side))).resize((SIDE, SIDE))
    draw = ImageDraw.Draw(cut)
    boxes: Sequence[tuple[Any, str]] = [*((box, "#e61e1e") for box in mistake.faces), (mistake.box, "#ff9d00")]
    for (bx, by, bw, bh), colour in boxes:
        corners = [(bx - left) * zoom, (by - top) * zoom, (bx + bw - left) * zoom, (by + bh - top) * zoom]
        draw.rectangle(corners, outline=colour, width=3 if colour == "#ff9d00" else 1)
    out = io.BytesIO()
    cut.save(out, "JPEG", quality=85)
    return "data:image/jpeg;base64," + base64.b64encode(out.getvalue()).decode("ascii")
