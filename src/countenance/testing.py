"""Small datasets and fake models for tests, yours and ours. Nobody's face is in them."""

import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.data.adapters.folder import write_folder
from countenance.data.manifest import attribute_kinds
from countenance.run.rows import columns_of, rows_table
from countenance.run.stages import reduce
from countenance.run.whole import GivenShards, WholeRun
from countenance.tasks import Reduced, Shard, Task

TONES = ("monk_2", "monk_5", "monk_9")


def face_picture(seed: int, size: int = 64) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """A noisy picture with one bright disc on it (the "face") and the disc's box.

    >>> face_picture(1)[0].shape
    (64, 64, 3)
    """
    random = np.random.default_rng(seed)
    radius = int(random.integers(size // 6, size // 4))
    x, y = (int(v) for v in random.integers(radius, size - radius, 2))
    rows, columns = np.mgrid[:size, :size]
    disc = (columns - x) ** 2 + (rows - y) ** 2 <= radius**2
    pixels = random.integers(0, 90, (size, size, 3)).astype(np.uint8)
    pixels[disc] = random.integers(180, 255)
    return pixels, np.array([x - radius, y - radius, x + radius + 1, y + radius + 1], dtype=np.float64)


def small_dataset(n: int = 60, size: int = 64, seed: int = 0) -> Dataset:
    """A dataset of pictures with one disc each, three skin tones, two genders, an identity for every two pictures.

    >>> len(small_dataset(6))
    6
    """
    samples = []
    for i in range(n):
        pixels, box = face_picture(seed * 100_003 + i, size)
        about = {"skin_tone": TONES[i % 3], "gender": ("female", "male")[i // 3 % 2]}
        subject = Subject("0", identity=f"id{i // 2:04d}", face_box=box, attributes=about)
        samples.append(Sample(f"s{i:05d}", ArrayImage(pixels), size, size, (subject,)))
    return Dataset(DatasetCard(name="discs", licence="CC0", real_people=False), samples)


def write_small_dataset(out: Path, n: int = 60, size: int = 64, seed: int = 0) -> Path:
    """The same on disk, as a folder with `labels.csv`; returns the folder."""
    write_folder(small_dataset(n, size, seed), out)
    return out


class DiscDetector:
    """Finds the bright disc of `face_picture`: a real, if humble, detector."""

    name = "disc-detector"

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    def __call__(self, images: Sequence[NDArray[np.uint8]]) -> list[Boxes]:
        if self.seconds:
            time.sleep(self.seconds * len(images))
        return [self._one(image) for image in images]

    @staticmethod
    def _one(image: NDArray[np.uint8]) -> Boxes:
        rows, columns = np.nonzero(image.min(axis=2) > 150)
        if len(rows) == 0:
            return Boxes(np.zeros((0, 4)))
        return Boxes([[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]], [0.9])


def reduced(
    task: Task, samples: Sequence[Sample], answers: Mapping[str, Any], shards: int = 1, seed: int = 0
) -> Reduced:
    """What a task's reducer finds, without a run: for tests of a reducer, whatever the number of shards.

    >>> from countenance.tasks import load_task
    >>> data = small_dataset(4)
    >>> boxes = {sample.id: Boxes([sample.subjects[0].face_box]) for sample in data}
    >>> reduced(load_task("face_localization"), data, boxes, shards=2).results[0].value
    1.0
    """
    columns = columns_of(task, attribute_kinds(samples))
    cuts = np.linspace(0, len(samples), shards + 1).astype(int)
    parts = [samples[a:b] for a, b in itertools.pairwise(cuts.tolist())]

    def shard(part: Sequence[Sample]) -> Shard:
        rows = [row for sample in part if sample.id in answers for row in task.score(sample, answers[sample.id])]
        return Shard(list(part), answers, rows_table(rows, columns))

    return reduce(task, WholeRun(GivenShards(lambda: (shard(part) for part in parts)), seed))
