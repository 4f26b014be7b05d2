"""The most costly errors, each with its cost: false alarms with high scores, faces that were not found."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from countenance.data import Sample
from countenance.data.reading.lines import Floats
from countenance.errors import InputError
from countenance.metrics.curves import MISSED, best_detection, match_one_to_one
from countenance.report import drawing, pictures
from countenance.suites.uccs.evaluation import UccsEvaluation

MOST = 12


@dataclass(frozen=True)
class Mistake:
    """One error: its place, its kind, its cost."""

    kind: str
    image: int
    """Its image, as a number in the protocol."""
    name: str
    box: Floats
    score: float | None
    reason: str
    cost: str


def worst_false_alarms(evaluation: UccsEvaluation, most: int = MOST) -> list[Mistake]:
    """The false alarms with the highest scores.

    A false alarm costs all faces whose score does not exceed its own, since excluding it would lose them.
    """
    detected = evaluation.units[evaluation.units > MISSED]
    mistakes = []
    for k in np.argsort(-evaluation.negatives, kind="stable")[:most]:
        score, row = float(evaluation.negatives[k]), int(evaluation.negative_row[k])
        lost = int(np.count_nonzero(detected <= score))
        cost = (
            f"To keep it out, the threshold must exceed {score:.4g}; that loses {lost} of {len(detected)} found faces."
        )
        image = int(evaluation.row_image[row])
        name, box = evaluation.protocol.images[image], evaluation.scores.box[row]
        mistakes.append(Mistake("false alarm", image, name, box, score, _named(evaluation, row), cost))
    return mistakes


def _named(evaluation: UccsEvaluation, row: int) -> str:
    if evaluation.kind == "FROC":
        return "taken for a face"
    identity, score = evaluation.scores.listed(row)
    return f"named subject {identity[np.argmax(np.where(identity > 0, score, -np.inf))]}"


def missed_faces(evaluation: UccsEvaluation, most: int = MOST) -> list[Mistake]:
    """Faces that were not found or not recognised, the closest misses first."""
    protocol, scores = evaluation.protocol, evaluation.scores
    boxes = (protocol.box, protocol.image, scores.box, evaluation.row_image)
    if evaluation.version == 2:
        row, _ = best_detection(*boxes)
    else:
        row = match_one_to_one(*boxes, overlap=evaluation.settings.overlap)
    cost = f"Costs 1 of {evaluation.total}, at every threshold."
    mistakes: list[tuple[float, Mistake]] = []
    for face in evaluation.unit_face[~(evaluation.units > MISSED)].tolist():
        reason, gap = _reason(evaluation, face, int(row[face]))
        image = int(protocol.image[face])
        mistakes.append((gap, Mistake("miss", image, protocol.images[image], protocol.box[face], None, reason, cost)))
    return [mistake for _, mistake in sorted(mistakes, key=lambda item: item[0])[:most]]


def _reason(evaluation: UccsEvaluation, face: int, row: int) -> tuple[str, float]:
    """The reason why a face was missed, and by how much (infinite if there is nothing to compare)."""
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


def picture(sample: Sample, evaluation: UccsEvaluation, mistake: Mistake, mode: str) -> tuple[Markup, Markup] | None:
    """The surroundings of an error, and an overlay with the true faces and the error; None without the image."""
    try:
        pixels = sample.load()
    except InputError:
        return None
    true = evaluation.protocol.box[evaluation.protocol.image == mistake.image]
    kinds = [*((box, "truth") for box in true), (mistake.box, "answer")]
    corners = [(np.concatenate([box[:2], box[:2] + box[2:]]).tolist(), kind) for box, kind in kinds]
    shown = pictures.window(pixels.shape[1], pixels.shape[0], corners[-1][0], margin=3.0)
    drawn = Markup("").join(drawing.box(box, kind) for box, kind in corners)
    alt = f"{mistake.kind} in {mistake.name}: {mistake.reason}"
    return pictures.embedded(pixels, shown, blurred=mode == "blurred"), drawing.overlay(drawn, shown.view_box, alt)
