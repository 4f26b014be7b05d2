"""Simulators of everything beside the audit itself that states an interval, a p or a verdict.

Comparisons of models, gates that look once or again and again, gaps with conditions held equal, discovered slices,
equity measures, and the intervals of curves and rates in `countenance.metrics`. The lines are part of
`benchmarks/calibration.py`; each names the surface that it belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import any_time
import compare_calibration
import numpy as np
import why

import gating
from countenance.auditing import audit
from countenance.discovering import discover
from countenance.metrics.curves.bands import ImageScores, band_of, resampled_rates
from countenance.metrics.detection import RankedDetections, average_precisions
from countenance.metrics.identification import open_set_curve
from countenance.metrics.intervals import bootstrap_interval, by_cluster, clustered_mean, clustered_rate, macro_mean
from countenance.metrics.miss_rate import log_average_miss_rates
from countenance.metrics.pairs.distributions import dyadic_mean
from countenance.metrics.verification_bands import roc_bands

Rng = np.random.Generator
ALARM, COVER, WIDE = (0.0, 0.05), (0.93, 0.97), (0.93, 1.0)
Interval = tuple[float, float]


class SurfaceRow(NamedTuple):
    """A line of the table, and the surface that it simulates."""

    surface: str
    section: str
    name: str
    bounds: Interval
    share: Callable[[int, Rng], float]
    weight: float = 1.0


# ---- comparisons of two models


def compared(design: compare_calibration.Design, count: str, of: str, tables: int, rng: Rng) -> float:
    """A share of what `compare` says about tables of a design."""
    tally = compare_calibration.measure(design, tables, int(rng.integers(1 << 31)))
    return tally.share(getattr(tally, count), getattr(tally, of))


def comparisons() -> Iterator[SurfaceRow]:
    """False alarms, coverage, and "smaller than δ" where the change is δ."""
    for name, design in compare_calibration.DESIGNS.items():
        if not design.gap:
            run = partial(compared, design, "alarms", "tables")
            yield SurfaceRow("compare", "compare", f"false alarms of gaps: {name}", ALARM, run, 0.5)
        for what, count, of in (
            ("gaps", "gaps_covered", "gaps"),
            ("groups", "changes_covered", "changes"),
            ("everyone", "overall_covered", "tables"),
        ):
            run = partial(compared, design, count, of)
            yield SurfaceRow("compare", "compare", f"coverage of {what}: {name}", WIDE, run, 0.3)
        if design.gap > 0:
            run = partial(compared, design, "smaller", "at_delta")
            yield SurfaceRow("compare", "compare", f"called smaller than δ at δ: {name}", ALARM, run, 0.5)


# ---- gates


def gate_decides(outcome: str, rate: float, tables: int, rng: Rng) -> float:
    """How often one gate of a rate that keeps at least .9 has an outcome."""
    counts = rng.binomial(gating.N, rate, size=(tables, 1))
    return float((gating.outcomes(counts, 0.05) == outcome).mean())


def passes_once(rows: int, alike: float, tables: int, rng: Rng) -> float:
    """How often a gate that looks 50 times passes a model exactly at its limit."""
    looks = [any_time.passes(any_time.people(rng, rows, alike, any_time.LIMIT))[1] for _ in range(tables)]
    return float(np.mean(looks))


def gates() -> Iterator[SurfaceRow]:
    """A model exactly at its limit."""
    for outcome in ("pass", "fail"):
        run = partial(gate_decides, outcome, gating.LIMIT)
        yield SurfaceRow("gate", "gate", f"a model at its limit, one look: {outcome}", (0.0, 0.025), run, 10.0)
    for rows, many, alike in ((1, "one row", 0.0), (5, "five rows", 0.2), (5, "five rows", 0.6)):
        name = f"a model at its limit passes once in 50 looks, any-time, {many} a person, alike by {alike:g}"
        yield SurfaceRow("gate, any time", "gate", name, (0.0, 0.025), partial(passes_once, rows, alike))


# ---- conditions held equal, and slices that nobody named


def held_equal(world: why.World, coverage: bool, tables: int, rng: Rng) -> float:
    """False alarms given the conditions, or how often the intervals hold the true gap."""
    tally = why.look(world, tables, int(rng.integers(1 << 31)))
    return tally.covered / max(tally.intervals, 1) if coverage else tally.alarms / tally.tables


def conditions() -> Iterator[SurfaceRow]:
    """Gaps with conditions held equal, in every world of `benchmarks/why.py`."""
    for world in why.WORLDS:
        if not world.gap:
            run = partial(held_equal, world, False)
            yield SurfaceRow("held equal", "held equal", f"false alarms: {world.name}", ALARM, run, 0.5)
        run = partial(held_equal, world, True)
        yield SurfaceRow("held equal", "held equal", f"coverage: {world.name}", WIDE, run, 0.3)


def confirms(gap: float, tables: int, rng: Rng) -> float:
    """How often `discover` confirms any slice of tables in which one slice has a gap (0: none has)."""
    hits = 0
    for number in range(tables):
        people = 400
        who = np.repeat(np.arange(people), 4)
        table = {f"attr.a{k}": np.array(["x", "y", "z"])[rng.integers(0, 3, people)][who] for k in range(5)}
        inside = (table["attr.a0"] == "x") & (table["attr.a1"] == "y")
        chance = rng.beta(18, 2, people)[who] - gap * inside
        rows = table | {"identity": who, "m.found": (rng.random(len(who)) < chance).astype(float)}
        hits += any(piece.confirmed for piece in discover(rows, "found", better="higher", seed=number).slices)
    return hits / tables


def slices() -> Iterator[SurfaceRow]:
    """Slices found on half of the people and tested on the other half."""
    yield SurfaceRow("discover", "discover", "false alarms, five attributes", ALARM, partial(confirms, 0.0), 0.3)
    yield SurfaceRow(
        "discover", "discover", "a slice of two values .25 worse, confirmed", (0.75, 1.0), partial(confirms, 0.25), 0.3
    )


# ---- equity measures


def equity_covers(name: str, rates: tuple[float, ...], truth: float, tables: int, rng: Rng) -> float:
    """How often the interval of a measure of equity holds the measure of the true rates."""
    hits = 0
    for _ in range(tables):
        people = 120 * len(rates)
        group = np.arange(people) % len(rates)
        who = np.repeat(np.arange(people), 4)
        own = rng.beta(12 * np.array(rates)[group], 12 * (1 - np.array(rates)[group]))
        rows = {
            "identity": who,
            "g": np.array([f"g{k}" for k in range(len(rates))])[group][who],
            "m": (rng.random(len(who)) < own[who]).astype(float),
        }
        measured = audit(rows, ["g"], ["m"], adjust="holm", equity=True, better="higher").equity
        [value] = [entry for entry in measured if entry.measure == name]
        hits += value.low - 1e-12 <= truth <= value.high + 1e-12
    return hits / tables


def equities() -> Iterator[SurfaceRow]:
    """Ratios of the groups' rates, fair and unfair."""
    for rates in ((0.9, 0.9, 0.9), (0.95, 0.9, 0.8)):
        run = partial(equity_covers, "impact_ratio", rates, min(rates) / max(rates))
        yield SurfaceRow("equity", "equity", f"coverage of impact_ratio, rates {rates}", WIDE, run, 0.5)


# ---- rates, means, curves


def holds(draw: Callable[[Rng], Interval], truth: Callable[[], float], tables: int, rng: Rng) -> float:
    """How often an interval holds the truth."""
    true = truth()
    intervals = [draw(rng) for _ in range(tables)]
    return float(np.mean([low - 1e-12 <= true <= high + 1e-12 for low, high in intervals]))


def _people(rng: Rng, people: int, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """0/1 trials and who they belong to; people differ in their own rate and in how many trials they have."""
    sizes = rng.integers(1, 12, people)
    who = np.repeat(np.arange(people), sizes)
    return (rng.random(len(who)) < rng.beta(8 * rate, 8 * (1 - rate), people)[who]).astype(float), who


def rate_of_people(people: int, rate: float, rng: Rng) -> Interval:
    """The interval of a clustered rate."""
    estimate = clustered_rate(*by_cluster(*_people(rng, people, rate)))
    return estimate.low, estimate.high


def mean_of_people(people: int, rng: Rng) -> Interval:
    """The interval of a clustered mean of skewed values."""
    who = np.repeat(np.arange(people), rng.integers(1, 8, people))
    values = np.exp(rng.normal(0, 0.5, people))[who] + rng.normal(0, 0.3, len(who))
    estimate = clustered_mean(*by_cluster(values, who))
    return estimate.low, estimate.high


def mean_of_cells(people: int, rng: Rng) -> Interval:
    """The interval of a mean of the means of four cells."""
    who = np.repeat(np.arange(people), 4)
    values = rng.normal(0, 1, people)[who] + rng.normal(0, 1, len(who)) + np.tile([0.0, 1.0, 2.0, 3.0], people)
    estimate = macro_mean(values, np.tile(np.arange(4), people), who)
    return estimate.low, estimate.high


def mean_of_pairs(people: int, rng: Rng) -> Interval:
    """The interval of a mean over all pairs of people."""
    own = rng.normal(0, 1, people)
    first, second = np.triu_indices(people, 1)
    values = own[first] + own[second] + rng.normal(0, 1, len(first))
    estimate = dyadic_mean(values, first, second)
    return estimate.low, estimate.high


def bootstrapped_mean(people: int, rng: Rng) -> Interval:
    """The percentile interval of a weighted mean."""
    values = rng.gamma(4, 1, people)
    return bootstrap_interval(
        lambda weights: float((weights * values).sum() / weights.sum()), people, seed=int(rng.integers(1 << 31))
    )


def open_set(people: int, rng: Rng) -> Interval:
    """FNIR at an FPIR of .1 where hits are N(2, 1) and alarms N(0, 1), with people who differ by .5."""
    known, unknown = np.repeat(np.arange(people), 3), np.repeat(np.arange(people), 3)
    hits = 2 + np.sqrt(0.25) * rng.normal(size=people)[known] + np.sqrt(0.75) * rng.normal(size=len(known))
    alarms = np.sqrt(0.25) * rng.normal(size=people)[unknown] + np.sqrt(0.75) * rng.normal(size=len(unknown))
    band = open_set_curve(hits, known, alarms, unknown, np.array([0.1]), seed=int(rng.integers(1 << 31)))
    return float(band.low[0]), float(band.high[0])


def fnir() -> float:
    """The true FNIR of `open_set`."""
    from scipy.stats import norm

    return float(norm.cdf(norm.ppf(0.9) - 2))


def found_at_false_alarms(images: int, rng: Rng) -> Interval:
    """The rate of faces above the threshold with .5 false alarms an image; faces N(1.5, 1), alarms N(0, 1)."""
    faces, alarms = (np.repeat(np.arange(images), rng.poisson(2, images)) for _ in range(2))
    shared = rng.normal(0, 0.5, images)
    scores = 1.5 + shared[faces] + np.sqrt(0.75) * rng.normal(size=len(faces))
    wrong = rng.normal(size=len(alarms))
    targets = np.array([images / 2])
    rates = resampled_rates(
        ImageScores(scores, faces),
        ImageScores(wrong, alarms),
        images=images,
        targets=targets,
        rounds=300,
        seed=int(rng.integers(1 << 31)),
    )
    band = band_of(rates, targets)
    return float(band.low[0]), float(band.high[0])


def found_at_half() -> float:
    """The true rate of `found_at_false_alarms`: a quarter of the alarms are above the threshold."""
    from scipy.stats import norm

    return float(norm.sf(norm.ppf(0.75) - 1.5))


def _detections(images: int, rng: Rng) -> RankedDetections:
    """Images with 1 to 4 people; people of an image share their difficulty; false alarms score lower."""
    people = rng.integers(1, 5, images)
    image = np.repeat(np.arange(images), people)
    found = rng.random(len(image)) < 1 / (1 + np.exp(-(1.5 + rng.normal(0, 1, images)[image])))
    alarms = np.repeat(np.arange(images), rng.poisson(0.7, images))
    scores = np.concatenate([rng.normal(1.5, 1, int(found.sum())), rng.normal(0, 1, len(alarms))])
    where = np.concatenate([image[found], alarms])
    kind = np.concatenate([np.zeros(int(found.sum()), int), np.full(len(alarms), -2)])
    order = np.argsort(-scores)
    ranked, truths = (where[order], kind[order]), (image, np.zeros(len(image), int))
    return RankedDetections(
        images, lambda: iter([ranked]), lambda: iter([truths]), np.ones((1, 1), bool), np.array([[0.0, 1.0]])
    )


def _of_detections(measure: Callable[..., Any], images: int, rng: Rng) -> Interval:
    (estimate,) = measure(_detections(images, rng), replicates=200, seed=int(rng.integers(1 << 31)))
    return estimate.low, estimate.high


@cache
def _in_the_limit(measure: Callable[..., Any]) -> float:
    """The value of a measure on very many images."""
    return float(measure(_detections(200_000, np.random.default_rng(5)), replicates=0)[0].value)


def average_precision_of(images: int, rng: Rng) -> Interval:
    """The interval of average precision."""
    return _of_detections(average_precisions, images, rng)


def miss_rate_of(images: int, rng: Rng) -> Interval:
    """The interval of the log-average miss rate."""
    return _of_detections(log_average_miss_rates, images, rng)


def _embeddings(people: int, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    who = np.repeat(np.arange(people), 3)
    rows = rng.normal(size=(people, 16))[who] + 0.9 * rng.normal(size=(len(who), 16))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), who


def equal_error(people: int, rng: Rng) -> Interval:
    """The interval of the equal error rate over all pairs."""
    bands = roc_bands(*_embeddings(people, rng), replicates=200, points=5, seed=int(rng.integers(1 << 31)))
    return bands.eer_low, bands.eer_high


@cache
def equal_error_in_the_limit() -> float:
    """The equal error rate over the pairs of very many people."""
    rng = np.random.default_rng(3)
    return float(np.mean([roc_bands(*_embeddings(800, rng), replicates=1, points=2).eer for _ in range(6)]))


def rates_and_curves() -> Iterator[SurfaceRow]:
    """Every interval of `countenance.metrics`."""
    surface = "rates and curves"
    drawn: list[tuple[str, Callable[[Rng], Interval], Callable[[], float], Interval, float]] = []
    for people, rate in ((30, 0.8), (100, 0.95), (300, 0.99)):
        draw = partial(rate_of_people, people, rate)
        drawn.append((f"rate {rate} of {people} people", draw, partial(float, rate), WIDE, 1.0))
    drawn += [
        ("skewed mean of 100 people", partial(mean_of_people, 100), partial(float, np.exp(0.125)), COVER, 1.0),
        ("mean of four cells, 60 people", partial(mean_of_cells, 60), partial(float, 1.5), COVER, 1.0),
        ("mean over the pairs of 60 people", partial(mean_of_pairs, 60), partial(float, 0.0), COVER, 1.0),
        ("bootstrapped mean of 100 people", partial(bootstrapped_mean, 100), partial(float, 4.0), (0.92, 0.97), 0.5),
        ("FNIR at an FPIR of .1, 200 people", partial(open_set, 200), fnir, (0.92, 0.98), 0.5),
        (
            "faces found at .5 false alarms an image, 300 images",
            partial(found_at_false_alarms, 300),
            found_at_half,
            (0.92, 0.98),
            0.5,
        ),
        (
            "average precision, 300 images",
            partial(average_precision_of, 300),
            partial(_in_the_limit, average_precisions),
            (0.92, 0.98),
            0.3,
        ),
        (
            "log-average miss rate, 300 images",
            partial(miss_rate_of, 300),
            partial(_in_the_limit, log_average_miss_rates),
            (0.9, 0.98),
            0.3,
        ),
        ("equal error rate, 100 people", partial(equal_error, 100), equal_error_in_the_limit, (0.92, 0.98), 0.3),
    ]
    for name, draw, truth, bounds, weight in drawn:
        yield SurfaceRow(surface, "coverage", f"{surface}: {name}", bounds, partial(holds, draw, truth), weight)


def rows() -> Iterator[SurfaceRow]:
    """Every line of the surfaces beside the audit."""
    for part in (comparisons, gates, conditions, slices, equities, rates_and_curves):
        yield from part()
