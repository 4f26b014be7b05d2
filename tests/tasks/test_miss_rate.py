"""The log-average miss rate against a slow reference: loops that follow the paper's evaluation, image by image."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import countenance as ct
from countenance.data import load_dataset
from countenance.metrics.detection import RankedDetections
from countenance.metrics.miss_rate import IGNORED, NOBODY, assigned, covered, log_average_miss_rates
from countenance.tasks import load_task
from countenance.testing import reduced

RANGES = {"": (0.0, math.inf), " (height 30 or more)": (30.0, math.inf), " (height 20 to 35)": (20.0, 35.0)}


def overlap(a, b) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(width, 0) * max(height, 0)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def inside(a, region) -> float:
    width, height = min(a[2], region[2]) - max(a[0], region[0]), min(a[3], region[3]) - max(a[1], region[1])
    return max(width, 0) * max(height, 0) / ((a[2] - a[0]) * (a[3] - a[1]))


def slow(scenes, low: float, high: float, group: str | None) -> float:
    """The miss rate by its definition; a scene is people (box, group), regions, and detections (box, score)."""
    detections, people = [], 0
    for people_here, regions, found in scenes:
        counted = [(box, own) for box, own in people_here if low <= box[3] - box[1] < high]
        aside = regions + [box for box, _ in people_here if not low <= box[3] - box[1] < high]
        people += sum(group in (None, own) for _, own in counted)
        free = set(range(len(counted)))
        for box, score in sorted(found, key=lambda one: -one[1]):
            if not low / 1.25 <= box[3] - box[1] < high * 1.25:
                continue
            best = max(free, key=lambda i: overlap(counted[i][0], box), default=None)
            if best is not None and overlap(counted[best][0], box) >= 0.5:
                free.discard(best)
                if group in (None, counted[best][1]):
                    detections.append((score, True))
            elif not any(inside(box, region) >= 0.5 for region in aside):
                detections.append((score, False))
    logs = []
    for limit in [10 ** (-2 + k / 4) for k in range(9)]:
        hits = alarms = best_hits = 0
        for _, hit in sorted(detections, key=lambda one: -one[0]):
            hits, alarms = hits + hit, alarms + (not hit)
            if alarms / len(scenes) <= limit + 1e-12:
                best_hits = hits
        logs.append(math.log(max(1 - best_hits / people, 1e-10)))
    return math.exp(sum(logs) / 9)


def drawn(seed: int, images: int = 40):
    """Scenes with people of several heights, crowds, near hits, doubled boxes and false alarms."""
    random = np.random.default_rng(seed)
    scenes = []
    for _ in range(images):
        people, found, regions = [], [], []
        for _ in range(random.integers(0, 4)):
            x, y = random.uniform(0, 150, 2)
            height = random.uniform(15, 60)
            box = np.array([x, y, x + 0.4 * height, y + height])
            people.append((box, "ab"[int(random.integers(2))]))
            for _ in range(int(random.integers(0, 3))):
                moved = box + random.normal(0, 0.08 * height, 4)
                moved[2:] = np.maximum(moved[2:], moved[:2] + 1)
                found.append((moved, float(random.random())))
        if random.random() < 0.4:
            corner = random.uniform(0, 120, 2)
            regions.append(np.concatenate([corner, corner + random.uniform(20, 80, 2)]))
        for _ in range(int(random.integers(0, 3))):
            x, y = random.uniform(0, 180, 2)
            found.append((np.array([x, y, x + 10, y + random.uniform(12, 50)]), float(random.random())))
        scenes.append((people, regions, found))
    return scenes


def samples_of(scenes):
    samples, answers = [], {}
    for k, (people, regions, found) in enumerate(scenes):
        subjects = [
            ct.Subject(str(i), f"{k}-{i}", person_box=box, attributes={"kind": own})
            for i, (box, own) in enumerate(people)
        ]
        crowds = [
            ct.Subject(f"crowd {i}", person_box=box, attributes={"ignore": "yes"}) for i, box in enumerate(regions)
        ]
        picture = ct.ArrayImage(np.zeros((300, 300, 3), np.uint8))
        samples.append(ct.Sample(f"s{k}", picture, 300, 300, (*crowds, *subjects)))
        answers[f"s{k}"] = ct.Boxes([box for box, _ in found], [score for _, score in found])
    return samples, answers


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shards", [1, 7])
def test_against_the_slow_reference(seed: int, shards: int) -> None:
    scenes = drawn(seed)
    samples, answers = samples_of(scenes)
    task = load_task("person_localization", {"heights": [[30, None], [20, 35]]})
    results = reduced(task, samples, answers, shards).results
    found = {(one.name, one.group): one for one in results if one.type == "number"}
    for name, (low, high) in RANGES.items():
        for group in (None, "a", "b"):
            one = found[f"log_average_miss_rate{name}", group]
            assert one.value == pytest.approx(slow(scenes, low, high, group), abs=1e-12), (name, group)
            own = [own for people, _, _ in scenes for box, own in people if low <= box[3] - box[1] < high]
            assert one.n == sum(group in (None, kind) for kind in own) and one.better == "lower"
            assert one.low <= one.value + 1e-9 and one.value <= one.high + 1e-9
    (curve,) = [one for one in results if one.type == "curve" and one.name == "miss rate"]
    assert [line.label for line in curve.lines] == ["everybody", "height 30 or more", "height 20 to 35"]
    assert all(math.exp(np.mean(np.log(line.y))) for line in curve.lines)


def test_boxes_in_ignored_regions_are_no_false_positives() -> None:
    person, crowd = np.array([0, 0, 20, 50.0]), np.array([100, 0, 200, 60.0])
    (sample,), _ = samples_of([([(person, "a")], [crowd], [])])
    task = load_task("person_localization")
    boxes = ct.Boxes([person, [110, 5, 130, 55], [150, 5, 170, 55], [220, 0, 240, 50]], [0.9, 0.8, 0.7, 0.6])
    rows = task.score(sample, boxes)
    assert len(rows) == 2 and rows[0]["m.recall@0.5"] == 1.0  # the crowd is nobody's row
    assert rows[1]["m.false_positives"] == 1.0
    results = {one.name: one for one in reduced(task, [sample], {sample.id: boxes}).results if one.type == "number"}
    assert results["average_precision@0.5"].value == 1.0 and results["log_average_miss_rate"].value < 1e-6


def test_nothing_found_and_nobody_there() -> None:
    samples, answers = samples_of(drawn(0, 10))
    task = load_task("person_localization")
    nothing = {name: ct.Boxes([]) for name in answers}
    rates = [one for one in reduced(task, samples, nothing).results if one.name == "log_average_miss_rate"]
    assert {one.value for one in rates} == {1.0}
    empty = [ct.Sample("e", ct.ArrayImage(np.zeros((9, 9, 3), np.uint8)), 9, 9)]
    assert reduced(task, empty, {"e": ct.Boxes([[0, 0, 4, 4]])}).results == []


def test_one_false_alarm_in_few_images_is_more_than_a_hundredth() -> None:
    """Ten images, the surest box wrong: below .1 false positives an image nobody counts as found."""
    ranked = (np.array([0, 1]), np.array([-1, 0]))
    truths = (np.array([1, 2]), np.array([0, 0]))
    ten = RankedDetections(
        10, lambda: iter([ranked]), lambda: iter([truths]), np.ones((1, 1), dtype=bool), np.ones((1, 1))
    )
    (found,) = log_average_miss_rates(ten, replicates=10)
    assert found.curve.tolist() == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert found.value == pytest.approx(0.5 ** (5 / 9))


def test_a_box_without_area_is_in_no_region() -> None:
    assert covered(np.array([[1, 1, 1, 5.0]]), np.array([[0, 0, 9, 9.0]])).tolist() == [0.0]
    assert covered(np.array([[1, 1, 2, 5.0]]), np.zeros((0, 4))).tolist() == [0.0]


@pytest.mark.parametrize(
    ("heights", "problem"),
    [("50", "'50', expected ranges"), ("a-b", "'a-b', expected"), ([[75, 50]], "range 75.0 to 50.0"), ("", "expected")],
)
def test_wrong_ranges_are_refused(heights, problem) -> None:
    with pytest.raises(ct.InputError, match=problem):
        load_task("person_localization", {"heights": heights})


def test_ranges_as_text_and_as_numbers_are_the_same_task() -> None:
    text, numbers = (
        load_task("person_localization", {"heights": one}) for one in ("50-75,75-", [[50, 75], [75, None]])
    )
    assert text == numbers and text != load_task("person_localization")


def test_what_comes_after_one_false_positive_an_image_is_not_read() -> None:
    """200,000 boxes in every image: the curve ends at one false positive an image."""
    read = []

    def ranked():
        for number in range(1000):
            read.append(number)
            yield np.arange(10), np.full(10, -1 if number else 0)

    found = RankedDetections(
        10, ranked, lambda: iter([(np.arange(10), np.zeros(10, np.int64))]), np.ones((1, 1), bool), np.ones((1, 1))
    )
    (rate,) = log_average_miss_rates(found, replicates=10)
    assert rate.n == 10 and rate.curve[-1] == 0
    assert max(read) < 10


def coco_of(scenes, folder) -> Path:
    """The scenes as a COCO file whose ignore regions are crowds, with an empty picture for each."""
    images, annotations = [], []
    folder.mkdir()
    for k, (people, regions, _) in enumerate(scenes):
        (folder / f"{k}.png").write_bytes(b"never opened: its size is given")
        images.append({"id": k + 1, "file_name": f"{k}.png", "width": 300, "height": 300})
        boxes = [(box, 0, {"kind": own}) for box, own in people] + [(box, 1, {}) for box in regions]
        for box, crowd, about in boxes:
            x0, y0, x1, y1 = box.tolist()
            annotation = {"id": len(annotations) + 1, "image_id": k + 1, "category_id": 1, "iscrowd": crowd}
            annotation |= {"bbox": [x0, y0, x1 - x0, y1 - y0], "area": (x1 - x0) * (y1 - y0), "attributes": about}
            annotations.append(annotation)
    content = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "person"}]}
    (folder / "annotations.json").write_text(json.dumps(content))
    return folder / "annotations.json"


def test_crowds_of_coco_are_ignore_regions(tmp_path) -> None:
    scenes = drawn(5)
    samples = list(load_dataset(coco_of(scenes, tmp_path / "set")))
    answers = {
        sample.id: ct.Boxes([box for box, _ in found], [score for _, score in found])
        for sample, (_, _, found) in zip(samples, scenes, strict=True)
    }
    results = reduced(load_task("person_localization", {"heights": [[30, None], [20, 35]]}), samples, answers).results
    numbers = {(result.name, result.group): result.value for result in results if result.type == "number"}
    for name, (low, high) in RANGES.items():
        for group in (None, "a", "b"):
            expected = slow(scenes, low, high, group)
            assert numbers[f"log_average_miss_rate{name}", group] == pytest.approx(expected, abs=1e-12)


def test_boxes_in_crowds_are_matched_as_pycocotools_matches_them(tmp_path) -> None:
    """Whether each detection is right, wrong or not counted, at an overlap of one half."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    scenes = drawn(7, 60)
    assert sum(len(regions) for _, regions, _ in scenes) > 10
    truth = COCO(str(coco_of(scenes, tmp_path / "set")))
    found = [
        {"image_id": k + 1, "category_id": 1, "bbox": [*box[:2], *(box[2:] - box[:2])], "score": score}
        for k, (_, _, detections) in enumerate(scenes)
        for box, score in detections
    ]
    evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
    evaluation.params.areaRng, evaluation.params.areaRngLbl = [[0, 1e10]], ["all"]
    evaluation.evaluate()
    verdicts = {}
    for image in filter(None, evaluation.evalImgs):
        for number, match, aside in zip(image["dtIds"], image["dtMatches"][0], image["dtIgnore"][0], strict=True):
            verdicts[number] = "ignored" if aside else "right" if match else "wrong"
    own, number = {}, 0
    for people, regions, detections in scenes:
        boxes = np.array([box for box, _ in detections]).reshape(len(detections), 4)
        scores = np.array([score for _, score in detections])
        places = assigned(
            np.array([box for box, _ in people]).reshape(-1, 4), np.array(regions).reshape(-1, 4), boxes, scores
        )
        for place in places.tolist():
            number += 1
            own[number] = "ignored" if place == IGNORED else "wrong" if place == NOBODY else "right"
    assert own == verdicts and set(own.values()) == {"ignored", "right", "wrong"}


def test_faces_in_a_crowd_are_no_false_positives(tmp_path) -> None:
    crowd = np.array([100, 0, 200, 60.0])
    (sample,) = load_dataset(coco_of([([], [crowd], [])], tmp_path / "set"))
    task = load_task("face_localization")
    assert task.asks(sample)
    (row,) = task.score(sample, ct.Boxes([[110, 5, 130, 25], [220, 0, 240, 20]], [0.9, 0.8]))
    assert row["m.false_positives"] == 1.0
