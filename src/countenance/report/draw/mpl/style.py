"""The style of all figures: the report's colours, shapes for verdicts, fonts that every machine has."""

from __future__ import annotations

import io
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unicodedata import bidirectional

from countenance.errors import InputError, MissingExtra
from countenance.files import write_atomically
from countenance.report.charts.forest import UNMARKED
from countenance.report.draw.palette import COLOURS, GRID, INK, LINE, SOFT
from countenance.report.words import DIFFERS, FAVOURED, MINOR, NONE, SEVERE, UNSURE, UNTESTED
from countenance.text import redacted

SHAPES: dict[str, Mapping[str, Any]] = {
    SEVERE: {"marker": "D", "fill": True},
    MINOR: {"marker": "D", "fill": False},
    DIFFERS: {"marker": "s", "fill": False},
    FAVOURED: {"marker": "^", "fill": False},
    NONE: {"marker": "o", "fill": True},
    UNSURE: {"marker": "o", "fill": False},
    UNTESTED: {"marker": "x", "fill": True},
    UNMARKED: {"marker": "s", "fill": True},
}
ENDINGS = (".pdf", ".svg", ".png")
MILLIMETRE = 1 / 25.4
LOCK = threading.RLock()
"""matplotlib's settings belong to the whole process, and a server draws in several threads."""
RULES = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "svg.fonttype": "path",
    "svg.hashsalt": "countenance",
    "pdf.fonttype": 42,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
}


def is_installed(*, pdf: bool = False) -> bool:
    """Whether figures (and, with `pdf`, reports as PDF) can be written here."""
    return all(find_spec(name) is not None for name in ("matplotlib", *(["fpdf"] if pdf else [])))


def check_installed(what: str = "drawing figures for files", *, pdf: bool = False) -> None:
    """Raise the error that names the missing extra, before any work is done."""
    if not is_installed(pdf=pdf):
        raise MissingExtra(what, "plots")


@contextmanager
def drawing() -> Iterator[Any]:
    """matplotlib's `Figure` in our style; the user's own settings stay as they are."""
    check_installed()
    import matplotlib
    from matplotlib.figure import Figure

    with LOCK, matplotlib.rc_context(RULES):
        yield Figure


def mark(kind: str, size: float = 4.6) -> dict[str, Any]:
    """The look of a verdict's mark, for `Axes.plot`."""
    shape, colour = SHAPES[kind], COLOURS[kind]
    return {
        "marker": shape["marker"],
        "markersize": size,
        "markeredgecolor": colour,
        "markeredgewidth": 1.1,
        "markerfacecolor": colour if shape["fill"] else "white",
        "linestyle": "none",
        "color": colour,
    }


def shortened(text: str, most: int) -> str:
    """A text of at most this many characters: the middle is cut, because names differ at their ends.

    >>> shortened("results-of-monday-a.txt", 11)
    'resul…a.txt'
    """
    return text if len(text) <= most else f"{text[: most // 2]}…{text[-((most - 1) // 2) :]}"


def shortened_apart(texts: Sequence[str], most: int) -> list[str]:
    """Texts of at most this many characters that still differ: words at the start or end that all share are cut.

    >>> shortened_apart(["Light from above the head", "Light from behind the head", "Light from below the head"], 12)
    ['…above…', '…behind…', '…below…']
    >>> shortened_apart(["results-of-monday-a.txt", "all"], 11)
    ['resul…a.txt', 'all']
    """
    short = [shortened(text, most) for text in texts]
    if len(set(short)) == len(set(texts)):
        return short
    words = [text.split() for text in texts]
    first = _shared(words)
    last = _shared([part[first:][::-1] for part in words])
    middles = [" ".join(part[first : len(part) - last]) for part in words]
    marks = "…" if first else "", "…" if last else ""
    return [f"{marks[0]}{shortened(middle, most - 2)}{marks[1]}" for middle in middles]


def _shared(texts: Sequence[Sequence[str]]) -> int:
    """How many words all texts begin with, leaving at least one word of each."""
    most = min(map(len, texts), default=1) - 1
    return next((k for k in range(max(most, 0)) if len({text[k] for text in texts}) > 1), max(most, 0))


def content_of(figure: Any, ending: str, about: str = "") -> bytes:
    """A figure as the content of a PDF, SVG or PNG file, the same bytes every time; `about` goes into its metadata."""
    about = redacted(about)
    words = {
        ".pdf": {"CreationDate": None, "Subject": about},
        ".svg": {"Date": None, "Description": about},
        ".png": {"Description": about},
    }
    buffer = io.BytesIO()
    with drawing():
        figure.savefig(buffer, format=ending[1:], dpi=200, metadata=words[ending])
    content = buffer.getvalue()
    return content[content.index(b"<svg") :] if ending == ".svg" else content  # no reference to a DTD elsewhere


def save(figure: Any, path: Path, about: str = "") -> Path:
    """Write a figure as PDF, SVG or PNG, whole or not at all; `about` goes into its metadata."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{path}: expected a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    content = content_of(figure, ending, about)
    write_atomically(path, lambda part: part.write_bytes(content) and None)
    return path


def svg_of(figure: Any, font: str) -> str:
    """A figure as SVG whose text is text, in the font of that name; the same characters every time.

    Text from right to left stays outlines: matplotlib joins and orders its letters, which not every reader of SVG does.
    So does text with letters that our font lacks: boxes show that something is there, where a reader may show nothing.
    """
    buffer = io.StringIO()
    with drawing():
        import matplotlib
        from matplotlib.font_manager import findfont, get_font
        from matplotlib.text import Text

        known = get_font(findfont("DejaVu Sans")).get_charmap()
        letters = {letter for text in figure.findobj(Text) for letter in text.get_text() if letter.isprintable()}
        if all(ord(letter) in known and bidirectional(letter) not in ("R", "AL") for letter in letters):
            matplotlib.rcParams["svg.fonttype"] = "none"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # the boxes show it
            figure.savefig(buffer, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    # All lengths are points; only font sizes have a unit, px, which others read as three quarters of a point.
    sizes = re.compile(r'font-size: ([\d.]+)px; font-family: [^;"]+')
    return sizes.sub(rf"font-size: \1pt; font-family: {font}", buffer.getvalue())
