"""The results of face verification: numbers, curves and matrices from computed comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.metrics.intervals import IntervalEstimate, by_cluster, clustered_rate, correlation
from countenance.metrics.pairs.comparisons import Comparisons, Threshold
from countenance.metrics.pairs.curves import Curves
from countenance.metrics.pairs.distributions import PairScores, genuine_scores, impostor_scores
from countenance.metrics.pairs.groups import AcceptedCounts, Groups, fnmr_by_group
from countenance.metrics.pairs.matrix import fmr_by_group
from countenance.metrics.pairs.vectors import Array, Ints, Vectors
from countenance.tasks.embeddings import Embedded
from countenance.tasks.results import NAN, AuditedRatio, Axis, Curve, Line, Matrix, Number, Result, above_zero
from countenance.tasks.stored_threshold import NAME
from countenance.tasks.task import Metric

RATES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
FEW_PEOPLE = 20
BINS = 60
FMR = "share of comparisons of two people that are accepted as one"
FNMR = "true matches refused"
KINDS = {"mated": "comparisons of a person with themselves", "non-mated": "comparisons of two people"}
ENROL = "share of pictures for which the model gave no embedding"
FALSE_MATCHES = Metric(
    "FMR",
    "share of comparisons of two people of the same group that are accepted as one",
    better="lower",
    headline=True,
    of_groups=True,
)
"""What is audited. A mean over pictures of comparisons with everybody would depend on who else is in the test set."""
LARGEST_RATIO = 2.0
"""A false match rate of less than twice another one's does not matter."""


def require(condition: Any, message: str) -> None:
    """Refuse an input with a message."""
    if not condition:
        raise InputError(message)


def too_few(pairs: int, rate: float) -> str:
    """A note on pairs that are too few to resolve a rate: fewer than 3 / rate; otherwise empty.

    >>> too_few(100, 0.01)
    'insufficient evidence: 100 impostor pairs, fewer than 3 / 0.01'
    """
    return f"insufficient evidence: {pairs} impostor pairs, fewer than 3 / {rate:g}" if pairs * rate < 3 else ""


def smallest(threshold: Threshold, rate: float) -> str:
    """The phrase on how a threshold was chosen; it ends before the pairs it was chosen on."""
    kind = "smallest threshold" if threshold.exact else "lowest edge of a fine histogram"
    return f"the {kind} with an FMR of at most {rate:g} on"


@dataclass(frozen=True)
class Operating:
    """The threshold in force."""

    score: float
    shown: float
    accepts: str
    source: str
    note: str = ""
    rate: float | None = None

    @classmethod
    def of(cls, vectors: Vectors, score: float, source: str, note: str = "", rate: float | None = None) -> "Operating":
        shown = vectors.shown(score)
        sign = "distance <=" if vectors.similarity == "euclidean" else "cosine similarity >="
        return cls(score, shown, f"{sign} {shown:.6g}", source, note, rate)

    @property
    def sentence(self) -> str:
        """The threshold and how it was found, as a sentence."""
        return f"a pair is accepted at {self.accepts}: {self.source}"


def few(estimate: IntervalEstimate) -> str:
    """A note on a number from few people or from none; otherwise empty.

    >>> few(IntervalEstimate(0.5, 0.1, 0.9, 4, 1)), few(IntervalEstimate(0.5, 0.1, 0.9, 400, 100))
    ('only 1 person', '')
    """
    if not estimate.n:
        return "nothing to compare: not a single case in this group"
    people = "person" if estimate.clusters == 1 else "people"
    return f"only {estimate.clusters} {people}" if estimate.clusters < FEW_PEOPLE else ""


def number(name: str, meaning: str, estimate: IntervalEstimate, unit: str, **more: Any) -> Number:
    """A rate with its interval; without errors, the bound 3/n."""
    note = str(more.pop("note", ""))
    note = "; ".join(part for part in (note, few(estimate)) if part)
    rest: dict[str, Any] = {"unit": unit, "better": "lower", "n": estimate.n, "note": note, **more}
    if estimate.n and estimate.value == 0:
        value = min(1.0, 3 / estimate.n)
        high = max(estimate.high, value) if np.isfinite(estimate.high) else NAN
        return Number(name=name, meaning=meaning, value=value, bound="<", low=0.0, high=high, **rest)
    return Number(name=name, meaning=meaning, value=estimate.value, low=estimate.low, high=estimate.high, **rest)


def overall(compared: Comparisons, counts: AcceptedCounts, how: Operating, seed: int) -> list[Result]:
    """The numbers over everybody."""
    everybody = Groups.everybody(len(compared.identity))
    (fnmr,) = fnmr_by_group(compared.genuine, compared.identity, everybody, how.score)
    fmr = fmr_by_group(counts, 0)
    false_match = IntervalEstimate(
        float(fmr.value[0, 0]), float(fmr.low[0, 0]), float(fmr.high[0, 0]), int(fmr.pairs[0, 0]), int(fmr.people[0])
    )
    error_curves = Curves(compared, seed)
    at = f" at {how.accepts}"
    unit = "distance" if compared.vectors.similarity == "euclidean" else "cosine similarity"
    results: list[Result] = [
        number("FMR", FMR + at, false_match, "impostor pairs", note=how.note),
        number("FNMR", FNMR + at, fnmr, "genuine pairs"),
        number("EER", "where FMR and FNMR are the same", error_curves.equal_error(), "genuine pairs"),
        Number(name=NAME, meaning=how.source, value=how.shown, unit=unit, n=compared.impostors, note=how.note),
    ]
    return results + _at_rates(error_curves)


def _at_rates(error_curves: Curves) -> list[Result]:
    """FNMR at the usual false match rates, such as NIST's."""
    compared, results = error_curves.compared, []
    people = len(compared.sizes)
    for rate in RATES:
        name, meaning = f"FNMR@FMR={rate:g}", f"{FNMR} at the smallest threshold with an FMR of at most {rate:g}"
        unit = "genuine pairs"
        if (note := too_few(compared.impostors, rate)) or not len(compared.ranked):
            results.append(Number(name=name, meaning=meaning, value=NAN, unit=unit, better="lower", note=note))
            continue
        threshold = compared.threshold_at(rate)
        band = error_curves.fnmr_at(np.array([rate]), np.array([threshold.score]))
        value, low, high = (float(values[0]) for values in band)
        caution = "" if threshold.exact else "the threshold is an edge of a fine histogram"
        results.append(
            number(name, meaning, IntervalEstimate(value, low, high, len(compared.ranked), people), unit, note=caution)
        )
    return list(results)


def enrolment(table: Any, groups: Mapping[str, Groups]) -> list[Result]:
    """The failure-to-enrol rate, of everybody and by group."""
    failed = 1 - np.array(table["m.enrolled"].to_pylist(), dtype=np.float64)
    _, person = np.unique(np.array(table["identity"].to_pylist(), dtype=np.str_), return_inverse=True)
    everybody = clustered_rate(*by_cluster(failed, person))
    results: list[Result] = [number("failure to enrol", ENROL, everybody, "pictures")]
    for attribute, members in groups.items():
        tables = [by_cluster(failed[member], person[member]) for member in members.pictures.T]
        icc = correlation(tables)
        for name, (errors, trials) in zip(members.names, tables, strict=True):
            rate = clustered_rate(errors, trials, icc=icc)
            results.append(number("group failure to enrol", ENROL, rate, "pictures", attribute=attribute, group=name))
    return results


def curves(compared: Comparisons, how: Operating, seed: int) -> list[Result]:
    """DET and ROC with bands, and the distributions of scores."""
    error_curves = Curves(compared, seed)
    if not len(compared.ranked):
        return []
    band, genuine = error_curves.det, len(compared.ranked)
    least = 3 / genuine
    seen = band.value > 0
    bound = f"3 / {genuine} or the lowest rate seen"
    note = "" if seen.all() else f"where no genuine pair was refused the curve is at its bound, {bound}"
    if not compared.tail.whole:
        note = "; ".join(part for part in (note, _reach(compared)) if part)
    fmr, marks = Axis(label="FMR", log=True), [] if how.rate is None else [how.rate]
    high = np.where(seen, band.high, np.maximum(band.high, least))
    det = _line(error_curves.grid, above_zero(band.value, genuine), np.where(seen, band.low, 0), high)
    roc = _line(error_curves.grid, 1 - band.value, 1 - band.high, 1 - band.low)
    results: list[Result] = [
        Curve(
            name="DET",
            meaning="FNMR at every FMR; the threshold falls from left to right",
            note=note,
            x=fmr,
            y=Axis(label="FNMR", log=True),
            lines=[det],
            marks=marks,
        ),
        Curve(
            name="ROC",
            meaning="share of genuine pairs accepted at every FMR",
            note=note,
            x=fmr,
            y=Axis(label="1 − FNMR"),
            lines=[roc],
            marks=marks,
        ),
    ]
    return results + distributions(compared, how, None, None, seed)


def _line(x: Array, y: Array, low: Array, high: Array) -> Line:
    return Line(x=x.tolist(), y=y.tolist(), low=low.tolist(), high=high.tolist())


def _reach(compared: Comparisons) -> str:
    share = len(compared.tail.score) / compared.impostors
    return f"beyond an FMR of {share:.1g} it is from a fine histogram, with bands from a sample of people"


def distributions(
    compared: Comparisons, how: Operating, attribute: str | None, groups: Groups | None, seed: int
) -> list[Result]:
    """Densities of mated and non-mated scores; with groups, each group's and its shift."""
    everybody = np.ones(len(compared.identity), bool)
    members = [everybody] if groups is None else list(groups.pictures.T)
    names = [""] if groups is None else list(groups.names)
    results: list[Result] = []

    def measure(member: Any, kind: str) -> PairScores:
        return genuine_scores(compared, member) if kind == "mated" else impostor_scores(compared, member, seed=seed)

    for kind, what in KINDS.items():
        whole, scores = measure(everybody, kind), [measure(member, kind) for member in members]
        if not len(whole.score):
            continue
        reach = np.concatenate([pairs.score for pairs in (whole, *scores)])
        edges = np.linspace(reach.min(), max(reach.max(), reach.min() + 1e-9), BINS + 1)
        what += " of the same group" if groups is not None else ""
        results.append(_histogram(compared.vectors, f"{kind} scores", what, names, scores, edges, attribute, how))
        if attribute is not None:
            results += [
                _shift(kind, what, whole, pairs, attribute, name) for name, pairs in zip(names, scores, strict=True)
            ]
    return results


def _histogram(
    vectors: Vectors,
    name: str,
    what: str,
    names: Sequence[str],
    scores: Sequence[PairScores],
    edges: Any,
    attribute: str | None,
    how: Operating,
) -> Curve:
    shown = np.array([vectors.shown(edge) for edge in edges])
    middle = (shown[1:] + shown[:-1]) / 2
    stretch = np.diff(edges) / np.maximum(np.abs(np.diff(shown)), 1e-12)
    lines = []
    for label, pairs in zip(names, scores, strict=True):
        density = pairs.density(edges) * stretch
        order = np.argsort(middle)
        lines.append(Line(label=label, x=middle[order].tolist(), y=density[order].tolist()))
    drawn = any(pairs.pairs > len(pairs.score) for pairs in scores)
    note = f"from {len(max(scores, key=lambda pairs: pairs.pairs).score)} pairs drawn by the seed" if drawn else ""
    label = "distance" if vectors.similarity == "euclidean" else "cosine similarity"
    return Curve(
        name=name,
        meaning=f"how the scores of {what} are distributed",
        note=note,
        x=Axis(label=label),
        y=Axis(label="density"),
        lines=lines,
        attribute=attribute,
        marks=[how.shown],
    )


def _shift(kind: str, what: str, whole: PairScores, own: PairScores, attribute: str, group: str) -> Number:
    """A group's mean score less everybody's, in standard deviations of everybody's scores."""
    scale = whole.deviation if whole.deviation > 0 else np.nan
    value, low, high = ((bound - whole.mean.value) / scale for bound in own.mean[:3])
    note = few(own.mean)
    return Number(
        name=f"shift of {kind} scores",
        value=value,
        low=low,
        high=high,
        n=own.mean.n,
        unit="pairs",
        note=note,
        meaning=f"mean score of {what} less everybody's, in standard deviations",
        attribute=attribute,
        group=group,
    )


def by_group(
    compared: Comparisons, counts: AcceptedCounts, place: int, attribute: str, groups: Groups, how: Operating, seed: int
) -> list[Result]:
    """False matches between groups, and each group's own rates and scores."""
    results = false_matches(counts, place, attribute, groups, f" at {how.accepts}")
    refused = fnmr_by_group(compared.genuine, compared.identity, groups, how.score)
    for name, estimate in zip(groups.names, refused, strict=True):
        meaning = f"{FNMR} at {how.accepts}, both pictures of the group"
        results.append(number("group FNMR", meaning, estimate, "genuine pairs", attribute=attribute, group=name))
    return results + distributions(compared, how, attribute, groups, seed)


def false_matches(counts: AcceptedCounts, place: int, attribute: str, groups: Groups, at: str) -> list[Result]:
    """The FMR between every two groups, and within each group in the form that an audit compares."""
    rates = fmr_by_group(counts, place)
    names, apart = list(groups.names), _apart(counts.identity, groups)
    unknown = int((~groups.pictures.any(axis=1)).sum())
    note = f"{unknown} pictures of unknown {attribute} are left out" if unknown else ""
    matrix = Matrix(
        name="FMR by group",
        attribute=attribute,
        rows=names,
        columns=names,
        values=rates.value.tolist(),
        counts=rates.pairs.tolist(),
        low=rates.low.tolist(),
        high=rates.high.tolist(),
        note=note,
        meaning=f"{FMR}{at}, by the groups of both people; the diagonal is the FMR within a group",
        row_label=attribute,
        column_label=f"taken for {attribute}",
    )
    results: list[Result] = [matrix]
    for k, name in enumerate(names):
        taken = IntervalEstimate(
            float(rates.value[k, k]),
            float(rates.low[k, k]),
            float(rates.high[k, k]),
            int(rates.pairs[k, k]),
            int(rates.people[k]),
        )
        audited = AuditedRatio(
            metric=FALSE_MATCHES.name,
            log_error=float(rates.log_error[k, k]),
            people=int(rates.people[k]),
            weight=float(rates.pairs[k, k]),
            ratio=LARGEST_RATIO,
        )
        about: dict[str, Any] = {"attribute": attribute, "group": name, "audited": audited if apart else None}
        results.append(number("group FMR", f"{FMR}{at}, both of the group", taken, "impostor pairs", **about))
    return results


def _apart(identity: Ints, groups: Groups) -> bool:
    """Whether no person is in two groups, which comparisons of groups require."""
    member = groups.pictures
    _, person = np.unique(identity, return_inverse=True)
    mine = np.zeros((int(person.max(initial=-1)) + 1, member.shape[1]), bool)
    np.logical_or.at(mine, person, member)
    return bool((mine.sum(axis=1) <= 1).all())


def notes(compared: Comparisons, embeddings: Embedded, groups: Mapping[str, Groups]) -> list[str]:
    """Notes for readers of the numbers."""
    lines = []
    people = len(compared.sizes)
    alone = int((compared.sizes < 2).sum())
    if not len(compared.ranked):
        lines.append("no genuine pair: nobody has two pictures with an embedding, so there is no FNMR")
    elif alone:
        lines.append(f"{alone} of {people} people have one picture with an embedding: they are in impostor pairs only")
    if compared.genuine.drawn:
        lines.append(f"of {compared.genuine.drawn} people with very many pictures only some genuine pairs were drawn")
    shared = [name for name, members in groups.items() if not _apart(compared.identity, members)]
    if shared:
        lines.append(f"FMR is not compared by {', '.join(shared)}: people are in several of these groups")
    missing = len(embeddings.people) - len(embeddings.rows)
    if missing:
        lines.append(f"{missing} of {len(embeddings.people)} pictures have no embedding and are in no pair")
    zero = int((~embeddings.vectors.any(axis=1)).sum())
    if zero:
        pictures = "1 picture has" if zero == 1 else f"{zero} pictures have"
        lines.append(f"{pictures} an embedding of zeros, like nobody's; None says that there is no embedding")
    return lines
