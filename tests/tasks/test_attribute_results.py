"""Confusion, error rates and calibration of attributes, against scikit-learn and plain arithmetic."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix

import countenance as ct
from countenance.metrics.calibration import calibration, calibration_error
from countenance.tasks.attributes import ATTRIBUTES
from countenance.testing import reduced


def made(n: int = 300, seed: int = 0, stated: bool = True):
    random = np.random.default_rng(seed)
    samples, answers, rows = [], {}, []
    for i in range(n):
        about = {"gender": ("female", "male")[i % 2], "skin_tone": ("monk_2", "monk_5", "monk_9")[i % 3]}
        sample = ct.Sample(
            f"s{i}",
            ct.ArrayImage(np.zeros((4, 4, 3), np.uint8)),
            4,
            4,
            (ct.Subject("0", f"p{i // 2}", attributes=about),),
        )
        said = about["gender"] if random.random() < 0.8 else ("male", "female")[i % 2]
        share = float(random.uniform(0.5, 1))
        other = {"male": "female", "female": "male"}[said]
        chances = {"gender": {said: share, other: 1 - share}} if stated else None
        samples.append(sample)
        answers[sample.id] = ATTRIBUTES.check(
            ct.Labels({"gender": said.upper()} if not stated else {"gender": said}, chances), sample
        )
        rows.append(about | {"said": said, "share": share})
    return samples, answers, pd.DataFrame(rows)


def named(found, name, group=None):
    return next(one for one in found.results if one.name == name and getattr(one, "group", None) == group)


def test_rates_and_confusion_agree_with_scikit_learn():
    samples, answers, table = made()
    found = reduced(ATTRIBUTES, samples, answers)
    counts = confusion_matrix(table.gender, table.said, labels=["female", "male"])
    assert named(found, "confusion of gender").counts == counts.tolist()
    (tn, fp), (fn, tp) = counts
    assert named(found, "FPR gender=male").value == pytest.approx(fp / (fp + tn), abs=1e-12)
    assert named(found, "FNR gender=male").value == pytest.approx(fn / (fn + tp), abs=1e-12)
    part = table[table.skin_tone == "monk_5"]
    (tn, fp), (fn, tp) = confusion_matrix(part.gender, part.said, labels=["female", "male"])
    assert named(found, "group FPR gender=male", "monk_5").value == pytest.approx(fp / (fp + tn), abs=1e-12)
    by_group = named(found, "confusion of gender by skin_tone")
    assert sum(row[3] for row in by_group.rows) == len(table)


def test_calibration_is_that_of_plain_arithmetic():
    samples, answers, table = made()
    found = reduced(ATTRIBUTES, samples, answers)
    right = (table.said == table.gender).astype(float)
    place = np.minimum((table.share * 10).astype(int), 9)
    gaps = (right - table.share).groupby(place).agg(["mean", "size"])
    expected = (gaps["mean"].abs() * gaps["size"]).sum() / len(table)
    assert named(found, "calibration error of gender").value == pytest.approx(expected, abs=1e-12)
    assert named(found, "overconfidence in gender").value == pytest.approx((table.share - right).mean(), abs=1e-12)
    assert "by chance" in named(found, "calibration error of gender").note


def test_without_probabilities_there_is_no_calibration_and_case_does_not_matter():
    samples, answers, _ = made(stated=False)
    found = reduced(ATTRIBUTES, samples, answers)
    assert not any("calibration" in one.name for one in found.results)
    assert named(found, "confusion of gender").columns == ["female", "male"]


def test_calibrated_probabilities_are_called_so():
    random = np.random.default_rng(3)
    stated = random.uniform(0.5, 1, 4000)
    right = (random.random(4000) < stated).astype(float)
    found = calibration(stated, right, np.arange(4000))
    assert found.error.value < 3 * found.by_chance < 0.1
    assert calibration_error(stated, np.ones(4000)) == pytest.approx((1 - stated).mean())
