"""Open-set identification: every probe is searched in a gallery that holds some of the people."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from countenance.answers import Embedding
from countenance.errors import InputError
from countenance.metrics.identification import Search, search, threshold_at
from countenance.metrics.pairs.vectors import Vectors
from countenance.tasks import identification_results as report
from countenance.tasks.embeddings import ENROLLED, Embedded, asks, embedded, partial, score, to_embedding
from countenance.tasks.groups import all_groups, groups_of
from countenance.tasks.reduce import Reduce, Reduced, State, Whole, With
from countenance.tasks.task import Metric, Options, Task
from countenance.tasks.verification_results import Operating, enrolment

DEFAULT_FPIR = 1e-2


class IdentificationOptions(Options):
    """The gallery's people, and the threshold at which a candidate is returned."""

    threshold: float | None = Field(None, allow_inf_nan=False)
    """A fixed threshold: the least similarity, or the largest distance, at which a candidate is returned."""
    fpir: float | None = Field(None, gt=0, lt=1)
    """The largest false positive identification rate that the threshold may have; 0.01 by default."""
    known: float = Field(0.5, gt=0, lt=1)
    """The share of the people, drawn by the seed among those with enough pictures, who are in the gallery."""
    pictures: int = Field(1, ge=1)
    """Gallery pictures of each of them, the first ones of the dataset; the others are probes."""
    gallery: str | None = None
    """Instead of `known` and `pictures`: an attribute of the gallery's pictures (role=gallery); all others are
    probes."""
    similarity: Literal["cosine", "euclidean"] = "cosine"
    """How two embeddings are compared: by the cosine of their angle or by their distance."""

    @model_validator(mode="after")
    def _one_way(self) -> "IdentificationOptions":
        if self.threshold is not None and self.fpir is not None:
            raise ValueError("both a threshold and an FPIR are given; give one")
        if self.gallery is not None and not all(part.strip() for part in (self.gallery + "=").split("=")[:2]):
            raise ValueError(f"gallery is {self.gallery!r}, expected an attribute such as role=gallery")
        return self

    @property
    def rate(self) -> float:
        """The rate to keep if no threshold is given."""
        return DEFAULT_FPIR if self.fpir is None else self.fpir


def finish(state: State, whole: Whole, options: IdentificationOptions) -> Reduced:
    """Search every probe; returns how often people are found and how often strangers cause an alarm."""
    embeddings, table = embedded(state, whole), whole.rows()
    groups = dict(all_groups(whole))
    gallery = _gallery(embeddings.people, table, options, whole.seed)
    known = np.isin(embeddings.people, embeddings.people[gallery])
    mated, stranger = ~gallery & known, ~gallery & ~known
    if not gallery[embeddings.rows].any() or not (mated | stranger).any():
        note = "nothing was searched: no gallery picture has an embedding, or there is no probe"
        return Reduced(enrolment(table, groups), notes=[note])
    searched, people = _searched(embeddings, gallery, options, whole)
    how = _threshold(options, searched, stranger, embeddings)
    hit = np.where(searched.rank == 1, searched.own, -np.inf)
    columns = {
        "identified": _where(mated, hit >= how.score),
        "rank_1": _where(mated, searched.rank == 1),
        "false_alarm": _where(stranger, searched.other >= how.score),
    }
    probes = report.Probes(searched, hit, mated, stranger, people, whole.seed)
    results = [
        *report.overall(probes, columns, how, len(np.unique(embeddings.people[gallery]))),
        *enrolment(table, groups),
        *report.curves(probes, how),
    ]
    for name, members in groups.items():
        results += report.by_group(probes, columns, name, members, how)
    return Reduced(
        results,
        columns,
        [
            how.sentence.replace("a pair is accepted", "a candidate is returned"),
            *_notes(gallery, mated, stranger, embeddings),
        ],
    )


def _gallery(people: NDArray[Any], table: Any, options: IdentificationOptions, seed: int) -> NDArray[np.bool_]:
    """Which rows of the score table are the gallery, whether or not they have an embedding."""
    if options.gallery is not None:
        name, _, value = (part.strip() for part in options.gallery.partition("="))
        if f"attr.{name}" not in table.column_names:
            raise InputError(f"gallery: the dataset has no attribute {name!r}")
        groups = groups_of(table, name)
        if value not in groups.names:
            raise InputError(f"gallery: no picture has {name} = {value}; there are {', '.join(groups.names)}")
        return groups.pictures[:, groups.names.index(value)]
    names, code = np.unique(people, return_inverse=True)
    enough = np.flatnonzero(np.bincount(code) > options.pictures)
    size = min(max(1, round(options.known * len(names))), len(enough))
    drawn = np.random.default_rng([seed, 9]).permutation(enough)[:size]
    order = np.argsort(code, kind="stable")
    starts = np.searchsorted(code[order], np.arange(len(names)))
    nth = np.empty(len(code), np.int64)
    nth[order] = np.arange(len(code)) - starts[code[order]]
    return np.isin(code, drawn) & (nth < options.pictures)


def _searched(
    embeddings: Embedded, gallery: NDArray[np.bool_], options: IdentificationOptions, whole: Whole
) -> tuple[Search, NDArray[np.int64]]:
    """The search of every row, and every person's code; a row without an embedding finds nobody."""
    _, person = np.unique(embeddings.people, return_inverse=True)
    enrolled = gallery[embeddings.rows]
    rows = embeddings.rows[~enrolled]
    with whole.progress("searching", len(rows)) as step:
        columns = search(
            embeddings.vectors[~enrolled],
            person[rows],
            embeddings.vectors[enrolled],
            person[embeddings.rows[enrolled]],
            options.similarity,
            step,
        )
    n = len(embeddings.people)
    nothing = Search(np.full(n, -np.inf), np.full(n, -np.inf), np.full(n, -1), np.zeros(n, np.int64))
    for column, values in zip(nothing, columns, strict=True):
        column[rows] = values
    return nothing, person


def _threshold(
    options: IdentificationOptions, searched: Search, stranger: NDArray[np.bool_], embeddings: Embedded
) -> Operating:
    vectors = Vectors.of(embeddings.vectors[:1], options.similarity)
    if options.threshold is not None:
        return Operating.of(vectors, vectors.score_of(options.threshold), "given")
    count = int(stranger.sum())
    if not count:
        raise InputError(
            "no probe shows a person outside the gallery, so no threshold can be found; give "
            'options={"threshold": "0.4"} or options={"known": "0.5"}'
        )
    score = threshold_at(searched.other[stranger], options.rate)
    source = f"the smallest threshold with an FPIR of at most {options.rate:g} on all {count} probes of unknown people"
    few = f"insufficient evidence: {count} probes of unknown people, fewer than 3 / {options.rate:g}"
    return Operating.of(vectors, score, source, few if count * options.rate < 3 else "", options.rate)


def _where(chosen: NDArray[np.bool_], values: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(chosen, values.astype(np.float64), np.nan)


def _notes(
    gallery: NDArray[np.bool_], mated: NDArray[np.bool_], stranger: NDArray[np.bool_], embeddings: Embedded
) -> list[str]:
    people = len(np.unique(embeddings.people[gallery]))
    lines = [
        f"the gallery holds {int(gallery.sum())} pictures of {people} people; {int(mated.sum())} probes show one of "
        f"them, {int(stranger.sum())} show somebody else"
    ]
    missing = np.ones(len(embeddings.people), bool)
    missing[embeddings.rows] = False
    if missing.any():
        lines.append(
            f"{int(missing.sum())} pictures have no embedding: such a probe finds nobody, and a person without a "
            "gallery embedding cannot be found; both count as misses"
        )
    return lines


def make(options: IdentificationOptions) -> Task:
    """The task with its options."""
    return Task(
        name="face_identification",
        question="Who is it, if anybody we know?",
        answer=Embedding,
        metrics=(
            Metric(
                "identified",
                "whether a known person is ranked first and reaches the threshold",
                "higher",
                headline=True,
            ),
            Metric(
                "false_alarm", "whether an unknown person is taken for somebody in the gallery", "lower", headline=True
            ),
            Metric("rank_1", "whether a known person is ranked first, at any score", "higher"),
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


FACE_IDENTIFICATION = make(IdentificationOptions())
