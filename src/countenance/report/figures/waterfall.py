"""From a raw gap to what remains of it: a table whose one column is drawn, each step with its interval."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from countenance.report.figures.forest import OPEN
from countenance.report.figures.scale import Scale


@dataclass(frozen=True)
class Step:
    """One step: what it is, where its bar begins and ends, and the interval of its size (not of its end)."""

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


def steps(
    raw: tuple[float, float, float],
    parts: Sequence[tuple[str, float, float, float]],
    held: tuple[float, float, float],
) -> list[Step]:
    """A raw gap, what each condition takes away of it, and what is left.

    >>> made = steps((-0.1, -0.12, -0.08), [("light", -0.06, -0.07, -0.05)], (-0.04, -0.06, -0.02))
    >>> [round(one.end, 2) for one in made]
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


def bar(scale: Scale, step: Step) -> Markup:
    """One step as a bar, with the interval of its size at its end.

    >>> drawn = bar(Scale.around([-0.1, 0.1], "points"), Step("raw gap", 0.0, -0.1, -0.12, -0.08, "raw"))
    >>> 'class="fall raw"' in drawn and 'class="interval fall-ends"' in drawn
    True
    """
    parts = [OPEN.format(part="row")]
    for tick in scale.ticks:
        x = scale.at(tick)
        parts.append(f'<line class="{"grid" if tick else "ref"}" x1="{x}%" x2="{x}%" y1="0" y2="100%"/>')
    if math.isfinite(step.end):
        left, right = sorted((scale.at(step.start), scale.at(step.end)))
        width = max(right - left, 0.4)
        parts.append(f'<rect class="fall {step.kind}" x="{left}%" width="{width:.2f}%" y="25%" height="50%"/>')
        if math.isfinite(step.low) and math.isfinite(step.high):
            ends = f'x1="{scale.at(step.start + step.low)}%" x2="{scale.at(step.start + step.high)}%"'
            parts.append(f'<line class="interval fall-ends" {ends} y1="50%" y2="50%"/>')
    return Markup("".join([*parts, "</svg>"]))  # noqa: S704 - numbers and constants
