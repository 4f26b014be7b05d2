"""Tasks on restored pictures with FHIBE's two metrics that need a network: LPIPS and CURRICULAR_FACE."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import field_serializer

from countenance.answers import Picture
from countenance.data import Sample
from countenance.models.registry import ModelSpec
from countenance.models.zoo.lpips_weights import load_perceptual_weights
from countenance.suites.fhibe.settings import FhibeSettings
from countenance.suites.fhibe.vocabulary import OWN_METRICS
from countenance.tasks import Metric, Row, Task, load_task
from countenance.tasks.face_encoding import PictureOptions, at_256
from countenance.tasks.reduce import With

INSTALLED = "installed"
"""The weights of LPIPS of an installed package."""
NO_EMBEDDING = "no face embedding given (face_embedding=a model, or the IR-101 weights by path); nothing is downloaded"


class NetworkOptions(PictureOptions):
    """The networks that compare the pictures."""

    lpips_weights: str | None = None
    """The weights of LPIPS by path, or `installed`; None: the metric is left out."""
    face_embedding: Any = None
    """CURRICULAR_FACE: a model's name, net.onnx, IR-101 weights (.pth), or a callable; None: it is left out."""

    @field_serializer("face_embedding")
    def _named(self, value: Any) -> str | None:
        return (
            value if value is None or isinstance(value, str) else str(getattr(value, "__name__", type(value).__name__))
        )


@lru_cache(maxsize=2)
def _weights(path: str) -> Any:
    return load_perceptual_weights(None if path == INSTALLED else path)[0]


@lru_cache(maxsize=2)
def _embedding(source: Any) -> Any:
    return load_embedding(source)


def score(sample: Sample, answer: Picture, options: NetworkOptions, plain: Callable[..., list[Row]]) -> list[Row]:
    """The row of the plain task, with the networks' metrics."""
    from countenance.metrics.perceptual import lpips

    (row,) = plain(sample, answer)
    original = sample.load()
    if options.lpips_weights is not None:
        row["m.LPIPS"] = lpips(at_256(original), at_256(answer.pixels), _weights(options.lpips_weights))
    if options.face_embedding is not None:
        similarity = face_similarity(_embedding(options.face_embedding), original, answer.pixels)
        row["m.CURRICULAR_FACE"] = None if similarity != similarity else similarity
    return [row]


def _encoding(sample: Sample, answer: Picture, options: NetworkOptions) -> list[Row]:
    return score(sample, answer, options, load_task("face_encoding", {"compat": options.compat}).score)


def _super_resolution(sample: Sample, answer: Picture, options: NetworkOptions) -> list[Row]:
    return score(sample, answer, options, load_task("face_super_resolution", {"compat": options.compat}).score)


def _metrics(plain: Task, options: NetworkOptions) -> tuple[Metric, ...]:
    known = {"LPIPS": options.lpips_weights, "CURRICULAR_FACE": options.face_embedding}
    own = [replace(metric, headline=True) for metric in OWN_METRICS if known.get(metric.name) is not None]
    return (*plain.metrics, *own)


def encoding(options: NetworkOptions) -> Task:
    """`face_encoding` with networks."""
    plain = load_task("face_encoding", {"compat": options.compat})
    return replace(
        plain, metrics=_metrics(plain, options), score=With(_encoding, options), options=options, make=encoding
    )


def super_resolution(options: NetworkOptions) -> Task:
    """`face_super_resolution` with networks."""
    plain = load_task("face_super_resolution", {"compat": options.compat})
    return replace(
        plain,
        metrics=_metrics(plain, options),
        score=With(_super_resolution, options),
        options=options,
        make=super_resolution,
    )


FACE_ENCODING = encoding(NetworkOptions())
FACE_SUPER_RESOLUTION = super_resolution(NetworkOptions())
SOURCES = {"face_encoding": "FACE_ENCODING", "face_super_resolution": "FACE_SUPER_RESOLUTION"}


def task_of(settings: FhibeSettings) -> tuple[Task, dict[str, str]]:
    """The task that scores, and the metrics that are left out, each with its reason.

    LPIPS is left out without its weights, CURRICULAR_FACE without the option `face_embedding`; nothing is downloaded.
    """
    skipped: dict[str, str] = {}
    networks: dict[str, Any] = {}
    if "LPIPS" in settings.metrics:
        path = settings.options.get("lpips_weights")
        weights, reason = load_perceptual_weights(path)
        if weights is None:
            skipped["LPIPS"] = reason
        else:
            networks["lpips_weights"] = INSTALLED if path is None else str(path)
    if "CURRICULAR_FACE" in settings.metrics:
        source = settings.options.get("face_embedding")
        if source is None:
            skipped["CURRICULAR_FACE"] = NO_EMBEDDING
        else:
            load_embedding(source)  # a wrong name is reported before anything is read
            networks["face_embedding"] = source if callable(source) else str(source)
    if not networks:
        return settings.scoring_task, skipped
    name = f"{__name__}:{SOURCES[settings.task]}"
    return load_task(name, settings.scoring_options | networks), skipped


def load_embedding(source: Any) -> Any:
    """A face embedding by a model's name, net.onnx, or IR-101 weights (a path); a callable or None is unchanged."""
    if source is None or callable(source):
        return source
    by_path = Path(str(source)).suffix in (".pth", ".pt")
    spec = ModelSpec("ir101", weights=str(source)) if by_path else ModelSpec(str(source))
    return spec.load()


def face_similarity(embed: Any, picture: NDArray[np.uint8], other: NDArray[np.uint8]) -> float:
    """The cosine of two faces' embeddings; NaN where the model finds no face.

    >>> picture = np.zeros((2, 2, 3), np.uint8)
    >>> face_similarity(lambda images: [[3, 4], [6, 8]], picture, picture)
    1.0
    """
    a, b = (getattr(vector, "vector", vector) for vector in embed([picture.copy(), other.copy()]))
    if a is None or b is None:
        return float("nan")
    a, b = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b / norm) if norm > 0 else float("nan")
