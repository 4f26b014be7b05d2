"""Parts of pages for a notebook: the same templates and style, inside one element."""

from typing import Any

from markupsafe import Markup

from countenance.report.render import HERE, environment


def fragment(template: str, **context: Any) -> Markup:
    """A part of a page with the report's style, nested so that it reaches nothing else in the notebook."""
    style = (HERE / "static" / "style.css").read_text(encoding="utf-8").replace(":root", "&")
    body = environment().get_template(template).render(**context)
    frame = (
        "& { background: var(--bg); color: var(--ink); font: 15px/1.5 var(--sans); padding: .4rem; }"
        "& th, & td { text-align: left; }"
    )
    return Markup(  # noqa: S704 - our own file and a rendered template, in which everything is escaped
        f'<div class="countenance"><style>.countenance {{ {style} {frame} }}</style>{body}</div>'
    )
