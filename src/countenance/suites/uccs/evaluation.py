"""An evaluation: one score file against the truth, its curve, and the outcome of every face behind it."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from countenance.answers.formats.uccs_scores import ScoreFile
from countenance.data.adapters.uccs_protocol import Protocol
from countenance.data.reading.lines import Bools, Ints
from countenance.metrics.curves import MISSED, Band, RateCurve
from countenance.metrics.curves.open_set import Outcomes
from countenance.tasks.states import State


@dataclass(frozen=True)
class CurveSettings:
    """The settings of a curve: its axes, the matching of boxes, and the band."""

    log: bool = False
    only_present: bool = False
    overlap: float = 0.5
    rank: int = 1
    numbers: bool = False
    """Counts instead of rates on the vertical axis."""
    bootstrap: int = 0
    """How often images are drawn again for the band; 0: no band."""
    seed: int = 0
    exclude: Path | None = None
    """Version 3: the list of faces that the gallery was made from; default: the one beside the protocol."""


@dataclass(frozen=True)
class Submission:
    """A score file beside the truth."""

    label: str
    protocol: Protocol
    scores: ScoreFile
    row_image: Ints
    """Each detection's image in the protocol, or -1."""
    settings: CurveSettings
    recognition: bool = field(default=False, kw_only=True)
    """Whether people are to be recognised; False: faces are to be found."""
    warnings: tuple[str, ...] = field(default=(), kw_only=True)
    reading: tuple[str, ...] = field(default=(), kw_only=True)
    """The warnings about the reading of the boxes."""
    strange: int = field(default=0, kw_only=True)
    """Detections of the file that are not in `scores`: those on images that the protocol does not have."""

    @property
    def version(self) -> int:
        return self.protocol.version


@dataclass(frozen=True, kw_only=True)
class UccsEvaluation(Outcomes, Submission):
    """One score file against the truth: the outcomes, and their curve."""

    curve: RateCurve
    images: int
    band: Band | None = None

    @property
    def hits(self) -> int:
        return int(np.count_nonzero(self.units > MISSED))

    @property
    def unit_image(self) -> Ints:
        return self.protocol.image[self.unit_face]

    @property
    def negative_image(self) -> Ints:
        return self.row_image[self.negative_row]

    @property
    def scale(self) -> int:
        """How many false alarms one unit of the curve's axis represents: version 3 counts them per image."""
        return 1 if self.version == 2 else self.images

    @property
    def unit(self) -> str:
        return "probes" if self.kind == "DIR" else "faces"

    @property
    def alarms(self) -> str:
        return "false alarms" if self.kind == "FROC" else "false identifications"

    def hit(self, threshold: float) -> Bools:
        """Which units are found at a threshold."""
        return (self.units >= threshold) & (self.units > MISSED)

    def to_state(self) -> State:
        """The outcomes, the curve and its band as arrays, without the submission."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in OUTCOMES}
        arrays |= {f"curve.{name}": values for name, values in vars(self.curve).items()}
        if self.band is not None:
            arrays |= {f"band.{name}": values for name, values in vars(self.band).items()}
        return {name: np.asarray(values) for name, values in arrays.items() if values is not None}

    @classmethod
    def from_state(cls, submission: Submission, state: State) -> "UccsEvaluation":
        """The evaluation of a submission whose outcomes were stored."""
        outcomes: dict[str, Any] = {name: state[name] for name in OUTCOMES if name in state}
        outcomes |= {name: outcomes[name].item() for name in PLAIN}
        curve = RateCurve(*(state[f"curve.{part.name}"] for part in fields(RateCurve)))
        band = Band(*(state[f"band.{part.name}"] for part in fields(Band))) if "band.x" in state else None
        return cls(**vars(submission), **outcomes, curve=curve, band=band)

    def to_dict(self) -> dict[str, Any]:
        """The curve as plain numbers: label, x, y, and its band if requested."""
        curve: dict[str, Any] = {"label": self.label, "x": self.curve.x.tolist(), "y": self.curve.y.tolist()}
        if self.band is not None:
            curve["low"], curve["high"] = self.band.low.tolist(), self.band.high.tolist()
        return curve

    def summary(self) -> dict[str, Any]:
        """The counts behind the curve."""
        return {
            "label": self.label,
            "images": self.images,
            self.unit: self.total,
            "found": self.hits,
            "false_alarms": len(self.negatives),
            "detections": len(self.scores) + self.strange,
            "warnings": list(self.warnings),
        }


OUTCOMES = (*(part.name for part in fields(Outcomes)), "images")
PLAIN = ("kind", "total", "images")
"""The fields of the outcomes that are not arrays."""
