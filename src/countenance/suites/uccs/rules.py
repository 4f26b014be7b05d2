"""From a protocol and a score file to outcomes and a curve, under the rule of the protocol's version."""

from dataclasses import replace

import numpy as np

from countenance.data.reading.lines import Bools
from countenance.errors import InputError
from countenance.metrics.curves import (
    Band,
    ImageScores,
    band_of,
    dir_curve,
    froc_curve,
    per_image_curve,
    resampled_rates,
)
from countenance.metrics.curves.open_set import RULES, OpenSet
from countenance.suites.uccs.evaluation import Submission, UccsEvaluation


def refuse_without_known(submission: Submission) -> None:
    """Raise where nobody is left to recognise."""
    protocol = submission.protocol
    counted = _present(submission)[protocol.image]
    known = int(np.count_nonzero(counted & (protocol.subject > 0)))
    if submission.recognition and known <= int(np.count_nonzero(counted & protocol.excluded)):
        nobody = "no face of a known subject (SUBJECT_ID > 0) is left to recognise"
        raise InputError(f"{protocol.path}: {nobody}, so there is no rate")


def _present(submission: Submission) -> Bools:
    """Which images of the protocol take part."""
    present = np.full(len(submission.protocol.images), not submission.settings.only_present)
    present[submission.row_image[submission.row_image >= 0]] = True
    return present


def evaluated(submission: Submission) -> UccsEvaluation:
    """A submission under the rule of its version: outcomes, curve, and a band where one is requested."""
    protocol, scores, settings = submission.protocol, submission.scores, submission.settings
    recognition, present = submission.recognition, _present(submission)
    images = int(present.sum())
    refuse_without_known(submission)
    out = RULES[submission.version, recognition](
        OpenSet(
            protocol.box,
            protocol.image,
            protocol.subject,
            protocol.excluded,
            present,
            scores.box,
            submission.row_image,
            scores.score,
            scores.labels,
            settings.overlap,
            settings.rank,
        )
    )
    if submission.version == 2:
        draw = dir_curve if recognition else froc_curve
        curve = draw(out.units, out.negatives, out.total, log=settings.log, numbers=settings.numbers)
    else:
        curve = per_image_curve(out.units, out.negatives, out.total, images, numbers=settings.numbers)
    evaluation = UccsEvaluation(**vars(submission), **vars(out), curve=curve, images=images)
    return with_band(evaluation) if settings.bootstrap else evaluation


def with_band(evaluation: UccsEvaluation) -> UccsEvaluation:
    """The evaluation with a bootstrap band over images."""
    targets = evaluation.curve.x * evaluation.scale
    rates = resampled_rates(
        ImageScores(evaluation.units, evaluation.unit_image),
        ImageScores(evaluation.negatives, evaluation.negative_image),
        images=len(evaluation.protocol.images),
        targets=targets,
        rounds=evaluation.settings.bootstrap,
        seed=evaluation.settings.seed,
        strict=evaluation.version == 2 and evaluation.kind == "FROC",
    )
    band = band_of(rates, targets)
    scale = evaluation.total if evaluation.settings.numbers else 1
    return replace(evaluation, band=Band(evaluation.curve.x, band.low * scale, band.high * scale))


def in_numbers(evaluation: UccsEvaluation) -> UccsEvaluation:
    """The same with counts instead of rates: as `CurveSettings.numbers` requests."""
    curve, band, total = evaluation.curve, evaluation.band, evaluation.total
    return replace(
        evaluation,
        curve=replace(curve, y=np.rint(curve.y * total)),
        band=None if band is None else Band(band.x, band.low * total, band.high * total),
    )
