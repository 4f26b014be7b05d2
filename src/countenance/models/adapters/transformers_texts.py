"""Pipelines of transformers that take sentences: zero-shot classification, and texts on images."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from countenance.answers import Labels
from countenance.models.adapters import base, sentences

Predictor = tuple[Callable[[Any], Any], tuple[str, ...], dict[str, Any]]
"""From a picture to its answer; what the model finds; what its card says of the settings."""


def by_sentence(pipe: Any, request: base.Request, name: str) -> Predictor:
    """A zero-shot classifier, called with one sentence for each word of each attribute."""
    question = sentences.sentences_of(request, name)

    def predict(picture: Any) -> Labels:
        def ask(candidates: list[str]) -> list[float]:
            return shares(pipe(picture, candidate_labels=candidates, hypothesis_template="{}"), candidates)

        return sentences.labels_by_sentence(question, ask)

    return predict, ("labels",), {"template": sentences.TEMPLATE}


def in_text(pipe: Any, request: base.Request, name: str) -> Predictor:
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
