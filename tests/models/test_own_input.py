"""A model may write on the pictures that it is given: nobody else sees it, however it is run."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.data import load_dataset
from countenance.models import ModelSpec
from countenance.models.inputs import InputSpec
from countenance.run import evaluate
from countenance.suites.bias_bounty.inference_timing import time_model
from countenance.suites.fhibe.pictures import face_similarity
from countenance.suites.uccs.baseline.steps import embed_step
from countenance.testing import DiscDetector, small_dataset, write_small_dataset


class Editing(DiscDetector):
    """Blackens every picture once it has looked at it."""

    name = "disc-detector"

    def __call__(self, images):
        found = super().__call__(images)
        for image in images:
            image[:] = 0
        return found


class FailsTogether(Editing):
    """Edits its pictures and then refuses any batch of more than one."""

    def __call__(self, images):
        found = super().__call__(images)
        if len(images) > 1:
            raise RuntimeError("one at a time")
        return found


class Declared:
    """Declares its input; edits a batch and then refuses more than one picture."""

    name = "declared"
    input = InputSpec(size=(64, 64))

    def __call__(self, images):
        raise AssertionError("is begun and finished")

    def begin(self, batch):
        found = [Editing._brightest(pixels) for pixels in batch.pixels]
        batch.pixels[:] = 0
        if len(batch) > 1:
            raise RuntimeError("one at a time")
        return found

    def finish(self, begun):
        return begun


class MeanLabels:
    """An embedding that edits what it embeds."""

    def __call__(self, images):
        found = [image.reshape(-1, 3).mean(axis=0) + 1.0 for image in images]
        for image in images:
            image[:] = 255
        return found


def overlaps(run) -> list[float]:
    return run.scores()["m.best_iou"].drop_null().to_pylist()


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> list[float]:
    run = evaluate(DiscDetector(), "face_localization", small_dataset(24), out=tmp_path_factory.mktemp("run") / "run")
    found = overlaps(run)
    assert min(found) > 0.5
    return found


@pytest.mark.parametrize("model", [Editing, FailsTogether])
def test_a_model_of_the_program_edits_its_own_pictures(tmp_path, expected, model):
    data = small_dataset(24)
    before = [sample.load().copy() for sample in data]
    run = evaluate(model(), "face_localization", data, out=tmp_path / "run", batch=4)
    assert overlaps(run) == expected and run.manifest.failed == 0
    assert all(np.array_equal(sample.load(), pixels) for sample, pixels in zip(data, before, strict=True))


@pytest.mark.parametrize("model", ["Editing", "FailsTogether", "Declared"])
def test_a_model_of_a_worker_edits_its_own_pictures(tmp_path, expected, model, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    data = load_dataset(write_small_dataset(tmp_path / "data", 24))
    given = {"batch": 4, "workers": 2, "decoders": 1 if model == "Declared" else 0}
    run = evaluate(f"test_own_input:{model}", "face_localization", data, out=tmp_path / "run", **given)
    assert overlaps(run) == expected and run.manifest.failed == 0


def test_the_first_picture_of_a_timed_model_is_answered_as_it_is(tmp_path, expected):
    run = evaluate(Editing(), "face_localization", small_dataset(24), out=tmp_path / "run", timed=True)
    assert overlaps(run) == expected and run.manifest.failed == 0


def test_every_pass_of_a_timing_sees_the_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    Image.fromarray(np.full((8, 8, 3), 40, np.uint8)).save(tmp_path / "a.png")
    spec = ModelSpec("test_own_input:Brightness")
    _, answers = time_model(spec, [tmp_path / "a.png"], passes=3, answers=True)
    assert answers == [40.0]


class Brightness:
    """The mean of a picture, which it then paints white."""

    def __call__(self, images):
        found = [float(image.mean()) for image in images]
        for image in images:
            image[:] = 255
        return found


def test_faces_that_overlap_are_cut_out_one_by_one():
    image = np.zeros((40, 40, 3), np.uint8)
    image[:, :20] = (200, 20, 20)
    boxes = np.array([[0.0, 0, 40, 40], [0, 0, 40, 40], [2, 2, 30, 30]])
    found = embed_step(MeanLabels(), image, boxes)["embedding"]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(
        found, embed_step(lambda images: MeanLabels()([one.copy() for one in images]), image, boxes)["embedding"]
    )


def test_two_faces_are_compared_as_they_are():
    one = np.full((4, 4, 3), 7, np.uint8)
    assert face_similarity(MeanLabels(), one, one) == pytest.approx(1.0) and (one == 7).all()
