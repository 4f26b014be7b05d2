"""Age estimation: errors in years, and whether an age check lets children pass."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from pydantic import Field, model_validator

from countenance.answers import Age
from countenance.answers.base import real
from countenance.data import Sample
from countenance.tasks import age_results as report
from countenance.tasks.groups import all_groups
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole, With
from countenance.tasks.task import Metric, Options, Row, Task, subject_row


class AgeOptions(Options):
    """The age check: at which estimated age a person passes, and below which age nobody should."""

    challenge_age: float = Field(25.0, gt=0, lt=120)
    """The estimated age from which a person passes without being asked for a document (Challenge-25)."""
    minimum_age: float = Field(18.0, gt=0, lt=120)
    """The age that the law requires."""
    sex: str = "gender"
    """The attribute that, with the age group, makes the cells of the macro-average."""

    @model_validator(mode="after")
    def _above(self) -> "AgeOptions":
        if self.challenge_age < self.minimum_age:
            raise ValueError(
                f"challenge_age is {self.challenge_age:g}, expected at least the minimum age of {self.minimum_age:g}"
            )
        return self


def to_age(raw: Any) -> Age:
    """An age from `Age`, a number of years, a list of probabilities for the years 0, 1, 2, …, or None.

    >>> to_age(31).years, to_age([0.5, 0.5]).years
    (31.0, 0.5)
    """
    if isinstance(raw, Age):
        return raw
    if raw is None:
        return Age(None)
    if isinstance(raw, Mapping):
        years = next((raw[name] for name in ("age", "years") if name in raw), None)
        if years is None:
            raise ValueError(f"a dict with {', '.join(map(str, raw))}, expected 'age'")
        return to_age(years)
    values = real(raw)
    return Age(values.item()) if values.size == 1 else Age.of(values)


def true_age(sample: Sample) -> float | None:
    """The age of the one person of an image, None if not known in years."""
    if len(sample.people) != 1:
        return None
    age = sample.people[0].attributes.get("age")
    return float(age) if isinstance(age, int | float) and np.isfinite(age) else None


def score(sample: Sample, answer: Age, options: AgeOptions) -> list[Row]:
    """One row for the person: the error in years, and whether the age check was right."""
    (subject,) = sample.people
    row, truth = subject_row(sample, subject), true_age(sample)
    row["m.estimated"] = float(answer.years is not None)
    if answer.years is None or truth is None:
        return [row | dict.fromkeys(("m.absolute_error", "m.error", "m.minor_passed", "m.adult_challenged"))]
    passed = float(answer.years >= options.challenge_age)
    minor = truth < options.minimum_age
    row["m.absolute_error"] = abs(answer.years - truth)
    row["m.error"] = answer.years - truth
    row["m.minor_passed"] = passed if minor else None
    row["m.adult_challenged"] = None if minor else 1 - passed
    return [row]


def partial(shard: Shard) -> State:
    """The number of images of a shard; the rows hold every error."""
    return {"images": np.array([len(shard.samples)])}


def finish(state: State, whole: Whole, options: AgeOptions) -> Reduced:
    """Errors over the whole run, by age and by group."""
    rows = whole.rows(["identity", "attr.age", f"attr.{options.sex}", "m.error"])
    if "m.error" not in rows.column_names:  # every image failed
        return Reduced(notes=["no age was estimated"])
    ages = report.Ages.of(rows, options.sex, options.minimum_age, options.challenge_age)
    notes = [f"a person passes from an estimated age of {options.challenge_age:g} years on"]
    if not len(ages.truth):
        return Reduced(notes=["no age was estimated"])
    if ages.left_out:
        n = ages.left_out
        counted = "1 picture has no estimated age and is" if n == 1 else f"{n} pictures have no estimated age and are"
        notes.append(f"{counted} in no error")
    if not ages.has_sex:
        notes.append(f"the dataset has no attribute {options.sex!r}: MAE is averaged over age groups alone")
    if not ages.minor.any():
        notes.append(f"nobody is under {options.minimum_age:g}: whether children pass cannot be told")
    results = [*report.overall(ages), *report.curves(ages)]
    for name, groups in all_groups(whole):
        results += report.by_group(ages, name, groups.taken(ages.rows))
    return Reduced(results, notes=notes)


def make(options: AgeOptions) -> Task:
    """The task with its options."""
    minimum, challenge = f"{options.minimum_age:g}", f"{options.challenge_age:g}"
    return Task(
        name="age_estimation",
        question="How old is the person?",
        answer=Age,
        metrics=(
            Metric(
                "absolute_error",
                "years between the estimated and the true age",
                "lower",
                headline=True,
                delta=2.0,
                answered="estimated",
            ),
            Metric(
                "minor_passed", f"whether a person under {minimum} is estimated at {challenge} or more", "lower", True
            ),
            Metric(
                "adult_challenged", f"whether a person of {minimum} or more is estimated under {challenge}", "lower"
            ),
            Metric("estimated", "whether the model gave an age", "higher"),
        ),
        coerce=to_age,
        score=With(score, options),
        asks=_asks,
        needs=("age",),
        reduce=Reduce(partial, With(finish, options)),
        options=options,
        make=make,
    )


def _asks(sample: Sample) -> bool:
    return true_age(sample) is not None


AGE_ESTIMATION = make(AgeOptions())
