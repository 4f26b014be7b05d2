"""Attributes by sentences: one for each word of an attribute, or the words that a model's own text names."""

import re
from collections.abc import Callable, Mapping, Sequence

from countenance.answers import Labels
from countenance.models.adapters.base import Request, plain_word

TEMPLATE = "a photo of a person whose {attribute} is {word}"
SAYS_NOTHING = ("no", "yes", "none", "other", "unknown")
"""Words that mean something only as the answer to a question about their attribute."""
QUESTION = "Describe the person in this picture. {parts}"


def sentences_of(request: Request, model: str) -> dict[str, dict[str, str]]:
    """For each attribute of the data a sentence for each of its words.

    >>> request = Request("attributes", Labels, ("labels",), {"gender": ("female", "male")})
    >>> sentences_of(request, "clip")["gender"]["male"]
    'a photo of a person whose gender is male'
    """
    if not request.words:
        raise request.refusal(model, "a score for any sentence", "take data whose people have attributes with words")
    return {
        name: {word: TEMPLATE.format(attribute=_spoken(name), word=_spoken(word)) for word in words}
        for name, words in request.words.items()
    }


def question_of(request: Request) -> str:
    """The question to a model that answers in free text, with the words to choose from."""
    parts = [f"{_spoken(name).capitalize()}: {' or '.join(map(_spoken, own))}?" for name, own in request.words.items()]
    return QUESTION.format(parts=" ".join(parts))


def labels_by_sentence(
    sentences: Mapping[str, Mapping[str, str]], shares: Callable[[list[str]], Sequence[float]]
) -> Labels:
    """The answer of a model that scores sentences; attributes are asked one after the other."""
    values, probabilities = {}, {}
    for attribute, by_word in sentences.items():
        by_label = dict(zip(by_word, map(float, shares(list(by_word.values()))), strict=True))
        values[attribute] = max(by_label, key=lambda word: by_label[word])
        probabilities[attribute] = by_label
    return Labels(values, probabilities)


def labels_in_text(text: str, words: Mapping[str, Sequence[str]]) -> Labels:
    """The attributes that a text answers: those of which it names exactly one word.

    >>> labels_in_text("A woman with round glasses", {"gender": ["female", "male"], "beard": ["none", "beard"]}).values
    {'gender': 'female'}
    """
    spoken = " ".join(["", *(plain_word(word) for word in re.findall(r"[^\W_]+", text)), ""])
    named = {
        name: [word for word in own if f" {plain_word(word)} " in spoken and word not in SAYS_NOTHING]
        for name, own in words.items()
    }
    return Labels({name: by_label[0] for name, by_label in named.items() if len(by_label) == 1})


def _spoken(word: str) -> str:
    return word.replace("_", " ")
