"""The module `DeepFace` of deepface: face boxes, embeddings, gender and age, with its default models and backends.

`ct.evaluate(DeepFace, …)`. For another backend or model, give a function of your own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from countenance.answers import Age, Boxes, Embedding, Labels
from countenance.models.adapters import base

WORDS = ["Woman", "Man"]


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The module's functions; a picture without a face is not an error; of several faces the largest is used."""
    if request.answer not in (Boxes, Embedding, Age, Labels) or not hasattr(model, "extract_faces"):
        raise request.refusal("deepface", "faces, embeddings, ages and genders", "give `deepface.DeepFace` itself")
    genders = base.Classifier.of(WORDS, request, "deepface") if request.answer is Labels else None

    def predict(pixels: base.Pixels) -> Any:
        image = base.bgr(pixels)
        if request.answer is Boxes:
            return _boxes(model.extract_faces(img_path=image, enforce_detection=False, align=False))
        if request.answer is Embedding:
            face = _largest(model.represent(img_path=image, enforce_detection=False))
            return Embedding(None if face is None else np.asarray(face["embedding"], dtype=np.float64))
        action = "age" if genders is None else "gender"
        face = _largest(model.analyze(img_path=image, actions=[action], enforce_detection=False, silent=True))
        if genders is None:
            return Age(None if face is None else float(face["age"]))
        return Labels({}) if face is None else genders.labels([face["gender"][word] / 100 for word in WORDS])

    finds = ("face",) if request.answer is Boxes else request.needs
    return base.AdaptedModel("deepface", "deepface", base.each(predict), finds)


def _boxes(faces: Sequence[Any]) -> Boxes:
    """The boxes of faces; where nothing is found, deepface gives the whole picture with a confidence of 0."""
    areas = [(face["facial_area"], face["confidence"]) for face in faces if face["confidence"]]
    return Boxes.from_xywh([[area[side] for side in "xywh"] for area, _ in areas], [score for _, score in areas])


def _largest(faces: Any) -> Any:
    """The largest detected face, or None; deepface may return the whole picture instead of a face."""

    def area(face: Any) -> float:
        box = face.get("facial_area") or face["region"]
        return float(box["w"] * box["h"])

    listed = faces if isinstance(faces, list) else [faces]
    return max((face for face in listed if face.get("face_confidence")), key=area, default=None)
