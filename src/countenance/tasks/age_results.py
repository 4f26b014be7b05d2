"""The results of age estimation: mean absolute error, bias by age and group, and the age check."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.vocabulary import AGE_GROUPS, age_group, in_order
from countenance.metrics.intervals import IntervalEstimate, by_cluster, clustered_mean, clustered_rate, macro_mean
from countenance.metrics.pairs.groups import Groups
from countenance.tasks.groups import numbers, people_of
from countenance.tasks.results import Axis, Curve, Line, Matrix, Number, Result
from countenance.tasks.verification_results import few, number

DECADE = 10
YEARS = "pictures"
PASSED = "share of the pictures of people under {minimum:g} whose estimated age is {challenge:g} or more"
CHALLENGED = "share of the pictures of people of {minimum:g} or more whose estimated age is under {challenge:g}"

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Ages:
    """The pictures of a run that have an estimated age."""

    rows: NDArray[np.int64]
    truth: Array
    error: Array
    person: NDArray[np.int64]
    sex: NDArray[Any]
    has_sex: bool
    minimum: float
    challenge: float
    left_out: int

    @classmethod
    def of(cls, table: Any, sex: str, minimum: float, challenge: float) -> "Ages":
        """The ages of a score table; a picture without an identity counts as its own person."""
        error = numbers(table["m.error"])
        rows = np.flatnonzero(~np.isnan(error))
        truth = numbers(table["attr.age"])[rows]
        _, person = np.unique(people_of(table["identity"])[rows], return_inverse=True)
        column = f"attr.{sex}"
        has = column in table.column_names
        words = np.array([str(value or "") for value in table[column].to_pylist()] if has else [""] * len(error))[rows]
        return cls(rows, truth, error[rows], person, words, has, minimum, challenge, len(error) - len(rows))

    @property
    def minor(self) -> Flags:
        return self.truth < self.minimum

    @property
    def estimated(self) -> Array:
        return self.truth + self.error

    @property
    def group(self) -> NDArray[Any]:
        """The age group of each picture."""
        return np.array([age_group(years) for years in self.truth])

    def sums(self, values: Array, chosen: Flags) -> tuple[Array, Array]:
        """Sum and number of values of each person."""
        return by_cluster(values[chosen], self.person[chosen])

    def mean(self, values: Array, chosen: Flags) -> IntervalEstimate:
        """A mean over the pictures chosen, clustered by person."""
        return clustered_mean(*self.sums(values, chosen))

    def macro(self, chosen: Flags) -> IntervalEstimate:
        """Mean absolute error, every cell of sex and age group with the same weight."""
        _, cell = np.unique(np.char.add(np.char.add(self.sex, "\0"), self.group)[chosen], return_inverse=True)
        return macro_mean(np.abs(self.error[chosen]), cell, self.person[chosen])

    def passed(self, chosen: Flags, challenge: float | None = None) -> IntervalEstimate:
        """The share of the pictures chosen that pass the age check, clustered by person."""
        over = self._over(self.challenge if challenge is None else challenge)
        return clustered_rate(*self.sums(over.astype(np.float64), chosen))

    def refused(self, chosen: Flags) -> IntervalEstimate:
        """The share of the pictures chosen that does not pass."""
        return clustered_rate(*self.sums((~self._over(self.challenge)).astype(np.float64), chosen))

    def _over(self, challenge: float) -> Flags:
        """Whether each picture passes: a person estimated at exactly the challenge age does."""
        return np.asarray(self.estimated >= challenge)


def _mean(name: str, meaning: str, estimate: IntervalEstimate, better: Any = "", **about: Any) -> Number:
    note = few(estimate)
    return Number(
        name=name,
        meaning=meaning,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=estimate.n,
        unit=YEARS,
        note=note,
        better=better,
        **about,
    )


def overall(ages: Ages) -> list[Result]:
    """The numbers over everybody."""
    everybody = np.ones(len(ages.truth), bool)
    cells = "sex and age group" if ages.has_sex else "age group"
    results: list[Result] = [
        _mean("MAE", f"mean absolute error in years, averaged over cells of {cells}", ages.macro(everybody), "lower"),
        _mean("MAE over pictures", "mean absolute error in years", ages.mean(np.abs(ages.error), everybody), "lower"),
        _mean("bias", "mean of estimated less true age, in years", ages.mean(ages.error, everybody)),
    ]
    return [*results, *_check(ages, everybody, ""), _cells(ages)]


def _check(ages: Ages, chosen: Flags, prefix: str, **about: Any) -> list[Result]:
    """The two errors of the age check."""
    words = {"minimum": ages.minimum, "challenge": ages.challenge}
    name = f"{prefix}Challenge-{ages.challenge:g}"
    minors, adults = chosen & ages.minor, chosen & ~ages.minor
    results: list[Result] = []
    if minors.any():
        false_positive = ages.passed(minors)
        results.append(number(f"{name} false positive rate", PASSED.format(**words), false_positive, YEARS, **about))
    if adults.any():
        false_negative = ages.refused(adults)
        results.append(
            number(f"{name} false negative rate", CHALLENGED.format(**words), false_negative, YEARS, **about)
        )
    return results


def _cells(ages: Ages) -> Matrix:
    """MAE in each cell of the macro-average."""
    there = set(ages.group.tolist())
    sexes, groups = in_order("gender", set(ages.sex.tolist())), [g for g in AGE_GROUPS if g in there]
    cells = [[ages.mean(np.abs(ages.error), (ages.sex == s) & (ages.group == g)) for g in groups] for s in sexes]
    return Matrix(
        name="MAE by sex and age",
        meaning="mean absolute error in years",
        rows=[s or "everybody" for s in sexes],
        columns=groups,
        values=[[cell.value for cell in row] for row in cells],
        counts=[[cell.n for cell in row] for row in cells],
        low=[[cell.low for cell in row] for row in cells],
        high=[[cell.high for cell in row] for row in cells],
        column_label="age_group",
    )


def _line(label: str, points: Iterator[tuple[float, IntervalEstimate]]) -> Line:
    estimates = [(x, estimate) for x, estimate in points if estimate.n]
    return Line(
        label=label,
        x=[x for x, _ in estimates],
        y=[estimate.value for _, estimate in estimates],
        low=[estimate.low for _, estimate in estimates],
        high=[estimate.high for _, estimate in estimates],
    )


def _by_age(ages: Ages, chosen: Flags, label: str) -> Line:
    """The bias in each decade of true age."""
    decades = np.arange(0, float(ages.truth.max()) + DECADE, DECADE)
    inside = ((start, chosen & (ages.truth >= start) & (ages.truth < start + DECADE)) for start in decades)
    return _line(label, ((start + DECADE / 2, ages.mean(ages.error, part)) for start, part in inside))


def _by_threshold(ages: Ages, chosen: Flags, label: str) -> Line:
    """The false positive rate of age checks at every whole year from the minimum age on."""
    steps = np.arange(ages.minimum, max(ages.challenge, ages.minimum) + 16)
    return _line(label, ((float(year), ages.passed(chosen & ages.minor, float(year))) for year in steps))


def _curves(ages: Ages, parts: dict[str, Flags], attribute: str | None) -> list[Result]:
    results: list[Result] = [
        Curve(
            name="bias by age",
            meaning="mean of estimated less true age, by decade of true age",
            attribute=attribute,
            x=Axis(label="true age"),
            y=Axis(label="bias in years"),
            lines=[_by_age(ages, part, name) for name, part in parts.items()],
        )
    ]
    if ages.minor.any():
        lines = [_by_threshold(ages, part, name) for name, part in parts.items() if (part & ages.minor).any()]
        results.append(
            Curve(
                name="false positive rate by challenge age",
                attribute=attribute,
                lines=lines,
                marks=[ages.challenge],
                meaning=f"share of pictures of people under {ages.minimum:g} who pass, at every challenge age",
                x=Axis(label="challenge age"),
                y=Axis(label="false positive rate"),
            )
        )
    return results


def curves(ages: Ages) -> list[Result]:
    """Bias by age, and the age check at every challenge age."""
    return _curves(ages, {"": np.ones(len(ages.truth), bool)}, None)


def by_group(ages: Ages, attribute: str, groups: Groups) -> list[Result]:
    """Each group's errors and age check, and bias by age for each group."""
    results: list[Result] = []
    member = groups.pictures
    parts = {name: member[:, g] for g, name in enumerate(groups.names) if member[:, g].any()}
    for name, part in parts.items():
        about = {"attribute": attribute, "group": name}
        macro = "mean absolute error in years, averaged over the group's cells of sex and age group"
        results += [
            _mean("group MAE", macro, ages.macro(part), "lower", **about),
            _mean("group bias", "mean of estimated less true age, in years", ages.mean(ages.error, part), **about),
            *_check(ages, part, "group ", **about),
        ]
    return results + _curves(ages, parts, attribute)
