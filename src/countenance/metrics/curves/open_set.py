"""The outcome of every face and every false alarm of a set of images, under two published rules.

The rules are those of the UCCS challenge. Version 2: a detection belongs to the face that it overlaps most, by the
challenge's own overlap, and a probe is a known person in an image. Version 3: faces and detections are matched one to
one by intersection over union, and faces that the gallery was made from are excluded.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.curves.outcomes import (
    MISSED,
    ListedIdentities,
    detection_outcomes,
    identification_outcomes,
    match_one_to_one,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
CurveKind = Literal["FROC", "DIR", "O-ROC"]


@dataclass(frozen=True)
class OpenSet:
    """The faces of a set of images, the detections in them, and the thresholds for counting a face or an identity."""

    face_box: Floats
    """Left, top, width, height, a row for each face."""
    face_image: Ints
    subject: Ints
    """Above 0 a known person; -1 an unknown one; 0 a face that is ignored in recognition."""
    excluded: Bools
    present: Bools
    """Which images take part."""
    box: Floats
    image: Ints
    """The image of each detection; -1: none of these, so it is left out."""
    score: Floats
    labels: ListedIdentities
    overlap: float = 0.5
    rank: int = 1

    @property
    def counted(self) -> Bools:
        """Which faces take part."""
        return self.present[self.face_image]

    def matched(self) -> Ints:
        """The detection of each face under version 3's rule, or -1."""
        return match_one_to_one(self.face_box, self.face_image, self.box, self.image, overlap=self.overlap)


@dataclass(frozen=True)
class Outcomes:
    """The outcome of a rule: for every unit behind a curve, and every false alarm."""

    kind: CurveKind
    units: Floats
    """The score of each face (FROC) or probe (DIR, O-ROC); minus infinity: missed."""
    unit_face: Ints
    """The unit's (first) face."""
    negatives: Floats
    negative_row: Ints
    """The detection behind each false alarm."""
    total: int
    """The number that rates are shares of."""
    stranger: Floats | None = None
    """Recognition: the highest similarity of each unknown face; minus infinity: it has none, or it is known."""


def froc_v2(scores: OpenSet) -> Outcomes:
    """FROC of version 2: found faces over false alarms."""
    hit, _, _ = detection_outcomes(scores.face_box, scores.face_image, scores.box, scores.image, overlap=scores.overlap)
    score = np.full(len(scores.face_image), MISSED)
    score[hit[hit >= 0]] = scores.score[hit >= 0]
    alarm = np.flatnonzero((hit < 0) & (scores.image >= 0))
    face = np.flatnonzero(scores.counted)
    return Outcomes("FROC", score[face], face, scores.score[alarm], alarm, len(face))


def dir_v2(scores: OpenSet) -> Outcomes:
    """DIR of version 2: recognised probes over false identifications."""
    outcomes = identification_outcomes(
        scores.face_box,
        scores.face_image,
        scores.subject,
        scores.box,
        scores.image,
        scores.labels,
        overlap=scores.overlap,
        rank=scores.rank,
    )
    keep = scores.counted[outcomes.probe_face]
    units, face = outcomes.probe_score[keep], outcomes.probe_face[keep]
    return Outcomes("DIR", units, face, outcomes.negatives, outcomes.negative_row, len(face), outcomes.stranger_score)


def froc_v3(scores: OpenSet) -> Outcomes:
    """FROC of version 3: found faces over false detections per image."""
    row, free = scores.matched(), scores.image >= 0
    free[row[row >= 0]] = False
    alarm = np.flatnonzero(free)
    face = np.flatnonzero(scores.counted & ~scores.excluded)
    units = np.where(row[face] >= 0, scores.score[row[face]], MISSED)
    return Outcomes("FROC", units, face, scores.score[alarm], alarm, len(face))


def oroc_v3(scores: OpenSet) -> Outcomes:
    """O-ROC of version 3: recognised faces over false identifications per image."""
    row = scores.matched()
    matched = np.flatnonzero(row >= 0)
    face_of = np.full(len(scores.score), -1)
    face_of[row[matched]] = matched
    excluded = (face_of >= 0) & scores.excluded[face_of]
    subject = np.where(face_of >= 0, scores.subject[face_of], -1)
    # As in version 2, another identity with an equal score ranks first: the probe's own score must be among the first
    # `rank`, and the score after these must be smaller.
    top, who = _falling(scores.labels)
    own = (who == subject[:, None]) & (subject > 0)[:, None]
    own_score = np.where(own, top, MISSED).max(axis=1, initial=MISSED)
    rivals = (top >= own_score[:, None]).sum(axis=1) - 1
    positive = np.where(rivals < scores.rank, own_score, MISSED)
    largest = top[:, 0]
    counted = scores.counted
    known = counted & (scores.subject > 0)
    face = np.flatnonzero(known & ~scores.excluded)
    # The original subtracts every excluded face, known or not; gallery faces are known, so this is their number.
    total = int(np.count_nonzero(known)) - int(np.count_nonzero(counted & scores.excluded))
    units = np.where(row[face] >= 0, positive[row[face]], MISSED)
    negative = np.flatnonzero((scores.image >= 0) & ~excluded & (subject <= 0))
    unknown = (scores.subject <= 0) & ~scores.excluded & (row >= 0)
    stranger = np.where(unknown, largest[row], MISSED)
    return Outcomes("O-ROC", units, face, largest[negative], negative, total, stranger)


RULES: dict[tuple[int, bool], Callable[[OpenSet], Outcomes]] = {
    (2, False): froc_v2,
    (2, True): dir_v2,
    (3, False): froc_v3,
    (3, True): oroc_v3,
}
"""By version, and whether it is about recognition."""


def _falling(labels: ListedIdentities) -> tuple[Floats, Ints]:
    """Each detection's similarities in a row, the largest first, with their identities; short rows end in `MISSED`."""
    width = int(labels.count.max(initial=0))
    top, who = np.full((len(labels.count), width), MISSED), np.zeros((len(labels.count), width), np.int64)
    row = np.repeat(np.arange(len(labels.count)), labels.count)
    place = np.arange(len(row)) - np.repeat(labels.start, labels.count)
    top[row, place], who[row, place] = labels.score, labels.identity
    order = np.argsort(-top, axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1), np.take_along_axis(who, order, axis=1)
