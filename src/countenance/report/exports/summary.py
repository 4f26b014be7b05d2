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
    strongest = words.strongest(source.audit.findings, source.names)
    statements = [words.statement(finding, source.names) for finding in strongest[:3]]
    lines = [f"### {cell(sentence(source))}", ""]
    lines += [f"- **{cell(statement.who)}**: {cell(statement.text)}" for statement in statements]
    if not statements:
        lines.append(cell(words.summary(source.audit)))
    chosen = _shown(source)
    if chosen is not None:
        lines += ["", "```text", *picture(source, *chosen), "```"]
    manifest = source.run.manifest
    about = (
        f"{source.run.model_name} on {numbers.plural(manifest.dataset.images, 'image')} of {source.run.dataset_name}"
    )
    lines += ["", f"{cell(about)}. Licences: {cell(in_words(of_manifest(manifest)))}. Made by countenance "]
    lines[-1] += f"{manifest.countenance}."
    return "\n".join(lines) + "\n"


def write_summary(source: ReportSource, out: Path) -> None:
    """Write the summary into a file that ends in .md."""
    if out.suffix.lower() != ".md":
        raise InputError(f"{out}: the summary is Markdown; end the name in .md")
    write_text(out, summary(source))


def _shown(source: ReportSource) -> tuple[str, str] | None:
    """The metric and the attribute of the strongest finding, or the first ones."""
    strongest = words.strongest(source.audit.findings, source.names)
    if strongest:
        return strongest[0].metric, strongest[0].attribute
    if not source.metrics or not source.names.by:
        return None
    return source.metrics[0].name, source.names.by[0]


def picture(source: ReportSource, metric: str, attribute: str) -> list[str]:
    """The groups of an attribute with their intervals, in characters."""
    whole = source.overall.get(metric)
    groups = [estimate for estimate in source.estimates(metric, attribute) if estimate.n]
    lines = [("everybody", whole)] if whole else []
    lines += [(source.names.group(attribute, estimate.group), estimate) for estimate in groups]
    if not lines:
        return [f"{metric} by {attribute_label(attribute)}: no rows"]
    verdicts = verdict_of_groups(source)
    low = min(estimate.low for _, estimate in lines)
    high = max(estimate.high for _, estimate in lines)
    kind = lines[0][1].metric_kind
    wide = min(max(len(name) for name, _ in lines), LONGEST_NAME)
    ends = f"{numbers.value(low, kind):<{WIDTH // 2}}{numbers.value(high, kind):>{WIDTH // 2}}"
    rows = [f"{metric} by {attribute_label(attribute)}", f"{'':{wide}}  {ends}"]
    for name, estimate in lines:
        verdict = verdicts.get((metric, attribute, estimate.group), "")
        rows.append(
            f"{name[:LONGEST_NAME]:{wide}}  {axis_line(estimate, low, high)}  {numbers.value(estimate.estimate, kind)}"
            f"  n = {estimate.n:,}{f'  {verdict}' if verdict else ''}"
        )
    return rows


def axis_line(estimate: Estimate, low: float, high: float) -> str:
    """An interval with its estimate on an axis of characters.

    >>> one = Estimate(metric="m", metric_kind="rate", attribute="a", group="g", n=9, clusters=9, estimate=0.5,
    ...     low=0.25, high=1.0, deff=1.0)
    >>> axis_line(one, 0.0, 1.0)
    '          ├─────────●──────────────────┤'
    """
    span = (high - low) or 1.0

    def place(value: float) -> int:
        return round((WIDTH - 1) * (value - low) / span)

    start, middle, end = place(estimate.low), place(estimate.estimate), place(estimate.high)
    signs = [" "] * WIDTH
    signs[start : end + 1] = ["├", *"─" * (end - start - 1), "┤"][: end - start + 1]
    signs[middle] = "●"
    return "".join(signs)
