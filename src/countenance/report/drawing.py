"""Truth and answers drawn over a picture, as SVG in the picture's own pixels.

Truth is a solid line, an answer a dashed one, so that they differ without colour.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.answers import Answer, Boxes, Embedding, Identifications, Keypoints, LabelMap, Labels, Masks, Parts
from countenance.data import Sample, Subject
from countenance.report.contours import contours
from countenance.report.names import shown
from countenance.tasks import Task

LIMBS = (
    (5, 7),
    (7, 9),
    (6, 8),
    (8, 10),
    (5, 6),
    (5, 11),
    (6, 12),
    (11, 12),
    (11, 13),
    (13, 15),
    (12, 14),
    (14, 16),
    (0, 1),
    (0, 2),
    (1, 3),
    (2, 4),
)
MOST_ANSWERS = 50


def box(xyxy: Sequence[float], kind: str) -> Markup:
    """A rectangle; drawn twice, so that it shows on light and on dark pictures.

    >>> box([0, 0, 4, 4], "truth").count("<rect")
    2
    """
    x0, y0, x1, y1 = (float(v) for v in xyxy)
    place = f'x="{x0:.1f}" y="{y0:.1f}" width="{max(x1 - x0, 0):.1f}" height="{max(y1 - y0, 0):.1f}"'
    return Markup(f'<rect class="under" {place}/><rect class="{kind}" {place}/>')  # noqa: S704 - numbers


def points(rows: Any, kind: str, size: float, *, least: float = 0.0, limbs: bool = True) -> Markup:
    """Keypoints (x, y, visibility or confidence) as dots, 17 of them with limbs."""
    array = np.asarray(rows, dtype=np.float64)
    shown = (array[:, 2] > least) if array.shape[1] > 2 else np.ones(len(array), dtype=bool)
    out = []
    if limbs and len(array) == 17:
        for a, b in LIMBS:
            if shown[a] and shown[b]:
                (xa, ya), (xb, yb) = array[a, :2], array[b, :2]
                out.append(f'<line class="{kind}" x1="{xa:.1f}" y1="{ya:.1f}" x2="{xb:.1f}" y2="{yb:.1f}"/>')
    radius = max(1.2, size * 0.007)
    out += [f'<circle class="{kind} dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>' for x, y in array[shown, :2]]
    return Markup("".join(out))  # noqa: S704 - numbers


def outline(mask: Any, kind: str) -> Markup:
    """The outline of a mask."""
    polygons = [polygon.tolist() for polygon in contours(mask) if len(polygon) > 2]
    path = "".join("M" + "L".join(f"{x:g} {y:g}" for x, y in polygon) + "z" for polygon in polygons)
    return Markup(f'<path class="under" d="{path}"/><path class="{kind}" d="{path}"/>')  # noqa: S704 - numbers


def subject_truth(subject: Subject, size: float, kinds: Iterable[str]) -> Markup:
    """The truth of one person, drawn: those of the `kinds` that exist.

    Kinds are face, person, keypoints, landmarks, mask and parts.
    """
    out = Markup("")
    for kind in kinds:
        if kind == "face" and subject.face_box is not None:
            out += box(subject.face_box.tolist(), "truth")
        elif kind == "person" and subject.person_box is not None:
            out += box(subject.person_box.tolist(), "truth person")
        elif kind == "keypoints" and subject.keypoints is not None:
            out += points(subject.keypoints, "truth", size)
        elif kind == "landmarks" and subject.landmarks is not None:
            out += points(subject.landmarks, "truth", size, limbs=False)
        elif kind == "mask" and subject.mask is not None:
            out += outline(subject.mask.decode(), "truth")
        elif kind == "parts":
            for part in subject.face_parts.values():
                out += outline(part.decode(), "truth")
    return out


def truth_kinds(task: Task | None) -> tuple[str, ...]:
    """The kinds of truth with which the answers of a task are compared."""
    if task is None or task.answer in (Boxes, Identifications):
        return ("person",) if task is not None and "person" in task.name else ("face",)
    kinds = {Keypoints: ("keypoints",), Masks: ("mask",), LabelMap: ("parts",)}
    return kinds.get(task.answer, ())


def about_bodies(task: Task) -> bool:
    """Whether a task is about whole people, not about faces."""
    return task.answer in (Keypoints, Masks, Parts) or "person" in truth_kinds(task)


def true_words(task: Task | None, sample: Sample, subject: str | None) -> str:
    """The truth about a person, for answers that are words; empty for answers that are drawn."""
    person = next((s for s in sample.subjects if s.id == subject), None)
    if task is None or person is None or task.answer is not Parts:
        return ""
    return ", ".join(person.body_parts) or "no part"


def truth_of(sample: Sample, kinds: Iterable[str], size: float) -> Markup:
    """The truths of a whole picture."""
    kinds = tuple(kinds)
    return Markup("").join(subject_truth(subject, size, kinds) for subject in sample.subjects)


def answer_of(answer: Answer | None, size: float, kind: str = "answer") -> Markup:
    """The model's answer, drawn; `kind` is the class of the lines."""
    out = Markup("")
    if isinstance(answer, Boxes | Identifications):
        for xyxy in answer.xyxy[np.argsort(-answer.scores, kind="stable")][:MOST_ANSWERS]:
            out += box(xyxy.tolist(), kind)
    elif isinstance(answer, Keypoints):
        for person in answer.points[:MOST_ANSWERS]:
            out += points(person, kind, size, least=0.05)
    elif isinstance(answer, Masks):
        for mask in answer.masks[:MOST_ANSWERS]:
            out += outline(mask, kind)
    elif isinstance(answer, LabelMap):
        for number in np.unique(answer.classes[answer.classes > 0])[:MOST_ANSWERS]:
            out += outline(answer.classes == number, kind)
    return out


def answer_words(answer: Answer | None) -> str:
    """The model's answer in words, where few suffice.

    >>> answer_words(Boxes([[0, 0, 1, 1]], labels=["mask"])), answer_words(Embedding(None))
    ('1 box (mask)', 'no embedding')
    """
    if isinstance(answer, Boxes):
        labels = f" ({', '.join(answer.labels[:4])})" if answer.labels else ""
        return _counted(len(answer), "box", "boxes") + labels
    if isinstance(answer, Identifications):
        return _counted(len(answer), "box", "boxes")
    if isinstance(answer, Keypoints):
        return _counted(len(answer.points), "skeleton", "skeletons")
    if isinstance(answer, Masks):
        return _counted(len(answer.masks), "mask", "masks")
    if isinstance(answer, Labels):
        return ", ".join(f"{name}: {value}" for name, value in sorted(answer.values.items()))
    if isinstance(answer, Parts):
        likely = [[name for name, chance in chances.items() if chance >= 0.5] for chances in answer.probabilities]
        return "; ".join(", ".join(names) or "no part" for names in likely)
    if isinstance(answer, Embedding):
        return "no embedding" if answer.vector is None else "an embedding"
    return ""


def _counted(n: int, singular: str, plural: str) -> str:
    return f"no {singular}" if not n else f"{n} {singular if n == 1 else plural}"


def overlay(drawn: Markup, view_box: str, label: str) -> Markup:
    """An overlay for a picture that is shown at any size."""
    return Markup(  # noqa: S704 - the drawing is ours, the rest escaped
        f'<svg class="overlay" viewBox="{shown(view_box)}" role="img" aria-label="{shown(label)}">{drawn}</svg>'
    )
