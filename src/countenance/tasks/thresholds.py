"""The thresholds of metrics that average over several: exact decimals, or as published (`compat="strict"`)."""

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.metrics.boxes import AR_THRESHOLDS
from countenance.metrics.keypoints import PCK_THRESHOLDS
from countenance.settings.data import Compat
from countenance.tasks.results import Axis, Curve, Line, Result
from countenance.tasks.task import Options

Array = NDArray[np.float64]
RECALLS = ("AR_IOU", "AR_MASK", "AR_OKS", "AR_DET")
EXACT: dict[str, Array] = {
    **dict.fromkeys(RECALLS, AR_THRESHOLDS),
    "ACC_DET": np.array([0.5]),
    "PCK": PCK_THRESHOLDS,
}
PUBLISHED: dict[str, Array] = {
    **dict.fromkeys(RECALLS, np.arange(0.5, 1, 0.05)),
    "ACC_DET": np.array([0.5]),
    "PCK": np.arange(0.1, 1, 0.1),
}
"""FHIBE's thresholds with their floating errors: .6000000000000001 where .60 was meant."""


AXES = {
    "AR_IOU": ("overlap threshold", "share of people found"),
    "AR_MASK": ("overlap threshold", "share of people found"),
    "AR_OKS": ("similarity threshold", "share of people found"),
    "PCK": ("threshold × face diagonal", "share of keypoints"),
    "AR_DET": ("probability threshold", "share of parts found"),
    "ACC_DET": ("probability threshold", "share of parts answered correctly"),
}


class ThresholdOptions(Options):
    """The thresholds, and whether FHIBE's published quirks apply."""

    thresholds: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """By metric, such as {"AR_IOU": [0.5, 0.75]}; a metric that is not named has its usual ones."""
    compat: Compat = "default"
    """strict: the numbers that FHIBE's own code gives (docs/suites/fhibe.md lists the differences)."""

    @field_validator("thresholds", mode="before")
    @classmethod
    def _checked(cls, thresholds: Any) -> Any:
        if not isinstance(thresholds, dict):
            raise ValueError(f"{thresholds!r:.60}, expected thresholds by metric")
        by_name = {"AR_IOU" if name == "average_recall" else name: values for name, values in thresholds.items()}
        return {name: tuple(threshold_levels(name, values).tolist()) for name, values in by_name.items()}

    @property
    def strict(self) -> bool:
        """Whether the published quirks count."""
        return self.compat == "strict"

    def levels(self, metric: str) -> Array:
        """The thresholds of a metric."""
        usual = (PUBLISHED if self.strict else EXACT)[metric]
        return np.array(self.thresholds[metric]) if self.thresholds.get(metric) else usual

    def named(self, metric: str) -> dict[str, float]:
        """The thresholds of a metric by their names in published results."""
        return threshold_names(self.levels(metric), self.strict)


def levels_in_words(levels: Array) -> str:
    """Thresholds as a text: the ends of an even range of three or more, else all of them.

    >>> levels_in_words(AR_THRESHOLDS), levels_in_words(np.array([0.3, 0.4])), levels_in_words(np.array([0.5]))
    ('0.5 to 0.95', '0.3, 0.4', '0.5')
    """
    if len(levels) > 2 and np.allclose(np.diff(levels, 2), 0):
        return f"{levels[0]:g} to {levels[-1]:g}"
    return ", ".join(f"{level:g}" for level in levels)


def threshold_levels(metric: str, values: Any) -> Array:
    """Thresholds from a user's value; ValueError says what is wrong with it.

    >>> threshold_levels("AR_IOU", 0.5)
    Traceback (most recent call last):
    ValueError: metric AR_IOU: thresholds 0.5, expected a list of numbers such as [0.5]
    """
    if metric not in EXACT:
        raise ValueError(f"metric {metric} takes no thresholds")
    try:
        levels = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        levels = np.array(np.nan)
    if levels.ndim != 1:
        raise ValueError(f"metric {metric}: thresholds {values!r:.60}, expected a list of numbers such as [0.5]")
    if not ((levels >= 0) & (levels <= 1)).all():
        raise ValueError(f"metric {metric}: thresholds {values!r:.60}, expected numbers from 0 to 1")
    return levels


def asked_metrics(task: str, known: Sequence[str], metrics: Any) -> tuple[tuple[str, ...], dict[str, Array]]:
    """The metrics of a task and the thresholds given for them, from None, names or {name: {"thresholds": […]}}.

    >>> asked_metrics("person_parsing", ["AR_MASK"], {"ar_mask": {"thresholds": [0.3]}})
    (('AR_MASK',), {'AR_MASK': array([0.3])})
    """
    if isinstance(metrics, str):
        metrics = [metrics]
    if metrics is not None and not isinstance(metrics, (Mapping, Sequence, Set)):
        raise InputError(f"metrics is {metrics!r:.60}, expected names, or {{name: {{'thresholds': [...]}}}}")
    chosen: dict[str, Any] = {str(name).upper(): None for name in metrics or known}
    for name, value in metrics.items() if isinstance(metrics, Mapping) else ():
        if not isinstance(value, Mapping) or set(value) != {"thresholds"}:
            raise InputError(f"metric {name!r}: expected {{'thresholds': [...]}}, found {value!r:.60}")
        chosen[str(name).upper()] = value["thresholds"]
    thresholds: dict[str, Array] = {}
    for name, value in chosen.items():
        if name not in known:
            raise InputError(
                f"metric {name} does not belong to {task}, which has {', '.join(known)}{near(name, known)}"
            )
        if value is not None and (name in EXACT or np.size(value)):
            try:
                thresholds[name] = threshold_levels(name, value)
            except ValueError as error:
                raise InputError(str(error)) from None
    return tuple(chosen), thresholds


def threshold_names(thresholds: Array, strict: bool) -> dict[str, float]:
    """Thresholds by their names in results; in strict mode two that print alike are one, as published.

    >>> threshold_names(np.array([0.501, 0.504]), True), threshold_names(np.array([0.501, 0.504]), False)
    ({'0.50': 0.504}, {'0.501': 0.501, '0.504': 0.504})
    """
    short = {f"{value:.2f}": float(value) for value in thresholds}
    if strict or len(short) == len(thresholds):
        return short
    return {f"{value:g}": float(value) for value in thresholds}


def threshold_curve(metric: str, thresholds: Sequence[float], shares: Sequence[float]) -> list[Result]:
    """The share that passes each threshold of a metric, as the curve of everyone; empty without shares.

    >>> [curve.lines[0].y for curve in threshold_curve("AR_IOU", [0.5, 0.75], [1.0, 0.5])]
    [[1.0, 0.5]]
    """
    if not len(thresholds) or not len(shares):
        return []
    x, y = (Axis(label=label) for label in AXES[metric])
    return [Curve(name=metric, x=x, y=y, lines=[Line(label="everyone", x=list(thresholds), y=list(shares))])]
