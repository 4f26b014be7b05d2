"""Questions on photos where the heads disagree: ranks unlabelled photos, takes answers, learns from them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.adapters.happyfaces_layout import HappyFaces, Photos
from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.files import write_text
from countenance.suites.happyfaces.draws import draw, method_input
from countenance.suites.happyfaces.formulas.two_views import disagreement
from countenance.suites.happyfaces.interface import Floats, Heads, Pictures
from countenance.suites.happyfaces.methods import METHODS, make_method, method_name
from countenance.suites.happyfaces.protocol import MixTask
from countenance.suites.happyfaces.scores import Record, score_parts
from countenance.text import printable

Oracle = Callable[[int], tuple[bool, bool] | None]
"""A function from the index of an unlabelled photo to both answers (first feature, second feature); None stops."""
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
PAGE = "question.html"
"""The page in the folder of photos that shows the one that is asked about."""
ANSWERS = {"y": True, "yes": True, "n": False, "no": False, "q": None, "quit": None, "": None}


def ask(
    data: HappyFaces,
    oracle: Oracle,
    task: MixTask,
    *,
    questions: int = 20,
    batch: int = 5,
    by_disagreement: bool = True,
    step: Callable[..., None] = lambda *_: None,
) -> Record:
    """Ask `questions` questions, `batch` at a time, and score after each batch, while the next one is asked.

    Photos are ranked again after each batch. Without `by_disagreement` photos are chosen at random, for comparison.
    Answers name features but heads have no names, so the assignment that fits the first heads better is used.
    """
    seed = task.seed
    maker: Any = make_method(task.method, seed, **dict(task.options))
    if not hasattr(maker, "fit_with_answers"):
        able = ", ".join(name for name in METHODS if name.startswith("spatial"))
        raise InputError(f"method {method_name(task.method)!r} cannot learn from answers; use one of {able}")
    chosen = draw(data.unlabelled.tags, task.mix_rate, seed)
    labelled, labels, unlabelled = method_input(data, chosen.drawn, seed)
    questions = min(questions, len(unlabelled) - 1)  # with nothing left to ask about there is nothing to learn from
    rng = np.random.default_rng([seed, 2])
    answers: dict[int, tuple[bool, bool]] = {}
    first = heads = maker.fit(labelled, labels, unlabelled)
    before = first.predict(unlabelled) > 0.5
    scores: dict[int, Future[Record]] = {}

    def score(heads: Heads) -> Record:
        return score_parts(predicted(heads, data.scored(chosen.not_drawn)), data.features)

    with ThreadPoolExecutor(1) as pool:
        while len(answers) not in scores:
            scores[len(answers)] = pool.submit(score, heads)
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
                photos, truth = list(answers), np.array(list(answers.values()), np.int64)
                ways = max(((0, 1), (1, 0)), key=lambda way: int((before[photos] == truth[:, way]).sum()))
                rest = np.delete(unlabelled, photos, 0)
                heads = maker.fit_with_answers(labelled.copy(), labels.copy(), rest, unlabelled[photos], truth[:, ways])
    return {
        "method": method_name(task.method),
        "mix_rate": task.mix_rate,
        "seed": seed,
        "order": "disagreement" if by_disagreement else "random",
        "curve": [{"questions": number, **future.result()} for number, future in scores.items()],
        "answers": [[int(chosen.drawn[i]), *map(int, answer)] for i, answer in answers.items()],
        "disagreeing_answers": sum(a != b for a, b in answers.values()),
    }


def predicted(heads: Heads, parts: Mapping[str, Photos]) -> dict[str, tuple[Photos, Floats]]:
    """The probabilities of both heads for the photos of each part; a method may write on its copies."""
    empty = np.zeros((0, 2))
    return {
        name: (photos, heads.predict(photos.pixels.copy()) if len(photos) else empty) for name, photos in parts.items()
    }


def simulated(data: HappyFaces) -> Oracle:
    """A respondent who always answers correctly."""
    truth = data.unlabelled.truth()
    return lambda index: (bool(truth[index, 0]), bool(truth[index, 1]))


def at_the_terminal(data: HappyFaces, folder: Path, pictures: bool = False) -> Oracle:
    """Writes the photo to `folder`, asks both questions, understands y, n and q (stop).

    `pictures` draws the photo in the terminal as well. A browser that shows the folder's page follows the questions.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = 0

    def oracle(index: int) -> tuple[bool, bool] | None:
        nonlocal count
        count += 1
        path = folder / f"question_{count:03d}.png"
        path.write_bytes(encode_png(data.unlabelled.pixels[index]))
        questions = [QUESTIONS.get(feature, f"{feature}: yes or no?") for feature in data.features]
        write_text(folder / PAGE, _page(path.name, count, questions))
        shown = in_terminal(data.unlabelled.pixels[index]) if pictures else ""
        print(shown + printable(f"Question {count}: look at {path}, or at {folder / PAGE} in a browser"))
        answers = []
        for question in questions:
            answer = _yes_or_no(f"  {question} (y, n, q stops) ")
            if answer is None:
                return None
            answers.append(answer)
        return answers[0], answers[1]

    return oracle


def in_terminal(photo: Pictures, width: int = 60) -> str:
    """A photo as text: each character is two pixels, one above the other, in their colours.

    >>> in_terminal(np.zeros((2, 1, 3), np.uint8), width=1)
    '\\x1b[38;2;0;0;0;48;2;0;0;0m▀\\x1b[0m\\n'
    """
    step = max(1.0, photo.shape[1] / width)
    rows, columns = (np.arange(0, size - 0.5, step).astype(int) for size in photo.shape[:2])
    small = photo[rows][:, columns]
    lines = []
    for upper, lower in zip(small[::2], small[1::2], strict=False):
        pairs = zip(upper.tolist(), lower.tolist(), strict=True)
        cells = (f"\x1b[38;2;{a[0]};{a[1]};{a[2]};48;2;{b[0]};{b[1]};{b[2]}m▀" for a, b in pairs)
        lines.append("".join(cells) + "\x1b[0m\n")
    return "".join(lines)


def _page(picture: str, number: int, questions: Sequence[str]) -> str:
    """The page with the photo of the current question, which reloads every second."""
    items = "".join(f"<li>{question}</li>" for question in questions)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="1">'
        f"<title>Question {number}</title></head><body><h1>Question {number}</h1>"
        f'<img src="{picture}" alt="the photo that question {number} is about"><ul>{items}</ul>'
        "<p>Answer in the terminal.</p></body></html>\n"
    )


def _yes_or_no(question: str) -> bool | None:
    while True:
        try:
            answer = input(printable(question)).strip().lower()
        except EOFError:
            return None
        if answer in ANSWERS:
            return ANSWERS[answer]
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
        second = float(np.mean(rest)) if rest else None
        mean.append({"questions": number, "runs": len(points), "worst_head": worst, "not_drawn": second})
    about = {k: runs[0][k] for k in ("order", "method", "mix_rate")}
    return {**about, "mean": mean, "effect": effect(runs), "curves": runs}


def effect(runs: Sequence[Record]) -> str:
    """A sentence on whether answers helped: the change of the worse head against the error of this many photos.

    >>> curve = [{"questions": k, "validation": {"worst_head": w, "photos": 200}} for k, w in ((0, 0.9), (20, 0.91))]
    >>> effect([{"curve": curve}])
    '20 answers changed the worse head by +0.010, less than two standard errors (0.042): no evidence that asking helped'
    >>> effect([{"curve": [curve[0], curve[1] | {"questions": 1}]}])[:16]
    '1 answer changed'
    """
    ends = [(run["curve"][0], run["curve"][-1]) for run in runs if len(run["curve"]) > 1]
    photos = [first["validation"].get("photos", 0) for first, _ in ends]
    if not ends or not all(photos):
        return ""
    before, after = (float(np.mean([pair[k]["validation"]["worst_head"] for pair in ends])) for k in (0, 1))
    # Every run is scored on the same photos, so that more seeds do not make the error smaller.
    error = 2 * float(np.sqrt(before * (1 - before) / photos[0]))
    number = round(float(np.mean([last["questions"] for _, last in ends])))
    start = f"{number} {'answer' if number == 1 else 'answers'} changed the worse head by {after - before:+.3f}"
    if abs(after - before) <= error:
        return f"{start}, less than two standard errors ({error:.3f}): no evidence that asking helped"
    verdict = "asking helped" if after > before else "the answers did harm"
    return f"{start}, more than two standard errors ({error:.3f}): {verdict}"
