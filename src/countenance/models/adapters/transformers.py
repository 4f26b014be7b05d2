"""Pipelines of transformers: object detection and image classification, each also zero-shot, and texts on images."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from PIL import Image

from countenance.answers import Boxes, Labels
from countenance.answers.libraries import shown_by
from countenance.models.adapters import base, networks, sentences

Predictor = tuple[Callable[[Any], Any], tuple[str, ...], dict[str, Any]]
"""From a picture to its answer; what the model finds; what its card says of the settings."""


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


def _boxes(pipe: Any, request: base.Request, name: str) -> Predictor:
    keep = base.chosen_kinds(pipe.model.config.id2label.values(), request, name)
    return lambda picture: Boxes.from_transformers(pipe(picture), keep), keep or (), {}


def _boxes_by_word(pipe: Any, request: base.Request, name: str) -> Predictor:
    words = [need for need in request.needs if shown_by(need)]

    def predict(picture: Any) -> Boxes:
        return Boxes.from_transformers(pipe(picture, candidate_labels=words))

    return predict, tuple(words), {"candidate_labels": words}


def _classes(pipe: Any, request: base.Request, name: str) -> Predictor:
    names = [str(word) for word in pipe.model.config.id2label.values()]
    classes = base.Classifier.of(names, request, name)
    return lambda picture: classes.labels(shares(pipe(picture, top_k=len(names)), names)), ("labels",), {}


def _by_sentence(pipe: Any, request: base.Request, name: str) -> Predictor:
    """A zero-shot classifier, called with one sentence for each word of each attribute."""
    question = sentences.sentences_of(request, name)

    def predict(picture: Any) -> Labels:
        def ask(candidates: list[str]) -> list[float]:
            return shares(pipe(picture, candidate_labels=candidates, hypothesis_template="{}"), candidates)

        return sentences.labels_by_sentence(question, ask)

    return predict, ("labels",), {"template": sentences.TEMPLATE}


def _in_text(pipe: Any, request: base.Request, name: str) -> Predictor:
    """A model that writes a text on a picture; an attribute of which the text names one word counts as answered."""
    question = {"text": sentences.question_of(request)} if pipe.task == "image-text-to-text" else {}

    def predict(picture: Any) -> Labels:
        (row,) = pipe(picture, return_full_text=False, **question) if question else pipe(picture)
        return sentences.labels_in_text(row["generated_text"], request.words)

    return predict, ("labels",), dict(question)


def shares(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[float]:
    """The score of each name among a pipeline's rows; 0 for a name without a row.

    >>> shares([{"label": "b", "score": 0.75}], ["a", "b"])
    [0.0, 0.75]
    """
    scores = {row["label"]: float(row["score"]) for row in rows}
    return [scores.get(name, 0.0) for name in names]


KINDS: dict[tuple[str, type[Any]], Callable[[Any, base.Request, str], Predictor]] = {
    ("object-detection", Boxes): _boxes,
    ("zero-shot-object-detection", Boxes): _boxes_by_word,
    ("image-classification", Labels): _classes,
    ("zero-shot-image-classification", Labels): _by_sentence,
    ("image-to-text", Labels): _in_text,
    ("image-text-to-text", Labels): _in_text,
}
