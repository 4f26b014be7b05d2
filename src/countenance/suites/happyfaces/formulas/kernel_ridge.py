"""Kernel ridge regression with an intercept, its leave-one-out scores in closed form, and Platt scaling of scores."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack  # imported early: limits on threads apply only to loaded libraries
from scipy.special import expit

Floats = NDArray[np.float64]


def distances(a: NDArray[np.float32], b: NDArray[np.float32]) -> Floats:
    """Squared Euclidean distances between the rows of two arrays, for kernels such as exp(−distance).

    >>> distances(np.array([[0, 0], [3, 4]], np.float32), np.array([[0, 0]], np.float32))
    array([[ 0.], [25.]])
    """
    return DistancesTo(b)(a)


class DistancesTo:
    """The same distances from many first arrays to one second array, whose part is computed once."""

    def __init__(self, b: NDArray[np.float32]) -> None:
        self.centre = b.mean(0)  # near the data's middle, where single precision loses least
        self.centred = b - self.centre
        self.squares = np.square(self.centred).sum(1)[None]

    def __call__(self, a: NDArray[np.float32]) -> Floats:
        a = a - self.centre
        square = np.square(a).sum(1)[:, None] + self.squares - 2 * (a @ self.centred.T)
        return np.asarray(np.maximum(square, 0), np.float64)


@dataclass(frozen=True)
class Ridge:
    """A fitted regression: dual coefficients and intercept, and the score of each training item when left out."""

    dual: Floats
    intercept: float
    left_out: Floats

    def score(self, kernel: Floats) -> Floats:
        """Scores of new items, given their kernel with the training items."""
        return np.asarray(kernel @ self.dual + self.intercept)


def fit_ridge(kernel: Floats, target: Floats, ridge: float) -> Ridge:
    """Solve [[K + λ, 1], [1, 0]] [a, b] = [y, 0]; leaving item i out gives y_i − a_i / C_ii, C the inverse.

    >>> x = np.array([0.0, 1, 2, 5]); y = np.array([-1.0, -1, 1, 1]); kernel = np.outer(x, x)
    >>> whole, fewer = fit_ridge(kernel, y, 0.5), fit_ridge(kernel[1:, 1:], y[1:], 0.5)
    >>> bool(np.isclose(whole.left_out[0], fewer.score(kernel[:1, 1:])[0]))
    True
    """
    factor, failed = lapack.dpotrf(kernel + ridge * np.eye(len(target)))
    if failed:
        raise np.linalg.LinAlgError("the kernel is not positive definite")
    half, _ = lapack.dpotri(factor)
    inverse = np.triu(half) + np.triu(half, 1).T  # of K + λ; the intercept's row and column follow from its sums
    weight = inverse.sum(0)
    intercept = float(weight @ target / weight.sum())
    dual = inverse @ target - weight * intercept
    return Ridge(dual, intercept, target - dual / (np.diag(inverse) - weight**2 / weight.sum()))


@dataclass(frozen=True)
class Platt:
    """A line from score to log-odds.

    >>> Platt(2.0, -1.0, 0.0)(np.array([0.5, 1.0])).round(4)  # log-odds of 0 and 1
    array([0.5   , 0.7311])
    """

    slope: float
    offset: float
    loss: float
    """Mean log-loss on the scores it was fitted to."""

    def __call__(self, score: Floats) -> Floats:
        return np.asarray(expit(self.slope * score + self.offset))


def soft_targets(labels: NDArray[np.int64]) -> Floats:
    """Platt's targets, (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), which keep separable scores from infinite slopes.

    >>> soft_targets(np.array([1, 1, 0])).round(3)
    array([0.75 , 0.75 , 0.333])
    """
    positive = int((labels == 1).sum())
    return np.where(labels == 1, (positive + 1) / (positive + 2), 1 / (len(labels) - positive + 2))


def fit_platt(score: Floats, target: Floats) -> Platt:
    """Logistic regression of targets in [0, 1] on one score, by Newton steps with halving."""
    spread = float(score.std()) or 1.0
    centre = float(score.mean())
    design = np.stack([(score - centre) / spread, np.ones_like(score)], 1)
    beta = np.zeros(2)

    def loss(b: Floats) -> float:
        z = design @ b
        return float((np.logaddexp(0, z) - target * z).mean())

    now = loss(beta)
    for _ in range(100):
        p = expit(design @ beta)
        gradient = design.T @ (p - target) / len(score)
        curvature = (design * (p * (1 - p))[:, None]).T @ design / len(score) + 1e-9 * np.eye(2)
        step, size = np.linalg.solve(curvature, gradient), 1.0
        while loss(beta - size * step) > now and size > 1e-6:
            size /= 2
        beta = beta - size * step
        before, now = now, loss(beta)
        if before - now < 1e-12:
            break
    return Platt(float(beta[0] / spread), float(beta[1] - beta[0] * centre / spread), now)


def halvings(labels: NDArray[np.int64], count: int = 60) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Random halves of labelled items, each with half of the items of every label; the same for the same labels.

    >>> first, other = halvings(np.array([1, 1, 0, 0, 0, 0]), count=1)[0]
    >>> sorted([*first.tolist(), *other.tolist()]), np.array([1, 1, 0, 0, 0, 0])[first].tolist()
    ([0, 1, 2, 3, 4, 5], [0, 0, 1])
    """
    rng, out = np.random.default_rng(0), []
    for _ in range(count):
        own = [rng.permutation(np.flatnonzero(labels == label)) for label in np.unique(labels)]
        first, other = (np.concatenate([some[k::2] for some in own]) for k in (0, 1))
        out.append((first, other))
    return out


def halved_log_loss(
    kernel: Floats,
    labels: NDArray[np.int64],
    ridge: float,
    parted: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> float:
    """Mean log-loss on one half of a regression fitted on the other half, with its Platt scaling; both ways.

    >>> labels = np.arange(20) % 2; noise = np.sin(np.arange(20.0))
    >>> good, bad = (halved_log_loss(np.outer(x, x), labels, 0.1, halvings(labels)) for x in (labels + noise, noise))
    >>> bool(good < np.log(2) < bad)
    True
    """
    sign, losses = np.where(labels == 1, 1.0, -1.0), []
    for own, other in [pair for first, rest in parted for pair in ((first, rest), (rest, first))]:
        fit = fit_ridge(kernel[np.ix_(own, own)], sign[own], ridge)
        platt = fit_platt(fit.left_out, soft_targets(labels[own]))
        odds = platt.slope * fit.score(kernel[np.ix_(other, own)]) + platt.offset
        losses.append(np.logaddexp(0, -odds * sign[other]).mean())
    return float(np.mean(losses))
