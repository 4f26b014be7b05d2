"""The marks of verdicts and of the better-served side, as shapes that differ without colour."""

from markupsafe import Markup

from countenance.report.charts.forest import UNMARKED
from countenance.report.words import DIFFERS, FAVOURED, MINOR, NONE, SEVERE, UNSURE, UNTESTED

SHAPES = {
    SEVERE: '<path d="M0-6.5 6.5 0 0 6.5-6.5 0z"/>',
    MINOR: '<path class="open" d="M0-5.8 5.8 0 0 5.8-5.8 0z"/>',
    DIFFERS: '<path class="open" d="M-4.4-4.4H4.4V4.4H-4.4z"/>',
    FAVOURED: '<path class="open" d="M0-5.6 5.8 4.4-5.8 4.4z"/>',
    NONE: '<circle r="4.6"/>',
    UNMARKED: '<circle r="4.6"/>',
    UNSURE: '<circle class="open" r="4.4"/>',
    UNTESTED: '<path class="open" d="M-4-4 4 4M4-4-4 4"/>',
}


def shape(kind: str) -> Markup:
    """A mark around the origin."""
    return Markup(SHAPES[kind])  # noqa: S704 - our own constant


def icon(kind: str) -> Markup:
    """A mark as a small picture, to be placed before its word.

    >>> "aria-hidden" in icon("severe")
    True
    """
    return Markup(  # noqa: S704 - only constants
        f'<svg class="icon mark {kind}" viewBox="-8 -8 16 16" width="16" height="16" aria-hidden="true">'
        f"{SHAPES[kind]}</svg>"
    )
