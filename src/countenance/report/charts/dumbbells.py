"""Dumbbells as a value: the numbers of each group in two models, on one axis."""

from dataclasses import dataclass

from countenance.report.charts.scale import Scale


@dataclass(frozen=True)
class Dumbbell:
    """One group in both models."""

    who: str
    size: str
    ends: tuple[float, float]
    """The numbers of the old and the new model."""
    old: str
    new: str
    difference: str
    interval: str
    mark: str
    verdict: str
    colours: tuple[str, ...]
    """Of the skin tones of the group."""
    links: tuple[str, str, str] | None
    """On the viewer's page: the addresses of its rows in the old and the new run, and of the samples that changed."""


@dataclass(frozen=True)
class Dumbbells:
    """A metric's dumbbells: everyone, then the groups that lose most, then the others."""

    metric: str
    scale: Scale
    everyone: Dumbbell
    shown: list[Dumbbell]
    folded: list[Dumbbell]
