"""The results of face identification: FPIR and FNIR, ranks, curves, and false identifications between groups."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.identification import Search, open_set_curve
from countenance.metrics.intervals import IntervalEstimate, by_cluster, clustered_rate, correlation
from countenance.metrics.pairs.groups import Groups
from countenance.tasks.results import NAN, Axis, Curve, Line, Matrix, Number, Result, above_zero
from countenance.tasks.stored_threshold import NAME
from countenance.tasks.verification_results import Operating, number

RANKS = (1, 5, 10, 20)
RATES = (1e-1, 1e-2, 1e-3)
POINTS = 41
FPIR = "share of probes of unknown people for whom somebody in the gallery is returned"
FNIR = "share of probes of known people who are not ranked first or stay below the threshold"
RANK = "share of probes of known people whose own person is among the first"

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Probes:
    """The searched probes; all arrays run over the rows of the score table."""

    searched: Search
    hit: NDArray[np.float64]
    """The score of a probe whose own person is ranked first, else -inf."""
    mated: Flags
    stranger: Flags
    person: NDArray[np.int64]
    seed: int

    def rate(self, errors: NDArray[Any], chosen: Flags, icc: float = 0.0) -> IntervalEstimate:
        """A rate over the probes chosen, clustered by person."""
        return clustered_rate(*self.sums(errors, chosen), icc=icc)

    def sums(self, errors: NDArray[Any], chosen: Flags) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Errors and probes of each person."""
        return by_cluster(errors[chosen].astype(np.float64), self.person[chosen])


def overall(probes: Probes, columns: Mapping[str, NDArray[np.float64]], how: Operating, gallery: int) -> list[Result]:
    """The numbers over everybody."""
    at, of = f" at {how.accepts}", f"; {gallery} people in the gallery"
    missed, alarm = 1 - columns["identified"], columns["false_alarm"]
    results: list[Result] = []
    if probes.stranger.any():
        rate = probes.rate(alarm, probes.stranger)
        results.append(number("FPIR", FPIR + at + of, rate, "probes of unknown people", note=how.note))
    if probes.mated.any():
        rate = probes.rate(missed, probes.mated)
        results.append(number("FNIR", FNIR + at + of, rate, "probes of known people"))
        results += [_at_rank(probes, k, of) for k in RANKS if k <= gallery]
    unit = "distance" if how.accepts.startswith("distance") else "cosine similarity"
    results.append(Number(name=NAME, meaning=how.source, value=how.shown, unit=unit, note=how.note))
    return results + _at_rates(probes)


def _at_rank(probes: Probes, k: int, of: str) -> Number:
    rate = probes.rate((probes.searched.rank >= 1) & (probes.searched.rank <= k), probes.mated)
    return Number(
        name=f"rank-{k}",
        meaning=f"{RANK} {k}{of}",
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=rate.n,
        unit="probes of known people",
        better="higher",
    )


def _at_rates(probes: Probes) -> list[Result]:
    strangers, results = int(probes.stranger.sum()), []
    for rate in RATES:
        name, meaning = f"FNIR@FPIR={rate:g}", f"{FNIR}, at the smallest threshold with an FPIR of at most {rate:g}"
        unit = "probes of known people"
        if strangers * rate < 3 or not probes.mated.any():
            note = f"insufficient evidence: {strangers} probes of unknown people, fewer than 3 / {rate:g}"
            results.append(Number(name=name, meaning=meaning, value=NAN, unit=unit, better="lower", note=note))
            continue
        band = _band(probes, np.array([rate]))
        people = len(np.unique(probes.person[probes.mated]))
        value, low, high = (float(values[0]) for values in band)
        estimate = IntervalEstimate(value, low, high, int(probes.mated.sum()), people)
        results.append(number(name, meaning, estimate, unit))
    return list(results)


def _band(probes: Probes, fpir: NDArray[np.float64]) -> Any:
    known, unknown = probes.mated, probes.stranger
    return open_set_curve(
        probes.hit[known],
        probes.person[known],
        probes.searched.other[unknown],
        probes.person[unknown],
        fpir,
        seed=probes.seed,
    )


def curves(probes: Probes, how: Operating) -> list[Result]:
    """FNIR by FPIR with a band, and the share found by rank."""
    results: list[Result] = []
    if not probes.mated.any():
        return results
    if probes.stranger.any():
        grid = np.geomspace(1 / int(probes.stranger.sum()), 1, POINTS) if probes.stranger.sum() > 1 else np.ones(1)
        band = _band(probes, grid)
        least = 3 / int(probes.mated.sum())
        seen = band.value > 0
        line = Line(
            x=grid.tolist(),
            y=above_zero(band.value, int(probes.mated.sum())).tolist(),
            low=np.where(seen, band.low, 0).tolist(),
            high=np.where(seen, band.high, np.maximum(band.high, least)).tolist(),
        )
        note = (
            "" if seen.all() else "where nobody was missed the curve is at its bound, 3 / n, or at the lowest rate seen"
        )
        results.append(
            Curve(
                name="FNIR by FPIR",
                meaning="known people missed at every rate of false alarms",
                note=note,
                x=Axis(label="FPIR", log=True),
                y=Axis(label="FNIR", log=True),
                lines=[line],
                marks=[] if how.rate is None else [how.rate],
            )
        )
    rank = probes.searched.rank
    top = int(min(50, max(rank[probes.mated].max(), 2)))
    rates = [probes.rate((rank >= 1) & (rank <= k), probes.mated) for k in range(1, top + 1)]
    line = Line(
        x=list(range(1, top + 1)),
        y=[rate.value for rate in rates],
        low=[rate.low for rate in rates],
        high=[rate.high for rate in rates],
    )
    cmc = Curve(name="CMC", meaning=f"{RANK} k", x=Axis(label="rank k"), y=Axis(label="share found"), lines=[line])
    return [*results, cmc]


def by_group(
    probes: Probes,
    columns: Mapping[str, NDArray[np.float64]],
    attribute: str,
    groups: Groups,
    how: Operating,
) -> list[Result]:
    """Each group's rates, and for strangers of each group the group of the people for whom they are mistaken."""
    member, at = groups.pictures, f" at {how.accepts}"
    results: list[Result] = [_taken_for(probes, columns, attribute, groups, at)]
    kinds = (
        ("group FPIR", FPIR, columns["false_alarm"], probes.stranger, "probes of unknown people"),
        ("group FNIR", FNIR, 1 - columns["identified"], probes.mated, "probes of known people"),
    )
    for name, meaning, errors, chosen, unit in kinds:
        icc = correlation([probes.sums(errors, chosen & member[:, g]) for g in range(len(groups.names))])
        for g, group in enumerate(groups.names):
            rate = probes.rate(errors, chosen & member[:, g], icc)
            results.append(number(name, meaning + at, rate, unit, attribute=attribute, group=group))
    return results


def _taken_for(
    probes: Probes, columns: Mapping[str, NDArray[np.float64]], attribute: str, groups: Groups, at: str
) -> Matrix:
    """The FPIR by the groups of the probe and of the person it is taken for (groups of their gallery pictures)."""
    member = groups.pictures
    people = int(probes.person.max()) + 1
    belongs = np.zeros((people, len(groups.names)), bool)
    gallery = ~probes.mated & ~probes.stranger
    np.logical_or.at(belongs, probes.person[gallery], member[gallery])
    alarm = probes.stranger & (columns["false_alarm"] == 1)
    shares, counts = [], []
    for g in range(len(groups.names)):
        total = int((probes.stranger & member[:, g]).sum())
        taken = belongs[probes.searched.candidate[alarm & member[:, g]]].sum(axis=0)
        shares.append((taken / total if total else np.full(len(groups.names), np.nan)).tolist())
        counts.append([total] * len(groups.names))
    return Matrix(
        name="FPIR by group",
        attribute=attribute,
        rows=list(groups.names),
        columns=list(groups.names),
        values=shares,
        counts=counts,
        row_label=attribute,
        column_label=f"taken for {attribute}",
        meaning=f"share of the probes of unknown people of a group who are taken for a person of each group{at}",
    )
