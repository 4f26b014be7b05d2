"""Attributes of a portrait, compared with those known of the person.

Names and words are matched without regard to case. An attribute that nobody in the dataset has is refused; a word that
the dataset never uses counts as wrong, and the run lists such words.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from countenance.answers import Labels
from countenance.data import Sample
from countenance.data.tables import near
from countenance.data.vocabulary import NUMERIC, VOCABULARIES
from countenance.person_columns import attribute_of
from countenance.tasks.attribute_results import Answered, results_of
from countenance.tasks.groups import all_groups, people_of, rows_of
from countenance.tasks.reduce import Reduce, Reduced, Shard, State, Whole
from countenance.tasks.results import Result
from countenance.tasks.task import Context, Metric, Row, Task, subject_row
from countenance.words import plain_float

MOST_LISTED = 12
MOST_NOTES = 8


def to_labels(raw: Any) -> Labels:
    """Labels from `Labels` or a dict of attribute names with words.

    >>> to_labels({"gender": "female"}).values
    {'gender': 'female'}
    """
    if isinstance(raw, Labels):
        return raw
    if not isinstance(raw, Mapping):
        raise ValueError(f"{type(raw).__name__}, expected a dict such as {{'gender': 'female'}}")
    for name, value in raw.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} is {value!r}, expected a word")
    return Labels({str(name): value for name, value in raw.items()})


def plain(word: Any) -> str:
    """A word without regard to case and surrounding space; a whole number as it is written.

    >>> plain(" Male "), plain(31.0), plain("31")
    ('male', '31', '31')
    """
    text = str(word).strip().casefold()
    try:
        return f"{plain_float(text):g}"
    except ValueError:
        return text


def named(names: Iterable[str], attributes: Iterable[str]) -> dict[str, str]:
    """The attribute of each answered name, without regard to case; unknown names are left out.

    >>> named(["Gender", "smile", "age"], ["gender", "age_group"])
    {'Gender': 'gender', 'age': 'age_group'}
    """
    exact = set(attributes)
    folded = {name.casefold(): name for name in sorted(exact)}
    means = {name: name if name in exact else attribute_of(name.casefold(), folded) for name in names}
    return {name: folded.get(own, own) for name, own in means.items() if own is not None}


def refuse(answer: Labels, sample: Sample, context: Context) -> str | None:
    """The phrase on an answer with an attribute that nobody in the dataset has, or with one twice; else None."""
    if context.attributes is None:
        return None
    known = sorted(context.attributes)
    means = named(answer.values, known)
    for name in answer.values:
        if name not in means:
            more = ", …" if len(known) > MOST_LISTED else ""
            return (
                f"the answer names {name!r}{near(name.casefold(), known)}, which is not an attribute of the people in "
                f"this dataset ({', '.join(known[:MOST_LISTED])}{more}); name it as the dataset does, or leave it out"
            )
    twice = [name for name, n in Counter(means.values()).items() if n > 1]
    return f"the answer names {twice[0]!r} twice, in different case" if twice else None


def score(sample: Sample, answer: Labels) -> list[Row]:
    """One row for the person, with a 0/1 metric for each attribute that is both known and answered."""
    (subject,) = sample.people
    row = subject_row(sample, subject)
    answered = {own: answer.values[name] for name, own in named(answer.values, subject.attributes).items()}
    right = []
    for name in sorted(answered):
        truth = subject.attributes[name]
        if truth is None:
            continue
        allowed = truth if isinstance(truth, tuple) else (truth,)
        right.append(float(plain(answered[name]) in {plain(word) for word in allowed}))
        row[f"m.correct.{name}"] = right[-1]
    row["m.correct"] = sum(right) / len(right) if right else None
    return [row]


def notes(samples: Sequence[Sample], answers: Mapping[str, Labels], context: Context) -> list[str]:
    """A sentence for each answered word that can never be right, because the dataset does not use it."""
    words: dict[str, dict[str, str]] = {}
    for sample in samples:
        for subject in sample.people:
            for name, truth in subject.attributes.items():
                for word in truth if isinstance(truth, tuple) else () if truth is None else (truth,):
                    words.setdefault(name, {})[plain(word)] = plain(word) if isinstance(word, float) else str(word)
    numbers = {name for name in NUMERIC if name in words}
    strange: Counter[tuple[str, str]] = Counter()
    compared: set[str] = set()
    for sample in samples:
        values = answers[sample.id].values if sample.id in answers else {}
        for name, own in named(values, words).items():
            known = {*words[own], *(plain(word) for word in VOCABULARIES.get(own, ()))}
            if own in numbers:
                compared.add(own)
            elif plain(values[name]) not in known:
                strange[own, values[name]] += 1
    lines = [f"{name} is a number and counts as right only when it is equal; answer a group of it" for name in compared]
    for (name, word), n in strange.most_common(MOST_NOTES):
        used = sorted(words[name].values())
        more = ", …" if len(used) > MOST_LISTED else ""
        times = "once" if n == 1 else f"{n} times"
        lines.append(
            f"{name}: {word!r} was answered {times} and counted as wrong, and the dataset never uses this word"
            f"{near(word, used) or near(plain(word), list(words[name]))}; it has {', '.join(used[:MOST_LISTED])}{more}"
        )
    if len(strange) > MOST_NOTES:
        lines.append(f"and {len(strange) - MOST_NOTES} more words that the dataset never uses")
    return lines


def partial(shard: Shard) -> State:
    """Truth, answer and stated probability of every attribute that is a single known word and was answered."""
    answered: list[tuple[str, str, str, str, float]] = []
    for sample, answer in shard.answered():
        attributes = sample.people[0].attributes
        for name, own in named(answer.values, attributes).items():
            truth = attributes[own]
            truth = truth[0] if isinstance(truth, tuple) and len(truth) == 1 else truth
            if isinstance(truth, str):
                word = answer.values[name]
                stated = ((answer.probabilities or {}).get(name) or {}).get(word, np.nan)
                answered.append((sample.id, own, truth, truth if plain(word) == plain(truth) else word, stated))
    names = ("sample", "name", "truth", "said")
    state = {name: np.array([line[k] for line in answered], dtype=np.str_) for k, name in enumerate(names)}
    return state | {"stated": np.array([stated for *_, stated in answered], dtype=np.float64)}


def finish(state: State, whole: Whole) -> Reduced:
    """Confusion, error rates and calibration of each attribute."""
    table, groups = whole.rows(["sample", "identity"]), dict(all_groups(whole))
    place, person = rows_of(state["sample"], table["sample"]), people_of(table["identity"])
    results: list[Result] = []
    for name in np.unique(state["name"]).tolist():
        chosen = state["name"] == name
        rows = place[chosen]
        _, who = np.unique(person[rows], return_inverse=True)
        spelling = {plain(word): word for word in state["truth"][chosen].tolist()}
        words = np.array([spelling.get(plain(word), word) for word in state["said"][chosen].tolist()])
        stated = state["stated"][chosen]
        answered = Answered(name, rows, state["truth"][chosen], words, stated, who, whole.seed)
        results += results_of(answered, groups)
    return Reduced(results)


ATTRIBUTES = Task(
    name="attributes",
    question="What does the person look like?",
    answer=Labels,
    metrics=(
        Metric(
            "correct",
            "share of the person's known attributes that were named right",
            "higher",
            headline=True,
            answered="correct",
        ),
    ),
    coerce=to_labels,
    score=score,
    asks=lambda sample: len(sample.people) == 1,
    needs=("labels",),
    refuse=refuse,
    notes=notes,
    reduce=Reduce(partial, finish),
)
