"""From a protocol and a score file to outcomes and a curve, under the rule of the protocol's version."""

from dataclasses import replace

import numpy as np

from countenance.errors import InputError
from countenance.metrics.curves import Band, bootstrap_band, dir_curve, froc_curve, per_image_curve
from countenance.metrics.curves.open_set import RULES, OpenSet
from countenance.suites.uccs.evaluation import Submission, UccsEvaluation


def evaluated(given: Submission, *, recognition: bool) -> UccsEvaluation:
    """A submission under the rule of its version: outcomes, curve, and a band where one is asked for."""
    protocol, scores, settings = given.protocol, given.scores, given.settings
    present = np.full(len(protocol.images), not settings.only_present)
    present[given.row_image[given.row_image >= 0]] = True
    images = int(present.sum())
    out = RULES[given.version, recognition](
        OpenSet(
            protocol.box,
            protocol.image,
            protocol.subject,
            protocol.excluded,
            present,
            scores.box,
            given.row_image,
            scores.score,
            scores.labels,
            settings.overlap,
            settings.rank,
        )
    )
    if recognition and out.total <= 0:
        known = "no face of a known subject (SUBJECT_ID > 0) is left to recognise"
        raise InputError(f"{protocol.path}: {known}, so there is no rate")
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
        found.units,
        found.unit_image,
        found.negatives,
        found.negative_image,
        images=len(found.protocol.images),
        targets=found.curve.x * found.scale,
        rounds=found.settings.bootstrap,
        seed=found.settings.seed,
        strict=found.version == 2 and found.kind == "FROC",
    )
    scale = found.total if found.settings.numbers else 1
    return replace(found, band=Band(found.curve.x, band.low * scale, band.high * scale))
