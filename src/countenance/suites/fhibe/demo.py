"""Baselines for the made data: truth plus controlled noise (a *demo*, named so) and three real ones.

The demo's noise is known: it is stronger for dark skin tones by a factor that the model card states, so that the
report has something to find and a reader can check that it finds it. It says nothing about any real model.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import opencv
from countenance.models import ModelCard, ModelSpec
from countenance.models.zoo import ZOO
from countenance.suites.fhibe import truth as true
from countenance.suites.fhibe.make_data import BODY, FACE
from countenance.suites.fhibe.outputs import FILE, write_entries
from countenance.suites.fhibe.rundir import MODEL_CARD
from countenance.suites.fhibe.settings import model_folder
from countenance.suites.fhibe.table import FhibeTable, read_table
from countenance.suites.fhibe.vocabulary import BODY_TASKS, TASKS
from countenance.suites.fhibe.wrapper import run_model
from countenance.suites.fhibe.wrapper_answers import rle_of

DARK_FACTOR = 2.0
"""How much stronger the demo's noise is for the two darkest of the six tones."""

DEMO = "demo"
REAL = {"face_encoding": "jpeg-q20", "face_super_resolution": "bicubic-x4"}
ZOO_NAME = {"face_encoding": "jpeg", "face_super_resolution": "bicubic"}


def dlib_installed() -> bool:
    """Whether the real face embedding can run here."""
    return ZOO["dlib"].missing() is None


def baseline(task: str) -> str:
    """The name under which a task's baseline is stored.

    >>> baseline("person_parsing"), baseline("face_encoding")
    ('demo', 'jpeg-q20')
    """
    if task == "face_verification":
        return "dlib" if dlib_installed() else DEMO
    return REAL.get(task, DEMO)


def write_outputs(root: Path, results: Path, *, seed: int = 0, step: Callable[[str], None] = lambda task: None) -> None:
    """Write the baseline's outputs of all nine tasks."""
    for task in TASKS:
        dataset = BODY if task in BODY_TASKS else FACE
        table = read_table(root, dataset, task, ("apparent_skin_color", "age"))
        folder = model_folder(results, task, dataset, baseline(task))
        folder.mkdir(parents=True, exist_ok=True)
        generator = np.random.default_rng([seed, TASKS.index(task)])
        if baseline(task) != DEMO:
            _real(task, table, folder)
        else:
            noisy = _noisy_embeddings if task == "face_verification" else _noisy
            write_entries(folder / FILE, noisy(task, table, generator))
        (folder / MODEL_CARD).write_text(_card(task).model_dump_json(indent=2) + "\n", encoding="utf-8")
        step(task)


def _card(task: str) -> ModelCard:
    """What a baseline is; a demo says that it is one."""
    name = baseline(task)
    noise = (
        f"DEMO, not a model: the truth plus controlled noise, {DARK_FACTOR:g} times as strong for the two darkest of "
        "the six skin tones, so that the report has a known disparity to find"
    )
    said = {
        "dlib": "dlib's ResNet face embedding (128 numbers) of the middle of the crop, brought to length 1",
        **{REAL[of]: ZOO[model].description for of, model in ZOO_NAME.items()},
    }
    return ModelCard(
        name=name, description=said.get(name, noise), licence="Apache-2.0", source="countenance fhibe make-data"
    )


def _real(task: str, table: FhibeTable, folder: Path) -> None:
    """Run a model of the zoo."""
    spec = ModelSpec("dlib", settings={"crops": True}) if task == "face_verification" else ModelSpec(ZOO_NAME[task])
    run_model(task, spec.load(), table, folder, {}, lambda n: None)


def _strength(table: FhibeTable) -> NDArray[np.float64]:
    """The demo's noise for each row."""
    dark = [cell[:2] in ("0.", "1.") for cell in table.text("apparent_skin_color")]
    return np.where(dark, DARK_FACTOR, 1.0)


def _noisy(task: str, table: FhibeTable, generator: np.random.Generator) -> Iterator[tuple[str, Any]]:
    noise = _strength(table)
    rows_of: dict[str, list[int]] = {}
    for i, key in enumerate(table.keys()):
        rows_of.setdefault(key, []).append(i)
    make = {
        "person_localization": _boxes,
        "face_localization": _boxes,
        "person_parsing": _masks,
        "keypoint_estimation": _points,
        "body_parts_detection": _parts,
        "face_parsing": _labels,
    }[task](task, table, noise, generator)
    for key, rows in rows_of.items():
        yield key, make(rows)


Maker = Callable[[list[int]], dict[str, Any]]


def _boxes(task: str, table: FhibeTable, noise: NDArray[np.float64], generator: np.random.Generator) -> Maker:
    truth = table.boxes("person_bbox" if task == "person_localization" else "face_bbox")

    def make(rows: list[int]) -> dict[str, Any]:
        found, scores = [], []
        for i in rows:
            if generator.random() < 0.03 * noise[i]:
                continue  # missed
            size = (truth[i, 2:] - truth[i, :2]).mean()
            box = truth[i] + generator.normal(0, 0.03 * noise[i] * size, 4)
            box[2:] = np.maximum(box[2:], box[:2] + 1)
            found.append(box.round(2).tolist())
            scores.append(round(float(generator.uniform(0.6, 1)), 3))
        if generator.random() < 0.2:  # a false alarm
            x, y = generator.uniform(0, 40, 2)
            found.append([round(x, 2), round(y, 2), round(x + 30, 2), round(y + 30, 2)])
            scores.append(round(float(generator.uniform(0.3, 0.8)), 3))
        return {"detections": found or None, "scores": scores or None}

    return make


def _masks(task: str, table: FhibeTable, noise: NDArray[np.float64], generator: np.random.Generator) -> Maker:
    cv2 = opencv("FHIBE's demo")

    from countenance.metrics.masks import fill

    truth, sizes = true.person_masks(table), table.sizes()

    def make(rows: list[int]) -> dict[str, Any]:
        found = []
        for i in rows:
            mask = fill(truth[i], *sizes[i]).astype(np.uint8)
            radius = max(1, round(abs(generator.normal(0, 0.012 * noise[i] * max(sizes[i])))))
            kernel = np.ones((2 * radius + 1, 2 * radius + 1), np.uint8)
            change = cv2.erode if generator.random() < 0.5 else cv2.dilate
            found.append(rle_of(change(np.ascontiguousarray(mask), kernel)))
        return {"detections": found, "scores": [0.9] * len(found)}

    return make


def _points(task: str, table: FhibeTable, noise: NDArray[np.float64], generator: np.random.Generator) -> Maker:
    truth = true.keypoints(table)[:, :, :2]
    boxes = table.boxes("face_bbox")

    def make(rows: list[int]) -> dict[str, Any]:
        found = []
        for i in rows:
            size = float(np.linalg.norm(boxes[i, 2:] - boxes[i, :2]))
            found.append((truth[i] + generator.normal(0, 0.12 * noise[i] * size, truth[i].shape)).round(2).tolist())
        return {"detections": found, "scores": [[0.9] * truth.shape[1] for _ in found]}

    return make


def _parts(task: str, table: FhibeTable, noise: NDArray[np.float64], generator: np.random.Generator) -> Maker:
    names = ("Face", "Hand", "Head hair", "Upper body clothes", "Left arm skin", "Right arm skin", "Left shoe")
    there = true.body_parts(table)

    def make(rows: list[int]) -> dict[str, Any]:
        people = []
        for i in rows:
            chances = {}
            for name in names:
                right = generator.beta(8 / noise[i], 2)
                chances[name] = round(float(right if name in there[i] else 1 - right), 3)
            people.append(chances)
        return {"detections": people}

    return make


def _labels(task: str, table: FhibeTable, noise: NDArray[np.float64], generator: np.random.Generator) -> Maker:
    def make(rows: list[int]) -> dict[str, Any]:
        (i,) = rows
        truth = true.face_labels(table, i)
        dx, dy = generator.normal(0, 0.012 * noise[i] * len(truth), 2).round().astype(int)
        moved = np.roll(truth, (int(dy), int(dx)), axis=(0, 1))
        return {"detections_rle": {str(int(v)): rle_of(moved == v) for v in np.unique(moved)}}

    return make


def _noisy_embeddings(task: str, table: FhibeTable, generator: np.random.Generator) -> Iterator[tuple[str, Any]]:
    used = true.usable(table)
    noise = _strength(used)
    people = used.text("subject_id")
    centre = {name: generator.normal(size=64) for name in dict.fromkeys(people)}
    for key, name, strength in zip(used.output_keys(task), people, noise, strict=True):
        vector = centre[name] + 0.7 * strength * generator.normal(size=64)
        yield key, {"detections": (vector / np.linalg.norm(vector)).round(6).tolist()}
