"""Bars of counts: one for each count, and one divided by the verdicts of all comparisons."""

from collections.abc import Sequence

from markupsafe import Markup

from countenance.report.names import shown
from countenance.report.words import Tally


def bar(n: int, most: int) -> Markup:
    """A bar as long as its share of the longest; the number beside it says the same.

    >>> 'width="50.0%"' in bar(5, 10)
    True
    """
    share = 100 * n / most if most else 0.0
    return Markup(  # noqa: S704 - numbers
        f'<svg width="100%" height="10" aria-hidden="true"><rect width="{share:.1f}%" height="10" rx="1"/></svg>'
    )


def tally_bar(parts: Sequence[Tally]) -> Markup:
    """A bar divided by verdict, worst first; its text says the same.

    >>> "3 severe disparity" in tally_bar([Tally("severe", "severe disparity", 3)])
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
