"""Shared by adapters: the request of a task, the adapted model, and the choice of classes by their names."""

import hashlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Labels
from countenance.answers.libraries import shown_by
from countenance.answers.targets import in_words
from countenance.data import Dataset
from countenance.data.vocabulary import VOCABULARIES, in_order
from countenance.errors import ModelError
from countenance.models.model import Images, ModelCard
from countenance.text import one_line

Pixels = NDArray[np.uint8]
MOST_NAMED = 12
SAME_WORD = {"woman": "female", "women": "female", "man": "male", "men": "male", "f": "female", "m": "male"}
"""Words of classifiers for the words that datasets use."""


@dataclass(frozen=True)
class Request:
    """A task's requirements of a model, in plain values that travel to worker processes."""

    task: str
    answer: type[Any]
    needs: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of each attribute of the people in the data, for a model that answers with such words."""

    @classmethod
    def of(cls, task: Any, data: Any) -> "Request":
        """The request of a task (its name, answer and needs) about a dataset."""
        return cls(task.name, task.answer, task.needs, words_of(data) if task.answer is Labels else {})

    def refusal(self, model: str, gives: str, remedy: str) -> ModelError:
        """The error for a model that cannot answer the task."""
        expected = in_words(self.needs) or self.answer.__name__
        return ModelError(f"{model} gives {gives}, and {self.task} evaluates {expected}; {remedy}")


def words_of(data: Any) -> dict[str, tuple[str, ...]]:
    """The words that each attribute of a dataset's people takes; for a manifest on disk, the usual words.

    >>> from countenance.testing import small_dataset
    >>> words_of(small_dataset(6))["gender"]
    ('female', 'male')
    """
    if not isinstance(data, Dataset):
        return {name: VOCABULARIES[name] for name in getattr(data, "attributes", {}) if name in VOCABULARIES}
    values: dict[str, set[str]] = defaultdict(set)
    for subject in (subject for sample in data for subject in sample.subjects):
        for name, value in subject.attributes.items():
            values[name].update([value] if isinstance(value, str) else value if isinstance(value, tuple) else ())
    return {name: tuple(in_order(name, words)) for name, words in values.items() if len(words) > 1}


@dataclass(frozen=True)
class AdaptedModel:
    """A model of another library as the engine calls it: a list of RGB pictures in, an answer for each out."""

    library: str
    name: str
    call: Callable[[Images], Sequence[Any]]
    finds: tuple[str, ...] = ()
    content: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def card(self) -> ModelCard:
        """The model's card: the library with its version, and a hash of the model's known properties."""
        version = str(getattr(sys.modules.get(self.library), "__version__", "unknown"))
        parts = (self.library, version, self.name, self.content, repr(sorted(self.settings.items())))
        return ModelCard(
            name=one_line(self.name),
            source=f"{self.library} {version}",
            content=hashlib.sha256("\0".join(parts).encode()).hexdigest(),
            settings=dict(self.settings),
            finds=self.finds,
        )


def each(predict: Callable[[Pixels], Any]) -> Callable[[Images], list[Any]]:
    """A model that is called with one picture at a time.

    >>> each(np.size)([np.zeros((2, 2, 3), np.uint8)])
    [12]
    """
    return lambda images: [predict(image) for image in images]


def by_shape(predict: Callable[[list[Pixels]], Sequence[Any]]) -> Callable[[Images], list[Any]]:
    """A model that is called with pictures of one shape at a time, so that no answer depends on the other pictures.

    Libraries pad the pictures of a batch to a common size, which changes the results of the smaller ones.

    >>> by_shape(lambda images: [len(images)] * len(images))([np.zeros((n, 2, 3), np.uint8) for n in (1, 2, 1)])
    [2, 1, 2]
    """

    def call(images: Images) -> list[Any]:
        answers: list[Any] = [None] * len(images)
        places = defaultdict(list)
        for i, image in enumerate(images):
            places[image.shape].append(i)
        for own in places.values():
            for i, answer in zip(own, predict([images[i] for i in own]), strict=True):
                answers[i] = answer
        return answers

    return call


def bgr(image: Pixels) -> Pixels:
    """The picture with its colours in OpenCV's order."""
    return np.ascontiguousarray(image[:, :, ::-1])


def chosen_kinds(names: Iterable[str], request: Request, model: str) -> tuple[str, ...] | None:
    """The kinds that the boxes of a detector with these classes show: those that the task needs, or else all.

    None means that all boxes count: the detector has one class whose name says nothing.

    >>> chosen_kinds(["person", "car", "face"], Request("face_localization", object, ("face",)), "mine")
    ('face',)
    """
    listed = list(names)
    shown = {kind for name in listed if (kind := shown_by(name)) is not None}
    if shown:
        return tuple(sorted(shown & set(request.needs) or shown))
    if len(listed) == 1:
        return None
    raise request.refusal(
        model, f"boxes of {_some(listed)}", "give it as a function that returns countenance.Boxes of those that count"
    )


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more classes" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}" if names else "classes without names"


@dataclass(frozen=True)
class Classifier:
    """Classes that are the words of one attribute."""

    attribute: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str], request: Request, model: str) -> "Classifier":
        """The attribute of the data to which most of the classes belong as words (two at least).

        >>> from countenance.testing import small_dataset
        >>> request = Request("attributes", Labels, ("labels",), words_of(small_dataset(6)))
        >>> Classifier.of(["Woman", "Man"], request, "mine")
        Classifier(attribute='gender', words=('female', 'male'))
        """
        known = {name: {plain_word(word): word for word in words} for name, words in request.words.items()}
        shared = {name: sum(plain_word(item) in words for item in names) for name, words in known.items()}
        best = max(shared, key=lambda name: shared[name], default="")
        if request.answer is not Labels or shared.get(best, 0) < 2:
            has = "; ".join(f"{name}: {', '.join(words[:4])}" for name, words in list(request.words.items())[:6])
            remedy = (
                f"give it as a function that returns {{'gender': 'female'}} or the like (the data has {has or 'none'})"
            )
            raise request.refusal(model, f"one of the classes {_some(names)}", remedy)
        return cls(best, tuple(known[best].get(plain_word(name), name) for name in names))

    def named(self, number: int) -> Labels:
        """The answer for one class, from a model that gives no probabilities."""
        return Labels({self.attribute: self.words[number]})

    def labels(self, probabilities: Any) -> Labels:
        """The answer for the probabilities of the classes, in their order."""
        shares = np.asarray(probabilities, dtype=np.float64).ravel()
        by_word: dict[str, float] = defaultdict(float)
        for word, share in zip(self.words, shares.tolist(), strict=True):
            by_word[word] += share
        by_word = {word: min(max(share, 0.0), 1.0) for word, share in by_word.items()}
        return Labels({self.attribute: max(by_word, key=lambda word: by_word[word])}, {self.attribute: by_word})


def plain_word(word: str) -> str:
    """A word without regard to case and punctuation; words of the same meaning are one.

    >>> plain_word("Woman"), plain_word("0-17")
    ('female', '0 17')
    """
    plain = " ".join("".join(sign if sign.isalnum() else " " for sign in word.casefold()).split())
    return SAME_WORD.get(plain, plain)
