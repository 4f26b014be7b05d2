"""DET curve, FNMR at an FMR, and the equal error rate, with intervals over people."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countenance.metrics.intervals import LEVEL, IntervalEstimate
from countenance.metrics.pairs.comparisons import Comparisons, Threshold
from countenance.metrics.pairs.influence import Influence, RateBand
from countenance.metrics.pairs.roc import equal_error_rate, roc
from countenance.metrics.pairs.vectors import Array

POINTS = 61
LEAST_FMR = 1e-6
STREAM = 5
"""Number of the random stream beside the seed; other draws use other numbers."""
SUBSET = 2000
"""Pictures of the people drawn for intervals where the pairs kept do not reach."""


@dataclass(frozen=True)
class Curves:
    """The curves of some comparisons."""

    compared: Comparisons
    seed: int = 0
    level: float = LEVEL

    @cached_property
    def grid(self) -> Array:
        """False match rates, as low as the number of pairs allows."""
        lowest = max(1 / max(self.compared.impostors, 1), LEAST_FMR)
        return np.geomspace(min(lowest, 0.5), 1, POINTS)

    @cached_property
    def det(self) -> RateBand:
        """FNMR at each rate of the grid."""
        return self.fnmr_at(self.grid, self.rough(self.grid))

    def rough(self, fmr: Array) -> Array:
        """Thresholds for rates: in single precision where pairs are kept, else interpolated in the histogram."""
        compared, tail = self.compared, self.compared.tail
        allowed = np.floor(fmr * compared.impostors + 1e-9)
        place = np.minimum(allowed.astype(np.int64), len(tail.score) - 1)
        exact = np.nextafter(tail.score[place].astype(np.float64), np.inf)
        binned = np.interp(allowed, tail.above[::-1].astype(np.float64), tail.edges[::-1])
        threshold = np.where((allowed < len(tail.score)) & (exact > tail.cut), exact, binned)
        return np.asarray(np.where(allowed >= compared.impostors, -np.inf, threshold))

    def exact(self, fmr: Array) -> list[Threshold]:
        """The smallest threshold for each rate."""
        return [self.compared.threshold_at(float(rate)) for rate in fmr]

    def slope(self, fmr: Array) -> Array:
        """How fast FNMR falls when FMR grows: -dFNMR / d log FMR, between half and twice the rate."""
        low, high = fmr / 2, np.minimum(2 * fmr, 1.0)
        fall = self.compared.fnmr(self.rough(low)) - self.compared.fnmr(self.rough(high))
        return np.maximum(fall, 0) / np.log(high / low)

    def fnmr_at(self, fmr: Array, thresholds: Array) -> RateBand:
        """FNMR at the thresholds that have these rates. The threshold, too, comes from the people drawn."""
        value = self.compared.fnmr(thresholds)
        return self._band(np.ones(len(fmr)), self.slope(fmr) / fmr, value, thresholds)

    def equal_error(self) -> IntervalEstimate:
        """The equal error rate: FMR and FNMR at the threshold where they are the same."""
        compared, tail = self.compared, self.compared.tail
        genuine = compared.ranked
        if not len(genuine) or not compared.impostors:
            return IntervalEstimate(np.nan, np.nan, np.nan, len(genuine), len(compared.sizes))
        if tail.whole:
            scores = np.concatenate([genuine, tail.score.astype(np.float64)])
            far, val, _ = roc(scores, np.arange(len(scores)) < len(genuine))
        else:
            far, val = tail.above[::-1] / compared.impostors, 1 - compared.fnmr(tail.edges[::-1])
        rate = equal_error_rate(far, val)
        at = np.array([max(rate, 1 / compared.impostors)])
        share = 1 / (1 + self.slope(at) / at)  # how much of the rate moves with FNMR; the rest moves with FMR
        band = self._band(share, 1 - share, np.array([rate]), self.rough(at))
        return IntervalEstimate(rate, float(band.low[0]), float(band.high[0]), len(genuine), len(compared.sizes))

    def _band(self, genuine: Array, impostor: Array, value: Array, thresholds: Array) -> RateBand:
        low, high = np.full(len(value), np.nan), np.full(len(value), np.nan)
        reached = (thresholds > self.compared.tail.cut) | self.compared.tail.whole
        for chosen, source in ((reached, self.compared), (~reached, None)):
            if chosen.any() and len(value):
                comparisons = self._subset if source is None else source
                band = self._of(comparisons, chosen, genuine, impostor, value, thresholds)
                low[chosen], high[chosen] = band.low, band.high
        return RateBand(value, low, high)

    def _of(
        self,
        compared: Comparisons,
        chosen: NDArray[np.bool_],
        genuine: Array,
        impostor: Array,
        value: Array,
        thresholds: Array,
    ) -> RateBand:
        at = thresholds[chosen]
        order = np.argsort(-at, kind="stable")
        influence = Influence.at(compared, at[order]).scaled(len(compared.sizes) / len(self.compared.sizes))
        band = influence.band(genuine[chosen][order], impostor[chosen][order], value[chosen][order], self.level)
        back = np.argsort(order, kind="stable")
        return RateBand(value[chosen], band.low[back], band.high[back])

    @cached_property
    def _subset(self) -> Comparisons:
        """Some people, drawn by the seed, with all their pairs: enough to estimate the variance between people."""
        compared = self.compared
        random = np.random.default_rng([self.seed, STREAM])
        people = random.permutation(len(compared.sizes))
        drawn = np.sort(people[: max(2, int(np.searchsorted(np.cumsum(compared.sizes[people]), SUBSET)))])
        rows = np.flatnonzero(np.isin(compared.identity, drawn))
        _, identity = np.unique(compared.identity[rows], return_inverse=True)
        return Comparisons.of(compared.vectors.taken(rows), identity, seed=self.seed)
