"""Renders templates into one self-contained file: everything escaped and embedded, nothing fetched."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from countenance.auditing.table import UNKNOWN
from countenance.files import write_atomically
from countenance.report import numbers, words
from countenance.report.comparison_words import matters, plain, rows_words
from countenance.report.draw import svg
from countenance.report.metric_words import noun_in
from countenance.report.names import attribute_label, clean, sentence_case, shown, swatch, swatches, value_label

HERE = Path(__file__).parent
RANGE = re.compile(r"\d+–\d+")


def _finalize(value: Any) -> Any:
    """The text that a template prints: data cleaned of control characters; our own markup unchanged."""
    return value if isinstance(value, Markup) or not isinstance(value, str) else clean(value)


def unbroken(text: str) -> Markup:
    """A sentence in which a browser breaks no line within a range of numbers.

    >>> unbroken("Monk 8–10 <b>")
    Markup('Monk <span class="whole">8–10</span> &lt;b&gt;')
    """
    return Markup(RANGE.sub(r'<span class="whole">\g<0></span>', str(shown(text))))  # noqa: S704 - escaped before


@cache
def environment() -> Environment:
    """The templates: autoescaping always on, an unknown name is an error."""
    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    templates.globals |= {
        "icon": svg.icon,
        "numbers": numbers,
        "draw": svg,
        "swatches": swatches,
        "UNKNOWN": UNKNOWN,
        "words": words,
    }
    templates.globals |= {"matters": matters, "plain": plain, "rows_words": rows_words, "unit_words": words.unit_words}
    templates.filters |= {
        "attribute": attribute_label,
        "value_label": value_label,
        "count": numbers.count,
        "noun": noun_in,
        "sentence_case": sentence_case,
        "swatch": swatch,
        "unbroken": unbroken,
    }
    return templates


def template(folder: Path, name: str) -> Any:
    """A template in a suite's own folder, which may use those of the report."""
    templates = environment()
    mine = FileSystemLoader(folder)
    return templates.overlay(loader=ChoiceLoader([mine, templates.loader or mine])).get_template(name)


def asset(name: str) -> str:
    """A style sheet or a script of the pages."""
    return (HERE / "static" / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def page(template: Any, **context: Any) -> str:
    """A whole page from a template or its name.

    Its content policy allows our own style and script, embedded pictures, and no external address.
    """
    style, script = "\n" + asset("style.css") + "\n", "\n" + asset("report.js") + "\n"
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assets = {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704 - our own files
    return environment().get_template(template).render(**context, **assets)


def write(path: Path, text: str) -> Path:
    """Put a page in place, all of it or nothing."""
    content = text.encode("utf-8", errors="replace")
    write_atomically(path, lambda part: part.write_bytes(content) and None)
    return path
