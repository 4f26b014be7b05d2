"""Where the heads disagree, ask: rank unlabelled photos by disagreement, take answers, learn from them."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.suites.happyfaces.dataset import HappyFaces, Photos
from countenance.suites.happyfaces.draws import draw, method_input
from countenance.suites.happyfaces.formulas.two_views import disagreement
from countenance.suites.happyfaces.interface import Floats, Heads
from countenance.suites.happyfaces.methods import METHODS, make_method
from countenance.suites.happyfaces.scores import Record, score_parts
from countenance.text import printable

Oracle = Callable[[int], tuple[bool, bool] | None]
"""Index of a photo in the unlabelled set to both answers (first feature, second feature); None stops the asking."""
QUESTIONS = {
    "face": "Is this face smiling?",
    "smile": "Is this face smiling?",
    "writing": "Does the writing say HAPPY?",
    "text": "Does the writing say HAPPY?",
    "mask": "Does this face wear a mask?",
    "glasses": "Does this face wear glasses?",
    "background": "Is there more than a plain wall behind the person?",
    "tone": "Is the skin light?",
}
ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "q": None, "quit": None, "": None}


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
    step: Callable[..., None] = lambda *_: None,
) -> Record:
    """Ask `questions` questions, `batch` at a time, and score after each batch, while the next one is asked.

    Photos are ranked again after each batch. With `by_disagreement` off they are asked about at random, for comparison.
    Answers name features and heads have no names, so the way with which the first heads agree better is taken.
    """
    maker: Any = make_method(method, seed)
    if not hasattr(maker, "fit_with_answers"):
        able = ", ".join(name for name in METHODS if name.startswith("spatial"))
        raise InputError(f"method {method!r} cannot learn from answers; use one of {able}")
    chosen = draw(data.unlabelled.tags, mix_rate, seed)
    labelled, labels, unlabelled = method_input(data, chosen.drawn, seed)
    questions = min(questions, len(unlabelled) - 1)  # with nothing left to ask about there is nothing to learn from
    rng = np.random.default_rng([seed, 2])
    answers: dict[int, tuple[bool, bool]] = {}
    first = heads = maker.fit(labelled, labels, unlabelled)
    before = first.predict(unlabelled) > 0.5
    scores: dict[int, Future[Record]] = {}

    def score(heads: Heads) -> Record:
        return score_parts(predicted(heads, data.scored(chosen.not_drawn)), data.features)

    with ThreadPoolExecutor(1) as beside:
        while len(answers) not in scores:
            scores[len(answers)] = beside.submit(score, heads)
            open_ = np.setdiff1d(np.arange(len(unlabelled)), list(answers))
            order = rng.permutation(len(open_))
            if by_disagreement:
                order = np.argsort(-disagreement(heads.predict(unlabelled[open_])), kind="stable")
            for index in open_[order[: min(batch, questions - len(answers))]]:
                answer = oracle(int(chosen.drawn[index]))
                if answer is None:
                    questions = len(answers)
                    break
                answers[int(index)] = answer
                step()
            if len(answers) not in scores:
                asked, told = list(answers), np.array(list(answers.values()), np.int64)
                ways = max(((0, 1), (1, 0)), key=lambda way: int((before[asked] == told[:, way]).sum()))
                rest = np.delete(unlabelled, asked, 0)
                heads = maker.fit_with_answers(labelled, labels, rest, unlabelled[asked], told[:, ways])
    return {
        "method": method, "mix_rate": mix_rate, "seed": seed, "order": "disagreement" if by_disagreement else "random",
        "curve": [{"questions": number, **found.result()} for number, found in scores.items()],
        "answers": [[int(chosen.drawn[i]), *map(int, answer)] for i, answer in answers.items()],
        "disagreeing_answers": sum(a != b for a, b in answers.values()),
    }  # fmt: skip


def predicted(heads: Heads, parts: Mapping[str, Photos]) -> dict[str, tuple[Photos, Floats]]:
    """The probabilities of both heads for the photos of each part."""
    empty = np.zeros((0, 2))
    return {name: (photos, heads.predict(photos.pixels) if len(photos) else empty) for name, photos in parts.items()}


def simulated(data: HappyFaces) -> Oracle:
    """Somebody who always answers, and rightly."""
    truth = data.unlabelled.truth()
    return lambda index: (bool(truth[index, 0]), bool(truth[index, 1]))


def at_the_terminal(data: HappyFaces, folder: Path) -> Oracle:
    """Writes the photo to `folder`, asks both questions, understands y, n and q (stop)."""
    folder.mkdir(parents=True, exist_ok=True)
    count = 0

    def oracle(index: int) -> tuple[bool, bool] | None:
        nonlocal count
        count += 1
        path = folder / f"question_{count:03d}.png"
        path.write_bytes(encode_png(data.unlabelled.pixels[index]))
        print(printable(f"Question {count}: look at {path}"))
        answers = []
        for feature in data.features:
            said = _yes_or_no(f"  {QUESTIONS.get(feature, f'{feature}: yes or no?')} (y, n, q stops) ")
            if said is None:
                return None
            answers.append(said)
        return answers[0], answers[1]

    return oracle


def _yes_or_no(question: str) -> bool | None:
    while True:
        try:
            said = input(printable(question)).strip().lower()
        except EOFError:
            return None
        if said in ANSWERS:
            return ANSWERS[said]
        print("  please answer y, n or q")


def means(runs: list[Record]) -> Record:
    """Several runs of `ask` with the same settings as one curve.

    >>> point = {"questions": 0, "validation": {"worst_head": 0.8}, "not_drawn": None}
    >>> means([{"order": "random", "method": "m", "mix_rate": 0.1, "curve": [point]}])["mean"][0]["worst_head"]
    0.8
    """
    mean = []
    for number in sorted({point["questions"] for run in runs for point in run["curve"]}):
        points = [point for run in runs for point in run["curve"] if point["questions"] == number]
        rest = [point["not_drawn"]["worst_head"] for point in points if point["not_drawn"]]
        worst = float(np.mean([point["validation"]["worst_head"] for point in points]))
        beside = float(np.mean(rest)) if rest else None
        mean.append({"questions": number, "runs": len(points), "worst_head": worst, "not_drawn": beside})
    return {**{k: runs[0][k] for k in ("order", "method", "mix_rate")}, "mean": mean, "curves": runs}
