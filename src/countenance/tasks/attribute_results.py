"""The results of attributes: the confusion of words, error rates of each word, and the calibration of probabilities."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.vocabulary import in_order
from countenance.metrics.calibration import calibration, reliability
from countenance.metrics.intervals import by_cluster, clustered_mean, clustered_rate, correlation
from countenance.metrics.pairs.groups import Groups
from countenance.tasks.results import Axis, Curve, Line, Matrix, Number, Result, Table
from countenance.tasks.verification_results import number

MOST_WORDS = 12
UNIT = "pictures"

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Answered:
    """The pictures with both a known value and an answer for one attribute."""

    name: str
    rows: NDArray[np.int64]
    truth: NDArray[Any]
    answer: NDArray[Any]
    stated: NDArray[np.float64]
    """The probability that the model gave to its answer; NaN if it gave none."""
    person: NDArray[np.int64]
    seed: int = 0

    @property
    def words(self) -> list[str]:
        """The words of the truth, in order."""
        return in_order(self.name, set(self.truth.tolist()))

    @property
    def judged(self) -> list[str]:
        """The words with error rates: one of two, or each of several."""
        words = self.words
        if len(words) < 2 or len(words) > MOST_WORDS:
            return []
        return words[1:] if len(words) == 2 else words

    def sums(self, errors: Flags, chosen: Flags) -> tuple[Any, Any]:
        """Errors and pictures of each person."""
        return by_cluster(errors[chosen].astype(np.float64), self.person[chosen])

    def rates(self, word: str) -> Iterator[tuple[str, str, Flags, Flags]]:
        """Name, meaning, errors and denominator of the two error rates of a word."""
        is_word, called = self.truth == word, self.answer == word
        yield "FPR", f"share of pictures whose {self.name} is not {word} that were called {word}", called, ~is_word
        yield "FNR", f"share of pictures whose {self.name} is {word} that were called something else", ~called, is_word


def results_of(answered: Answered, groups: dict[str, Groups]) -> list[Result]:
    """Everything about one attribute."""
    results: list[Result] = [_confusion(answered), *_rates(answered)]
    everybody = np.ones(len(answered.rows), bool)
    results += _calibration(answered, {"": everybody}, None)
    for attribute, members in groups.items():
        if attribute == answered.name:
            continue
        here = members.taken(answered.rows).pictures
        parts = {name: here[:, g] for g, name in enumerate(members.names) if here[:, g].any()}
        results += [_confusion_by_group(answered, attribute, parts), *_group_rates(answered, attribute, parts)]
        results += _calibration(answered, parts, attribute)
    return results


def _counts(answered: Answered, chosen: Flags, columns: list[str]) -> NDArray[np.int64]:
    rows = answered.words
    table = np.zeros((len(rows), len(columns)), np.int64)
    at = [rows.index(word) for word in answered.truth[chosen]]
    np.add.at(table, (at, [columns.index(word) for word in answered.answer[chosen]]), 1)
    return table


def _columns(answered: Answered) -> list[str]:
    """The words of the truth, then other words that were answered."""
    words = answered.words
    return [*words, *sorted(set(answered.answer.tolist()) - set(words))]


def _confusion(answered: Answered) -> Matrix:
    columns = _columns(answered)
    counts = _counts(answered, np.ones(len(answered.rows), bool), columns)
    return Matrix(
        name=f"confusion of {answered.name}",
        meaning="share of each true word's pictures that were called each word",
        rows=answered.words,
        columns=columns,
        values=(counts / counts.sum(axis=1, keepdims=True)).tolist(),
        counts=counts.tolist(),
        row_label="true",
        column_label="answered",
    )


def _confusion_by_group(answered: Answered, attribute: str, parts: dict[str, Flags]) -> Table:
    columns, rows = _columns(answered), []
    for group, part in parts.items():
        counts = _counts(answered, part, columns)
        for word, line in zip(answered.words, counts, strict=True):
            total = int(line.sum())
            rows += [
                [group, word, column, int(n), n / total] for column, n in zip(columns, line, strict=True) if total and n
            ]
    return Table(
        name=f"confusion of {answered.name} by {attribute}",
        rows=rows,
        meaning="for each group and true word, how often each word was answered",
        columns=[attribute, f"true {answered.name}", f"answered {answered.name}", "pictures", "share"],
    )


def _rates(answered: Answered) -> list[Result]:
    return [
        number(f"{kind} {answered.name}={word}", meaning, clustered_rate(*answered.sums(errors, chosen)), UNIT)
        for word in answered.judged
        for kind, meaning, errors, chosen in answered.rates(word)
    ]


def _group_rates(answered: Answered, attribute: str, parts: dict[str, Flags]) -> list[Result]:
    """Error rates by group for an attribute of two words; for several words the confusion by group has them."""
    if len(answered.words) != 2:
        return []
    results: list[Result] = []
    for word in answered.judged:
        for kind, meaning, errors, chosen in answered.rates(word):
            tables = {name: answered.sums(errors, chosen & part) for name, part in parts.items()}
            icc = correlation(list(tables.values()))
            results += [
                number(
                    f"group {kind} {answered.name}={word}",
                    meaning,
                    clustered_rate(*table, icc=icc),
                    UNIT,
                    attribute=attribute,
                    group=name,
                )
                for name, table in tables.items()
            ]
    return results


def _calibration(answered: Answered, parts: dict[str, Flags], attribute: str | None) -> list[Result]:
    """Reliability curves, the calibration error, and the mean excess of stated probabilities."""
    has = np.isfinite(answered.stated)
    right = (answered.truth == answered.answer).astype(np.float64)
    lines, results = [], list[Result]()
    for group, part in parts.items():
        chosen = part & has
        if not chosen.any():
            continue
        stated, hits, person = answered.stated[chosen], right[chosen], answered.person[chosen]
        bins = reliability(stated, hits, person)
        lines.append(
            Line(
                label=group,
                x=[bin_.stated for bin_ in bins],
                y=[bin_.right.value for bin_ in bins],
                low=[bin_.right.low for bin_ in bins],
                high=[bin_.right.high for bin_ in bins],
            )
        )
        about = {} if attribute is None else {"attribute": attribute, "group": group}
        prefix = "" if attribute is None else "group "
        calibrated = calibration(stated, hits, person, seed=answered.seed)
        results.append(
            Number(
                name=f"{prefix}calibration error of {answered.name}",
                value=calibrated.error.value,
                low=calibrated.error.low,
                high=calibrated.error.high,
                n=calibrated.error.n,
                unit=UNIT,
                better="lower",
                meaning="mean distance between the stated probability and how often the answer was right, in ten bins",
                note=f"perfectly calibrated probabilities would show {calibrated.by_chance:.3f} by chance",
                **about,
            )
        )
        over = clustered_mean(*by_cluster(stated - hits, person))
        results.append(
            Number(
                name=f"{prefix}overconfidence in {answered.name}",
                value=over.value,
                low=over.low,
                high=over.high,
                n=over.n,
                unit=UNIT,
                meaning="mean stated probability less the share of right answers",
                **about,
            )
        )
    if lines:
        curve = Curve(
            name=f"calibration of {answered.name}",
            attribute=attribute,
            lines=lines,
            x=Axis(label="stated probability"),
            y=Axis(label="share right"),
            meaning="how often answers were right, by the probability that was stated",
        )
        results.append(curve)
    return results
