"""Tables of a run for papers and pages: groups or findings as Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countenance.auditing import Finding
from countenance.report import numbers, words
from countenance.report.charts import forests
from countenance.report.findings import in_order, safe_cell
from countenance.report.harms import kind_shown
from countenance.report.names import attribute_label, clean
from countenance.report.source import Audited, ReportSource
from countenance.run.licences import in_words, of_manifest

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "×": r"$\times$",
    "−": "$-$",
    "–": "--",
    "\u202f": r"\,",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "δ": r"$\delta$",
}


@dataclass(frozen=True)
class CardTable:
    """A table with its caption: texts for readers, and the exact values for CSV."""

    caption: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: list[tuple[str, ...]]
    exact: list[Mapping[str, Any]]
    """The same rows with exact values."""
    licences: Mapping[str, str]
    version: str

    def source(self) -> str:
        """The version of countenance that made the table, and the licences of data and models."""
        return f"Made by countenance {self.version}. Licences: {in_words(self.licences)}."

    def markdown(self) -> str:
        """A Markdown table with its caption and licences."""
        ends = "|".join("---:" if right else "---" for right in self.numeric)
        lines = [f"{cell(self.caption)}", "", f"| {' | '.join(self.columns)} |", f"|{ends}|"]
        lines += [f"| {' | '.join(cell(text) for text in row)} |" for row in self.rows]
        return "\n".join([*lines, "", cell(self.source()), ""])

    def latex(self) -> str:
        """A LaTeX table (package booktabs) that can be read into a paper."""
        ends = "".join("r" if right else "l" for right in self.numeric)
        lines = [f"% {clean(self.source())}", "% needs \\usepackage{booktabs}", r"\begin{table}", r"\centering"]
        lines += [rf"\caption{{{latex(self.caption)}}}", rf"\begin{{tabular}}{{{ends}}}", r"\toprule"]
        lines += [" & ".join(latex(name) for name in self.columns) + r" \\", r"\midrule"]
        lines += [" & ".join(latex(text) for text in row) + r" \\" for row in self.rows]
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])

    def csv(self) -> str:
        """CSV with exact values; the last column holds the licences of what made the table."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\r\n")
        names = list(self.exact[0]) if self.exact else []
        writer.writerow([*names, "licences"])
        licences = in_words(self.licences)
        for row in self.exact:
            writer.writerow([*(safe_cell(row[name]) for name in names), licences])
        return buffer.getvalue()


FORMATS: dict[str, Callable[[CardTable], str]] = {
    "md": CardTable.markdown,
    "latex": CardTable.latex,
    "csv": CardTable.csv,
}


def cell(text: str) -> str:
    """Text escaped for a Markdown table's cell.

    >>> cell("a|b\\n<c>")
    'a\\\\|b &lt;c&gt;'
    """
    plain = clean(text)
    for sign, instead in (("\\", "\\\\"), ("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("`", "\\`")):
        plain = plain.replace(sign, instead)
    for sign in ("*", "_", "[", "]"):
        plain = plain.replace(sign, f"\\{sign}")
    return plain


def latex(text: str) -> str:
    """Text escaped for LaTeX.

    >>> latex("recall_50 & 3 %")
    'recall\\\\_50 \\\\& 3 \\\\%'
    """
    return "".join(LATEX.get(sign, sign) for sign in clean(text))


def _table(source: ReportSource, what: str, columns: Sequence[tuple[str, bool]], rows: Any, exact: Any) -> CardTable:
    manifest, settings = source.run.manifest, source.audit.settings
    level = 100 * (1 - float(settings.get("alpha", 0.05)))
    caption = f"{source.run.model_label} on {source.run.dataset_name}: {what}. Brackets are {level:g} % intervals"
    unit = words.unit_words(str(settings.get("unit") or ""))
    return CardTable(
        f"{caption}{f'; {unit}' if unit else ''}.",
        tuple(name for name, _ in columns),
        tuple(right for _, right in columns),
        rows,
        exact,
        of_manifest(manifest),
        manifest.countenance,
    )


def groups_table(source: ReportSource) -> CardTable:
    """The rows of the forest plots: every group, with its interval, its size and the verdict on it."""
    many = words.cluster_noun(source.audit.settings)[1]
    columns = (
        ("metric", False),
        ("attribute", False),
        ("group", False),
        ("rows", True),
        (many, True),
        ("estimate [interval]", True),
        ("verdict", False),
    )
    rows, exact = [], []
    for forest in forests(source):
        for row in [*([forest.everybody] if forest.everybody else []), *forest.rows]:
            _, attribute, group = row.key or ("", "", "everybody")
            size = f"{row.value} [{row.interval}]" if row.interval else row.value
            sizes = f"{row.n:,}", f"{row.clusters:,}"
            rows.append((forest.metric, attribute_label(attribute), row.label, *sizes, size, row.verdict))
            exact.append(
                {
                    "metric": forest.metric,
                    "attribute": attribute,
                    "group": group,
                    "n": row.n,
                    "clusters": row.clusters,
                    "estimate": row.estimate,
                    "low": row.low,
                    "high": row.high,
                    "verdict": row.verdict,
                }
            )
    return _table(source, "each group", columns, rows, exact)


def findings_table(source: ReportSource) -> CardTable:
    """Every comparison: both sides, the difference with its interval, the adjusted p, the verdict."""
    columns = (
        ("metric", False),
        ("group", False),
        ("compared with", False),
        ("n", True),
        ("estimates", True),
        ("difference [interval]", True),
        ("adjusted p", True),
        ("verdict", False),
    )
    ordered = in_order(source.audit.findings)
    rows = [finding_row(f, source) for f in ordered]
    return _table(source, "each comparison", columns, rows, [f.model_dump() for f in ordered])


def finding_row(f: Finding, source: Audited) -> tuple[str, ...]:
    """A comparison as a line of a table."""
    names, kind = source.names, kind_shown(f, source)
    gap = numbers.change(f.difference, kind)
    if math.isfinite(f.diff_low):
        gap += f" [{numbers.change_span(f.diff_low, f.diff_high, kind)}]"
    return (
        f.metric,
        names.who(f.attribute, f.group),
        names.versus(f.attribute, f.versus),
        f"{f.n:,} / {f.n_versus:,}",
        f"{numbers.value(f.estimate, kind)} / {numbers.value(f.estimate_versus, kind)}",
        gap,
        numbers.probability(f.p_adjusted),
        words.finding_label(f, source.audit.settings, kind=kind),
    )
