"""Bars for counts; the number stands beside each, so the bar itself is for the eye alone."""

from markupsafe import Markup


def bar(n: int, most: int) -> Markup:
    """A bar as long as its share of the longest.

    >>> 'width="50.0%"' in bar(5, 10)
    True
    """
    share = 100 * n / most if most else 0.0
    return Markup(  # noqa: S704 - numbers
        '<svg width="100%" height="10" aria-hidden="true" focusable="false">'
        f'<rect width="{share:.1f}%" height="10" rx="1"/></svg>'
    )
