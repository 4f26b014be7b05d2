"""The rules of the two versions: from a protocol and a score file to outcomes and a curve."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from countenance.errors import InputError
from countenance.metrics.curves import (
    MISSED,
    Band,
    ListedIdentities,
    bootstrap_band,
    detection_outcomes,
    dir_curve,
    froc_curve,
    identification_outcomes,
    match_one_to_one,
    per_image_curve,
)
from countenance.suites.uccs.evaluation import Outcomes, Submission, UccsEvaluation
from countenance.suites.uccs.lines import Bools, Floats, Ints


def froc_v2(given: Submission) -> Outcomes:
    """FROC of version 2: found faces over false alarms."""
    protocol, scores, image = given.protocol, given.scores, given.row_image
    hit, _, _ = detection_outcomes(protocol.box, protocol.image, scores.box, image, overlap=given.settings.overlap)
    score = np.full(len(protocol.image), MISSED)
    score[hit[hit >= 0]] = scores.score[hit >= 0]
    alarm = np.flatnonzero((hit < 0) & (image >= 0))
    face = np.flatnonzero(_counted(given))
    return Outcomes("FROC", score[face], face, scores.score[alarm], alarm, len(face))


def dir_v2(given: Submission) -> Outcomes:
    """DIR of version 2: recognised probes over false identifications."""
    protocol, scores, settings = given.protocol, given.scores, given.settings
    found = identification_outcomes(
        protocol.box, protocol.image, protocol.subject, scores.box, given.row_image, scores.labels,
        overlap=settings.overlap, rank=settings.rank,
    )  # fmt: skip
    keep = _counted(given)[found.probe_face]
    units, face = found.probe_score[keep], found.probe_face[keep]
    return Outcomes("DIR", units, face, found.negatives, found.negative_row, len(face), found.stranger_score)


def froc_v3(given: Submission) -> Outcomes:
    """FROC of version 3: found faces over false detections per image."""
    protocol, scores, image = given.protocol, given.scores, given.row_image
    row = match_one_to_one(protocol.box, protocol.image, scores.box, image, overlap=given.settings.overlap)
    free = image >= 0
    free[row[row >= 0]] = False
    alarm = np.flatnonzero(free)
    face = np.flatnonzero(_counted(given) & ~protocol.excluded)
    units = np.where(row[face] >= 0, scores.score[row[face]], MISSED)
    return Outcomes("FROC", units, face, scores.score[alarm], alarm, len(face))


def oroc_v3(given: Submission) -> Outcomes:
    """O-ROC of version 3: recognised faces over false identifications per image."""
    protocol, scores, image = given.protocol, given.scores, given.row_image
    row = match_one_to_one(protocol.box, protocol.image, scores.box, image, overlap=given.settings.overlap)
    matched = np.flatnonzero(row >= 0)
    face_of = np.full(len(scores), -1)
    face_of[row[matched]] = matched
    excluded = (face_of >= 0) & protocol.excluded[face_of]
    subject = np.where(face_of >= 0, protocol.subject[face_of], -1)
    # As in version 2, an equal score of somebody else stands before one's own: the own score must be among the
    # first `rank`, and the score after them must be smaller.
    top, who = _falling(scores.labels)
    own = (who == subject[:, None]) & (subject > 0)[:, None]
    own_score = np.where(own, top, MISSED).max(axis=1, initial=MISSED)
    rivals = (top >= own_score[:, None]).sum(axis=1) - 1
    positive = np.where(rivals < given.settings.rank, own_score, MISSED)
    largest = top[:, 0]
    counted = _counted(given)
    known = counted & (protocol.subject > 0)
    face = np.flatnonzero(known & ~protocol.excluded)
    # The original subtracts every excluded face, known or not; gallery faces are known, so this is their number.
    total = int(np.count_nonzero(known)) - int(np.count_nonzero(counted & protocol.excluded))
    units = np.where(row[face] >= 0, positive[row[face]], MISSED)
    negative = np.flatnonzero((image >= 0) & ~excluded & (subject <= 0))
    unknown = (protocol.subject <= 0) & ~protocol.excluded & (row >= 0)
    stranger = np.where(unknown, largest[row], MISSED)
    return Outcomes("O-ROC", units, face, largest[negative], negative, total, stranger)


RULES: dict[tuple[int, bool], Callable[[Submission], Outcomes]] = {
    (2, False): froc_v2, (2, True): dir_v2, (3, False): froc_v3, (3, True): oroc_v3,
}  # fmt: skip
"""By version, and whether it is about recognition."""


def _falling(labels: ListedIdentities) -> tuple[Floats, Ints]:
    """Each detection's similarities in a row, the largest first, with whose they are; short rows end in `MISSED`."""
    width = int(labels.count.max(initial=0))
    top, who = np.full((len(labels.count), width), MISSED), np.zeros((len(labels.count), width), np.int64)
    row = np.repeat(np.arange(len(labels.count)), labels.count)
    place = np.arange(len(row)) - np.repeat(labels.start, labels.count)
    top[row, place], who[row, place] = labels.score, labels.identity
    order = np.argsort(-top, axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1), np.take_along_axis(who, order, axis=1)


def _counted(given: Submission) -> Bools:
    """Which faces take part: those of all images, or of those with a detection."""
    return _present(given)[given.protocol.image]


def _present(given: Submission) -> Bools:
    present = np.full(len(given.protocol.images), not given.settings.only_present)
    present[given.row_image[given.row_image >= 0]] = True
    return present


def evaluated(given: Submission, *, recognition: bool) -> UccsEvaluation:
    """A submission under the rule of its version: outcomes, curve, and a band where one is asked for."""
    out, images, settings = RULES[given.version, recognition](given), int(_present(given).sum()), given.settings
    if recognition and out.total <= 0:
        known = "no face of a known subject (SUBJECT_ID > 0) is left to recognise"
        raise InputError(f"{given.protocol.path}: {known}, so there is no rate")
    if given.version == 2:
        draw = dir_curve if recognition else froc_curve
        curve = draw(out.units, out.negatives, out.total, log=settings.log, numbers=settings.numbers)
    else:
        curve = per_image_curve(out.units, out.negatives, out.total, images, numbers=settings.numbers)
    found = UccsEvaluation(**vars(given), **vars(out), curve=curve, images=images)
    return with_band(found) if settings.bootstrap else found


def with_band(found: UccsEvaluation) -> UccsEvaluation:
    """The same with a bootstrap band over images."""
    band = bootstrap_band(
        found.units, found.unit_image, found.negatives, found.negative_image,
        images=len(found.protocol.images), targets=found.curve.x * found.scale,
        rounds=found.settings.bootstrap, seed=found.settings.seed, strict=found.version == 2 and found.kind == "FROC",
    )  # fmt: skip
    scale = found.total if found.settings.numbers else 1
    return replace(found, band=Band(found.curve.x, band.low * scale, band.high * scale))
