"""How all the comparisons ended, as one bar."""

from collections.abc import Sequence

from markupsafe import Markup

from countenance.report.names import shown
from countenance.report.words import Tally


def bar(parts: Sequence[Tally]) -> Markup:
    """A bar cut into the ends that occurred, worst first; its text says the same.

    >>> "3 severe disparity" in bar([Tally("severe", "severe disparity", 3)])
    True
    """
    total = sum(part.n for part in parts) or 1
    counts = ", ".join(f"{part.n} {part.label}" for part in parts) or "no comparisons"
    out = [
        '<svg class="tally" width="100%" height="14" role="img" aria-labelledby="tally-title">',
        f'<title id="tally-title">How the comparisons ended: {shown(counts)}</title>',
    ]
    start = 0.0
    for part in parts:
        share = 100 * part.n / total
        out.append(f'<rect class="piece {part.mark}" x="{start:.3f}%" width="{share:.3f}%" height="14"/>')
        start += share
        if start < 99.99:
            out.append(f'<line class="cut" x1="{start:.3f}%" x2="{start:.3f}%" y1="0" y2="14"/>')
    return Markup("".join([*out, "</svg>"]))  # noqa: S704 - numbers, constants and escaped labels
