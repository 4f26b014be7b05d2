"""Small datasets and fake models for tests, without pictures of real people."""

import csv
import itertools
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from countenance.answers import Boxes
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.data.adapters.folder import write_folder
from countenance.data.manifest_writer import attribute_kinds
from countenance.run.rows import columns_of, rows_table
from countenance.run.stages import reduce
from countenance.run.whole_run import LoadedShards, WholeRun
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
    """Write the small dataset as a folder with `labels.csv`; returns the folder."""
    write_folder(small_dataset(n, size, seed), out)
    return out


class DiscDetector:
    """A real, if simple, detector that finds the bright disc of `face_picture`."""

    name = "disc-detector"

    def __init__(self, seconds: float = 0.0, threshold: int = 150) -> None:
        self.seconds, self._brightness = seconds, threshold

    def __call__(self, images: Sequence[NDArray[np.uint8]]) -> list[Boxes]:
        if self.seconds:
            time.sleep(self.seconds * len(images))
        return [self._brightest(image, self._brightness) for image in images]

    @staticmethod
    def _brightest(image: NDArray[np.uint8], threshold: int = 150) -> Boxes:
        rows, columns = np.nonzero(image.min(axis=2) > threshold)
        if len(rows) == 0:
            return Boxes(np.zeros((0, 4)))
        return Boxes([[columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]], [0.9])


def reduced(
    task: Task, samples: Sequence[Sample], answers: Mapping[str, Any], shards: int = 1, seed: int = 0
) -> Reduced:
    """The result of a task's reducer, without a run: for tests of a reducer, with any number of shards.

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

    return reduce(task, WholeRun(LoadedShards(lambda: (shard(part) for part in parts)), seed))


def write_examples(out: Path | str = ".", people: int = 120) -> Path:
    """Write the data of the how-to pages: `photos/`, `street/` (YOLO), `voc/`, and tables of predictions and decisions.

    Pictures show bright discs; those of half the people of the darkest tone are dim, so that a detector with a fixed
    threshold misses them. They show no faces.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sorted(path.name for path in write_examples(folder, people=6).iterdir())
    ['decisions.csv', 'embeddings.csv', 'photos', 'street', 'v1.csv', 'v2.csv', 'voc']
    """
    folder = Path(out)
    dataset = _example_pictures(people)
    write_folder(dataset, folder / "photos")
    _write_label_files(dataset, folder / "street", folder / "voc")
    for name, threshold in (("v1", 150), ("v2", 100)):
        detector = DiscDetector(threshold=threshold)
        rows = [
            [sample.id, *box, 0.9]
            for sample in dataset
            for box in np.asarray(detector([sample.load()])[0].xyxy).astype(int).tolist()
        ]
        _write_csv(folder / f"{name}.csv", ["image", "x0", "y0", "x1", "y1", "score"], rows)
    random = np.random.default_rng(7)
    people_vectors = random.normal(size=(people, 8))
    vectors = [
        [sample.id, *np.round(people_vectors[i // 2] + random.normal(0, 0.4, 8), 3)] for i, sample in enumerate(dataset)
    ]
    _write_csv(folder / "embeddings.csv", ["image", *(f"e{i}" for i in range(8))], vectors)
    _write_csv(folder / "decisions.csv", ["person_id", "group", "repaid", "approved", "score"], _decisions(900))
    return folder


def _example_pictures(people: int) -> Dataset:
    samples = []
    for i in range(2 * people):
        person = i // 2
        pixels, box = face_picture(i, 48)
        tone = TONES[person % 3]
        if tone == TONES[-1] and person % 12 >= 6:
            pixels = (pixels * 0.65).astype(np.uint8)
        about = {"skin_tone": tone, "gender": ("female", "male")[person // 3 % 2]}
        subject = Subject("0", identity=f"id{person:04d}", face_box=box, attributes=about)
        samples.append(Sample(f"s{i:05d}", ArrayImage(pixels), 48, 48, (subject,)))
    return Dataset(DatasetCard(name="photos", licence="CC0", real_people=False), samples)


def _write_label_files(dataset: Dataset, yolo: Path, voc: Path) -> None:
    """The first twelve pictures with label files of YOLO and of Pascal VOC."""
    for folder in (yolo / "images", yolo / "labels", voc):
        folder.mkdir(parents=True)
    (yolo / "classes.txt").write_text("face\n", encoding="utf-8")
    for sample in list(dataset)[:12]:
        left, top, right, bottom = np.asarray(sample.subjects[0].face_box).tolist()
        shares = [
            (left + right) / 2 / sample.width,
            (top + bottom) / 2 / sample.height,
            (right - left) / sample.width,
            (bottom - top) / sample.height,
        ]
        (yolo / "labels" / f"{sample.id}.txt").write_text(f"0 {' '.join(f'{x:.6f}' for x in shares)}\n")
        bounds = zip(("xmin", "ymin", "xmax", "ymax"), (left, top, right, bottom), strict=True)
        box = "".join(f"<{name}>{value:.0f}</{name}>" for name, value in bounds)
        (voc / f"{sample.id}.xml").write_text(
            f"<annotation><filename>{sample.id}.png</filename><size><width>{sample.width}</width>"
            f"<height>{sample.height}</height><depth>3</depth></size>"
            f"<object><name>face</name><bndbox>{box}</bndbox></object></annotation>\n"
        )
        for folder in (yolo / "images", voc):
            Image.fromarray(sample.load()).save(folder / f"{sample.id}.png")


def _decisions(people: int) -> list[list[Any]]:
    """Loans: approved above a score, which is lower for group b than its repayments justify."""
    random = np.random.default_rng(3)
    group = random.choice(["a", "b", "c"], people, p=[0.4, 0.35, 0.25])
    repaid = random.random(people) < 0.6
    score = np.clip(0.35 + 0.3 * repaid - 0.12 * (group == "b") + random.normal(0, 0.15, people), 0, 1).round(3)
    return [[f"p{i:04d}", group[i], int(repaid[i]), int(score[i] >= 0.5), score[i]] for i in range(people)]


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
