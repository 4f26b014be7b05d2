"""Parts of pages for a notebook: the same templates, with as much of the style as they need."""

from typing import Any

from countenance.report.render import asset, environment

SHARED = (".mark", ".interval", ".verdict", ".icon", ".grid", ".ref", ".forest-axis text", ".hidden", ".note")
"""The rules of the style sheet that a first screen needs, by the beginning of their line."""
TABLES = (
    ".verdict",
    ".badge",
    ".icon",
    ".eyebrow",
    ".forest",
    ".against",
    ".n, .number",
    ".grid",
    ".hidden",
    ".mark",
    "table {",
    "th, td {",
    "thead th {",
    "tbody th {",
)
"""The rules that comparisons and gates need."""
COMPARISONS = "/* comparisons */"
FIRST = ("/* first screen: begin */", "/* first screen: end */")
BASE = (
    ".countenance { font: 15px/1.5 var(--sans); color: var(--ink); background: var(--bg); }"
    ".countenance { padding: .2rem 1rem 1rem; container-type: inline-size; }"
    ".countenance * { box-sizing: border-box; } .countenance a { color: var(--link); }"
)


def fragment(template: str, *, tables: bool = False, **context: Any) -> str:
    """A part of a page for a notebook; its style touches nothing outside it.

    `tables` adds the style of comparisons and gates to that of a first screen.
    """
    style = asset("style.css")
    rules = f"{_first_screen(style)}\n{_tables(style)}" if tables else _first_screen(style)
    body = environment().get_template(template).render(**context)
    return f'<style>{rules}</style>\n<div class="countenance">{body}</div>'


def _first_screen(style: str) -> str:
    colours = style[style.index(":root {") : style.index("* { box-sizing")].replace(":root", ".countenance")
    own = style[style.index(FIRST[0]) : style.index(FIRST[1])].replace("@media (max-width:", "@container (max-width:")
    return "\n".join([colours, BASE, _lines(style, SHARED), own])


def _tables(style: str) -> str:
    own = style[style.index(COMPARISONS) :]
    return f".countenance {{ {_lines(style, TABLES)}\n{own}\n& th, & td {{ text-align: left; }} }}"


def _lines(style: str, begin: tuple[str, ...]) -> str:
    return "\n".join(line for line in style.splitlines() if line.startswith(begin))
