"""Jobs on single images: progress, boxes, a model that fails on all of the first, and work that several share."""

from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from countenance.data.reading.arrays import Cache
from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.run import image_jobs
from countenance.run.image_jobs import How, ImageJob, ImageStep, run_jobs

SPEC = ModelSpec("countenance.testing:DiscDetector")
calls: list[Any] = []


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> str:
    """A step that notes its calls and fails on black pictures, under a name that can be imported."""
    calls.clear()

    def mean(model: Any, image: Any, boxes: Any) -> dict[str, Any]:
        calls.append((type(model).__name__, image.shape, None if boxes is None else boxes.tolist()))
        if image.max() == 0:
            raise KeyError("black\npicture")
        if image.max() == 1:
            raise InputError("a mistake of the user")
        return {"mean": np.array([image.mean()])}

    monkeypatch.setattr(image_jobs, "mean_of_tests", mean, raising=False)
    return "countenance.run.image_jobs:mean_of_tests"


def picture(folder: Path, name: str, value: int) -> Path:
    Image.fromarray(np.full((4, 6, 3), value, np.uint8)).save(folder / name)
    return folder / name


def test_arrays_are_made_once_and_kept(tmp_path: Path, step: str) -> None:
    told: list[int] = []
    asked: list[Any] = []

    @contextmanager
    def progress(what: str, total: int) -> Any:
        asked.append((what, total))
        yield lambda n=1: told.append(n)

    jobs = [ImageJob(picture(tmp_path, f"{k}.png", 10 * k + 5)) for k in range(3)]
    what, how = ImageStep("means", step), How(Cache(tmp_path / "cache"), progress=progress)
    found = run_jobs(what, SPEC, jobs, how)
    assert [one["mean"].tolist() for one in found] == [[5.0], [15.0], [25.0]] and told == [0, 1, 1, 1]
    assert asked == [("means", 3)] and calls[0] == ("DiscDetector", (4, 6, 3), None)
    told.clear()
    picture(tmp_path, "1.png", 99)
    again = run_jobs(what, SPEC, jobs, how, "label")
    assert [one["mean"].tolist() for one in again] == [[5.0], [99.0], [25.0]] and len(calls) == 4 and told == [2, 1]
    assert asked[-1] == ("label", 3)
    run_jobs(what, SPEC, jobs, How(Cache(tmp_path / "cache", force=True)))
    assert len(calls) == 7
    boxed = [ImageJob(jobs[0].path, np.array([[1.0, 2.0, 3.0, 4.0]])), ImageJob(jobs[0].path, np.zeros((0, 4)))]
    run_jobs(what, SPEC, boxed, how)
    assert [one[2] for one in calls[-2:]] == [[[1.0, 2.0, 3.0, 4.0]], []]
    assert run_jobs(what, SPEC, [], how) == []


def test_a_model_that_fails_on_the_first_images_stops(tmp_path: Path, step: str) -> None:
    how = How(Cache(tmp_path / "cache"))
    jobs = [ImageJob(picture(tmp_path, f"{k}.png", 0)) for k in range(15)]
    what = ImageStep("means", step, {"mean": np.zeros(0)}, "it has no mean")
    with pytest.raises(InputError, match="stopped: the first 10 images all failed"):
        run_jobs(what, SPEC, jobs, how)
    assert len(calls) == 10
    with pytest.raises(InputError, match=r"all 3 images failed; the first, 0\.png: the model failed"):
        run_jobs(what, SPEC, jobs[:3], how)
    good = ImageJob(picture(tmp_path, "good.png", 9))
    assert len(run_jobs(what, SPEC, [*jobs[:4], good], how)) == 5
    assert len(run_jobs(what, SPEC, [good, *jobs], how)) == 16  # one was kept from before: the model works


def test_work_is_shared_and_cards_are_dealt(tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}

    def each(target: str, job: Any, orders: Any, *, workers: int, environment: Any, done: Any) -> None:
        given.update(target=target, orders=orders, workers=workers, environment=environment)
        handle = image_jobs.serve(job)
        for index in reversed(range(len(orders))):
            done(index, handle(orders[index] | {"card": None}, None))

    monkeypatch.setattr(image_jobs, "each", each)
    jobs = [ImageJob(picture(tmp_path, f"{k}.png", 10 * k + 5)) for k in range(4)]
    how = How(Cache(tmp_path / "cache"), parallel=3, gpus=(0, 2))
    found = run_jobs(ImageStep("means", step), SPEC, jobs, how)
    assert [one["mean"].tolist() for one in found] == [[5.0], [15.0], [25.0], [35.0]]
    assert given["workers"] == 3 and [order["card"] for order in given["orders"]] == [0, 2, 0, 2]
    assert given["target"] == "countenance.run.image_jobs:serve" and set(given["environment"]) == {
        "COUNTENANCE_THREADS",
        "OMP_NUM_THREADS",
    }
    given.clear()
    run_jobs(ImageStep("means", step), SPEC, [*jobs, ImageJob(picture(tmp_path, "new.png", 3))], how)
    assert given == {}  # one image is done here
    with pytest.raises(InputError, match="parallel is 0, expected 1 or more"):
        run_jobs(ImageStep("means", step), SPEC, jobs, How(Cache(tmp_path), parallel=0))
    assert How(Cache(tmp_path)).device() == "cpu" and how.device() == "cuda" and How(Cache(tmp_path)).parallel == 1
