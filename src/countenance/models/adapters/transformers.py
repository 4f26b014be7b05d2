"""Pipelines of transformers: object detection and image classification, each also zero-shot, and texts on images."""

from collections.abc import Callable
from typing import Any

from PIL import Image

from countenance.answers import Boxes, Labels
from countenance.answers.libraries import shown_by
from countenance.models.adapters import base, networks
from countenance.models.adapters import transformers_texts as texts


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The pipeline with its own thresholds, called with one picture at a time."""
    if not hasattr(model, "task") or not hasattr(model, "model"):
        raise request.refusal(type(model).__name__, "tensors", "give a pipeline: transformers.pipeline(task, model=…)")
    name = str(getattr(model.model, "name_or_path", "") or type(model.model).__name__)
    make = KINDS.get((model.task, request.answer))
    if make is None:
        raise request.refusal(name, f"what a pipeline for {model.task} gives", "take another pipeline or task")
    predict, finds, settings = make(model, request, name)
    call, content = base.each(lambda image: predict(Image.fromarray(image))), networks.torch_content(model.model)
    return base.AdaptedModel("transformers", name, call, finds, content, {"pipeline": model.task} | settings)


def _boxes(pipe: Any, request: base.Request, name: str) -> texts.Predictor:
    keep = base.chosen_kinds(pipe.model.config.id2label.values(), request, name)
    return lambda picture: Boxes.from_transformers(pipe(picture), keep), keep or (), {}


def _boxes_by_word(pipe: Any, request: base.Request, name: str) -> texts.Predictor:
    words = [need for need in request.needs if shown_by(need)]

    def predict(picture: Any) -> Boxes:
        return Boxes.from_transformers(pipe(picture, candidate_labels=words))

    return predict, tuple(words), {"candidate_labels": words}


def _classes(pipe: Any, request: base.Request, name: str) -> texts.Predictor:
    names = [str(word) for word in pipe.model.config.id2label.values()]
    classes = base.Classifier.of(names, request, name)
    return lambda picture: classes.labels(texts.shares(pipe(picture, top_k=len(names)), names)), ("labels",), {}


KINDS: dict[tuple[str, type[Any]], Callable[[Any, base.Request, str], texts.Predictor]] = {
    ("object-detection", Boxes): _boxes,
    ("zero-shot-object-detection", Boxes): _boxes_by_word,
    ("image-classification", Labels): _classes,
    ("zero-shot-image-classification", Labels): texts.by_sentence,
    ("image-to-text", Labels): texts.in_text,
    ("image-text-to-text", Labels): texts.in_text,
}
