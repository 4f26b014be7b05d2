"""The eight further questions about people: each scored from an answer as a model gives it, and run on the spine."""

import numpy as np
import pytest

import countenance as ct
from countenance.data.vocabulary import FACE_LABELS
from countenance.tasks.body_parts_detection import BODY_PARTS_DETECTION
from countenance.tasks.face_encoding import FACE_ENCODING
from countenance.tasks.face_parsing import FACE_PARSING, true_classes
from countenance.tasks.face_super_resolution import FACE_SUPER_RESOLUTION
from countenance.tasks.face_verification import FACE_VERIFICATION
from countenance.tasks.keypoint_estimation import KEYPOINT_ESTIMATION
from countenance.tasks.person_localization import PERSON_LOCALIZATION
from countenance.tasks.person_parsing import PERSON_PARSING
from countenance.testing import reduced

SIDE = 40
rng = np.random.default_rng(0)


def person(i: int, x: int) -> ct.Subject:
    mask = np.zeros((SIDE, SIDE), bool)
    mask[5:35, x : x + 12] = True
    points = np.column_stack([np.linspace(x, x + 11, 17), np.linspace(6, 34, 17), np.full(17, 2.0)])
    return ct.Subject(
        f"p{i}",
        f"p{i}",
        person_box=np.array([x, 5.0, x + 12, 35]),
        face_box=np.array([x, 5.0, x + 12, 15]),
        keypoints=points,
        mask=ct.Rle.encode(mask),
        body_parts=("Face", "Hand"),
        face_parts={"skin": ct.Rle.encode(mask), "beard": ct.Rle.encode(mask & (np.arange(SIDE)[:, None] > 30))},
        attributes={"gender": "f" if i % 2 else "m"},
    )


def sample(i: int = 0, people: int = 2) -> ct.Sample:
    pixels = np.random.default_rng(i).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    return ct.Sample(
        f"i{i}", ct.ArrayImage(pixels), SIDE, SIDE, tuple(person(i + 100 * k, 4 + 18 * k) for k in range(people))
    )


def rows(task: ct.Task, raw: object, about: ct.Sample) -> list[dict]:
    return task.score(about, task.check(raw, about))


def test_people_are_found_by_their_boxes_and_false_alarms_are_counted():
    about = sample()
    boxes = np.array([[4, 5, 16, 35, 0.9], [30, 30, 39, 39, 0.8]])
    first, second, image = rows(PERSON_LOCALIZATION, boxes, about)
    assert (first["m.average_recall"], second["m.average_recall"]) == (1.0, 0.0)
    assert image["m.false_positives"] == 1
    found = reduced(PERSON_LOCALIZATION, [about], {"i0": PERSON_LOCALIZATION.check(boxes, about)})
    assert found.results[0].value == pytest.approx(51 / 101)


def test_masks_count_by_overlap():
    about = sample()
    truth = np.array([s.mask.decode() for s in about.subjects])
    assert [r["m.AR_MASK"] for r in rows(PERSON_PARSING, truth, about)] == [1.0, 1.0]
    half = truth[:1].copy()
    half[:, 20:] = False
    assert rows(PERSON_PARSING, {"masks": half, "scores": [1]}, about)[0]["m.best_iou"] == 0.5
    assert [r["m.AR_MASK"] for r in rows(PERSON_PARSING, np.zeros((0, SIDE, SIDE), bool), about)] == [0.0, 0.0]
    with pytest.raises(ValueError, match="the image is 40×40"):
        PERSON_PARSING.check(np.ones((1, 3, 3), bool), about)


def test_keypoints_pair_by_similarity():
    about = sample()
    points = np.array([s.keypoints[:, :2] for s in about.subjects])[::-1]
    assert [r["m.PCK"] for r in rows(KEYPOINT_ESTIMATION, points, about)] == [1.0, 1.0]
    one = rows(KEYPOINT_ESTIMATION, {"keypoints": points[:1]}, about)
    assert [r["m.PCK"] for r in one] == [0.0, 1.0]
    assert [r["m.AR_OKS"] for r in rows(KEYPOINT_ESTIMATION, np.zeros((0, 17, 2)), about)] == [0.0, 0.0]
    with pytest.raises(ValueError, match="16 keypoints for each person, expected 17"):
        KEYPOINT_ESTIMATION.check(np.zeros((1, 16, 2)), about)


def test_parts_need_one_answer_for_each_person():
    about = sample()
    good, _ = rows(BODY_PARTS_DETECTION, [{"Face": 0.97, "Glove": 0.1}, {"Face": 0.1, "Glove": 0.9}], about)
    assert good["m.AR_DET"] == 1.0
    assert good["m.ACC_DET"] == 1.0
    assert "m.AR_DET Glove" not in good  # it is not there: nothing was to be found
    with pytest.raises(ValueError, match="1 answers for 2 people"):
        rows(BODY_PARTS_DETECTION, [{"Face": 1.0}], about)
    with pytest.raises(ValueError, match="expected 0 to 1"):
        BODY_PARTS_DETECTION.check([{"Face": 1.5}], about)
    with pytest.raises(ValueError, match="expected a number"):
        BODY_PARTS_DETECTION.check([{"Face": "yes"}], about)


def test_a_true_label_map_has_f1_of_one():
    about = sample(people=1)
    truth = true_classes(about.subjects[0], SIDE, SIDE)
    assert set(np.unique(truth)) == {0, FACE_LABELS.index("skin")}  # a beard is skin here
    assert rows(FACE_PARSING, truth, about)[0]["m.F1"] == 1.0
    assert rows(FACE_PARSING, {"detections": np.zeros_like(truth)}, about)[0]["m.F1"] < 0.5
    with pytest.raises(ValueError, match="class 19"):
        FACE_PARSING.check(np.full((SIDE, SIDE), 19), about)
    with pytest.raises(ValueError, match="the image is"):
        FACE_PARSING.check(np.zeros((3, 3), int), about)


def test_pictures_are_compared_with_the_original():
    about = sample(people=1)
    for task in (FACE_ENCODING, FACE_SUPER_RESOLUTION):
        row = rows(task, about.load(), about)[0]
        assert row["m.PSNR"] == 80.0
        assert row["m.SSIM"] == pytest.approx(1)
        assert rows(task, np.zeros((SIDE, SIDE, 3), np.uint8), about)[0]["m.PSNR"] < 20
    with pytest.raises(ValueError, match="the original is 40×40"):
        rows(FACE_SUPER_RESOLUTION, np.zeros((4, 4, 3), np.uint8), about)


def test_embeddings_become_error_rates():
    people = [sample(i, 1) for i in range(40)]
    owner = [f"q{i // 4}" for i in range(40)]
    people = [ct.Sample(s.id, s.image, SIDE, SIDE, (ct.Subject(f"x{i}", owner[i]),)) for i, s in enumerate(people)]
    centre = {name: rng.normal(size=32) for name in owner}
    answers = {
        s.id: FACE_VERIFICATION.check(centre[o] + 0.1 * rng.normal(size=32), s)
        for s, o in zip(people, owner, strict=True)
    }
    answers["i0"] = FACE_VERIFICATION.check(None, people[0])
    assert FACE_VERIFICATION.score(people[0], answers["i0"])[0]["m.enrolled"] == 0.0
    found = {result.name: result for result in reduced(FACE_VERIFICATION, people, answers).results}
    assert found["FNMR"].bound == "<" and found["FNMR"].value == pytest.approx(3 / 57)
    assert "insufficient evidence" in found["FMR"].note
    assert found["EER"].value < 0.1 and found["failure to enrol"].value == pytest.approx(1 / 40)


@pytest.mark.parametrize(
    ("task", "answer"),
    [
        (PERSON_LOCALIZATION, lambda image: np.array([[4, 5, 16, 35]])),
        (PERSON_PARSING, lambda image: np.ones((1, SIDE, SIDE), bool)),
        (KEYPOINT_ESTIMATION, lambda image: np.zeros((1, 17, 3))),
        (BODY_PARTS_DETECTION, lambda image: [{"Face": 0.9}]),
        (FACE_PARSING, lambda image: np.zeros((SIDE, SIDE), int)),
        (FACE_VERIFICATION, lambda image: image.mean(axis=(0, 1))),
        (FACE_ENCODING, lambda image: image),
        (FACE_SUPER_RESOLUTION, lambda image: image),
    ],
    ids=lambda value: value.name if isinstance(value, ct.Task) else "",
)
def test_every_task_runs_on_the_spine(tmp_path, task, answer):
    data = ct.Dataset(ct.DatasetCard(name="tiny"), [sample(i, 1) for i in range(6)])
    run = ct.evaluate(lambda images: [answer(image) for image in images], task, data, out=tmp_path / "run")
    assert run.manifest["failed"] == 0
    assert len(run.scores()) >= 6
    scores = run.scores()
    columns = [f"m.{metric.name}" for metric in task.metrics if metric.headline]
    assert set(columns) - set(scores.column_names) <= {"m.FMR"}  # a rate of pairs has no row
    for column in set(columns) & set(scores.column_names):
        assert all(np.isfinite(value) for value in scores[column].to_pylist() if value is not None)
    assert len(run.answers()) == 6


def test_keypoints_are_measured_in_diagonals_of_the_face_box():
    about = sample()  # face boxes of 12 × 10, a diagonal of 15.62, not at the left edge
    points = np.array([s.keypoints[:, :2] for s in about.subjects]) + np.array([5.0, 0.0])
    found = [r["m.PCK"] for r in rows(KEYPOINT_ESTIMATION, points, about)]
    assert found == pytest.approx([6 / 9, 6 / 9])  # 5 / 15.62 = .32: within .4 to .9, not within .1 to .3
