"""A run in a few lines of Markdown: the sentence, a picture in characters, and the data behind it.

Job summaries and pull requests show neither files nor embedded pictures, so the picture is text.
"""

from __future__ import annotations

from pathlib import Path

from countenance.errors import InputError
from countenance.files import write_text
from countenance.report import numbers, words
from countenance.report.cards.tables import cell
from countenance.report.charts import forests
from countenance.report.charts.forest import Forest, ForestBlock, ForestRow
from countenance.report.exports.published import sentence
from countenance.report.harms import kind_shown, metric_words
from countenance.report.source import ReportSource
from countenance.run.licences import in_words, of_manifest

WIDTH = 40
"""The length of the drawn axis in characters."""
LONGEST_NAME = 24


def summary(source: ReportSource) -> str:
    """The run as Markdown."""
    strongest = words.strongest(source.audit.findings, source.names)
    statements = []
    for finding in strongest[:3]:
        noun = metric_words(source, finding.metric)[1].noun
        statements.append(words.statement(finding, source.names, noun, kind_shown(finding, source)))
    lines = [f"### {cell(sentence(source))}", ""]
    lines += [f"- **{cell(statement.who)}**: {cell(statement.text)}" for statement in statements]
    if not statements:
        lines.append(cell(words.summary(source.audit)))
    chosen = _shown(source)
    if chosen is not None:
        lines += ["", "```text", *picture(*chosen), "```"]
    manifest = source.run.manifest
    about = (
        f"{source.run.model_label} on {numbers.plural(manifest.dataset.images, 'image')} of {source.run.dataset_name}"
    )
    lines += ["", f"{cell(about)}. Licences: {cell(in_words(of_manifest(manifest)))}. Made by countenance "]
    lines[-1] += f"{manifest.countenance}."
    return "\n".join(lines) + "\n"


def write_summary(source: ReportSource, out: Path) -> None:
    """Write the summary into a file that ends in .md."""
    if out.suffix.lower() != ".md":
        raise InputError(f"{out}: the summary is Markdown; end the name in .md")
    write_text(out, summary(source))


def _shown(source: ReportSource) -> tuple[Forest, ForestBlock] | None:
    """The attribute of the strongest finding in the forest plot of its metric, or the first of both."""
    plots = forests(source)
    for finding in words.strongest(source.audit.findings, source.names)[:1]:
        for forest in plots:
            for block in forest.blocks:
                if (finding.metric, finding.attribute) in {row.key[:2] for row in block.rows if row.key}:
                    return forest, block
    return (plots[0], plots[0].blocks[0]) if plots else None


def picture(forest: Forest, block: ForestBlock) -> list[str]:
    """The rows of a block of a forest plot with their intervals, in characters."""
    rows = [row for row in (forest.everybody, *block.rows) if row is not None and row.n]
    if not rows:
        return [f"{forest.noun or forest.metric} by {block.label}: no rows"]
    low, high = min(row.low for row in rows), max(row.high for row in rows)
    kind = forest.scale.kind
    wide = min(max(len(row.label) for row in rows), LONGEST_NAME)
    ends = f"{numbers.value(low, kind):<{WIDTH // 2}}{numbers.value(high, kind):>{WIDTH // 2}}"
    lines = [f"{forest.noun or forest.metric} by {block.label}", f"{'':{wide}}  {ends}"]
    return lines + [
        f"{row.label[:LONGEST_NAME]:{wide}}  {axis_line(row, low, high)}  {row.value}"
        f"  n = {row.n:,}{f'  {row.verdict}' if row.verdict else ''}"
        for row in rows
    ]


def axis_line(row: ForestRow, low: float, high: float) -> str:
    """An interval with its estimate on an axis of characters.

    >>> axis_line(ForestRow("a", 0.5, 0.25, 1.0, "50 %", "25–100 %", "9 people"), 0.0, 1.0)
    '          ├─────────●──────────────────┤'
    """
    span = (high - low) or 1.0

    def place(value: float) -> int:
        return round((WIDTH - 1) * (value - low) / span)

    start, middle, end = place(row.low), place(row.estimate), place(row.high)
    signs = [" "] * WIDTH
    signs[start : end + 1] = ["├", *"─" * (end - start - 1), "┤"][: end - start + 1]
    signs[middle] = "●"
    return "".join(signs)
