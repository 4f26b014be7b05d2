"""Tables with predictions: from the truth, the prediction and a score of each row to the columns that are audited.

Rates are columns of 0 and 1 with a denominator (a true positive rate counts the rows whose truth is positive), so that
each has the audit's intervals and verdicts. Numbers that are not means over rows (the AUC, the ratio of selection
rates) are computed for each group with their errors and compared as ratios.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from countenance.auditing.computed_groups import ComputedGroups
from countenance.auditing.estimates import wilson
from countenance.errors import InputError
from countenance.words import in_doubt, is_missing, is_number, number_of, without_thousands, yes_or_no

Array = NDArray[np.float64]
CLASSES, NUMBERS = "classes", "numbers"
MOST_CLASSES = 10
"""Whole numbers are classes if there are at most this many different ones and predictions have no others."""
THRESHOLD = 0.5
FOUR_FIFTHS = 1.25
"""A ratio of selection rates of more than this (or less than .8) matters: the four-fifths rule."""
AUC_RATIO = 1.05
RATES = {"selection_ratio": "selection_rate", "impact_ratio": "scoring_rate"}
"""The metrics of rows whose numbers are compared as ratios."""
SMALLEST_CATEGORY = 0.02
"""Local Law 144: categories with less than this share of the people may be left out of the impact ratio."""


@dataclass
class PredictionColumns:
    """The result of reading predictions: the columns and settings of an audit."""

    columns: dict[str, Array]
    denominators: dict[str, str] = field(default_factory=dict)
    better: dict[str, str | None] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    truth: Array | None = None
    chosen: Array | None = None
    """1 for rows that were predicted positive (or score above the median), NaN where nothing is known."""
    score: Array | None = None

    def add(self, name: str, values: Array, among: str, better: str | None) -> None:
        """Add a metric whose rows are those in which the column `among` is 1."""
        self.columns[name], self.denominators[name], self.better[name] = values, among, better
        self.metrics.append(name)


def prediction_columns(
    truth: Sequence[Any] | None,
    pred: Sequence[Any] | None,
    score: Sequence[Any] | None = None,
    *,
    positive: str | None = None,
    threshold: float = THRESHOLD,
) -> PredictionColumns:
    """The metrics of a table's predictions; which ones depends on what truth and prediction are.

    >>> rates = prediction_columns(["yes", "no", "yes"], ["yes", "yes", "no"])
    >>> rates.metrics[:2], rates.columns["true_positive_rate"].tolist()
    (['accuracy', 'true_positive_rate'], [1.0, nan, 0.0])
    >>> prediction_columns([30, 41.5, 20], [33, 40, 20]).metrics
    ['error', 'absolute_error', 'bias']
    >>> prediction_columns(None, None, [3.0, 1.0, 2.0]).metrics
    ['scoring_rate']
    """
    values = None if score is None else _numbers(score, "score")
    if truth is None and pred is None:
        if values is None:
            raise InputError("truth and pred, or score, must name columns of the table")
        return _scoring(values)
    if pred is None and values is not None:
        _check_probabilities(values, threshold, "score")
        pred = [None if math.isnan(value) else float(value >= threshold) for value in values.tolist()]
    if pred is None:
        raise InputError("the truth alone is not enough; name the column of predictions: pred=")
    if truth is None:
        return _selection(_binary(_texts(pred), "pred", positive), values)
    kind = _kind(truth, pred, positive)
    if kind == NUMBERS:
        both = [*_texts(truth), *_texts(pred)]
        return _regression(_numbers(truth, "truth", both), _numbers(pred, "pred", both))
    return _classification(truth, pred, values, positive, threshold)


def _texts(values: Sequence[Any]) -> list[str]:
    """Cells as text: whole numbers without decimals, nothing for what is missing."""
    texts = []
    for value in values:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            texts.append("")
        elif isinstance(value, bool | np.bool_):
            texts.append("yes" if value else "no")
        elif isinstance(value, float | np.floating) and float(value).is_integer():
            texts.append(str(int(value)))
        else:
            texts.append(str(value).strip())
    return ["" if is_missing(text) else text for text in texts]


def _numbers(values: Sequence[Any], name: str, others: Iterable[str] = ()) -> Array:
    """Cells as numbers (85 % is .85, yes is 1); whatever is not a number is refused with its count.

    `others` are cells that show what a comma is in this table.
    """
    texts, doubtful = without_thousands(_texts(values), others)
    if doubtful is not None:
        raise InputError(f"{name}: {in_doubt(doubtful)}")
    words = yes_or_no([text for text in texts if text])
    codes = {"yes": 1.0, "no": 0.0}
    numbers, wrong = np.full(len(texts), np.nan), []
    for i, text in enumerate(texts):
        if not text:
            continue
        if words and text in words:
            numbers[i] = codes[words[text]]
        elif is_number(text):
            numbers[i] = number_of(text)
        else:
            wrong.append((i, text))
    if wrong:
        cells = "1 cell is not a number" if len(wrong) == 1 else f"{len(wrong):,} cells are not numbers"
        raise InputError(f"{name}: {cells} (row {wrong[0][0] + 1}: {wrong[0][1]!r:.60})")
    return numbers


def _kind(truth: Sequence[Any], pred: Sequence[Any], positive: str | None) -> str:
    """Whether truth and prediction are classes or numbers."""
    true, answers = ([text for text in _texts(column) if text] for column in (truth, pred))
    if positive is not None or not all(map(is_number, (*true, *answers))):
        return CLASSES
    classes = {number_of(text) for text in true}
    if classes <= {0.0, 1.0}:
        return CLASSES
    whole = all(value == int(value) for value in classes)
    predicted = {number_of(text) for text in answers}
    return CLASSES if whole and len(classes) <= MOST_CLASSES and predicted <= classes else NUMBERS


def _binary(texts: Sequence[str], name: str, positive: str | None) -> Array | None:
    """1 for the positive class, 0 for the other, NaN for nothing; None where there are more than two classes."""
    known = dict.fromkeys(text for text in texts if text)
    if positive is not None:
        return np.array([np.nan if not text else float(text == positive) for text in texts])
    words = yes_or_no(list(known))
    if words:
        return np.array([np.nan if not text else float(words[text] == "yes") for text in texts])
    if known and all(map(is_number, known)) and {number_of(text) for text in known} <= {0.0, 1.0}:
        return np.array([np.nan if not text else number_of(text) for text in texts])
    if len(known) > 2:
        return None
    if not known:
        raise InputError(f"{name}: no row has a value")
    listed = " or ".join(known)
    raise InputError(
        f'{name} holds {listed}: say which of them is the positive class: positive="{next(iter(known), "")}"'
    )


def _classification(
    truth: Sequence[Any], pred: Sequence[Any], score: Array | None, positive: str | None, threshold: float
) -> PredictionColumns:
    true_words = _texts(truth)
    classes = {text for text in true_words if text}
    pred_words = _in_words_of(_texts(pred), classes)
    if positive is not None:
        (positive,) = _in_words_of([positive], classes)
    if positive is not None and positive not in classes:
        raise InputError(f"positive {positive!r} is not a class of the truth; it has {', '.join(sorted(classes)[:10])}")
    true = _binary(true_words, "truth", positive)
    _check_shared_words(pred_words, classes, positive)
    result = PredictionColumns({}, score=score)
    if true is None:
        if _are_rates(pred_words) and any(map(_is_rate, classes)) and not all(map(_is_coded, classes)):
            raise InputError(_strange(true_words, [word for word in classes if _is_rate(word)], "truth"))
        _add_accuracy(result, true_words, pred_words)
        result.notes.append(
            f"the truth has {len(classes)} classes: accuracy alone; naming a positive class gives its rates"
        )
        return result
    real = [text for text in pred_words if text]
    if classes.isdisjoint(real):  # answers are yes/no, 0/1 or scores
        positive = None
    if positive is None and all(map(is_number, real)) and not {number_of(text) for text in real} <= {0.0, 1.0}:
        values = _numbers(pred, "pred")
        _check_probabilities(values, threshold, "pred")
        result.score = values if score is None else score
        result.notes.append(f"the predictions are scores: {threshold:g} and above is positive")
        predicted = np.where(np.isnan(values), np.nan, (values >= threshold).astype(float))
    else:
        binary = _binary(pred_words, "pred", positive)
        if binary is None:
            raise InputError(_strange(pred_words, classes))
        predicted = binary
    _add_rates(result, true, predicted)
    if result.score is not None:
        _add_scores(result, true, result.score)
    return result


def _in_words_of(texts: Sequence[str], classes: Collection[str]) -> list[str]:
    """Texts in the spelling of the classes from which they differ in capitals and spaces alone.

    >>> _in_words_of(["Hired", "rejected ", "CAT"], {"hired", "rejected", "cat", "Cat"})
    ['hired', 'rejected', 'CAT']
    """
    plain = Counter(" ".join(word.casefold().split()) for word in classes)
    spelled = {folded: word for word in classes if plain[folded := " ".join(word.casefold().split())] == 1}
    return [text if text in classes else spelled.get(" ".join(text.casefold().split()), text) for text in texts]


def _check_shared_words(predicted: Sequence[str], classes: Collection[str], positive: str | None) -> None:
    """Refuse predictions that use other words than the truth, unless they are scores, yes and no, or 1 and 0.

    >>> _check_shared_words(["approve", "reject"], {"paid", "default"}, "paid")
    Traceback (most recent call last):
    countenance.errors.InputError: pred holds approve, reject, and truth holds default, paid: no word is in both; ...
    """
    words = sorted({text for text in predicted if text})
    if not words or not classes or not set(words).isdisjoint(classes):
        return
    inverted = positive is not None and (yes_or_no([positive]).get(positive) == "no" or positive == "0")
    if inverted or not any(map(_is_coded, words)):
        raise InputError(
            f"pred holds {', '.join(words[:MOST_CLASSES])}, and truth holds {', '.join(sorted(classes)[:MOST_CLASSES])}"
            ": no word is in both; write the same words in both columns, or 1 and 0"
        )


def _is_rate(text: str) -> bool:
    return bool(yes_or_no([text])) or (is_number(text) and number_of(text) in (0.0, 1.0))


def _is_coded(text: str) -> bool:
    return _is_rate(text) or is_number(text)


def _are_rates(texts: Sequence[str]) -> bool:
    """Whether all known values are yes and no, or 0 and 1."""
    known = {text for text in texts if text}
    return bool(known) and all(map(_is_rate, known))


def _check_probabilities(values: Array, threshold: float, name: str) -> None:
    """Refuse scores that a threshold of probabilities cannot divide: 0 to 100 without a sign, logits, distances."""
    known = values[~np.isnan(values)]
    if len(known) and (known.min() < 0 or known.max() > 1):
        raise InputError(
            f"{name} holds numbers from {known.min():g} to {known.max():g}, which are not probabilities, so "
            f"{threshold:g} does not say which are positive; name a column of decisions (pred=), or write scores "
            "from 0 to 1 (85 % is .85)"
        )


def _strange(texts: Sequence[str], classes: Collection[str], name: str = "pred") -> str:
    """The message on a column of more than two classes where the other column has two."""
    usual = {text: None for text in dict.fromkeys(texts) if text and (text in classes or yes_or_no([text]))}
    other = [(i, text) for i, text in enumerate(texts) if text and text not in usual]
    if not usual:
        return f'{name} has more than two classes, and the truth has two; say positive="CLASS"'
    row, text = other[0]
    cells = "1 cell is" if len(other) == 1 else f"{len(other):,} cells are"
    words = ", ".join(usual)
    return (
        f"{name}: {cells} none of the words of the others, {words} (row {row + 1}: {text!r:.60}); correct them or "
        "leave them empty"
    )


def _add_accuracy(result: PredictionColumns, true: Sequence[str], predicted: Sequence[str]) -> None:
    known = np.array([bool(text) for text in true], dtype=float)
    pairs = zip(true, predicted, strict=True)
    right = np.array([np.nan if not (a and b) else float(a == b) for a, b in pairs])
    result.columns["truth_known"] = known
    result.add("accuracy", right, "truth_known", "higher")


def _add_rates(result: PredictionColumns, true: Array, predicted: Array) -> None:
    """The rates of a binary classifier."""
    result.truth, result.chosen = true, predicted
    known = ~np.isnan(true)
    result.columns |= {
        "truth_known": known.astype(float),
        "truth_positive": (true == 1).astype(float),
        "truth_negative": (true == 0).astype(float),
        "predicted": (~np.isnan(predicted)).astype(float),
        "predicted_positive": ((predicted == 1) & known).astype(float),
    }
    right = np.where(known & ~np.isnan(predicted), (true == predicted).astype(float), np.nan)
    result.add("accuracy", right, "truth_known", "higher")
    result.add("true_positive_rate", np.where(true == 1, predicted, np.nan), "truth_positive", "higher")
    result.add("false_positive_rate", np.where(true == 0, predicted, np.nan), "truth_negative", "lower")
    result.add("false_negative_rate", np.where(true == 1, 1 - predicted, np.nan), "truth_positive", "lower")
    result.add("precision", np.where((predicted == 1) & known, true, np.nan), "predicted_positive", "higher")
    result.add("selection_rate", predicted, "predicted", None)


def _add_scores(result: PredictionColumns, true: Array, score: Array) -> None:
    """How well probabilities are calibrated: their excess over the truth, and the Brier score."""
    known = score[~np.isnan(score)]
    if len(known) and (known.min() < 0 or known.max() > 1):
        result.notes.append("the scores are not between 0 and 1: calibration is left out")
        return
    both = ~np.isnan(true) & ~np.isnan(score)
    result.add("calibration_gap", np.where(both, score - true, np.nan), "truth_known", None)
    result.add("brier_score", np.where(both, (score - true) ** 2, np.nan), "truth_known", "lower")


def _selection(predicted: Array | None, score: Array | None) -> PredictionColumns:
    """Predictions without a truth: who is selected."""
    if predicted is None:
        raise InputError('pred has more than two classes; say which one is the positive: positive="CLASS"')
    result = PredictionColumns({"predicted": (~np.isnan(predicted)).astype(float)}, chosen=predicted, score=score)
    result.add("selection_rate", predicted, "predicted", None)
    return result


def _scoring(score: Array) -> PredictionColumns:
    """Scores alone: the scoring rate of Local Law 144, the share above the median."""
    known = ~np.isnan(score)
    if not known.any():
        raise InputError("score holds no number")
    above = np.where(known, (score > np.median(score[known])).astype(float), np.nan)
    result = PredictionColumns({"scored": known.astype(float)}, chosen=above)
    result.add("scoring_rate", above, "scored", None)
    result.notes.append(f"the median score is {np.median(score[known]):g}; the scoring rate is the share above it")
    return result


def _regression(true: Array, predicted: Array) -> PredictionColumns:
    """Real-valued predictions: squared error, absolute error and bias (the mean of prediction less truth)."""
    result = PredictionColumns({"truth_known": (~np.isnan(true)).astype(float)})
    difference = predicted - true
    result.add("error", difference**2, "truth_known", "lower")
    result.add("absolute_error", np.abs(difference), "truth_known", "lower")
    result.add("bias", difference, "truth_known", None)
    result.notes.append("error is the squared error, bias the mean of prediction less truth")
    return result


def computed_groups(
    result: PredictionColumns, attributes: Mapping[str, Sequence[Any]], people: Sequence[Any] | None
) -> list[ComputedGroups]:
    """The ratio of selection rates and the AUC of every attribute's groups, with errors that count people."""
    codes = np.arange(len(next(iter(result.columns.values())))) if people is None else _codes(people)
    numbers: list[ComputedGroups] = []
    for name, values in attributes.items():
        texts = np.array(_texts(values), dtype=object)
        groups = sorted({text for text in texts if text})
        if result.chosen is not None:
            ratio_name = "impact_ratio" if "scoring_rate" in result.metrics else "selection_ratio"
            rates = [_rate(result.chosen[texts == group], codes[texts == group]) for group in groups]
            numbers += _computed(ratio_name, name, groups, rates, "higher", FOUR_FIFTHS)
        if result.truth is not None and result.score is not None:
            aucs = [_auc(result.truth[texts == g], result.score[texts == g], codes[texts == g]) for g in groups]
            numbers += _computed("auc", name, groups, aucs, "higher", AUC_RATIO)
    return numbers


class RatedGroup(NamedTuple):
    """A group's value: standard error, rows and people, and the people who could change a value of 1."""

    value: float
    error: float
    n: int
    people: int
    trials: int

    @classmethod
    def of(cls, value: float, error: float, n: int, people: int, trials: int) -> RatedGroup:
        """A value with its error; where nothing varies, that of one further person at the far end."""
        further = max(value, 1 - value) / (trials + 1) if trials else math.nan
        return cls(value, error if error > 0 else further, n, people, trials)

    @property
    def limits(self) -> tuple[float, float]:
        """Wilson's limits on the size that the error implies; each person is one trial where nothing varies."""
        varied = self.value * (1 - self.value)
        size = varied / self.error**2 * self.people / max(self.people - 1, 1) if varied and self.error else self.trials
        return wilson(self.value * size, size)


def _computed(
    metric: str,
    attribute: str,
    groups: Sequence[str],
    numbers: Sequence[RatedGroup],
    better: str | None,
    largest: float,
) -> list[ComputedGroups]:
    """The groups with a number as a metric of an attribute; none where fewer than two have one."""
    total = sum(number.n for number in numbers)
    usable = [
        (group, number)
        for group, number in zip(groups, numbers, strict=True)
        if not math.isnan(number.value) and (metric != "impact_ratio" or number.n >= SMALLEST_CATEGORY * total)
    ]
    if len(usable) < 2:
        return []
    limits = [number.limits for _, number in usable]
    return [
        ComputedGroups(
            metric,
            attribute,
            tuple(group for group, _ in usable),
            tuple(number.value for _, number in usable),
            tuple(number.error / number.value if number.value else math.nan for _, number in usable),
            tuple(low for low, _ in limits),
            tuple(high for _, high in limits),
            tuple(number.n for _, number in usable),
            tuple(number.people for _, number in usable),
            tuple(float(number.n) for _, number in usable),
            better,
            largest,
            "rows",
            RATES.get(metric, ""),
        )
    ]


def _codes(values: Sequence[Any]) -> NDArray[np.int64]:
    """A number for each person; a row without a name counts as a separate person."""
    texts = [text or f"\0{i}" for i, text in enumerate(_texts(values))]
    return np.unique(texts, return_inverse=True)[1].astype(np.int64)


def _clustered(parts: Array, codes: NDArray[np.int64], scale: float) -> tuple[float, int]:
    """The standard error of a sum of independent people's parts, and their number."""
    _, who = np.unique(codes, return_inverse=True)
    sums = np.bincount(who, parts)
    people = len(sums)
    if people < 2:
        return math.nan, people
    return float(np.sqrt(people / (people - 1) * (sums**2).sum())) * scale, people


def _rate(chosen: Array, codes: NDArray[np.int64]) -> RatedGroup:
    """The share of ones with a standard error over people."""
    known = ~np.isnan(chosen)
    n = int(known.sum())
    if not n:
        return RatedGroup.of(math.nan, math.nan, 0, 0, 0)
    rate = float(chosen[known].mean())
    error, people = _clustered(chosen[known] - rate, codes[known], 1 / n)
    return RatedGroup.of(rate, error, n, people, people)


def _auc(true: Array, score: Array, codes: NDArray[np.int64]) -> RatedGroup:
    """The area under the ROC curve with DeLong's standard error over people; NaN where a class is missing."""
    known = ~np.isnan(true) & ~np.isnan(score)
    labels, values, who = true[known] == 1, score[known], codes[known]
    ones, zeros = np.sort(values[labels]), np.sort(values[~labels])
    if not (len(ones) and len(zeros)):
        return RatedGroup.of(math.nan, math.nan, int(known.sum()), 0, 0)
    below = (np.searchsorted(zeros, values, "left") + np.searchsorted(zeros, values, "right")) / 2 / len(zeros)
    above = 1 - (np.searchsorted(ones, values, "left") + np.searchsorted(ones, values, "right")) / 2 / len(ones)
    area = float(below[labels].mean())
    parts = np.where(labels, (below - area) / len(ones), (above - area) / len(zeros))
    error, people = _clustered(parts, who, 1.0)
    scarcer = min(len(np.unique(who[labels])), len(np.unique(who[~labels])))
    return RatedGroup.of(area, error, int(known.sum()), people, scarcer)
