"""Asking a person at the terminal, and the mean of several learning curves."""

from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.image import encode_png
from countenance.suites.happyfaces.ask import Oracle
from countenance.suites.happyfaces.dataset import HappyFaces
from countenance.text import printable

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
_YES, _NO, _STOP = ("y", "yes"), ("n", "no"), ("q", "quit", "")


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
        if said in _YES:
            return True
        if said in _NO:
            return False
        if said in _STOP:
            return None
        print("  please answer y, n or q")


def means(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Several runs of `ask` with the same settings as one curve.

    >>> point = {"questions": 0, "validation": {"worst_head": 0.8}, "not_drawn": None}
    >>> means([{"order": "random", "method": "m", "mix_rate": 0.1, "curve": [point]}])["mean"][0]["worst_head"]
    0.8
    """
    by_number: dict[int, list[dict[str, Any]]] = {}
    for run in runs:
        for point in run["curve"]:
            by_number.setdefault(point["questions"], []).append(point)
    mean = []
    for number in sorted(by_number):
        points = by_number[number]
        rest = [point["not_drawn"]["worst_head"] for point in points if point["not_drawn"]]
        mean.append(
            {
                "questions": number,
                "runs": len(points),
                "worst_head": float(np.mean([point["validation"]["worst_head"] for point in points])),
                "not_drawn": float(np.mean(rest)) if rest else None,
            }
        )
    first = runs[0]
    return {**{k: first[k] for k in ("order", "method", "mix_rate")}, "mean": mean, "curves": runs}
