"""The waterfall from a raw gap to what remains of it: each step with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass

from countenance.report.charts.scale import Scale


@dataclass(frozen=True)
class Step:
    """One step: its name, the ends of its bar, and the interval of its size (not of its end)."""

    name: str
    start: float
    end: float
    low: float
    high: float
    kind: str
    """raw, part or held."""

    @property
    def size(self) -> float:
        """How much the step adds."""
        return self.end - self.start


@dataclass(frozen=True)
class LabelledStep:
    """A step of a waterfall: its name, where it lies, and its size with interval as text."""

    name: str
    step: Step
    size: str
    interval: str


@dataclass(frozen=True)
class Waterfall:
    """One gap drawn from raw to what remains."""

    title: str
    scale: Scale
    steps: list[LabelledStep]


def steps(
    raw: tuple[float, float, float],
    parts: Sequence[tuple[str, float, float, float]],
    held: tuple[float, float, float],
) -> list[Step]:
    """The steps of a gap: raw, the part that each condition explains, and what remains.

    >>> bars = steps((-0.1, -0.12, -0.08), [("light", -0.06, -0.07, -0.05)], (-0.04, -0.06, -0.02))
    >>> [round(step.end, 2) for step in bars]
    [-0.1, -0.04, -0.04]
    """
    bars = [Step("raw gap", 0.0, raw[0], raw[1], raw[2], "raw")]
    place = raw[0]
    for name, size, low, high in parts:
        bars.append(Step(name, place, place - size, -high, -low, "part"))
        place -= size
    return [*bars, Step("held equal", 0.0, held[0], held[1], held[2], "held")]


def scale_of(bars: Sequence[Step], kind: str) -> Scale:
    """The axis that holds every bar and interval."""
    ends = [value for step in bars for value in (step.start, step.end, step.start + step.low, step.start + step.high)]
    return Scale.around([0.0, *ends], "points" if kind == "rate" else "mean", least=0.02)
