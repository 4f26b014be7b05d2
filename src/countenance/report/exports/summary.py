"""A run in a few lines of Markdown: the sentence, a picture in characters, what it rests on.

Job summaries and pull requests show neither files nor embedded pictures, so the picture is text.
"""

from __future__ import annotations

from pathlib import Path

from countenance.auditing import Estimate
from countenance.errors import InputError
from countenance.files import write_text
from countenance.report import numbers, words
from countenance.report.cards.tables import cell, verdict_of_groups
from countenance.report.exports.published import sentence
from countenance.report.names import attribute_label
from countenance.report.source import ReportSource
from countenance.run.licences import in_words, of_manifest

WIDTH = 40
"""Characters of the picture's axis."""
LONGEST_NAME = 24


def summary(source: ReportSource) -> str:
    """The run as Markdown."""
    told = words.strongest(source.audit.findings, source.names)
    statements = [words.statement(finding, source.names) for finding in told[:3]]
    made = [f"### {cell(sentence(source))}", ""]
    made += [f"- **{cell(one.who)}**: {cell(one.text)}" for one in statements]
    if not statements:
        made.append(cell(words.summary(source.audit)))
    chosen = _shown(source)
    if chosen is not None:
        made += ["", "```text", *picture(source, *chosen), "```"]
    manifest = source.run.manifest
    about = (
        f"{source.run.model_name} on {numbers.plural(manifest.dataset.images, 'image')} of {source.run.dataset_name}"
    )
    made += ["", f"{cell(about)}. Licences: {cell(in_words(of_manifest(manifest)))}. Made by countenance "]
    made[-1] += f"{manifest.countenance}."
    return "\n".join(made) + "\n"


def write_summary(source: ReportSource, out: Path) -> None:
    """Write the summary into a file that ends in .md."""
    if out.suffix.lower() != ".md":
        raise InputError(f"{out}: the summary is Markdown; end the name in .md")
    write_text(out, summary(source))


def _shown(source: ReportSource) -> tuple[str, str] | None:
    """The metric and the attribute of the strongest finding, or the first ones."""
    told = words.strongest(source.audit.findings, source.names)
    if told:
        return told[0].metric, told[0].attribute
    if not source.metrics or not source.names.by:
        return None
    return source.metrics[0].name, source.names.by[0]


def picture(source: ReportSource, metric: str, attribute: str) -> list[str]:
    """The groups of an attribute with their intervals, in characters."""
    whole = source.overall.get(metric)
    groups = [one for one in source.estimates(metric, attribute) if one.n]
    lines = [("everybody", whole)] if whole else []
    lines += [(source.names.group(attribute, one.group), one) for one in groups]
    if not lines:
        return [f"{metric} by {attribute_label(attribute)}: no rows"]
    verdicts = verdict_of_groups(source)
    low = min(one.low for _, one in lines)
    high = max(one.high for _, one in lines)
    kind = lines[0][1].metric_kind
    wide = min(max(len(name) for name, _ in lines), LONGEST_NAME)
    ends = f"{numbers.value(low, kind):<{WIDTH // 2}}{numbers.value(high, kind):>{WIDTH // 2}}"
    made = [f"{metric} by {attribute_label(attribute)}", f"{'':{wide}}  {ends}"]
    for name, one in lines:
        said = verdicts.get((metric, attribute, one.group), "")
        made.append(
            f"{name[:LONGEST_NAME]:{wide}}  {axis_line(one, low, high)}  {numbers.value(one.estimate, kind)}"
            f"  n = {one.n:,}{f'  {said}' if said else ''}"
        )
    return made


def axis_line(one: Estimate, low: float, high: float) -> str:
    """An interval with its estimate on an axis of characters.

    >>> one = Estimate(metric="m", metric_kind="rate", attribute="a", group="g", n=9, clusters=9, estimate=0.5,
    ...     low=0.25, high=1.0, deff=1.0)
    >>> axis_line(one, 0.0, 1.0)
    '          ├─────────●──────────────────┤'
    """
    span = (high - low) or 1.0

    def place(value: float) -> int:
        return round((WIDTH - 1) * (value - low) / span)

    start, middle, end = place(one.low), place(one.estimate), place(one.high)
    signs = [" "] * WIDTH
    signs[start : end + 1] = ["├", *"─" * (end - start - 1), "┤"][: end - start + 1]
    signs[middle] = "●"
    return "".join(signs)
