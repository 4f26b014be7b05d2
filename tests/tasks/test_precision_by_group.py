"""Average precision by group does not depend on the group's size: random labels give everyone's value."""

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import ArrayImage, Sample, Subject
from countenance.metrics.detection import RankedDetections
from countenance.tasks import load_task
from countenance.tasks.precision import Group, numbers_of
from countenance.tasks.reduce import State
from countenance.tasks.results import Number
from countenance.testing import reduced

SHARES = {"half": 0.5, "tenth": 0.1, "few": 0.02}
TASKS = {"face_localization": "face_box", "person_localization": "person_box"}


def precisions(
    state: State,
    groups: Mapping[Group, NDArray[np.bool_]],
    *,
    name: str = "average_precision@0.5",
    seed: int = 0,
) -> list[Number]:
    """Average precision of everybody and of each group: for an attribute and a value, the true boxes that have it.

    Boxes that hit somebody of another group are left out (COCO's ignore); false positives count by the group's share of
    the people in their image.
    """
    order = np.argsort(-state["score"], kind="stable")
    image, truth, owner = state["image"][order], state["truth"][order], state["owner"]
    images = int(state["images"].sum())
    members = np.array([np.ones(len(owner), bool), *groups.values()])
    shares = np.array([np.bincount(owner, weights=member, minlength=images) for member in members])
    people = np.bincount(owner, minlength=images)
    company = np.where(people > 0, 1 + np.arange(images), 0)
    shares = np.hstack([np.zeros((len(members), 1)), shares / np.maximum(people, 1)])
    found = np.where(truth >= 0, truth, -1 - company[image] if len(image) else -1)
    detections = RankedDetections(
        images, lambda: iter([(image, found)]), lambda: iter([(owner, np.arange(len(owner)))]), members, shares
    )
    return numbers_of(detections, list(groups), name=name, seed=seed)


def labelled(random: np.random.Generator) -> dict[str, str]:
    """A label for each attribute, by chance alone."""
    return {f"of_{name}": name if random.random() < share else "others" for name, share in SHARES.items()}


def scene(seed: int, images: int, box: str) -> tuple[list[Sample], dict[str, Boxes]]:
    """Images of nobody, of one person and of several; some people are missed, some boxes are of nobody."""
    random = np.random.default_rng(seed)
    samples, answers = [], {}
    for i in range(images):
        people = []
        for k in range(random.choice([0, 1, 1, 1, 2, 4])):
            corners = np.array([30.0 * k, 30, 30 * k + 20, 50])
            people.append(Subject(str(k), f"p{i}{k}", attributes=labelled(random), **{box: corners}))
        samples.append(Sample(f"s{i}", ArrayImage(np.zeros((2, 2, 3), np.uint8)), 200, 100, tuple(people)))
        found = [getattr(one, box) for one in people if random.random() < 0.92]
        wrong = [np.array([5.0 * k, 80, 5 * k + 4, 84]) for k in range(random.poisson(0.4))]
        scores = [*random.beta(4, 2, len(found)), *random.beta(2, 4, len(wrong))]
        answers[f"s{i}"] = Boxes(np.array([*found, *wrong]).reshape(-1, 4), scores)
    return samples, answers


def values(results) -> Mapping[tuple[str | None, str | None], float]:
    return {(one.attribute, one.group): one.value for one in results if one.name.startswith("average_precision")}


@pytest.mark.parametrize("task", TASKS)
def test_random_labels_give_everyones_value_at_every_share(task):
    gaps: dict[str, list[float]] = {name: [] for name in SHARES}
    for seed in range(8):
        samples, answers = scene(seed, 400, TASKS[task])
        found = values(reduced(load_task(task), samples, answers).results)
        for name in SHARES:
            gaps[name].append(found[f"of_{name}", name] - found[None, None])
    for name, gap in gaps.items():
        error = np.std(gap, ddof=1) / np.sqrt(len(gap))
        assert abs(np.mean(gap)) < 3 * error + 0.01, (name, np.mean(gap), error)
        assert abs(np.mean(gap)) < 0.05, name


def test_the_columns_on_disk_and_those_in_memory_give_one_value():
    samples, answers = scene(3, 60, "face_box")
    task = load_task("face_localization")
    on_disk = values(reduced(task, samples, answers, shards=3).results)
    boxes = [(i, subject) for i, sample in enumerate(samples) for subject in sample.subjects]
    groups = {
        (f"of_{name}", word): np.array([subject.attributes[f"of_{name}"] == word for _, subject in boxes])
        for name in SHARES
        for word in (name, "others")
    }
    truth = [[subject.face_box for subject in sample.subjects] for sample in samples]
    from countenance.tasks.localization import BoxBlock

    block = BoxBlock.of([(true, answers[sample.id]) for true, sample in zip(truth, samples, strict=True)])
    in_memory = {(one.attribute, one.group): one.value for one in precisions(block.state(block.hits()), groups)}
    for key, value in on_disk.items():
        assert in_memory[key] == pytest.approx(value, nan_ok=True)


def test_false_alarms_count_where_they_are_beside_people():
    """Two groups that are found alike; all false alarms are beside people of the first."""
    black = ArrayImage(np.zeros((2, 2, 3), np.uint8))
    samples, answers = [], {}
    for i in range(40):
        word = "first" if i % 2 else "second"
        person = Subject("0", face_box=np.array([10.0, 10, 20, 20]), attributes={"group": word})
        samples.append(Sample(f"s{i}", black, 99, 99, (person,)))
        wrong = [[50.0, 50, 60, 60]] if word == "first" else []
        answers[f"s{i}"] = Boxes([[10.0, 10, 20, 20], *wrong], [0.5, *([0.9] * len(wrong))])
    found = values(reduced(load_task("face_localization"), samples, answers).results)
    assert found["group", "second"] == 1.0 and found["group", "first"] == pytest.approx(0.5)
    nobody = [Sample(f"n{i}", black, 99, 99) for i in range(40)]
    answers |= {sample.id: Boxes([[50.0, 50, 60, 60]], [0.9]) for sample in nobody}
    found = values(reduced(load_task("face_localization"), [*samples, *nobody], answers).results)
    assert found[None, None] == pytest.approx(40 / (40 + 20 + 40))
    assert found["group", "second"] == pytest.approx(20 / (20 + 40 / 2))
    assert found["group", "first"] == pytest.approx(20 / (20 + 20 + 40 / 2))
