"""A PDF without any further package: pages of text, lines, dots and bars, written by hand.

Only what a report needs: the standard fonts that every reader has, A4, text wrapped by their published widths.
"""

import zlib
from dataclasses import dataclass, field
from pathlib import Path

from countenance.files import write_atomically

WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 54.0
_PLAIN = {0x2212: "-", 0x2009: " ", 0x202F: " ", 0x2265: ">=", 0x2264: "<=", 0x03B4: "delta"}
"""Characters that the standard fonts lack."""
_NARROW, _WIDE = set("iljtf.,:;'|!()[] I-"), set("mwMW@%")


def text_width(text: str, size: float, bold: bool = False) -> float:
    """About how wide Helvetica sets a text: three classes of letters are near enough to wrap lines.

    >>> round(text_width("people", 10), 1)
    30.3
    """
    units = sum(0.29 if c in _NARROW else 0.84 if c in _WIDE else 0.70 if c.isupper() else 0.547 for c in text)
    return units * size * (1.06 if bold else 1.0)


def wrap(text: str, size: float, width: float, bold: bool = False) -> list[str]:
    """A text in lines of at most a width; a word longer than a line is cut.

    >>> wrap("one two three", 10, 40), wrap("unbreakable", 10, 30)
    (['one two', 'three'], ['unbre', 'akabl', 'e'])
    """
    lines: list[str] = []
    line = ""
    for word in text.split():
        for piece in _pieces(word, size, width, bold):
            longer = f"{line} {piece}".strip()
            if line and text_width(longer, size, bold) > width:
                lines.append(line)
                line = piece
            else:
                line = longer
    return [*lines, line]


def _pieces(word: str, size: float, width: float, bold: bool) -> list[str]:
    """A word, cut so that each piece fits into a line."""
    out = [""]
    for letter in word:
        if out[-1] and text_width(out[-1] + letter, size, bold) > width:
            out.append("")
        out[-1] += letter
    return out


@dataclass
class Pdf:
    """A document in the making; y counts down from the top of the page."""

    title: str
    pages: list[list[str]] = field(default_factory=lambda: [[]])
    y: float = MARGIN

    def room(self, height: float) -> None:
        """Begin a new page unless so much is left on this one."""
        if self.y + height > HEIGHT - MARGIN:
            self.pages.append([])
            self.y = MARGIN

    def text(self, text: str, size: float = 9.5, *, bold: bool = False, x: float = MARGIN, gap: float = 3.0) -> None:
        """A paragraph across the page."""
        for line in wrap(text, size, WIDTH - MARGIN - x, bold):
            self.room(size * 1.35)
            self.put(line, x, self.y + size, size, bold=bold)
            self.y += size * 1.35
        self.y += gap

    def put(self, text: str, x: float, y: float, size: float, *, bold: bool = False, grey: float = 0.0) -> None:
        """Text at a place."""
        safe = text.translate(_PLAIN).encode("cp1252", "replace").decode("cp1252")
        safe = safe.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        font = "F2" if bold else "F1"
        self.pages[-1].append(f"{grey:g} g BT /{font} {size:g} Tf {x:.1f} {HEIGHT - y:.1f} Td ({safe}) Tj ET")

    def line(self, x0: float, y0: float, x1: float, y1: float, *, width: float = 0.6, grey: float = 0.6) -> None:
        """A straight line."""
        self.pages[-1].append(f"{grey:g} G {width:g} w {x0:.1f} {HEIGHT - y0:.1f} m {x1:.1f} {HEIGHT - y1:.1f} l S")

    def dot(self, x: float, y: float, *, size: float = 3.2, dark: bool = True) -> None:
        """A small square, which marks a value."""
        colour = "0.1 0.3 0.5" if dark else "0.75 0.3 0.1"
        self.pages[-1].append(f"{colour} rg {x - size / 2:.1f} {HEIGHT - y - size / 2:.1f} {size:g} {size:g} re f")

    def table(self, head: list[str], rows: list[list[str]], widths: list[float], size: float = 7.5) -> None:
        """A table whose head comes again on every page."""
        self._row(head, widths, size, bold=True)
        for row in rows:
            height = self._height(row, widths, size)
            if self.y + height > HEIGHT - MARGIN:
                self.room(HEIGHT)
                self._row(head, widths, size, bold=True)
            self._row(row, widths, size)
        self.y += 6

    def _height(self, row: list[str], widths: list[float], size: float) -> float:
        return max(len(wrap(cell, size, w - 4)) for cell, w in zip(row, widths, strict=True)) * size * 1.3 + 2

    def _row(self, row: list[str], widths: list[float], size: float, *, bold: bool = False) -> None:
        height = self._height(row, widths, size)
        self.room(height)
        x = MARGIN
        for cell, width in zip(row, widths, strict=True):
            for i, line in enumerate(wrap(cell, size, width - 4, bold)):
                self.put(line, x, self.y + size * (1 + 1.3 * i), size, bold=bold)
            x += width
        self.y += height
        self.line(MARGIN, self.y, x, self.y, width=0.3, grey=0.8)

    def content(self) -> bytes:
        """The whole file."""
        objects: list[bytes] = []
        fonts = b"<< /F1 3 0 R /F2 4 0 R >>"
        kids = " ".join(f"{6 + 2 * i} 0 R" for i in range(len(self.pages)))
        objects.append(b"<< /Type /Catalog /Pages 2 0 R >>")
        objects.append(f"<< /Type /Pages /Count {len(self.pages)} /Kids [{kids}] >>".encode())
        font = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
        objects += [font.format(name).encode() for name in ("Helvetica", "Helvetica-Bold")]
        title = self.title.encode("utf-16-be").hex()
        objects.append(f"<< /Title <feff{title}> /Producer (countenance) >>".encode())
        for number, page in enumerate(self.pages, start=1):
            body = "\n".join([*page, _footer(number, len(self.pages))])
            stream = zlib.compress(body.encode("cp1252", "replace"))
            head = (
                f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH:g} {HEIGHT:g}] /Contents {len(objects) + 2} 0 R "
            )
            objects.append(head.encode() + b"/Resources << /Font " + fonts + b" >> >>")
            length = f"<< /Length {len(stream)} /Filter /FlateDecode >>".encode()
            objects.append(length + b"\nstream\n" + stream + b"\nendstream")
        out, places = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
        for number, body_ in enumerate(objects, start=1):
            places.append(len(out))
            out += f"{number} 0 obj\n".encode() + body_ + b"\nendobj\n"
        start = len(out)
        out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
        out += b"".join(f"{place:010d} 00000 n \n".encode() for place in places)
        out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
        return bytes(out)

    def write(self, path: Path) -> Path:
        """Put the file in place, all of it or nothing."""
        content = self.content()
        write_atomically(path, lambda part: part.write_bytes(content))
        return path


def _footer(number: int, of: int) -> str:
    return f"0.4 g BT /F1 7.5 Tf {WIDTH - MARGIN - 40:.1f} {MARGIN / 2:.1f} Td ({number} / {of}) Tj ET"
