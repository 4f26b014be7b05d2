"""Step d: one head for each region, a kernel ridge whose settings are chosen by labelled leave-one-out log-loss."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from countenance.suites.happyfaces.formulas.kernel_ridge import (
    DistancesTo,
    distances,
    fit_platt,
    fit_ridge,
    soft_targets,
)
from countenance.suites.happyfaces.interface import Floats, Labels, Pictures, Singles
from countenance.suites.happyfaces.spatial import alignment
from countenance.suites.happyfaces.spatial.regions import Region, weigh_again
from countenance.suites.happyfaces.spatial.windows import SCALES, score_windows

DeepFeatures = Callable[[Pictures, Region, Labels], Singles]
"""A function from photos, a region and each photo's move to further features, a row for each photo."""

GAMMAS = (1.0, 2.0, 3.0, 4.0)
TEMPLATE_GAMMA = 2.0
"""The exponent of the region whose template is followed, so that the movement is not chosen again for each γ."""
MIXES = (0.0, 0.25, 0.5, 0.75, 1.0)
WIDTHS = (0.5, 1.0, 2.0)
RIDGES = (0.01, 0.03, 0.1, 0.3)
DEEP_SHARES = (0.25, 0.5, 0.75)
DEEP_WIDTHS = (0.125, 0.25, 0.5, 1.0, 2.0)
DEEP_GAIN = 0.9
"""Pretrained features take much longer: a head uses them if its log-loss falls to this share."""
STEADY = 0.1
"""Share of the mean spread that is added to each pretrained feature's own, so that constant ones are not amplified."""


@dataclass(frozen=True)
class Design:
    """The chosen settings of a head, from labelled photos alone."""

    gamma: float
    """Exponent of the block weights."""
    mix: float
    """Share of the 8 px scale in the distance; the rest is the 12 px scale's."""
    width: float
    """Kernel exp(−width · distance / median distance)."""
    ridge: float
    follow: bool
    """Whether the region is moved to where each photo resembles the template most."""
    deep: float
    """Share of the pretrained features in the distance."""
    log_loss: float
    accuracy: float
    landmarks: float = 0.0
    """Share of the mouth's shape in the distance; the rest is as above."""


@dataclass
class Head:
    """The input part of a head: photos to features, features to kernel. Its learnt part is a `Ridge`."""

    design: Design
    region: Region
    template: alignment.FaceTemplate
    median: float
    """Median distance of the labelled photos, the kernel's unit."""
    scales: tuple[float, float]
    """Median distances in HOG and in pretrained features, which make their shares comparable."""
    deep: DeepFeatures | None = None

    def moves(self, fine: Singles) -> Labels:
        """The shift of the region in each photo, in fine squares (down, right)."""
        return self.template.shifts(fine) if self.design.follow else alignment.still(fine)

    def features(self, pictures: Pictures, fine: Singles) -> Singles:
        """Features whose squared distances are the distances of the kernel."""
        moves = self.moves(fine)
        share = self.design.deep
        parts = [
            alignment.look(fine, self.region, scale, moves) * np.float32(np.sqrt(part * (1 - share) / self.scales[0]))
            for scale, part in enumerate((self.design.mix, 1 - self.design.mix))
            if part
        ]
        if self.deep is not None:
            parts.append(self.deep(pictures, self.region, moves) * np.float32(np.sqrt(share / self.scales[1])))
        return np.concatenate(parts, 1)

    def kernel(self, a: Singles, b: Singles) -> Floats:
        """Kernel between two sets of features."""
        return self.kernel_with(b)(a)

    def kernel_with(self, b: Singles) -> Callable[[Singles], Floats]:
        """The same kernel for one second set and many first sets."""
        distances_to = DistancesTo(b)
        return lambda a: np.asarray(np.exp(-self.design.width / self.median * distances_to(a)))


def unit_of(apart: Floats) -> float:
    """The median distance, which makes kinds of features comparable; 1 if all features are equal."""
    return float(np.median(apart)) or 1.0


def designs(between: Floats, median: float, labels: Labels, widths: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Every kernel width and ridge with its leave-one-out log-loss and accuracy on the labelled photos."""
    target, soft = np.where(labels == 1, 1.0, -1.0), soft_targets(labels)
    for width, ridge in itertools.product(widths, RIDGES):
        left_out = fit_ridge(np.exp(-width / median * between), target, ridge).left_out
        platt = fit_platt(left_out, soft)
        # The leave-one-out scores of an uninformative kernel are the mean of the others: always wrong, yet a falling
        # line calibrates them perfectly. Such a line is no evidence.
        loss = platt.loss if platt.slope > 0 else float(np.log(2))
        accuracy = float(((left_out > 0) == (target > 0)).mean())
        yield {"width": width, "ridge": ridge, "log_loss": loss, "accuracy": accuracy}


def choose_head(fine: Singles, labels: Labels, candidates: dict[float, Region]) -> Head:
    """The head with the lowest leave-one-out log-loss on the labelled photos; `candidates` maps γ to its region.

    Two kinds of regions compete: the same box in every photo, with the weights of the discovery; and regions moved
    to where each photo looks most usual, with these weights or with those of windows scored again after the move.
    """
    best: Head | None = None
    template = alignment.make_template(fine, candidates[TEMPLATE_GAMMA])
    there, here = alignment.still(fine), template.shifts(fine)
    again = score_windows(alignment.moved(fine, here), np.where(labels == 1, 1.0, -1.0))
    tries = [(gamma, region, False, there) for gamma, region in candidates.items()]
    tries += [(gamma, region, True, here) for gamma, region in candidates.items()]
    tries += [(gamma, weigh_again(region, again, gamma), True, here) for gamma, region in candidates.items()]
    for gamma, region, follow, moves in tries:
        by_scale = [alignment.look(fine, region, scale, moves) for scale in range(len(SCALES))]
        apart = [distances(part, part) for part in by_scale]
        for mix in MIXES:
            seen = mix * apart[0] + (1 - mix) * apart[1]
            unit = unit_of(seen)
            median = unit_of(seen / unit)
            for candidate in designs(seen / unit, median, labels, WIDTHS):
                if best is None or candidate["log_loss"] < best.design.log_loss:
                    design = Design(gamma=gamma, mix=mix, follow=follow, deep=0.0, **candidate)
                    best = Head(design, region, template, median, (unit, 1.0))
    if best is None:
        raise ValueError("no candidate region")
    return best


def standardised(raw: Singles) -> Callable[[Singles], Singles]:
    """The standardisation of features: by the mean and the spread over the labelled photos (`raw`)."""
    centre, spread = raw.mean(0), raw.std(0) + STEADY * raw.std(0).mean()
    return lambda some: np.asarray((some - centre) / spread, np.float32)


def with_deep(head: Head, compute: DeepFeatures, pictures: Pictures, fine: Singles, labels: Labels) -> Head:
    """The head with pretrained features of its region beside HOG, if labelled photos favour them."""
    moves = head.moves(fine)
    raw = compute(pictures, head.region, moves)
    scaled = standardised(raw)
    extra, seen = scaled(raw), head.features(pictures, fine)
    apart, hog_apart = distances(extra, extra), distances(seen, seen)
    best, least = head, DEEP_GAIN * head.design.log_loss
    units = unit_of(hog_apart) * head.scales[0], unit_of(apart)
    for share in DEEP_SHARES:
        between = (1 - share) * hog_apart / unit_of(hog_apart) + share * apart / units[1]
        median = unit_of(between)
        for candidate in designs(between, median, labels, DEEP_WIDTHS):
            if candidate["log_loss"] < least:
                least = candidate["log_loss"]
                design = replace(head.design, deep=share, **candidate)
                best = Head(design, head.region, head.template, median, units, lambda *photos: scaled(compute(*photos)))
    return best
