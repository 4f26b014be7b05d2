"""Numbers as a reader sees them: shares as percent, other numbers with three decimals, a dash if missing."""

import math

THIN = "\u202f"
MINUS = "\u2212"
NOTHING = "–"


def is_number(value: float | None) -> bool:
    """Whether there is a finite number to show."""
    return value is not None and math.isfinite(value)


def value(number: float | None, kind: str = "mean") -> str:
    """An estimate.

    >>> value(0.9312, "rate"), value(0.5126, "mean"), value(float("nan"), "rate")
    ('93.1\u202f%', '0.513', '–')
    """
    if number is None or not math.isfinite(number):
        return NOTHING
    return f"{_signed(100 * number, 1)}{THIN}%" if kind == "rate" else _signed(number, 3)


def span(low: float | None, high: float | None, kind: str = "mean") -> str:
    """An interval.

    >>> span(0.621, 0.786, "rate"), span(0.5, 0.61), span(None, None)
    ('62.1–78.6\u202f%', '0.500–0.610', 'no interval')
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "no interval"
    joint = " to " if low < 0 else "–"
    if kind == "rate":
        return f"{_signed(100 * low, 1)}{joint}{_signed(100 * high, 1)}{THIN}%"
    return f"{_signed(low, 3)}{joint}{_signed(high, 3)}"


def likely(low: float | None, high: float | None, kind: str = "mean") -> str:
    """An interval in words, as short as it can be.

    >>> likely(0.921, 0.984, "rate"), likely(0.5, 0.61)
    ('likely 92 to 98', 'likely 0.500 to 0.610')
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "no interval"
    scale, digits = (100, 0) if kind == "rate" else (1, 3)
    if kind == "rate" and 0 < 100 * (high - low) < 1:
        digits = 1
    return f"likely {_signed(scale * low, digits)} to {_signed(scale * high, digits)}"


def short(number: float) -> str:
    """A mean for a sentence: about three significant figures, two below 0.1, no decimals from 1,000.

    >>> short(32.8361), short(0.5551), short(0.00083), short(-1234.5)
    ('32.8', '0.555', '0.00083', '−1,234')
    """
    if not math.isfinite(number):
        return NOTHING
    size = abs(number)
    if 0 < size < 0.0995:
        return f"{number:.2g}".replace("-", MINUS)
    digits = 0 if size >= 1000 else 1 if size >= 10 else 3 if size < 1 else 2
    return f"{number:,.{digits}f}".replace("-", MINUS)


def percent(number: float, kind: str = "mean") -> str:
    """An estimate for quick reading: whole percent where that is precise enough.

    >>> percent(0.9312, "rate"), percent(0.9996, "rate"), percent(0.5126)
    ('93\u202f%', '99.96\u202f%', '0.513')
    """
    if kind != "rate" or not math.isfinite(number):
        return value(number, kind)
    digits = 0
    while digits < 3 and number not in (0, 1) and round(100 * number, digits) in (0, 100):
        digits += 1
    digits += 1 if digits and round(100 * number, digits) not in (0, 100) and digits < 2 else 0
    return f"{100 * number:.{digits}f}{THIN}%"


def points(share: float) -> str:
    """A size between 0 and 1 in points, with all its digits.

    >>> points(0.05), points(0.01), points(0.0025)
    ('5 points', '1 point', '0.25 points')
    """
    size = f"{100 * share:g}"
    return f"{size} {'point' if size == '1' else 'points'}"


def change(number: float | None, kind: str = "mean", *, sign: bool = True) -> str:
    """A difference: percentage points for rates.

    >>> change(-0.2219, "rate"), change(0.031), change(-0.2219, "rate", sign=False)
    ('−22.2 points', '+0.031', '22.2 points')
    """
    if number is None or not math.isfinite(number):
        return NOTHING
    shown = number if sign else abs(number)
    text = _signed(100 * shown, 1, plus=sign) if kind == "rate" else _signed(shown, 3, plus=sign)
    return f"{text} points" if kind == "rate" else text


def change_span(low: float | None, high: float | None, kind: str = "mean") -> str:
    """An interval of a difference.

    >>> change_span(-0.312, -0.14, "rate")
    '−31.2 to −14.0'
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return "no interval"
    scale, digits = (100, 1) if kind == "rate" else (1, 3)
    return f"{_signed(scale * low, digits, plus=True)} to {_signed(scale * high, digits, plus=True)}"


def probability(p: float | None) -> str:
    """A p value.

    >>> probability(0.00004), probability(0.0234), probability(1.0)
    ('< 0.001', '0.023', '1')
    """
    if p is None or not math.isfinite(p):
        return NOTHING
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.9995 else "1"


def effect(number: float | None) -> str:
    """An effect size.

    >>> effect(-0.4567)
    '−0.46'
    """
    return NOTHING if number is None or not math.isfinite(number) else _signed(number, 2, plus=True)


def count(n: int | None) -> str:
    """A count.

    >>> count(12345)
    '12,345'
    """
    return NOTHING if n is None else f"{n:,}"


def share(number: float | None) -> str:
    """A rate as percent with as many digits as necessary.

    >>> share(0.885), share(0.00375), share(0.0000042), share(-0.0), share(None)
    ('88.5\u202f%', '0.38\u202f%', '0.00042\u202f%', '0\u202f%', '–')
    """
    if number is None or not math.isfinite(number):
        return NOTHING
    percent = 100 * number
    if percent == 0:
        return f"0{THIN}%"
    digits = 1 if abs(percent) >= 1 else min(10, 1 - math.floor(math.log10(abs(percent))))
    return f"{_signed(percent, digits)}{THIN}%"


def tick(number: float) -> str:
    """A number on an axis: 1,000 and not 1e+03; very large and very small powers of ten with an exponent.

    >>> tick(1000), tick(0.25), tick(0.001), tick(1e-6), tick(2500000), tick(-0.0), tick(-0.5)
    ('1,000', '0.25', '0.001', '10⁻⁶', '2,500,000', '0', '−0.5')
    """
    if number == 0:
        return "0"
    size = abs(number)
    power = math.log10(size)
    if (size < 1e-3 or size >= 1e7) and abs(power - round(power)) < 1e-9:
        text = "10" + str(round(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    elif size >= 1000:
        text = f"{size:,.0f}" if size == round(size) else f"{size:,.1f}"
    else:
        text = f"{float(f'{size:.3g}'):.10f}".rstrip("0").rstrip(".")
    return (MINUS if number < 0 else "") + text


def plural(n: int, singular: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> plural(1, "image"), plural(2400, "image"), plural(2, "identity", "identities")
    ('1 image', '2,400 images', '2 identities')
    """
    return f"{n:,} {singular if n == 1 else many or singular + 's'}"


def _signed(number: float, digits: int, *, plus: bool = False) -> str:
    text = f"{abs(number):.{digits}f}"
    if float(text) == 0:
        return text
    return (MINUS if number < 0 else "+" if plus else "") + text
