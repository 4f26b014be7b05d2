"""Arrays of single images: made once, kept by content, an image that fails told by name."""

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.data.reading.arrays import Cache
from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.run import image_jobs
from countenance.run.image_jobs import How, ImageJob, ImageStep, check, run_jobs

MODEL = ModelSpec("fakes:Slow")
NOTHING = {"mean": np.zeros(0)}


def mean_step(model, image, boxes):
    """The mean of the picture, and how many boxes came with it; black pictures are too much for it."""
    if not image.any():
        raise ValueError("all\nblack")
    if image.min() == 255:
        raise InputError("all white")
    return {"mean": np.array([image.mean(), 0 if boxes is None else len(boxes)])}


STEP = ImageStep("means", f"{__name__}:mean_step", NOTHING, "it has no mean")


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    """Three grey pictures, and the step of this module for whoever imports it by name."""
    monkeypatch.setattr(image_jobs, "import_module", lambda name: __import__("sys").modules[name])
    made = [tmp_path / f"{k}.png" for k in range(3)]
    for value, path in zip((10, 20, 30), made, strict=True):
        Image.new("RGB", (4, 4), (value,) * 3).save(path)
    return made


def means(found):
    return [one["mean"].tolist() for one in found]


def test_every_image_is_done_once_and_again_only_when_something_changed(pictures, tmp_path, monkeypatch):
    how, done = How(Cache(tmp_path / "kept")), []
    monkeypatch.setattr(
        Cache,
        "put",
        lambda self, kind, key, arrays, put=Cache.put: (
            done.append(float(arrays["mean"][0])),
            put(self, kind, key, arrays),
        ),
    )
    jobs = [ImageJob(path) for path in pictures]
    assert means(run_jobs(STEP, MODEL, jobs, how)) == [[10, 0], [20, 0], [30, 0]] and done == [10, 20, 30]
    run_jobs(STEP, MODEL, jobs[::-1], how)
    assert done == [10, 20, 30]
    Image.new("RGB", (4, 4), (40,) * 3).save(pictures[1])
    assert means(run_jobs(STEP, MODEL, jobs, how)) == [[10, 0], [40, 0], [30, 0]] and done[3:] == [40]
    boxed = [ImageJob(pictures[0], np.ones((2, 4)))]
    assert means(run_jobs(STEP, MODEL, boxed, how)) == [[10, 2]] and done[4:] == [10]
    assert means(run_jobs(STEP, ModelSpec("fakes:Slower"), jobs[:1], how)) == [[10, 0]] and done[5:] == [10]
    run_jobs(STEP, MODEL, jobs, How(Cache(tmp_path / "kept", force=True)))
    assert done[6:] == [10, 40, 30]


def test_a_failed_image_is_told_and_gets_what_is_there_instead(pictures, tmp_path):
    told, steps = [], []

    @contextmanager
    def progress(what, total):
        steps.append((what, total))
        yield lambda n=1: steps.append(n)

    how = How(Cache(tmp_path / "kept"), progress=progress, warn=told.append)
    Image.new("RGB", (4, 4)).save(pictures[0])
    pictures[1].unlink()
    jobs = [ImageJob(path) for path in pictures]
    assert means(run_jobs(STEP, MODEL, jobs, how, "colours")) == [[], [], [30, 0]]
    assert told[0] == f"{pictures[0]}: the model failed (ValueError: all black); it has no mean"
    assert told[1].startswith(f"{pictures[1]}: ") and told[1].endswith("; it has no mean") and len(told) == 2
    assert steps == [("colours", 3), 0, 1, 1, 1]
    run_jobs(STEP, MODEL, jobs, how)
    assert steps[5:] == [("means", 3), 1, 1, 1], "what failed is tried again"
    with pytest.raises(InputError, match=r"1\.png: "):
        run_jobs(ImageStep("means", STEP.step), MODEL, jobs[1:], how)


def test_a_step_refuses_in_its_own_words(pictures, tmp_path):
    Image.new("RGB", (4, 4), (255,) * 3).save(pictures[2])
    with pytest.raises(InputError, match=r"^all white$"):
        run_jobs(STEP, MODEL, [ImageJob(path) for path in pictures], How(Cache(tmp_path / "kept")))


def test_nothing_but_failures_is_an_error(pictures, tmp_path):
    for path in pictures:
        Image.new("RGB", (4, 4)).save(path)
    with pytest.raises(InputError, match=r"all 3 images failed; the first, 0\.png: the model failed"):
        run_jobs(STEP, MODEL, [ImageJob(path) for path in pictures], How(Cache(tmp_path / "kept")))


def test_cards_that_are_not_there_and_no_process_at_all_are_refused(tmp_path, monkeypatch):
    how = How(Cache(tmp_path), gpus=(0, 1))
    assert how.device() == "cuda" and How(Cache(tmp_path)).device() == "cpu"
    for there, said in ((0, "no graphics card"), (1, "1 graphics card;")):
        monkeypatch.setattr(image_jobs, "graphics_cards", lambda there=there: there)
        with pytest.raises(InputError, match=f"gpus={there}: this machine has {said}"):
            check(how)
    monkeypatch.setattr(image_jobs, "graphics_cards", lambda: 2)
    check(how, MODEL)
    with pytest.raises(InputError, match="no model 'nobody'"):
        check(how, ModelSpec("nobody"))
    with pytest.raises(InputError, match="parallel is 0, expected 1 or more"):
        run_jobs(STEP, MODEL, [], How(Cache(tmp_path), parallel=0))


def test_a_worker_takes_the_card_that_its_first_image_names(pictures, tmp_path, monkeypatch):
    import os

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    how = How(Cache(tmp_path / "kept"), gpus=(3,))
    run_jobs(STEP, MODEL, [ImageJob(path) for path in pictures], how)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3"
    assert Path(tmp_path / "kept" / "means").is_dir()
