"""Where the heads disagree, ask: rank unlabelled photos by disagreement, take answers, learn from them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.suites.happyfaces.dataset import HappyFaces
from countenance.suites.happyfaces.interface import Floats, Heads, Labels
from countenance.suites.happyfaces.methods import METHODS, make_method
from countenance.suites.happyfaces.protocol import score
from countenance.suites.happyfaces.sampler import draw, method_input

Oracle = Callable[[int], tuple[bool, bool] | None]
"""Index of a photo in the unlabelled set to both answers (first feature, second feature); None stops the asking."""


def disagreement(probabilities: Floats) -> Floats:
    """The probability that the two heads' answers differ, p₁(1 − p₂) + (1 − p₁)p₂, for each photo.

    >>> disagreement(np.array([[1.0, 0.0], [0.5, 0.5], [0.9, 0.9]])).round(2)
    array([1.  , 0.5 , 0.18])
    """
    one, two = probabilities[:, 0], probabilities[:, 1]
    return np.asarray(one * (1 - two) + (1 - one) * two)


def rank(probabilities: Floats) -> NDArray[np.int64]:
    """Photos in the order in which to ask about them: the likeliest disagreement first.

    >>> rank(np.array([[0.9, 0.9], [1.0, 0.0], [0.5, 0.5]]))
    array([1, 2, 0])
    """
    return np.argsort(-disagreement(probabilities), kind="stable")


def simulated(data: HappyFaces) -> Oracle:
    """Somebody who always answers, and rightly."""
    truth = data.unlabelled.truth()
    return lambda index: (bool(truth[index, 0]), bool(truth[index, 1]))


def ask(
    data: HappyFaces,
    oracle: Oracle,
    *,
    method: str = "spatial",
    mix_rate: float = 0.1,
    seed: int = 0,
    questions: int = 20,
    batch: int = 5,
    by_disagreement: bool = True,
    step: Callable[..., None] = lambda n=1: None,
) -> dict[str, Any]:
    """Ask `questions` questions, `batch` at a time, and score after each batch.

    Photos are ranked again after each batch. With `by_disagreement` off they are
    asked about at random, for comparison.
    """
    maker = make_method(method, seed)
    if not hasattr(maker, "fit_with_answers"):
        able = ", ".join(name for name in METHODS if name.startswith("spatial"))
        raise InputError(f"method {method!r} cannot learn from answers; use one of {able}")
    chosen = draw(data.unlabelled.tags, mix_rate, seed)
    labelled, labels, unlabelled = method_input(data, chosen.drawn, seed)
    rest = data.unlabelled.take(chosen.not_drawn)
    questions = min(questions, len(unlabelled) - 1)  # with nothing left to ask about there is nothing to learn from
    rng = np.random.default_rng([seed, 2])
    asked: list[int] = []
    answers: list[tuple[bool, bool]] = []
    curve: list[dict[str, Any]] = []
    stopped = False
    while True:
        open_ = np.setdiff1d(np.arange(len(unlabelled)), asked)
        heads = _fit(maker, labelled, labels, unlabelled, open_, asked, answers)
        curve.append({"questions": len(asked), **score(heads, data.validation, rest, data.features)})
        if stopped or len(asked) >= questions or not len(open_):
            break
        order = rank(heads.predict(unlabelled[open_])) if by_disagreement else rng.permutation(len(open_))
        for position in order[: min(batch, questions - len(asked))]:
            index = int(open_[position])
            answer = oracle(int(chosen.drawn[index]))
            if answer is None:
                stopped = True
                break
            asked.append(index)
            answers.append(answer)
            step()
        if stopped and len(asked) == curve[-1]["questions"]:
            break
    told = [[int(chosen.drawn[i]), *map(int, answer)] for i, answer in zip(asked, answers, strict=True)]
    return {
        "method": method, "mix_rate": mix_rate, "seed": seed, "order": "disagreement" if by_disagreement else "random",
        "curve": curve, "answers": told,
        "disagreeing_answers": sum(a != b for a, b in answers),
    }  # fmt: skip


def _fit(
    maker: Any,
    labelled: NDArray[np.uint8],
    labels: Labels,
    unlabelled: NDArray[np.uint8],
    open_: NDArray[np.int64],
    asked: Sequence[int],
    answers: Sequence[tuple[bool, bool]],
) -> Heads:
    """Fit; answers name features, heads have no names, so the way that the heads themselves agree with is taken."""
    told = np.array(answers, np.int64).reshape(-1, 2)
    if not len(told):
        return maker.fit(labelled, labels, unlabelled)  # type: ignore[no-any-return]
    pictures = unlabelled[list(asked)]
    before = maker.fit(labelled, labels, unlabelled[open_]).predict(pictures) > 0.5
    ways = max(((0, 1), (1, 0)), key=lambda way: int((before == told[:, way]).sum()))
    return maker.fit_with_answers(labelled, labels, unlabelled[open_], pictures, told[:, ways])  # type: ignore[no-any-return]
