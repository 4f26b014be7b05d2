"""Baselines for the generated data: truth plus controlled noise (a *demo*, named so) and three real ones.

The demo's noise is stronger for dark skin tones by a factor that the model card states, so that a reader can check that
the report finds it. It is no evidence about any real model.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers import LabelMap, Masks
from countenance.answers.noise import (
    noisy_boxes,
    noisy_embedding,
    noisy_keypoints,
    noisy_label_map,
    noisy_masks,
    noisy_parts,
)
from countenance.data.adapters.fhibe import truth as true
from countenance.data.adapters.fhibe.table import FhibeTable, read_table
from countenance.data.adapters.fhibe.words import BODY_TASKS, TASKS
from countenance.data.reading.entries import write_entries
from countenance.metrics.masks import fill
from countenance.models import ModelCard, ModelSpec
from countenance.models.zoo import ZOO
from countenance.suites.fhibe.evaluation import read
from countenance.suites.fhibe.made_data import BODY, FACE
from countenance.suites.fhibe.outputs import entry_of
from countenance.suites.fhibe.outputs import write_outputs as write_answers
from countenance.suites.fhibe.settings import FILE, FhibeSettings, model_folder
from countenance.suites.fhibe.vocabulary import MODEL_CARD

DARK_FACTOR = 2.0
"""How much stronger the demo's noise is for the two darkest of the six tones."""

DEMO = "demo"
REAL = {"face_encoding": "jpeg-q20", "face_super_resolution": "bicubic-x4"}
PARTS = ("Face", "Hand", "Head hair", "Upper body clothes", "Left arm skin", "Right arm skin", "Left shoe")
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
            dlib = task == "face_verification"
            spec = ModelSpec("dlib", settings={"crops": True}) if dlib else ModelSpec(ZOO_NAME[task])
            _write_real(FhibeSettings(root, dataset, baseline(task), task, None, ("age",), results), spec)
        else:
            noisy = _noisy_embeddings if task == "face_verification" else _noisy
            write_entries(folder / FILE, noisy(task, table, generator))
        (folder / MODEL_CARD).write_text(_card(task).model_dump_json(indent=2) + "\n", encoding="utf-8")
        step(task)


def _write_real(settings: FhibeSettings, spec: ModelSpec) -> None:
    """Write a model's answer for each picture."""
    model, dataset, coerce = spec.load(), read(settings), settings.scoring_task.coerce
    answers = ((sample.id, coerce(model([sample.load()])[0])) for sample in dataset)
    write_answers(settings, dataset, answers, by_person=False)


def _card(task: str) -> ModelCard:
    """The card of a baseline; a demo's card says that it is a demo."""
    name = baseline(task)
    noise = (
        f"DEMO, not a model: the truth plus controlled noise, {DARK_FACTOR:g} times as strong for the two darkest of "
        "the six skin tones, so that the report has a known disparity to find"
    )
    real = {
        "dlib": "dlib's ResNet face embedding (128 numbers) of the middle of the crop, brought to length 1",
        **{REAL[of]: ZOO[model].description for of, model in ZOO_NAME.items()},
    }
    return ModelCard(
        name=name, description=real.get(name, noise), licence="Apache-2.0", source="countenance fhibe make-data"
    )


def _strength(table: FhibeTable) -> list[float]:
    """The demo's noise for each row."""
    return [DARK_FACTOR if cell[:2] in ("0.", "1.") else 1.0 for cell in table.text("apparent_skin_color")]


def _noisy(task: str, table: FhibeTable, draw: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Each image with the entry of its people."""
    makers: dict[str, tuple[Callable[[], Iterable[Any]], Callable[..., Any]]] = {
        "person_localization": (lambda: table.boxes("person_bbox"), noisy_boxes),
        "face_localization": (lambda: table.boxes("face_bbox"), noisy_boxes),
        "person_parsing": (lambda: zip(true.person_masks(table), table.sizes(), strict=True), _masks),
        "keypoint_estimation": (
            lambda: zip(true.keypoints(table), true.face_diagonals(table), strict=True),
            noisy_keypoints,
        ),
        "body_parts_detection": (lambda: true.body_parts(table), partial(noisy_parts, names=PARTS)),
        "face_parsing": (lambda: [partial(true.face_labels, table, i) for i in range(len(table))], _labels),
    }
    truth, make = makers[task]
    people, noise = list(truth()), _strength(table)
    images: dict[str, list[int]] = {}
    for i, name in enumerate(table.keys()):
        images.setdefault(name, []).append(i)
    for name, rows in images.items():
        entry = entry_of(make([people[i] for i in rows], [noise[i] for i in rows], draw))
        yield name, {field: value or None for field, value in entry.items()}


def _masks(people: list[Any], noise: list[float], draw: np.random.Generator) -> Masks:
    return noisy_masks([fill(runs, *size) for runs, size in people], noise, draw)


def _labels(people: list[Any], noise: list[float], draw: np.random.Generator) -> LabelMap:
    ((read,), (strength,)) = people, noise
    return noisy_label_map(read(), strength, draw)


def _noisy_embeddings(task: str, table: FhibeTable, draw: np.random.Generator) -> Iterator[tuple[str, Any]]:
    used = true.usable(table)
    people = used.text("subject_id")
    centre = {name: draw.normal(size=64) for name in dict.fromkeys(people)}
    for key, name, noise in zip(used.output_keys(task), people, _strength(used), strict=True):
        yield key, entry_of(noisy_embedding(centre[name], noise, draw))
