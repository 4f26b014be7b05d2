"""Models that misbehave in one way each; workers import them as `fakes:NAME`."""

import dataclasses
import os
import time
from pathlib import Path

import numpy as np

from countenance.data.image import LazyImage
from countenance.testing import DiscDetector


class Slow(DiscDetector):
    def __init__(self) -> None:
        super().__init__(seconds=0.004)


class Slower(DiscDetector):
    def __init__(self) -> None:
        super().__init__(seconds=0.08)


def _trouble(image: np.ndarray) -> bool:
    """About one picture in ten: those whose first pixel says so."""
    return int(image[0, 0].sum()) % 10 == 0


def wrong_number(images):
    return DiscDetector()(images)[:-1]


def nan_boxes(images):
    return [[[float("nan"), 0, 1, 1]] if _trouble(image) else DiscDetector()([image])[0] for image in images]


def turned_boxes(images):
    return [np.array([[9, 9, 1, 1]]) for _ in images]


def large_scores(images):
    return [{"boxes": [[0, 0, 1, 1]], "scores": [1.5]} for _ in images]


def raises(images):
    if any(_trouble(image) for image in images):
        raise RuntimeError("out of luck")
    return DiscDetector()(images)


def hangs(images):
    if any(_trouble(image) for image in images):
        time.sleep(60)
    return DiscDetector()(images)


def dies(images):
    if any(_trouble(image) for image in images):
        os._exit(9)
    return DiscDetector()(images)


def prints(images):
    print("a model that talks")
    return DiscDetector()(images)


def batched(images):
    return iter(DiscDetector()(images))


class NoArguments:
    def __init__(self, x):
        pass


class Rude:
    def __array__(self, *_, **__):
        raise KeyError("rude")


def rude(images):
    return [Rude() for _ in images]


def writes_on_images(images):
    answers = DiscDetector()(images)
    for image in images:
        image[:] = 0
    return answers


def endless(images):
    while True:
        yield DiscDetector()(images[:1])[0]


def _found_any(sample, answer):
    from countenance.tasks.task import subject_row

    return [subject_row(sample, sample.subjects[0]) | {"m.boxes": float(len(answer))}]


def own_task():
    """A task that no package registers."""
    from countenance.answers import Boxes
    from countenance.tasks import Metric, Task
    from countenance.tasks.face_localization import to_boxes

    metrics = (Metric("boxes", "boxes an image", better="lower"),)
    return Task("own_task", "How many boxes?", Boxes, metrics, to_boxes, _found_any)


OWN_TASK = own_task()


def seven(sample, answer):
    return [row | {"m.boxes": 7.0} for row in _found_any(sample, answer)]


def _disc_answer(output, scale, offset):
    """A box around the bright part of what the network returns."""
    rows, columns = np.nonzero(output.min(axis=0) > 150)
    if len(rows) == 0:
        raise ValueError("no disc")
    box = np.array([[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]], float)
    return {"boxes": (box - np.tile(offset, 2)) / np.tile(scale, 2), "scores": [0.9]}


class TorchDiscs:
    """A torch model that declares its input: decode processes resize for it."""

    def __new__(cls):
        import torch

        from countenance.models.inputs import InputSpec
        from countenance.models.torch_model import TorchModel

        return TorchModel(torch.nn.Identity(), InputSpec(size=(32, 24), resize="letterbox", pad=0), _disc_answer)


def _kills_scoring_once(sample, answer):
    flag = Path(os.environ["SCORING_KILLED"])
    if sample.id.endswith("5") and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), 9)
    return _found_any(sample, answer)


def _broken_scoring(sample, answer):
    raise KeyError("a bug in scoring")


KILLS_SCORING = dataclasses.replace(OWN_TASK, score=_kills_scoring_once)
BROKEN_SCORING = dataclasses.replace(OWN_TASK, score=_broken_scoring)


class CountedLoads(DiscDetector):
    def __init__(self) -> None:
        super().__init__()
        with Path(os.environ["MODEL_LOADS"]).open("a") as file:
            file.write("loaded\n")


class DeadlyImage(LazyImage):
    """A picture that ends the process that reads it."""

    def read_bytes(self) -> bytes:
        os.kill(os.getpid(), 9)
        return b""
