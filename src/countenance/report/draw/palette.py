"""The colours of the report for figures that have no style sheet."""

from countenance.report.charts.forest import UNMARKED
from countenance.report.words import DIFFERS, FAVOURED, MINOR, NONE, SEVERE, UNSURE, UNTESTED

INK, SOFT, LINE, GRID, LINK = "#1c1c1a", "#5a594f", "#8d8b80", "#e6e4db", "#1a5276"
COLOURS = {
    SEVERE: "#a3211b",
    MINOR: "#8a4a00",
    UNSURE: "#44546c",
    NONE: "#156048",
    UNTESTED: "#66655c",
    DIFFERS: INK,
    FAVOURED: LINK,
    UNMARKED: LINK,
}
"""The colours of `static/style.css`; shapes carry the same information, for readers and printers without colour."""
RAMP = ("#35206e", "#52227c", "#6f2484", "#8c2a83", "#a8327c", "#bf3f6e", "#cf525b", "#d66945", "#d2812f", "#bd9110")
TINTS = ("#f6f3ea", "#fbe9cf", "#fcd9a8", "#f9c47f", "#f2ab5a", "#e4903c", "#b5591a", "#924310", "#6d2f08")
"""The tints of heat maps, from the best to the worst."""
PLAIN = ("#1a5276", "#b34700", "#156048", "#8c2a83", "#6b5b00", "#a3211b", "#3f51b5", "#5a594f", "#00695c", "#880e4f")


def colour_of(name: str) -> str:
    """The colour of a line's class in the style sheet.

    >>> colour_of("c0"), colour_of("s9")
    ('#1a5276', '#bd9110')
    """
    return (RAMP if name.startswith("s") else PLAIN)[int(name[1:])]
