"""Parts of pages for a notebook: the same templates, with as much of the style as they need."""

from typing import Any

from countenance.report.render import HERE, environment, first_style

PLAIN = (
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
"""Rules of the style sheet, by how their line begins, that comparisons and gates need."""
BEGIN = "/* comparisons */"


def fragment(template: str, **context: Any) -> str:
    """A part of a page for a notebook; its style touches nothing outside it."""
    style = (HERE / "static" / "style.css").read_text(encoding="utf-8")
    rules = "\n".join(line for line in style.splitlines() if line.startswith(PLAIN))
    own = style[style.index(BEGIN) :]
    body = environment().get_template(template).render(**context)
    return (
        f"<style>{first_style()}\n.countenance {{ {rules}\n{own}\n& th, & td {{ text-align: left; }} }}</style>\n"
        f'<div class="countenance">{body}</div>'
    )
