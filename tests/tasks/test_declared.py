"""What tasks declare: metrics, options with their usual values and limits, and what a result is by default."""

import numpy as np
import pytest

import countenance as ct
from countenance.data.vocabulary import FACE_LABELS
from countenance.tasks import (
    load_task,
    task_names,
)
from countenance.tasks.results import Axis, Curve, Line, Matrix, Number, results_from_json, results_to_json

METRICS = {
    "age_estimation": [
        ("absolute_error", "lower", True, 2.0),
        ("minor_passed", "lower", True, None),
        ("adult_challenged", "lower", False, None),
        ("estimated", "higher", False, None),
    ],
    "attributes": [("correct", "higher", True, None)],
    "body_parts_detection": [("AR_DET", "higher", True, None), ("ACC_DET", "higher", True, None)],
    "face_encoding": [("PSNR", "higher", True, None), ("SSIM", "higher", True, None)],
    "face_identification": [
        ("identified", "higher", True, None),
        ("false_alarm", "lower", True, None),
        ("rank_1", "higher", False, None),
        ("enrolled", "higher", True, None),
    ],
    "face_localization": [
        ("recall@0.5", "higher", True, None),
        ("average_recall", "higher", True, None),
        ("recall@0.75", "higher", False, None),
        ("best_iou", "higher", False, None),
        ("false_positives", "lower", False, None),
    ],
    "face_parsing": [("F1", "higher", True, None)],
    "face_super_resolution": [("PSNR", "higher", True, None), ("SSIM", "higher", True, None)],
    "face_verification": [
        ("genuine_accepted", "higher", True, None),
        ("FMR", "lower", True, None),
        ("impostor_accepted", "lower", False, 0.001),
        ("enrolled", "higher", True, None),
    ],
    "keypoint_estimation": [
        ("PCK", "higher", True, None),
        ("AR_OKS", "higher", True, None),
        ("OKS", "higher", False, None),
    ],
    "mask_detection": [
        ("localised", "higher", True, None),
        ("true_positive", "higher", True, None),
        ("true_negative", "higher", True, None),
    ],
    "person_localization": [
        ("average_recall", "higher", True, None),
        ("recall@0.5", "higher", True, None),
        ("best_iou", "higher", False, None),
        ("false_positives", "lower", False, None),
    ],
    "person_parsing": [("AR_MASK", "higher", True, None), ("best_iou", "higher", False, None)],
}
METRICS["mask_detection_one_face"] = METRICS["mask_detection"]


@pytest.mark.parametrize("name", sorted(METRICS))
def test_the_metrics_of_each_task(name):
    task = load_task(name)
    assert [(one.name, one.better, one.headline, one.delta) for one in task.metrics] == METRICS[name]
    assert task.metric(METRICS[name][0][0]) is task.metrics[0] and task.metric("none") is None


def test_every_task_is_looked_at_here():
    assert set(METRICS) <= set(task_names()) and len(METRICS) == 14


def test_meanings_name_the_thresholds_in_force():
    meanings = {name: [metric.meaning for metric in load_task(name).metrics] for name in METRICS}
    assert "0.5 to 0.95" in meanings["face_localization"][1] and "0.5 to 0.95" in meanings["person_localization"][0]
    assert "0.5 to 0.95" in meanings["person_parsing"][0] and "0.5 to 0.95" in meanings["body_parts_detection"][0]
    assert "is right at a probability of 0.5," in meanings["body_parts_detection"][1]
    assert meanings["keypoint_estimation"][0].endswith("thresholds 0.1 to 0.9")
    assert "0.5 to 0.95" in meanings["keypoint_estimation"][1]
    task = load_task("keypoint_estimation").configured({"thresholds": {"PCK": [0.25, 0.5], "AR_OKS": [0.5, 0.75, 0.8]}})
    assert task.metrics[0].meaning.endswith("0.25, 0.5") and "0.5, 0.75, 0.8 that" in task.metrics[1].meaning
    age = load_task("age_estimation").configured({"challenge_age": 30, "minimum_age": 21})
    assert [metric.meaning for metric in age.metrics[1:3]] == [
        "whether a person under 21 is estimated at 30 or more",
        "whether a person of 21 or more is estimated under 30",
    ]


OPTIONS = {
    "age_estimation": {"challenge_age": 25.0, "minimum_age": 18.0, "sex": "gender"},
    "face_verification": {
        "threshold": None,
        "fmr": None,
        "threshold_from": None,
        "calibration": None,
        "similarity": "cosine",
        "validation_rate": False,
    },
    "face_identification": {
        "threshold": None,
        "fpir": None,
        "known": 0.5,
        "pictures": 1,
        "gallery": None,
        "similarity": "cosine",
    },
    "face_parsing": {"map_ears_to_skin": False},
    "person_parsing": {"thresholds": {}, "compat": "default"},
}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_options_by_default(name):
    assert load_task(name).options.model_dump() == OPTIONS[name]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("age_estimation", {"challenge_age": 119.9, "minimum_age": 0.1}),
        ("face_verification", {"fmr": 0.999}),
        ("face_verification", {"fmr": 1e-9}),
        ("face_identification", {"fpir": 0.999}),
        ("face_identification", {"known": 0.999}),
        ("face_identification", {"known": 0.001, "pictures": 1}),
        ("face_identification", {"threshold": -3}),
    ],
)
def test_options_just_inside_their_limits(name, options):
    found = load_task(name).configured(options).options.model_dump()
    assert found == OPTIONS[name] | options


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("age_estimation", {"challenge_age": 120}),
        ("age_estimation", {"challenge_age": 121, "minimum_age": 120}),
        ("age_estimation", {"minimum_age": 0}),
        ("age_estimation", {"minimum_age": 0.5, "challenge_age": 0.4}),
        ("face_verification", {"fmr": 1}),
        ("face_verification", {"fmr": 0}),
        ("face_verification", {"threshold": float("nan")}),
        ("face_verification", {"threshold": float("inf")}),
        ("face_identification", {"fpir": 1}),
        ("face_identification", {"fpir": 0}),
        ("face_identification", {"known": 1}),
        ("face_identification", {"known": 0}),
        ("face_identification", {"pictures": 0}),
        ("face_identification", {"threshold": float("nan")}),
        ("face_identification", {"gallery": "=x"}),
        ("face_identification", {"gallery": "x="}),
        ("face_identification", {"gallery": "x"}),
    ],
)
def test_options_at_their_limits_are_refused(name, options):
    with pytest.raises(ct.InputError, match=f"task '{name}':"):
        load_task(name).configured(options)


def test_rates_in_force():
    assert load_task("face_identification").options.rate == 0.01
    assert load_task("face_identification").configured({"fpir": 0.2}).options.rate == 0.2
    assert load_task("face_verification").options.rate == 0.001


def test_options_are_named_and_those_of_other_tasks_are_not_taken():
    with pytest.raises(ct.InputError, match=r"task 'attributes' has no options; it was given x, y"):
        load_task("attributes").configured({"x": 1, "y": 2})
    with pytest.raises(ct.InputError, match=r"no option 'fmt' \(did you mean fmr\?\); there are threshold, fmr"):
        load_task("face_verification").configured({"fmt": 1})
    with pytest.raises(ct.InputError, match=r"task 'face_verification': option fmr: Input should be less than 1"):
        load_task("face_verification").configured({"fmr": 1})
    assert load_task("attributes").configured({}) is load_task("attributes")
    assert load_task("attributes").configured(None) is load_task("attributes")


# results


def test_a_result_by_default():
    one = Number(name="n", value=0.5)
    assert (one.level, one.n, one.unit, one.better, one.bound, one.note) == (0.95, 0, "", "", "", "")
    assert np.isnan([one.low, one.high]).all() and one.attribute is None and one.group is None
    curve = Curve(name="c", x=Axis(label="x"), y=Axis(label="y"), lines=[Line(x=[1], y=[2])])
    assert curve.x.log is False and curve.marks == [] and curve.lines[0].low == [] and curve.attribute is None
    matrix = Matrix(name="m", rows=["a"], columns=["b"], values=[[None]])
    assert np.isnan(matrix.values[0][0]) and matrix.counts == []
    again = results_from_json(results_to_json([one, curve, matrix]))
    assert [type(result).__name__ for result in again] == ["Number", "Curve", "Matrix"]
    assert again[1] == curve and again[0].value == 0.5 and np.isnan(again[0].low)
    with pytest.raises(ValueError, match="frozen"):
        one.value = 1


def test_names_of_face_parts():
    assert len(FACE_LABELS) == 19 and FACE_LABELS[0] == "background"
