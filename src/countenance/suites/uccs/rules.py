"""The rules of the two versions: from a protocol and a score file to outcomes and a curve."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.metrics.curves import (
    MISSED,
    Band,
    Labels,
    bootstrap_band,
    detection_outcomes,
    dir_curve,
    froc_curve,
    identification_outcomes,
    match_one_to_one,
    per_image_curve,
)
from countenance.suites.uccs.evaluation import Evaluation, Settings
from countenance.suites.uccs.lines import Floats, Ints
from countenance.suites.uccs.protocol import Protocol
from countenance.suites.uccs.scores import Scores

Rule = Callable[[str, Protocol, Scores, Ints, Settings], Evaluation]


def _counted(protocol: Protocol, image: Ints, settings: Settings) -> tuple[np.ndarray[Any, np.dtype[np.bool_]], int]:
    """Which faces take part, and of how many images."""
    if not settings.only_present:
        return np.ones(len(protocol.image), dtype=bool), len(protocol.images)
    present = np.zeros(len(protocol.images), dtype=bool)
    present[image[image >= 0]] = True
    return present[protocol.image], int(np.count_nonzero(present))


def froc_v2(label: str, protocol: Protocol, scores: Scores, image: Ints, settings: Settings) -> Evaluation:
    """FROC of version 2: found faces over false alarms."""
    hit, _, _ = detection_outcomes(protocol.box, protocol.image, scores.box, image, overlap=settings.overlap)
    score = np.full(len(protocol.image), MISSED)
    score[hit[hit >= 0]] = scores.score[hit >= 0]
    alarm = np.flatnonzero((hit < 0) & (image >= 0))
    counted, images = _counted(protocol, image, settings)
    face = np.flatnonzero(counted)
    units, negatives = score[face], scores.score[alarm]
    curve = froc_curve(units, negatives, len(face), log=settings.log, numbers=settings.numbers)
    return Evaluation(
        "FROC", label, 2, settings, protocol, scores, curve, units, face, negatives, alarm, image, len(face), images
    )


def dir_v2(label: str, protocol: Protocol, scores: Scores, image: Ints, settings: Settings) -> Evaluation:
    """DIR of version 2: recognised probes over false identifications."""
    outcome = identification_outcomes(
        protocol.box,
        protocol.image,
        protocol.subject,
        scores.box,
        image,
        scores.labels,
        overlap=settings.overlap,
        rank=settings.rank,
    )
    counted, images = _counted(protocol, image, settings)
    keep = counted[outcome.probe_face]
    units, face = outcome.probe_score[keep], outcome.probe_face[keep]
    _some_known(len(face), protocol)
    curve = dir_curve(units, outcome.negatives, len(face), log=settings.log, numbers=settings.numbers)
    rows = outcome.negative_row
    return Evaluation(
        "DIR",
        label,
        2,
        settings,
        protocol,
        scores,
        curve,
        units,
        face,
        outcome.negatives,
        rows,
        image,
        len(face),
        images,
        outcome.stranger_score,
    )


def froc_v3(label: str, protocol: Protocol, scores: Scores, image: Ints, settings: Settings) -> Evaluation:
    """FROC of version 3: found faces over false detections per image."""
    row = match_one_to_one(protocol.box, protocol.image, scores.box, image, overlap=settings.overlap)
    free = image >= 0
    free[row[row >= 0]] = False
    alarm = np.flatnonzero(free)
    counted, images = _counted(protocol, image, settings)
    face = np.flatnonzero(counted & ~protocol.excluded)
    units = np.where(row[face] >= 0, scores.score[row[face]], MISSED)
    negatives = scores.score[alarm]
    curve = per_image_curve(units, negatives, len(face), images, numbers=settings.numbers)
    return Evaluation(
        "FROC", label, 3, settings, protocol, scores, curve, units, face, negatives, alarm, image, len(face), images
    )


def oroc_v3(label: str, protocol: Protocol, scores: Scores, image: Ints, settings: Settings) -> Evaluation:
    """O-ROC of version 3: recognised faces over false identifications per image."""
    row = match_one_to_one(protocol.box, protocol.image, scores.box, image, overlap=settings.overlap)
    matched = np.flatnonzero(row >= 0)
    face_of = np.full(len(scores), -1)
    face_of[row[matched]] = matched
    excluded = (face_of >= 0) & protocol.excluded[face_of]
    subject = np.where(face_of >= 0, protocol.subject[face_of], -1)
    needed = (image >= 0) & ~excluded
    # As in version 2, an equal score of somebody else stands before one's own: the own score must be among the
    # first `rank`, and the score after them must be smaller.
    top, who = _falling(scores.labels)
    own = (who == subject[:, None]) & (subject > 0)[:, None]
    own_score = np.where(own, top, MISSED).max(axis=1, initial=MISSED)
    rivals = (top >= own_score[:, None]).sum(axis=1) - 1
    positive = np.where(rivals < settings.rank, own_score, MISSED)
    largest = top[:, 0]
    counted, images = _counted(protocol, image, settings)
    known_face = counted & (protocol.subject > 0)
    face = np.flatnonzero(known_face & ~protocol.excluded)
    # The original subtracts every excluded face, known or not; gallery faces are known, so this is their number.
    total = int(np.count_nonzero(known_face)) - int(np.count_nonzero(counted & protocol.excluded))
    _some_known(total, protocol)
    units = np.where(row[face] >= 0, positive[row[face]], MISSED)
    negative = np.flatnonzero(needed & (subject <= 0))
    negatives = largest[negative]
    curve = per_image_curve(units, negatives, total, images, numbers=settings.numbers)
    unknown = (protocol.subject <= 0) & ~protocol.excluded & (row >= 0)
    stranger = np.where(unknown, largest[row], MISSED)
    return Evaluation(
        "O-ROC", label, 3, settings, protocol, scores, curve, units, face, negatives, negative, image, total, images,
        stranger,
    )  # fmt: skip


def _falling(labels: Labels) -> tuple[Floats, Ints]:
    """Each detection's similarities in a row, the largest first, with whose they are; short rows end in `MISSED`."""
    width = int(labels.count.max(initial=0))
    top, who = np.full((len(labels.count), width), MISSED), np.zeros((len(labels.count), width), np.int64)
    row = np.repeat(np.arange(len(labels.count)), labels.count)
    place = np.arange(len(row)) - np.repeat(labels.start, labels.count)
    top[row, place], who[row, place] = labels.score, labels.identity
    order = np.argsort(-top, axis=1, kind="stable")
    return np.take_along_axis(top, order, axis=1), np.take_along_axis(who, order, axis=1)


def rule_of(version: int, *, recognition: bool) -> Rule:
    """The rule of a version: FROC, or DIR and O-ROC."""
    return {(2, False): froc_v2, (2, True): dir_v2, (3, False): froc_v3, (3, True): oroc_v3}[version, recognition]


def _some_known(probes: int, protocol: Protocol) -> None:
    if probes <= 0:
        raise InputError(
            f"{protocol.path}: no face of a known subject (SUBJECT_ID > 0) is left to recognise, so there is no rate"
        )


def with_band(evaluation: Evaluation) -> Evaluation:
    """The same with a bootstrap band over images."""
    v2 = evaluation.version == 2
    targets = evaluation.curve.x if v2 else evaluation.curve.x * evaluation.images
    band = bootstrap_band(
        evaluation.units,
        evaluation.protocol.image[evaluation.unit_face],
        evaluation.negatives,
        evaluation.row_image[evaluation.negative_row],
        images=len(evaluation.protocol.images),
        targets=targets,
        rounds=evaluation.settings.bootstrap,
        seed=evaluation.settings.seed,
        strict=v2 and evaluation.kind == "FROC",
    )
    scale = evaluation.total if evaluation.settings.numbers else 1
    band = Band(evaluation.curve.x, band.low * scale, band.high * scale)
    return replace(evaluation, band=band)
