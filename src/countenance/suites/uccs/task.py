"""The challenge as two tasks: detection (FROC) and open-set recognition (DIR, O-ROC).

A row is a face, and a further one for each image has its false alarms. The metrics of a face's row depend on the whole
run: the threshold is the one with the chosen number of false alarms. The curves come from the same rules as those of
`countenance uccs evaluate-...`.
"""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from countenance.answers import Identifications
from countenance.answers.formats.uccs_scores import ScoreFile
from countenance.data import Sample, Subject
from countenance.data.adapters.uccs import Face
from countenance.data.adapters.uccs_protocol import Protocol
from countenance.data.reading.lines import Floats
from countenance.errors import InputError
from countenance.metrics.curves import MISSED, ListedIdentities
from countenance.run.hashes import digest
from countenance.suites.uccs.evaluation import CurveSettings, Submission, UccsEvaluation
from countenance.suites.uccs.operating import EVERYBODY, Point, middle, operating_points, shares
from countenance.suites.uccs.rules import evaluated
from countenance.tasks import Metric, Options, Reduce, Reduced, Result, Row, Shard, State, Task, Whole
from countenance.tasks.results import Axis, Curve, Line, Number
from countenance.tasks.states import state_to_bytes
from countenance.tasks.task import subject_row


class CurveOptions(Options):
    """The options of the curves: the version of the rules, fields of `CurveSettings`, and the operating point."""

    version: Literal[2, 3] | None = None
    """The version of the rules; default: that of the data."""
    overlap: float = Field(0.5, gt=0, le=1)
    """The overlap from which a box counts as a true face."""
    rank: int = Field(1, ge=1)
    """A face counts as recognised when its identity is among the first `rank`."""
    log: bool = False
    """Whether the horizontal axis is logarithmic."""
    only_present: bool = False
    """Whether images without an entry in the score file are left out."""
    bootstrap: int = Field(0, ge=0)
    """How often images are drawn again for the band; 0: no band."""
    seed: int = 0
    """The seed of these draws."""
    false_alarms: float | None = Field(None, gt=0)
    """At how many false alarms over all images faces count as found; default: a tenth of all, at least one."""

    def settings(self) -> CurveSettings:
        """The options that are settings of the rules: all but the version and the operating point."""
        return CurveSettings(**self.model_dump(exclude={"version", "false_alarms"}))


def score(sample: Sample, answer: Identifications) -> list[Row]:
    """A row for each face and one for the image; their metrics come from the whole run."""
    return [*(subject_row(sample, subject) for subject in sample.subjects), subject_row(sample, None)]


def to_identifications(raw: Any) -> Identifications:
    """Identifications, or boxes as any face detector returns them."""
    if isinstance(raw, Identifications):
        return raw
    from countenance.tasks.face_localization import to_boxes

    boxes = to_boxes(raw)
    return Identifications(np.hstack([boxes.xyxy[:, :2], boxes.xyxy[:, 2:] - boxes.xyxy[:, :2]]), boxes.scores)


def partial(shard: Shard) -> State:
    """Faces and detections of a shard as arrays; images are numbered within the shard."""
    pairs = list(shard.answered())
    faces = [(k, face) for k, (sample, _) in enumerate(pairs) for face in sample.subjects]
    answers = [answer for _, answer in pairs]
    return {
        "images": np.array([sample.id for sample, _ in pairs], dtype=np.str_),
        "face_image": np.array([k for k, _ in faces], dtype=np.int64),
        "face_box": np.array([_published(face) for _, face in faces], dtype=np.float64).reshape(len(faces), 4),
        "face_person": np.array([face.identity or "" for _, face in faces], dtype=np.str_),
        "face_subject": np.array([_number(face) for _, face in faces], dtype=np.int64),
        "face_excluded": np.array([getattr(face, "excluded", False) for _, face in faces], dtype=bool),
        "version": np.array([getattr(face, "version", 3) for _, face in faces], dtype=np.int64),
        "image": np.repeat(np.arange(len(answers)), [len(detections) for detections in answers]),
        "box": np.concatenate([np.zeros((0, 4)), *(detections.xywh for detections in answers)]),
        "score": np.concatenate([np.zeros(0), *(detections.scores for detections in answers)]),
        "count": np.concatenate([np.zeros(0, np.int64), *(detections.count for detections in answers)]),
        "identity": np.concatenate([np.zeros(0, np.int64), *(detections.identity for detections in answers)]),
        "similarity": np.concatenate([np.zeros(0), *(detections.similarity for detections in answers)]),
    }


def merge(first: State, second: State) -> State:
    """Both states joined; image numbers of the second continue those of the first."""
    shift = len(first["images"])
    moved = {name: second[name] + shift for name in ("image", "face_image")}
    return {name: np.concatenate([first[name], moved.get(name, second[name])]) for name in first}


def _published(face: Subject) -> Floats:
    """Left, top, width, height; from the corners if the dataset is not the challenge's."""
    if isinstance(face, Face):
        return face.published
    corners = np.zeros(4) if face.face_box is None else face.face_box
    return np.concatenate([corners[:2], corners[2:] - corners[:2]])


def _number(face: Subject) -> int:
    """SUBJECT_ID; a person of another dataset is known if the identity is a number above 0."""
    if isinstance(face, Face):
        return face.number
    return int(face.identity) if face.identity is not None and face.identity.isdigit() else -1


def submission_of(state: State, rules: CurveOptions, *, recognition: bool) -> Submission:
    """The faces and detections of a run as those of a submission."""
    version, count = rules.version or int(state["version"][0]), state["count"]
    faces = np.arange(len(state["face_image"]))
    protocol = Protocol(
        Path("protocol"),
        version,
        tuple(state["images"].tolist()),
        True,
        state["face_image"],
        faces,
        state["face_subject"],
        state["face_box"],
        state["face_excluded"],
    )
    labels = ListedIdentities(np.cumsum(count) - count, count, state["identity"], state["similarity"])
    scores = ScoreFile(
        Path("predictions"),
        version,
        "recognition" if count.any() else "detection",
        protocol.images,
        state["image"],
        np.arange(len(state["image"])),
        state["box"],
        state["score"],
        labels,
    )
    return Submission("", protocol, scores, state["image"], rules.settings(), recognition=recognition)


def hash_of(state: State) -> str:
    """A hash of all faces and detections: stored outcomes belong to these and to no others."""
    return digest(state_to_bytes(state))


def _finish(rules: CurveOptions, recognition: bool) -> Callable[[State, Whole], Reduced]:
    def finish(state: State, whole: Whole) -> Reduced:
        if not len(state["face_image"]):
            raise InputError("no image of this run has a face, so there is nothing to find")
        if recognition and not state["count"].any():
            raise InputError("detections only: recognition needs identities with similarities for each detection")
        evaluation = evaluated(submission_of(state, rules, recognition=recognition))
        allowed = rules.false_alarms or middle(evaluation)
        people = state["face_person"]
        point = operating_points(evaluation, (), [allowed / evaluation.scale], people)[0]
        columns = _columns(evaluation, point.threshold, recognition, state)
        results, notes = _results(evaluation, point, allowed, people), _twice(evaluation, recognition)
        return Reduced(results, columns, notes, evidence={"of": np.array([hash_of(state)]), **evaluation.to_state()})

    return finish


def _twice(evaluation: UccsEvaluation, recognition: bool) -> list[str]:
    """A note on known subjects who are in an image twice: version 2 counts them once, in their first row."""
    known = evaluation.protocol.subject > 0
    faces, probes = int(np.count_nonzero(known)), len(evaluation.unit_face)
    if not recognition or evaluation.version != 2 or faces == probes:
        return []
    again = faces - probes
    which = "1 face shows" if again == 1 else f"{again} faces show"
    return [
        f"{which} a known subject who is in the image already: one probe, in the row and the group of the first face"
    ]


def _columns(evaluation: UccsEvaluation, threshold: float, recognition: bool, state: State) -> dict[str, Floats]:
    """The metrics of every row: faces in their order, and after the faces of an image the image itself."""
    faces, images = len(state["face_image"]), len(state["images"])
    face_row = np.arange(faces) + state["face_image"]
    image_row = np.searchsorted(state["face_image"], np.arange(images), side="right") + np.arange(images)

    def column(rows: Any, values: Any) -> Floats:
        full = np.full(faces + images, np.nan)
        full[rows] = values
        return full

    passed = evaluation.negative_row[evaluation.negatives >= threshold]
    alarms = column(image_row, np.bincount(evaluation.row_image[passed], minlength=images))
    units = face_row[evaluation.unit_face]
    hit = column(units, evaluation.hit(threshold))
    ever = column(units, evaluation.units > MISSED)
    if not recognition:
        return {"found": hit, "found_at_all": ever, "false_alarms": alarms}
    unknown = np.flatnonzero((state["face_subject"] < 0) & ~state["face_excluded"])
    assert evaluation.stranger is not None
    rejected = column(face_row[unknown], evaluation.stranger[unknown] < threshold)
    return {"identified": hit, "identified_at_all": ever, "rejected": rejected, "false_identifications": alarms}


def _results(
    evaluation: UccsEvaluation, point: Point, allowed: float, people: NDArray[np.str_] | None = None
) -> list[Result]:
    """The rate and the threshold at the rows' operating point, the rate at the lowest threshold, and the curve."""
    per_image = " per image" if evaluation.version == 3 else ""
    what, units = evaluation.alarms, evaluation.unit
    curve = Curve(
        name=evaluation.kind,
        meaning=f"share of {units} {'found' if evaluation.kind == 'FROC' else 'identified'} over {what}{per_image}",
        x=Axis(label=f"{what}{per_image}", log=evaluation.settings.log or evaluation.version == 3),
        y=Axis(label=f"share of {units}"),
        lines=[Line(**evaluation.to_dict())],
        marks=[point.false_alarms],
    )
    rate = Number(
        name=f"{evaluation.kind}: rate at the operating point",
        meaning=f"{allowed:g} {what} over all images: threshold {point.threshold:.6g}; the rows are read at it",
        value=point.rate,
        low=point.low,
        high=point.high,
        n=point.n,
        unit=units,
        better="higher",
    )
    share = shares(evaluation, [evaluation.units > MISSED], None, people)[0][EVERYBODY, EVERYBODY]
    lowest = Number(
        name=f"{evaluation.kind}: rate at the lowest threshold",
        meaning=f"with {len(evaluation.negatives)} {what}",
        value=evaluation.hits / evaluation.total,
        low=share.low,
        high=share.high,
        n=evaluation.total,
        unit=units,
        better="higher",
    )
    threshold = Number(
        name="threshold",
        meaning=f"lets {allowed:g} {what} pass over all images",
        value=point.threshold,
        n=len(evaluation.negatives),
        unit=what,
    )
    return [rate, lowest, threshold, curve]


DETECTED = (
    Metric("found", "share of faces found at the run's operating point", "higher", headline=True),
    Metric("found_at_all", "share of faces found at the lowest threshold", "higher"),
    Metric("false_alarms", "false alarms in an image at the operating point", better="lower"),
)
IDENTIFIED = (
    Metric("identified", "share of known people identified at the run's operating point", "higher", headline=True),
    Metric("rejected", "share of unknown faces that pass as nobody at the operating point", "higher", headline=True),
    Metric("identified_at_all", "share of known people identified at the lowest threshold", "higher"),
    Metric("false_identifications", "false identifications in an image at the operating point", better="lower"),
)


def task(rules: CurveOptions, *, recognition: bool) -> Task:
    """The detection or the recognition task under the rules given."""
    who = "Who is known, who is not, and how many false identifications does it take?"
    return Task(
        name="uccs_recognition" if recognition else "uccs_detection",
        question=who if recognition else "Where are the faces, and how many false alarms does it take?",
        answer=Identifications,
        metrics=IDENTIFIED if recognition else DETECTED,
        coerce=to_identifications,
        score=score,
        reduce=Reduce(partial, _finish(rules, recognition), merge),
        needs=("embedding",) if recognition else ("face",),
        options=rules,
        make=functools.partial(task, recognition=recognition),
    )


DETECTION = task(CurveOptions(), recognition=False)
RECOGNITION = task(CurveOptions(), recognition=True)
