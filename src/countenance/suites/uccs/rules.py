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
from countenance.suites.uccs.evaluation import Kind, Submission, UccsEvaluation
from countenance.suites.uccs.lines import Bools, Floats, Ints

Rule = Callable[[Submission], UccsEvaluation]


def _counted(given: Submission) -> tuple[Bools, int]:
    """Which faces take part, and of how many images."""
    protocol, image = given.protocol, given.row_image
    if not given.settings.only_present:
        return np.ones(len(protocol.image), dtype=bool), len(protocol.images)
    present = np.zeros(len(protocol.images), dtype=bool)
    present[image[image >= 0]] = True
    return present[protocol.image], int(np.count_nonzero(present))


def _evaluation(
    given: Submission, kind: Kind, units: Floats, face: Ints, negatives: Floats, rows: Ints, *,
    total: int | None = None, stranger: Floats | None = None,
) -> UccsEvaluation:  # fmt: skip
    """The outcomes with their curve; without any known subject recognition has no rate."""
    total, images, settings = len(face) if total is None else total, _counted(given)[1], given.settings
    if kind != "FROC" and total <= 0:
        raise InputError(
            f"{given.protocol.path}: no face of a known subject (SUBJECT_ID > 0) is left to recognise, "
            "so there is no rate"
        )
    if given.version == 2:
        draw = froc_curve if kind == "FROC" else dir_curve
        curve = draw(units, negatives, total, log=settings.log, numbers=settings.numbers)
    else:
        curve = per_image_curve(units, negatives, total, images, numbers=settings.numbers)
    return UccsEvaluation(
        given.label, given.protocol, given.scores, given.row_image, settings, kind, curve, units, face, negatives, rows,
        total, images, stranger,
    )  # fmt: skip


def froc_v2(given: Submission) -> UccsEvaluation:
    """FROC of version 2: found faces over false alarms."""
    protocol, scores, image = given.protocol, given.scores, given.row_image
    hit, _, _ = detection_outcomes(protocol.box, protocol.image, scores.box, image, overlap=given.settings.overlap)
    score = np.full(len(protocol.image), MISSED)
    score[hit[hit >= 0]] = scores.score[hit >= 0]
    alarm = np.flatnonzero((hit < 0) & (image >= 0))
    face = np.flatnonzero(_counted(given)[0])
    return _evaluation(given, "FROC", score[face], face, scores.score[alarm], alarm)


def dir_v2(given: Submission) -> UccsEvaluation:
    """DIR of version 2: recognised probes over false identifications."""
    protocol, scores, settings = given.protocol, given.scores, given.settings
    truth = (protocol.box, protocol.image, protocol.subject)
    limits = {"overlap": settings.overlap, "rank": settings.rank}
    outcome = identification_outcomes(*truth, scores.box, given.row_image, scores.labels, **limits)  # type: ignore[arg-type]
    keep = _counted(given)[0][outcome.probe_face]
    units, face = outcome.probe_score[keep], outcome.probe_face[keep]
    negatives, rows = outcome.negatives, outcome.negative_row
    return _evaluation(given, "DIR", units, face, negatives, rows, stranger=outcome.stranger_score)


def froc_v3(given: Submission) -> UccsEvaluation:
    """FROC of version 3: found faces over false detections per image."""
    protocol, scores, image = given.protocol, given.scores, given.row_image
    row = match_one_to_one(protocol.box, protocol.image, scores.box, image, overlap=given.settings.overlap)
    free = image >= 0
    free[row[row >= 0]] = False
    alarm = np.flatnonzero(free)
    face = np.flatnonzero(_counted(given)[0] & ~protocol.excluded)
    units = np.where(row[face] >= 0, scores.score[row[face]], MISSED)
    return _evaluation(given, "FROC", units, face, scores.score[alarm], alarm)


def oroc_v3(given: Submission) -> UccsEvaluation:
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
    counted, _ = _counted(given)
    known_face = counted & (protocol.subject > 0)
    face = np.flatnonzero(known_face & ~protocol.excluded)
    # The original subtracts every excluded face, known or not; gallery faces are known, so this is their number.
    total = int(np.count_nonzero(known_face)) - int(np.count_nonzero(counted & protocol.excluded))
    units = np.where(row[face] >= 0, positive[row[face]], MISSED)
    negative = np.flatnonzero((image >= 0) & ~excluded & (subject <= 0))
    unknown = (protocol.subject <= 0) & ~protocol.excluded & (row >= 0)
    stranger = np.where(unknown, largest[row], MISSED)
    return _evaluation(given, "O-ROC", units, face, largest[negative], negative, total=total, stranger=stranger)


def _falling(labels: ListedIdentities) -> tuple[Floats, Ints]:
    """Each detection's similarities in a row, the largest first, with whose they are; short rows end in `MISSED`."""
    width = int(labels.count.max(initial=0))
    top, who = np.full((len(labels.count), width), MISSED), np.zeros((len(labels.count), width), np.int64)
    row = np.repeat(np.arange(len(labels.count)), labels.count)
    place = np.arange(len(row)) - np.repeat(labels.start, labels.count)
    top[row, place], who[row, place] = labels.score, labels.identity
    order = np.argsort(-top, axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1), np.take_along_axis(who, order, axis=1)


def evaluated(given: Submission, *, recognition: bool) -> UccsEvaluation:
    """A submission under the rule of its version, with a band where one is asked for."""
    rule: Rule = {(2, False): froc_v2, (2, True): dir_v2, (3, False): froc_v3, (3, True): oroc_v3}[
        given.version, recognition
    ]
    found = rule(given)
    return with_band(found) if given.settings.bootstrap else found


def with_band(found: UccsEvaluation) -> UccsEvaluation:
    """The same with a bootstrap band over images."""
    band = bootstrap_band(
        found.units, found.unit_image, found.negatives, found.negative_image,
        images=len(found.protocol.images), targets=found.curve.x * found.scale,
        rounds=found.settings.bootstrap, seed=found.settings.seed, strict=found.version == 2 and found.kind == "FROC",
    )  # fmt: skip
    scale = found.total if found.settings.numbers else 1
    return replace(found, band=Band(found.curve.x, band.low * scale, band.high * scale))
