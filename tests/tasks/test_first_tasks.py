import numpy as np
import pytest

from countenance.answers import Boxes, Labels
from countenance.data import ArrayImage, Sample, Subject
from countenance.tasks import load_task, task_names
from countenance.tasks.attributes import to_labels
from countenance.tasks.face_localization import FACE_LOCALIZATION, to_boxes
from countenance.tasks.localization import overlap_curve
from countenance.testing import reduced

BLANK = ArrayImage(np.zeros((100, 100, 3), np.uint8))


def scene(*boxes: list[float]) -> Sample:
    people = [Subject(str(i), f"id{i}", face_box=np.array(box, float)) for i, box in enumerate(boxes)]
    return Sample("scene", BLANK, 100, 100, tuple(people), {"light": "dim"})


def test_each_face_has_a_row_and_so_has_the_image() -> None:
    rows = FACE_LOCALIZATION.score(
        scene([0, 0, 10, 10], [50, 50, 60, 60]), Boxes([[0, 0, 10, 10], [80, 80, 90, 90]], [0.9, 0.8])
    )
    assert [row["subject"] for row in rows] == ["0", "1", None]
    assert [row.get("m.recall@0.5") for row in rows] == [1.0, 0.0, None]
    assert rows[2]["m.false_positives"] == 1.0 and all(row["attr.light"] == "dim" for row in rows)


def test_no_answer_scores_zero_not_nothing() -> None:
    rows = FACE_LOCALIZATION.score(scene([0, 0, 10, 10]), Boxes(np.zeros((0, 4))))
    assert rows[0]["m.best_iou"] == 0 and rows[0]["m.average_recall"] == 0 and rows[1]["m.false_positives"] == 0


def test_an_image_of_nobody_counts_only_false_positives() -> None:
    (row,) = FACE_LOCALIZATION.score(scene(), Boxes([[0, 0, 5, 5]]))
    assert row["m.false_positives"] == 1.0 and "m.best_iou" not in row


def test_average_precision_of_the_run_has_an_interval() -> None:
    samples = [scene([0, 0, 10, 10]) for _ in range(20)]
    for i, sample in enumerate(samples):
        object.__setattr__(sample, "id", f"s{i}")
    answers = {s.id: Boxes([[0, 0, 10, 10]] if i % 2 else np.zeros((0, 4))) for i, s in enumerate(samples)}
    (found,) = reduced(FACE_LOCALIZATION, samples, answers).results
    assert found.value == pytest.approx(51 / 101) and found.low < 0.5 < found.high and found.n == 20
    (again,) = reduced(FACE_LOCALIZATION, samples, answers, shards=7).results
    assert again == found


def test_the_curve_starts_at_one_and_falls() -> None:
    thresholds, shares = overlap_curve([0.2, 0.9])
    assert shares[0] == 1.0 and shares[-1] == 0.0 and thresholds[50] == 0.5 and shares[50] == 0.5


@pytest.mark.parametrize("raw", [None, "boxes", {"rectangles": []}, [[1, 2]]])
def test_what_is_no_boxes_is_refused(raw: object) -> None:
    with pytest.raises(ValueError):
        to_boxes(raw)


def test_checking_an_answer_names_the_problem() -> None:
    with pytest.raises(ValueError, match="x1 < x0"):
        FACE_LOCALIZATION.check([[5, 5, 1, 1]], scene([0, 0, 1, 1]))


def test_attributes_are_scored_where_truth_and_answer_both_speak() -> None:
    person = Subject(
        "0", "a", attributes={"gender": "female", "age_group": "0_17", "hair": None, "ancestry": ("x", "y")}
    )
    sample = Sample("p", BLANK, 100, 100, (person,))
    answer = Labels({"gender": "female", "age_group": "18_30", "hair": "bald", "ancestry": "y"})
    (row,) = load_task("attributes").score(sample, answer)
    assert row["m.correct.gender"] == 1 and row["m.correct.age_group"] == 0 and row["m.correct.ancestry"] == 1
    assert "m.correct.hair" not in row and row["m.correct"] == pytest.approx(2 / 3)


def test_labels_must_be_words() -> None:
    with pytest.raises(ValueError, match="gender is 1, expected a word"):
        to_labels({"gender": 1})


def test_every_task_has_a_headline_metric_and_a_question() -> None:
    for name in task_names():
        task = load_task(name)
        assert task.question.endswith("?") and any(metric.headline for metric in task.metrics)
