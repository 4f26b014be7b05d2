"""The original's model wrapper as a model adapter: it takes the paths of a batch and returns the task's answers."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes, Embedding, Keypoints, LabelMap, Masks, Parts, Picture, raw
from countenance.data import LazyImage, Sample
from countenance.data.adapters.fhibe.table import read_table
from countenance.data.adapters.fhibe.truth import mask_path
from countenance.data.vocabulary import FACE_LABELS, KEYPOINTS
from countenance.errors import InputError
from countenance.metrics.keypoints import COCO_SIGMAS
from countenance.models.path_models import answers_by_path, blamed
from countenance.models.registry import ModelSpec
from countenance.suites.fhibe.outputs import placed_points
from countenance.suites.fhibe.settings import ENCODINGS
from countenance.tasks.face_parsing import without_ears

METHODS = {"face_encoding": "save_encoding", "face_super_resolution": "save_array", "face_verification": "align_faces"}
"""What a wrapper must have beside data_preprocessor and __call__."""
BATCH = 16
"""Images that a wrapper is given at once: its data_preprocessor may start processes of its own each time."""


def is_wrapper(model: Any) -> bool:
    """Whether a model is written for FHIBE's protocol."""
    return hasattr(model, "data_preprocessor")


class FhibeWrapper:
    """A wrapper of the original as a model that `evaluate` runs.

    `model` is the wrapper, or `module:attr` where a worker process makes it. Pictures that it restores go to `folder`,
    where the original puts them.
    """

    needs_pixels = False

    def __init__(
        self,
        model: Any,
        task: str,
        root: str,
        folder: str,
        dataset: str,
        custom_keypoints: Sequence[str] | None = None,
    ) -> None:
        self.model: Any = ModelSpec(model).load() if isinstance(model, str) else model
        self.task, self.root, self.folder, self.dataset = task, root, Path(folder), dataset
        self.custom_keypoints = None if custom_keypoints is None else list(custom_keypoints)
        if task in METHODS and not callable(getattr(self.model, METHODS[task], None)):
            raise InputError(f"the model needs a method {METHODS[task]}() for this task")
        if task == "face_parsing" and not hasattr(self.model, "map_ears_to_skin"):
            raise InputError("the model must say map_ears_to_skin = True or False (FHIBE draws no ears)")

    def by_samples(self, samples: Sequence[Sample]) -> list[Any]:
        """The answers of some images, in their order."""
        if not samples:
            return []
        if self.task == "face_verification":
            return self._embeddings(samples)
        paths = [self._path(sample) for sample in samples]
        answered = answers_by_path(self.model, paths, **self._keywords(samples, paths))
        return [
            self._answer(answer, sample, path) for sample, (path, answer) in zip(samples, _each(answered), strict=False)
        ]

    def _path(self, sample: Sample) -> str:
        return f"{self.root}/{sample.id}"

    def _answer(self, answer: Any, sample: Sample, path: str) -> Any:
        """One answer in the form of the task; errors name the image."""
        task = self.task
        if task == "person_localization":
            return Boxes(*people_of(answer, "bboxes", raw.box, path))
        if task == "face_localization":
            boxes, scores = raw.fields(answer, ("detections", "scores"), path)
            return Boxes(
                [raw.box(box, f"{path}: detections") for box in boxes],
                [raw.number(score, f"{path}: scores") for score in scores],
            )
        if task == "person_parsing":
            masks, scores = people_of(answer, "masks", raw.mask, path)
            return Masks(np.array(masks, dtype=bool) if masks else [], scores)
        if task == "keypoint_estimation":
            return self._keypoints(answer, path)
        if task == "body_parts_detection":
            return self._parts(answer, sample, path)
        if task == "face_parsing":
            return LabelMap(label_map_of(answer, path, ears=bool(self.model.map_ears_to_skin)))
        if task == "face_encoding":
            return self._saved(self.model.save_encoding, picture_of(answer, path), self._encoded(path), path)
        return self._saved(self.model.save_array, answer, self.folder / f"super_{Path(path).name}", path)

    def _keypoints(self, answer: Any, path: str) -> Keypoints:
        (people,) = raw.fields(answer, ("keypoints",), path)
        where = f"{path}: scores"  # stored, but no metric uses them
        scores = [raw.numbers(s, where, "a list of numbers").ravel() for s in raw.items(answer.get("scores"), where)]
        points = placed_points([raw.points(points, path) for points in people], self.custom_keypoints, path)
        if len(scores) == len(points) and all(len(keypoint_scores) == 17 for keypoint_scores in scores):
            points = np.concatenate([points, np.array(scores).reshape(len(points), 17, 1)], axis=2)
        return Keypoints(points)

    def _parts(self, answer: Any, sample: Sample, path: str) -> Parts:
        """The parts of each person: the model answers once for each box that it is given, in order."""
        people = raw.parts(answer, path)
        if len(people) < len(sample.subjects):
            people_words = f"{len(people)} answers for {len(sample.subjects)} people"
            raise InputError(f"{path}: {people_words}; one for each, in the order of the boxes")
        return Parts(tuple(people[: len(sample.subjects)]))

    def _encoded(self, path: str) -> Path:
        return self.folder / ENCODINGS / Path(path).name

    def _saved(self, save: Callable[[Any, str], Any], answer: Any, place: Path, image: str) -> Picture:
        """Let the model write its picture, check that it did, and read it."""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        with blamed(image):
            save(answer, str(place))
        if not place.is_file():
            raise InputError(f"{image}: {getattr(save, '__name__', 'the model')}() wrote no picture at {place}")
        return Picture(LazyImage(place).load())

    def _keywords(self, samples: Sequence[Sample], paths: list[str]) -> dict[str, Any]:
        """The keyword arguments that the original passes to `data_preprocessor`."""
        task = self.task
        if task in ("person_localization", "face_localization"):
            return {"gt_column_name": "person_bbox" if task == "person_localization" else "face_bbox"}
        if task == "person_parsing":
            return {"to_rle": True, "gt_column_name": "person_mask"}
        if task == "keypoint_estimation":
            names = self.custom_keypoints or KEYPOINTS
            return {
                "img_filepath_gt_bboxes": self._boxes(samples),
                "gt_keypoint_column_name": "keypoints_coco_fmt",
                "gt_face_bbox_column_name": "face_bbox",
                "kpt_oks_sigmas": COCO_SIGMAS[[KEYPOINTS.index(name) for name in names]],
                "custom_keypoints": self.custom_keypoints,
            }
        if task == "body_parts_detection":
            return {"gt_column_name": None, "img_filepath_gt_bboxes": self._boxes(samples)}
        if task == "face_parsing":
            masks = [self._masks[sample.id] for sample in samples]
            return {"mask_filepaths": masks, "prediction_change_map": {"l_ear": "skin", "r_ear": "skin"}}
        if task == "face_encoding":
            encoded = [str(self._encoded(path)) for path in paths]
            return {"aligned": True, "aligned_filepaths": paths, "encoded_filepaths": encoded}
        return {"aligned": True}

    def _boxes(self, samples: Sequence[Sample]) -> dict[str, list[list[float]]]:
        """The true boxes of each image's people, in their order."""
        return {
            self._path(sample): [
                np.asarray(subject.face_box if subject.person_box is None else subject.person_box).tolist()
                for subject in sample.subjects
            ]
            for sample in samples
        }

    @cached_property
    def _masks(self) -> Mapping[str, str]:
        """The path of each image's true label map."""
        table = read_table(self.root, self.dataset, "face_parsing", (), strict=True)
        return {name: str(mask_path(table, i)) for i, name in enumerate(table.text("filepath"))}

    def _embeddings(self, samples: Sequence[Sample]) -> list[Any]:
        """The vector of each face; None for a face that cannot be aligned."""
        paths = [self._path(sample) for sample in samples]
        aligned = [f"{self.root}/data/processed/{sample.id}" for sample in samples]
        with blamed(paths[0]):
            options = {"batch_size": 1, "num_workers": 0, "cuda": False}
            success = list(self.model.align_faces(img_filepaths=paths, aligned_img_filepaths=aligned, **options))
        if len(success) != len(paths):
            raise InputError(f"align_faces said {len(success)} times whether it worked, for {len(paths)} images")
        usable = [path for path, good in zip(aligned, success, strict=True) if good]
        keywords: dict[str, Any] = {
            "aligned": True,
            "aligned_img_filepaths": aligned,
            "success": success,
            "success_aligned_img_filepaths": usable,
        }
        vectors = {
            path: embedding_of(answer, path) for path, answer in answers_by_path(self.model, paths, usable, **keywords)
        }
        answered = (vectors.get(path) for path in aligned)
        return [Embedding(None if vector is None else np.array(vector)) for vector in answered]


def _each(answers: Any) -> list[tuple[str, Any]]:
    """All answers as a list, so that a wrong number of answers is refused before any is used."""
    return list(answers)


def people_of(answer: Any, name: str, convert: Callable[[Any, str], Any], place: str) -> tuple[list[Any], list[float]]:
    """The detections of people (label 0) under a name, and their scores.

    >>> answer = {"bboxes": [[0, 0, 2, 3], [1, 1, 2, 2]], "scores": [0.5, 0.9], "labels": [0, 7]}
    >>> people_of(answer, "bboxes", raw.box, "a.png")
    ([[0.0, 0.0, 2.0, 3.0]], [0.5])
    >>> people_of({"bboxes": [[0, 0, 2, 3]], "scores": [0.5]}, "bboxes", raw.box, "a.png")
    Traceback (most recent call last):
    countenance.errors.ModelError: a.png: the model returned a dict with bboxes, scores; 'labels' is missing
    """
    values, scores, labels = raw.fields(answer, (name, "scores", "labels"), place)
    people = [
        i for i, label in enumerate(labels) if raw.number(label, f"{place}: labels", "a number (0: a person)") == 0
    ]
    return (
        [convert(values[i], f"{place}: {name}") for i in people],
        [raw.number(scores[i], f"{place}: scores") for i in people],
    )


def embedding_of(answer: Any, place: str) -> list[float] | None:
    """One image's embedding: {"embeddings": […]}, a list or an array; None for {"embeddings": None}, no face."""
    if isinstance(answer, Mapping):
        answer = raw.first_field(answer, ("embeddings", "detections"), place)
        if answer is None:
            return None
    vector: list[float] = raw.numbers(answer, f"{place}: embeddings", "a list of numbers").ravel().tolist()
    if not vector:
        raise InputError(f"{place}: embeddings is empty, expected a list of numbers")
    return vector


def picture_of(answer: Any, place: str) -> Any:
    """The input of a wrapper's `save_encoding`: the answer's "encoding", or "encodings" as in the published text."""
    return raw.first_field(answer, ("encoding", "encodings"), place)


def label_map_of(answer: Any, place: str, *, ears: bool) -> NDArray[np.uint8]:
    """The labels of a face picture; with `ears` ears become skin."""
    array = raw.array(raw.first_field(answer, ("detections",), place))
    whole = array.ndim == 2 and array.dtype.kind in "iuf" and bool((array == np.floor(array)).all())
    if not whole or array.size == 0 or array.min() < 0 or array.max() >= len(FACE_LABELS):
        shown, last = f"{array.dtype} of shape {array.shape}", len(FACE_LABELS) - 1
        raise InputError(f"{place}: detections is {shown}, expected height × width labels from 0 to {last}")
    return without_ears(array.astype(np.uint8)) if ears else array.astype(np.uint8)
