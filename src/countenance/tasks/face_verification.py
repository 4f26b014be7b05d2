"""Face verification: embeddings compared over all pairs of the run."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, model_validator

from countenance.answers import Embedding
from countenance.metrics.pairs.blocks import impostor_pairs
from countenance.metrics.pairs.comparisons import Accept, Comparisons
from countenance.metrics.pairs.equity import AcceptedPairs
from countenance.metrics.pairs.groups import AcceptedCounts, Groups
from countenance.metrics.pairs.vectors import Vectors
from countenance.tasks import verification_results as report
from countenance.tasks.embeddings import ENROLLED, Embedded, asks, embedded, partial, score, to_embedding
from countenance.tasks.groups import all_groups, groups_of
from countenance.tasks.reduce import Reduce, Reduced, State, Whole, With
from countenance.tasks.stored_threshold import threshold_of
from countenance.tasks.task import Metric, Options, Task, adding_results
from countenance.tasks.validation_rate import Pictures
from countenance.tasks.verification_equity import equity

DEFAULT_FMR = 1e-3
CROSS = " × "
"""Separates the names of crossed attributes, and of crossed groups."""
Text = Annotated[str, BeforeValidator(str)]


class VerificationOptions(Options):
    """How the threshold is chosen and what is compared."""

    threshold: float | None = Field(None, allow_inf_nan=False)
    """A fixed threshold: the least similarity, or the largest distance, at which a pair is accepted."""
    fmr: float | None = Field(None, gt=0, lt=1)
    """The largest false match rate that the threshold may have; 0.001 by default."""
    threshold_from: str | None = None
    """A run whose threshold is used."""
    calibration: Text | None = None
    """People on whom the threshold is chosen, who are then not measured: a share (0.3), drawn by the seed, or an
    attribute (split=validation)."""
    similarity: Literal["cosine", "euclidean"] = "cosine"
    """How two embeddings are compared: by the cosine of their angle or by their distance."""
    validation_rate: bool | Literal["dot"] = adding_results(False)
    """Whether FHIBE's validation rate at a false acceptance rate of 0.001 is among the results; dot: without
    normalising the vectors, as FHIBE compares them."""

    @model_validator(mode="before")
    @classmethod
    def _taken_over(cls, values: Any) -> Any:
        """Read the threshold of the run named; only the run's name is kept, without its folders."""
        if not isinstance(values, dict) or not values.get("threshold_from") or values.get("threshold") is not None:
            return values
        run = str(values["threshold_from"])
        threshold = threshold_of(run, str(values.get("similarity") or "cosine"))
        return values | {"threshold": threshold, "threshold_from": Path(run).name}

    @model_validator(mode="after")
    def _one_way(self) -> "VerificationOptions":
        if self.threshold is not None and self.fmr is not None:
            raise ValueError("both a threshold and an FMR are given; give one")
        if self.calibration is not None and self.threshold is not None:
            raise ValueError("calibration finds a threshold, but the threshold is given; give one")
        if self.threshold is not None and self.similarity == "euclidean" and self.threshold < 0:
            raise ValueError(f"threshold is {self.threshold:g}, expected a distance of at least 0")
        calibration_of(self.calibration)
        return self

    @property
    def rate(self) -> float:
        """The false match rate to keep if no threshold is given."""
        return DEFAULT_FMR if self.fmr is None else self.fmr


def calibration_of(text: str | None) -> float | tuple[str, str] | None:
    """A share of the people, or an attribute and its value.

    >>> calibration_of("0.3"), calibration_of("split=validation")
    (0.3, ('split', 'validation'))
    """
    if text is None:
        return None
    name, equals, value = text.partition("=")
    if equals and name.strip() and value.strip():
        return name.strip(), value.strip()
    try:
        share = float(text)
    except ValueError:
        share = np.nan
    if not 0 < share < 1:
        raise ValueError(f"calibration is {text!r}, expected a share such as 0.3 or an attribute such as split=test")
    return share


@dataclass(frozen=True)
class Sorted:
    """Some pictures of a run, sorted by person."""

    rows: NDArray[np.int64]
    """Rows of the score table."""
    identity: NDArray[np.int64]
    vectors: Vectors

    @classmethod
    def of(cls, embeddings: Embedded, chosen: NDArray[np.bool_], similarity: Any) -> "Sorted":
        rows = embeddings.rows[chosen]
        _, code = np.unique(embeddings.people[rows], return_inverse=True)
        order = np.argsort(code, kind="stable")
        vectors = Vectors.of(embeddings.vectors[np.flatnonzero(chosen)[order]], similarity)
        return cls(rows[order], code[order], vectors)


def finish(state: State, whole: Whole, options: VerificationOptions) -> Reduced:
    """Error rates at the threshold, curves, and false matches between groups."""
    embeddings = embedded(state, whole)
    table = whole.rows()
    groups = dict(all_groups(whole))
    results = report.enrolment(table, groups)
    calibrating, measured = _parts(embeddings, table, options.calibration, whole.seed)
    pictures = Sorted.of(embeddings, measured, options.similarity)
    if len(np.unique(pictures.identity)) < 2:
        return Reduced(results, notes=["no impostor pair: embeddings of fewer than two people; nothing was compared"])
    with whole.progress("comparing pairs", impostor_pairs(np.bincount(pictures.identity))) as step:
        compared = Comparisons.of(pictures.vectors, pictures.identity, fmr=options.rate, seed=whole.seed, step=step)
    here = {name: members.taken(pictures.rows) for name, members in groups.items()}
    counts = AcceptedCounts(pictures.identity, [Groups.everybody(len(pictures.rows)), *here.values()])
    accepted = AcceptedPairs()

    def accept(first: Any, second: Any) -> None:
        counts.add(first, second)
        accepted.add(first, second)

    how = _threshold(options, compared, accept, Sorted.of(embeddings, calibrating, options.similarity), whole)
    results = [*report.overall(compared, counts, how, whole.seed), *results, *report.curves(compared, how, whole.seed)]
    for number, (name, members) in enumerate(here.items(), 1):
        results += report.by_group(compared, counts, number, name, members, how, whole.seed)
        results += equity(compared, accepted, how.score, name, members, whole.seed)
    if options.validation_rate:
        vectors = np.full((table.num_rows, embeddings.vectors.shape[1]), np.nan)
        as_they_are = options.validation_rate == "dot"
        norm = 1.0 if as_they_are else np.linalg.norm(embeddings.vectors, axis=1, keepdims=True)
        vectors[embeddings.rows] = embeddings.vectors / norm
        rates, every = Pictures(vectors, embeddings.people), {name: groups_of(table, name) for name in whole.attributes}
        results += [*rates.by_group(groups), *([rates.table(crossed_groups(every))] if as_they_are else [])]
    columns = _columns(table.num_rows, pictures, compared, counts, how.score)
    return Reduced(results, columns, [how.sentence, *report.notes(compared, embeddings, here)])


def crossed_groups(groups: Mapping[str, Groups]) -> Iterator[tuple[str, str, NDArray[np.intp]]]:
    """Every group of one attribute and of two: the attributes, the group's name, its rows."""
    members = [
        (attribute, name, rows)
        for attribute, first in groups.items()
        for name, rows in zip(first.names, first.pictures.T, strict=True)
    ]
    for attribute, name, rows in members:
        yield attribute, name, np.flatnonzero(rows)
    for first, second in itertools.combinations(members, 2):
        if first[0] != second[0] and (both := first[2] & second[2]).any():
            yield f"{first[0]}{CROSS}{second[0]}", f"{first[1]}{CROSS}{second[1]}", np.flatnonzero(both)


def _parts(
    embeddings: Embedded, table: Any, calibration: str | None, seed: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The vectors on which the threshold is chosen, and those that are measured; no person is in both."""
    nobody, everybody = np.zeros(len(embeddings.rows), bool), np.ones(len(embeddings.rows), bool)
    source = calibration_of(calibration)
    if source is None:
        return nobody, everybody
    people = embeddings.people[embeddings.rows]
    if isinstance(source, float):
        names = np.unique(people)
        drawn = np.random.default_rng([seed, 7]).permutation(len(names))[: round(source * len(names))]
        chosen = np.isin(people, names[drawn])
    else:
        name, value = source
        report.require(f"attr.{name}" in table.column_names, f"calibration: the dataset has no attribute {name!r}")
        groups = groups_of(table, name)
        report.require(value in groups.names, f"calibration: no picture has {name} = {value}")
        member = groups.pictures[embeddings.rows, groups.names.index(value)]
        chosen = np.isin(people, people[member])
    two = all(len(np.unique(people[part])) >= 2 for part in (chosen, ~chosen))
    report.require(two, f"calibration {calibration!r} leaves fewer than two people on a side")
    return chosen, ~chosen


def _threshold(
    options: VerificationOptions, compared: Comparisons, accept: Accept, calibration: Sorted, whole: Whole
) -> report.Operating:
    """The threshold in force and its origin; `accept` gets the impostor pairs that it accepts."""
    vectors = compared.vectors
    with whole.progress("counting accepted pairs", compared.impostors) as step:
        if options.threshold is not None:
            source = (
                f"taken over from {options.threshold_from}"
                if options.threshold_from
                else "as the option threshold says"
            )
            score = vectors.score_of(options.threshold)
            compared.accepted(score, accept, step)
            return report.Operating.of(vectors, score, source)
        if len(calibration.rows):
            apart = Comparisons.of(calibration.vectors, calibration.identity, fmr=options.rate, seed=whole.seed)
            threshold, _ = apart.accepted_at_rate(options.rate, lambda first, second: None)
            people, pairs = len(apart.sizes), apart.impostors
            source = f"{report.smallest(threshold, options.rate)} {pairs:,} impostor pairs of {people:,} other people"
            source += f" (calibration {options.calibration})"
            compared.accepted(threshold.score, accept, step)
        else:
            pairs = compared.impostors
            threshold, _ = compared.accepted_at_rate(options.rate, accept, step)
            source = f"{report.smallest(threshold, options.rate)} all {pairs:,} impostor pairs, which are also measured"
        note = report.too_few(pairs, options.rate)
        return report.Operating.of(vectors, threshold.score, source, note, options.rate)


def _columns(
    rows: int, pictures: Sorted, compared: Comparisons, counts: AcceptedCounts, threshold: float
) -> dict[str, NDArray[np.float64]]:
    """For each row the accepted share of its genuine and of its impostor comparisons; NaN without any."""
    n = len(pictures.rows)
    genuine, taken = compared.genuine, compared.genuine.score >= threshold
    own, hits = (
        sum(np.bincount(side[chosen], minlength=n) for side in (genuine.first, genuine.second))
        for chosen in (np.ones(len(taken), bool), taken)
    )
    others = n - compared.sizes[pictures.identity]
    columns = {name: np.full(rows, np.nan) for name in ("genuine_accepted", "impostor_accepted")}
    shares = zip(columns.values(), (hits, counts.by_picture[0][:, 0]), (own, others), strict=True)
    for column, accepted, total in shares:
        column[pictures.rows] = np.divide(accepted, total, out=np.full(n, np.nan), where=np.asarray(total) > 0)
    return columns


def make(options: VerificationOptions) -> Task:
    """The task with its options."""
    return Task(
        name="face_verification",
        question="Do two pictures show the same person?",
        answer=Embedding,
        metrics=(
            Metric(
                "genuine_accepted",
                "share of a picture's comparisons with the same person that are accepted at the threshold",
                better="higher",
                headline=True,
            ),
            report.FALSE_MATCHES,
            Metric(
                "impostor_accepted",
                "share of a picture's comparisons with other people that are accepted at the threshold",
                better="lower",
                delta=options.rate,
            ),
            ENROLLED,
        ),
        coerce=to_embedding,
        score=score,
        asks=asks,
        needs=("embedding",),
        reduce=Reduce(partial, With(finish, options)),
        options=options,
        make=make,
    )


FACE_VERIFICATION = make(VerificationOptions())
