"""Draw the pictures of docs/concepts from the pages' own code: `python tools/concept_pictures.py`.

The first Python block of a page leaves `rows`: (label, low, estimate, high). The picture shows them as intervals over
one axis, with a dashed line at `line` where the block names one.
"""

import contextlib
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1] / "docs"
Row = tuple[str, float, float, float]
LEFT, WIDTH, HEIGHT, INK, MARK = 190, 640, 26, "#5b6472", "#1b5fa8"


def rows_of(page: Path) -> tuple[list[Row], float | None]:
    """The rows of a page's picture and its dashed line, from its first Python block."""
    block = re.search(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None, page
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(block[1], page.name, "exec"), names)
    return names["rows"], names.get("line")


def drawn(rows: Sequence[Row], line: float | None, title: str) -> str:
    """The picture as SVG."""
    values = [value for row in rows for value in row[1:]] + ([] if line is None else [line])
    low, high = min(values), max(values)
    margin = 0.06 * (high - low)
    low, high = low - margin, high + margin

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 20) * (value - low) / (high - low), 1)

    bottom = HEIGHT * len(rows) + 12
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 26}" role="img" '
        f'font-family="sans-serif" font-size="13" fill="{INK}"><title>{title}</title>',
        f'<path d="M{LEFT} {bottom}H{WIDTH - 20}" stroke="{INK}"/>',
    ]
    parts += [
        f'<text x="{x(value)}" y="{bottom + 18}" text-anchor="middle">{_label(value)}</text>'
        for value in (low + margin, (low + high) / 2, high - margin)
    ]
    if line is not None:
        parts.append(f'<path d="M{x(line)} 4V{bottom}" stroke="{INK}" stroke-dasharray="4 3"/>')
    for number, (label, least, estimate, most) in enumerate(rows):
        y = HEIGHT * number + 18
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{label}</text>')
        parts.append(f'<path d="M{x(least)} {y}H{x(most)}" stroke="{MARK}" stroke-width="3"/>')
        parts.append(f'<circle cx="{x(estimate)}" cy="{y}" r="5" fill="{MARK}"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _label(value: float) -> str:
    return f"{value:,.0f}" if abs(value) > 10 or value == 0 else f"{value:.2f}"


def pictures() -> dict[Path, str]:
    """Every picture by the file that holds it."""
    result = {}
    for page in sorted((DOCS / "concepts").glob("*.md")):
        rows, line = rows_of(page)
        result[DOCS / "images" / "concepts" / f"{page.stem}.svg"] = drawn(rows, line, page.stem.replace("-", " "))
    return result


def main() -> None:
    """Write the pictures."""
    for path, text in pictures().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
