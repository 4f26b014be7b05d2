"""Spatial discovery: two features that explain the label at two places of the photo, which are not known beforehand.

It assumes that the two features are at different places, and declines where they are not.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from countenance.data.picture_cache import PictureCache
from countenance.suites.happyfaces.formulas import hog, two_views
from countenance.suites.happyfaces.interface import CannotAnswer, Floats, Heads, Labels, Pictures, Singles
from countenance.suites.happyfaces.spatial.assumption import Separation, separation
from countenance.suites.happyfaces.spatial.heads import GAMMAS, DeepFeatures, Head, choose_head, with_deep
from countenance.suites.happyfaces.spatial.regions import regions, two_groups
from countenance.suites.happyfaces.spatial.windows import SCALES, score_windows

Landmarks = Callable[..., Floats]
"""A function from a photo, the photo partly covered, and the middle (x, y) of a region to 68 landmarks of the face
there."""


@dataclass
class Discovery:
    """The results from the labelled photos alone: the heads' regions and settings, and their separation."""

    heads: tuple[Head, Head]
    separation: Separation

    def __post_init__(self) -> None:
        self._seen = PictureCache(self._features, batch=100)

    def _features(self, pictures: Pictures) -> Iterable[tuple[Singles, ...]]:
        fine = hog.fine_votes(pictures)
        return zip(*(head.features(pictures, fine) for head in self.heads), strict=True)

    def features(self, pictures: Pictures) -> list[Singles]:
        """Both heads' features of photos."""
        return [np.stack(rows) for rows in zip(*self._seen(pictures), strict=True)]

    def moves(self, pictures: Pictures) -> list[Labels]:
        """For each head, the shift of its region in each photo, in pixels (down, right)."""
        fine = hog.fine_votes(pictures)
        return [hog.FINE * head.moves(fine) for head in self.heads]


def discover(
    labelled: Pictures, labels: Labels, deep: DeepFeatures | None = None, landmarks: Landmarks | None = None
) -> Discovery:
    """Steps a to d on the labelled photos. The same photos give the same object, which all seeds share."""
    # Photos are sorted by their pixels: the discovery does not depend on the order in which they came.
    order = sorted(range(len(labels)), key=lambda i: hashlib.blake2b(labelled[i].tobytes()).digest())
    with threadpool_limits(limits=1):  # the matrices are small: threads cost more than they bring
        return _discover(labelled[order].tobytes(), labelled.shape, labels[order].tobytes(), deep, landmarks)


@lru_cache(maxsize=2)
def _discover(
    pixels: bytes,
    shape: tuple[int, ...],
    label_bytes: bytes,
    deep: DeepFeatures | None,
    landmarks: Landmarks | None = None,
) -> Discovery:
    pictures = np.frombuffer(pixels, np.uint8).reshape(shape)
    labels = np.frombuffer(label_bytes, np.int64)
    target = np.where(labels == 1, 1.0, -1.0)
    fine = hog.fine_votes(pictures)
    try:
        groups = two_groups(score_windows(fine, target), target)
    except ValueError as error:
        raise CannotAnswer(f"no two features found: {error}") from None
    shapes = tuple(hog.grid(fine, cell) for cell, _ in SCALES)
    by_gamma = {gamma: regions(groups, shapes, gamma) for gamma in GAMMAS}
    first, second = (choose_head(fine, labels, {gamma: both[k] for gamma, both in by_gamma.items()}) for k in (0, 1))
    if deep is not None:
        first, second = (with_deep(head, deep, pictures, fine, labels) for head in (first, second))
    if landmarks is not None:
        from countenance.suites.happyfaces.spatial.landmarks import mouths_of, with_landmarks

        both = (first, second.region), (second, first.region)
        first, second = (  # if pretrained features do not help, the region shows no face
            with_landmarks(head, mouths_of(landmarks, head.region, other), pictures, fine, labels)
            if head.design.deep
            else head
            for head, other in both
        )
    designs = (first.design, second.design)
    accuracy, log_loss = min(design.accuracy for design in designs), max(design.log_loss for design in designs)
    return Discovery((first, second), separation(groups, target, shapes, accuracy, log_loss))


class SpatialDiscovery:
    """HOG windows, two groups, two heads, EM."""

    name = "spatial"
    deep: DeepFeatures | None = None
    landmarks: Landmarks | None = None
    most = two_views.MOST
    """The largest mix rate that is considered."""

    def __init__(self, seed: int = 0, insist: bool = False) -> None:
        self.seed = seed
        """Not used: nothing here is random."""
        self.insist = insist
        """Answer even where the assumption fails (to show what happens)."""

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Two heads, the one with the more accurate windows first."""
        return self.fit_with_answers(labelled, labels, unlabelled, unlabelled[:0], np.zeros((0, 2), np.int64))

    def fit_with_answers(
        self, labelled: Pictures, labels: Labels, unlabelled: Pictures, answered: Pictures, answers: Labels
    ) -> Heads:
        """Fit two heads with answers about some photos; `answers` is photos × 2, one column for each head.

        The regions and settings of the heads stay those from the labelled photos.
        """
        discovery = discover(labelled, labels, self.deep, self.landmarks)
        if discovery.separation.problem and not self.insist:
            raise CannotAnswer(discovery.separation.problem)
        parts = [discovery.features(some) for some in (labelled, answered, unlabelled) if len(some)]
        both = [np.concatenate([part[k] for part in parts]) for k in (0, 1)]
        kernels = [head.kernel(features, features) for head, features in zip(discovery.heads, both, strict=True)]
        ridges = [head.design.ridge for head in discovery.heads]
        known_labels = [np.concatenate([labels, answers[:, k]]) for k in (0, 1)]
        with threadpool_limits(limits=1):
            heads, mix_rate = two_views.learn(kernels, known_labels, ridges, self.most, len(labels))

        kernels_with = [head.kernel_with(known) for head, known in zip(discovery.heads, both, strict=True)]

        def predict(pictures: Pictures) -> Floats:
            parts = zip(kernels_with, heads, discovery.features(pictures), strict=True)
            return np.stack([learnt(kernel(seen)) for kernel, learnt, seen in parts], 1)

        notes = {
            "estimated_mix_rate": mix_rate,
            "designs": [asdict(head.design) for head in discovery.heads],
            "separation": asdict(discovery.separation),
            "regions": [[weights.round(6).tolist() for weights in head.region.weights] for head in discovery.heads],
        }
        return Heads(predict, notes)


class SpatialDiscoveryDeep(SpatialDiscovery):
    """Spatial discovery with pretrained features of the discovered regions, where labelled photos favour them.

    Its mix rate may have any value: where most photos disagree, each head's label implies the opposite for the other.
    """

    name = "spatial-deep"
    most = 1 - two_views.LEAST

    def __init__(self, seed: int = 0, insist: bool = False) -> None:
        super().__init__(seed, insist)
        from countenance.suites.happyfaces.spatial.deep import pretrained_features

        self.deep = pretrained_features()


class SpatialDiscoveryLandmarks(SpatialDiscoveryDeep):
    """Spatial discovery with the shape of the mouth, by dlib's landmarks, where labelled photos favour it."""

    name = "spatial-landmarks"

    def __init__(self, seed: int = 0, insist: bool = False) -> None:
        super().__init__(seed, insist)
        from countenance.suites.happyfaces.spatial.landmarks import dlib_landmarks

        self.landmarks = dlib_landmarks()
