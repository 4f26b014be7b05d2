"""`FaceAnalysis` of insightface: face boxes, embeddings, gender and age, whichever of its models are loaded."""

from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers import Age, Boxes, Embedding, Labels
from countenance.files import file_hash
from countenance.models.adapters import base

NEEDS = {Boxes: "detection", Embedding: "recognition", Age: "genderage", Labels: "genderage"}


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The app after `prepare()`; of several faces the largest is used."""
    loaded = getattr(model, "models", {})
    if NEEDS.get(request.answer) not in loaded:
        raise request.refusal("insightface", f"what {', '.join(loaded)} give", "load its models, or take another task")
    genders = base.Classifier.of(["female", "male"], request, "insightface") if request.answer is Labels else None

    def predict(image: base.Pixels) -> Any:
        faces = model.get(base.bgr(image))
        if request.answer is Boxes:
            return _boxes(faces)
        face = max(faces, key=lambda item: np.prod(item.bbox[2:] - item.bbox[:2]), default=None)
        if genders is not None:
            return Labels({}) if face is None else genders.named(int(face.gender))
        if request.answer is Age:
            return Age(None if face is None else float(face.age))
        return Embedding(None if face is None else np.asarray(face.normed_embedding, dtype=np.float64))

    files = [Path(str(getattr(item, "model_file", ""))) for item in loaded.values()]
    content = " ".join(file_hash(path) for path in files if path.is_file())
    name = f"insightface {Path(str(getattr(model, 'model_dir', ''))).name}".strip()
    settings = {key: getattr(loaded["detection"], key, None) for key in ("input_size", "det_thresh", "nms_thresh")}
    finds = ("face",) if request.answer is Boxes else request.needs
    return base.AdaptedModel("insightface", name, base.each(predict), finds, content, settings)


def _boxes(faces: list[Any]) -> Boxes:
    marks = [face.kps for face in faces]
    landmarks = None if any(item is None for item in marks) else marks
    return Boxes([face.bbox for face in faces], [face.det_score for face in faces], landmarks=landmarks)
