"""The better direction of a metric: as named, else from an unmistakable word in its name, else unknown."""

from __future__ import annotations

import re

HIGHER, LOWER = "higher", "lower"
LOWER_WORDS = (
    "error",
    "wer",
    "cer",
    "mae",
    "rmse",
    "loss",
    "miss",
    "missed",
    "false",
    "fpr",
    "fnr",
    "fmr",
    "fnmr",
    "latency",
    "seconds",
    "distance",
    "refused",
)
HIGHER_WORDS = ("accuracy", "correct", "found", "recall", "precision", "f1", "auc", "iou", "hit")
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")


def words_of(name: str) -> list[str]:
    """The words of a name, split at `_`, `-`, spaces, other signs and capital letters, in lower case.

    >>> words_of("falsePositive_rate"), words_of("mean IoU"), words_of("F1-score")
    (['false', 'positive', 'rate'], ['mean', 'iou'], ['f1', 'score'])
    """
    return [word.lower() for word in _WORD.findall(name.replace("IoU", "Iou"))]


def inferred(name: str) -> str | None:
    """The direction in a metric's name; None if it has none, or both.

    >>> inferred("wer"), inferred("abs_error"), inferred("recall@0.5"), inferred("ok"), inferred("error_found")
    ('lower', 'lower', 'higher', None, None)
    """
    words = set(words_of(name))
    lower, higher = bool(words & set(LOWER_WORDS)), bool(words & set(HIGHER_WORDS))
    return None if lower == higher else LOWER if lower else HIGHER
