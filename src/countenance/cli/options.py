"""Options that several commands share: what the numbers of a box are, and which categories of a COCO file are meant."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from countenance.metrics.readings import Reading


class BoxFormat(StrEnum):
    """What the four numbers of a box are."""

    corners = "corners"
    topleft = "topleft"
    centre = "centre"
    xxyy = "xxyy"
    yxyx = "yxyx"


class BoxUnits(StrEnum):
    """What the numbers of a box are measured in."""

    pixels = "pixels"
    normalised = "normalised"


BOX_FORMATS = "corners x0,y0,x1,y1; topleft x,y,w,h; centre cx,cy,w,h; xxyy x0,x1,y0,y1; yxyx y0,x0,y1,x1"

CategoriesOption = Annotated[
    str | None,
    typer.Option(help="COCO, YOLO, VOC: categories that are people or faces, by id or name: face=1,person=18."),
]


def reading(box_format: BoxFormat, units: BoxUnits) -> "Reading":
    """The reading of boxes that two options name."""
    from countenance.metrics.readings import Reading

    return Reading(box_format.value, units.value)
