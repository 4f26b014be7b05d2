"""Every kind of prediction is drawn: boxes, keypoints, masks, label maps, parts, labels, pictures, embeddings."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.view.conftest import Viewer, start

from countenance.report import write_report
from countenance.run import audit_run, evaluate, store_audit


def model(answer: Callable[[np.ndarray], Any]) -> Callable[[Sequence[np.ndarray]], list[Any]]:
    def drawn(images: Sequence[np.ndarray]) -> list[Any]:
        return [answer(image) for image in images]

    return drawn


def skeleton(image: np.ndarray) -> np.ndarray:
    height, width = image.shape[:2]
    points = np.stack([np.linspace(0.2, 0.8, 17) * width, np.linspace(0.1, 0.9, 17) * height, np.ones(17)], axis=1)
    return points[None]


def mask(image: np.ndarray) -> np.ndarray:
    found = np.zeros(image.shape[:2], dtype=bool)
    found[10:60, 10:60] = True
    return found[None]


def face(image: np.ndarray) -> np.ndarray:
    classes = np.zeros(image.shape[:2], dtype=np.uint8)
    classes[20:70, 20:70] = 1
    return classes


KINDS = {
    "face_localization": (lambda image: np.array([[10, 10, 60, 60, 0.9]]), 'rect class="answer"'),
    "person_localization": (lambda image: np.array([[10, 10, 60, 60, 0.9]]), 'rect class="answer"'),
    "keypoint_estimation": (skeleton, 'circle class="answer dot"'),
    "person_parsing": (mask, 'path class="answer"'),
    "face_parsing": (face, 'path class="answer"'),
    "face_super_resolution": (lambda image: image, "/made/"),
    "face_verification": (lambda image: image.mean(axis=(0, 1)), "same person"),
}


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    """A run of a few pictures for every kind of prediction."""
    root = tmp_path_factory.mktemp("kinds")
    for task, (answer, _) in KINDS.items():
        run = evaluate(model(answer), task, "people:portraits", out=root / task, limit=16, batch=8)
        store_audit(run, audit_run(run, by=["gender"], min_n=2, adjust="holm"))
    made = start([Path(root)])
    yield made
    made.close()


@pytest.mark.parametrize("task", KINDS)
def test_the_prediction_is_drawn(kinds: Viewer, task: str) -> None:
    run = kinds.id_of(task)
    gallery = kinds.ask(f"/runs/{run}/samples?show=all")
    assert gallery.status == 200 and "No pictures" not in gallery.text
    page = kinds.ask(f"/runs/{run}/samples/0")
    assert page.status == 200 and KINDS[task][1] in page.text
    for kind in ("thumbnails", "pictures", *(["made"] if task == "face_super_resolution" else [])):
        assert kinds.ask(f"/runs/{run}/{kind}/0").headers["content-type"] == "image/jpeg"
    for path in (f"/runs/{run}", f"/runs/{run}/tests", f"/runs/{run}/rows"):
        assert kinds.ask(path).status == 200


def test_a_run_that_keeps_no_predictions_shows_pictures_without_them(kinds: Viewer, tmp_path: Path) -> None:
    import shutil

    root = kinds.library.roots[0].path  # type: ignore[union-attr]
    for task in ("face_verification", "face_localization", "face_super_resolution"):
        shutil.copytree(root / task, tmp_path / task)
        shutil.rmtree(tmp_path / task / "answers")
        listed = json.loads((tmp_path / task / "files.json").read_text())["files"]
        without = {name: value for name, value in listed.items() if not name.startswith("answers/")}
        (tmp_path / task / "files.json").write_text(json.dumps({"files": without}))
    here = start([tmp_path])
    for task in ("face_verification", "face_localization", "face_super_resolution"):
        run = here.id_of(task)
        for page in ("", "/tests", "/samples?show=all", "/samples/0"):
            assert here.ask(f"/runs/{run}{page}").status == 200, (task, page)
        assert here.ask(f"/runs/{run}/thumbnails/0").headers["content-type"] == "image/jpeg"
    here.close()


def test_a_run_on_twins_begins_with_the_ladder_as_its_report_does(tmp_path: Path) -> None:
    def bright(image: np.ndarray) -> Any:
        height, width = image.shape[:2]
        middle = [[0.33 * width, 0.22 * height, 0.67 * width, 0.66 * height, 0.9]]
        light = image[height // 3 : height // 2, width * 2 // 5 : width * 3 // 5].mean() > 40
        return np.array(middle if light else np.zeros((0, 5)))

    run = evaluate(model(bright), "face_localization", "people:twins/skin_tone", out=tmp_path / "twins")
    store_audit(run, audit_run(run, min_n=2, adjust="holm"))
    viewer = start([tmp_path])
    try:
        page = viewer.ask(f"/runs/{viewer.id_of('twins')}/tests").text
        sentence = re.search(r'class="sentence">(.*?)</', page)
        assert sentence is not None and "skin tone alone decide" in sentence[1]
        assert 'class="ladder"' in page
        assert sentence[1] in write_report(run, tmp_path / "report.html").read_text(encoding="utf-8")
    finally:
        viewer.close()
