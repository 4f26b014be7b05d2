"""The bias report: the report of every run, with what FHIBE's readers look for on top."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.audit import Audit, Finding
from countenance.errors import InputError
from countenance.files import write_json
from countenance.report import numbers, render, words
from countenance.report.figures import curves as drawing
from countenance.report.names import CROSS, attribute_label
from countenance.report.page import context
from countenance.report.source import Source
from countenance.run import audit_run, store_audit
from countenance.suites.fhibe import descriptions
from countenance.suites.fhibe.literals import literal
from countenance.suites.fhibe.rundir import VERIFICATION, FhibeRun
from countenance.suites.fhibe.vocabulary import LOWER_IS_BETTER
from countenance.tasks import Metric, Task

LISTED = 60
AXES = {
    "AR_IOU": ("overlap threshold", "share of people found"),
    "AR_MASK": ("overlap threshold", "share of people found"),
    "AR_OKS": ("similarity threshold", "share of people found"),
    "PCK": ("threshold × face diagonal", "share of keypoints"),
    "AR_DET": ("probability threshold", "share of parts found"),
    "ACC_DET": ("probability threshold", "share of parts told right"),
    "ROC": ("false acceptance rate", "validation rate"),
}


def audited_metrics(run: FhibeRun) -> list[str]:
    """The metrics of a run that rows have: the task's own, parts, and what verification has at one threshold."""
    columns = [name.removeprefix("m.") for name in run.scores().column_names if name.startswith("m.")]
    asked: list[str] = run.fhibe["metrics"]
    own = [c for metric in asked for c in columns if c == metric or (c.startswith(f"{metric} ") and metric != "F1")]
    return own or [name for name in columns if name in ("genuine_accepted", "impostor_accepted")] or columns[:1]


def fhibe_task(run: FhibeRun) -> Task:
    """The run's task with FHIBE's metrics, their meanings and which way is better."""
    from importlib import import_module

    name = str(run.manifest["task"])
    task: Task = getattr(import_module(f"countenance.tasks.{name}"), name.upper())
    lower = (*LOWER_IS_BETTER, "false_positives", "impostor_accepted")
    metrics = tuple(
        Metric(
            metric,
            descriptions.METRICS.get(metric, descriptions.METRICS.get(metric.split(" ")[0], "")).rstrip("."),
            better="lower" if metric in lower else "higher",
            headline=True,
        )
        for metric in audited_metrics(run)
    )
    return replace(task, metrics=metrics)


def audit_fhibe(run: FhibeRun, by: list[str] | None = None, depth: int = 2) -> Audit:
    """Audit a run by its attributes, alone and crossed, and store the findings."""
    chosen = by or run.fhibe["attributes"]
    found = audit_run(run, list(chosen), audited_metrics(run), depth=depth, seed=0)
    store_audit(run, found)
    return found


def write_bias_report(
    run: FhibeRun,
    out: Path | str | None = None,
    *,
    by: list[str] | None = None,
    depth: int = 2,
    gallery: str = "off",
    pdf: bool = False,
) -> Path:
    """Audit the run and write its bias report; no face is shown unless `gallery` is blurred or full.

    People may withdraw their consent, and a page that was sent cannot be recalled: what was shown is recorded in
    the run.
    """
    if gallery not in ("off", "blurred", "full"):
        raise InputError(f"gallery {gallery!r}, expected off, blurred or full")
    found = audit_fhibe(run, by, depth)
    manifest = run.manifest.model_dump(exclude={"format"})
    manifest["fhibe"]["gallery"] = gallery
    write_json(run.path / "run.json", manifest)
    source = Source(run, found, fhibe_task(run))
    text = render.page("report.html.j2", **context(source, gallery))
    template = (Path(__file__).parent / "templates" / "bias_section.html.j2").read_text(encoding="utf-8")
    section = render.environment().from_string(template).render(**_section(run, found, source))
    text = text.replace("</nav>", "</nav>\n" + section, 1)
    text = text.replace(
        '<li><a href="#cannot-tell">', '<li><a href="#fhibe">FHIBE</a></li>\n<li><a href="#cannot-tell">', 1
    )
    path = render.write(Path(out) if out is not None else run.path / "report.html", text)
    if pdf:
        from countenance.suites.fhibe.pdf_report import write_pdf

        write_pdf(run, source, path.with_suffix(".pdf"))
    return path


def by_size(found: Audit) -> list[Finding]:
    """Findings with a difference: disparities first, what could not be tested last, each by the size of the effect."""
    measured = [f for f in found.findings if f.difference == f.difference]

    def key(f: Finding) -> tuple[int, float, float, int]:
        rank = 0 if f.verdict == words.DISPARITY else 2 if f.verdict == "untestable" else 1
        effect = abs(f.effect) if f.effect == f.effect else 0.0
        return rank, -effect, -abs(f.difference), f.depth

    return sorted(measured, key=key)


def _section(run: FhibeRun, found: Audit, source: Source) -> dict[str, Any]:
    about = run.fhibe
    names, task = source.names, str(about["task"])
    return {
        "task": descriptions.TASKS[task],
        "about": about,
        "compat": "as published, quirks included" if about["compat"] == "strict" else "corrected (the default)",
        "metrics": [_metric(run, metric, source) for metric in source.metrics],
        "curves": _curves(about["curves"]),
        "summaries": run.manifest["summaries"],
        "disparities": [
            {
                "metric": f.metric,
                "group": names.who(f.attribute, f.group),
                "versus": names.versus(f.attribute, f.versus),
                "n": f"{numbers.count(f.n)} / {numbers.count(f.n_versus)}",
                "difference": numbers.change(f.difference, f.kind),
                "interval": numbers.change_span(f.diff_low, f.diff_high, f.kind),
                "effect": f"{f.effect_name} {numbers.effect(f.effect)}",
                "p": numbers.probability(f.p_adjusted),
                "verdict": words.verdict_label(f.verdict, f.severity),
                "depth": "alone" if f.depth == 1 else "crossed",
            }
            for f in by_size(found)[:LISTED]
        ],
        "tested": len(by_size(found)),
        "val": group_rates(run),
        "attributes": [(name, descriptions.ATTRIBUTE_MEANINGS.get(name, "")) for name in about["attributes"]],
    }


def _metric(run: FhibeRun, metric: Metric, source: Source) -> dict[str, str]:
    whole = source.overall.get(metric.name)
    levels = run.fhibe["thresholds"].get(metric.name.split(" ")[0])
    shown = "–"
    if whole:
        shown = f"{numbers.value(whole.estimate, whole.kind)} ({numbers.span(whole.low, whole.high, whole.kind)})"
    return {
        "name": metric.name,
        "meaning": metric.meaning,
        "better": metric.better,
        "overall": shown,
        "n": numbers.count(whole.n) if whole else "0",
        "thresholds": ", ".join(f"{level:.2f}" for level in levels) if levels else "none",
    }


def _curves(stored: dict[str, list[list[float]]]) -> list[dict[str, Any]]:
    """A figure for each metric's curve, with its band where it has one."""
    known = {name: points for name, points in stored.items() if points[0] and points[1]}
    return [_curve(name, known) for name in known if ", " not in name]


def _curve(name: str, known: dict[str, list[list[float]]]) -> dict[str, Any]:
    x, y = known[name]
    axes = AXES.get(name, ("threshold", "share"))
    lines = [drawing.Line("everyone", 0, x, y, "c0", "", True)]
    ends = {end: known[f"{name}, {end}"] for end in ("lower", "upper") if f"{name}, {end}" in known}
    lines += [drawing.Line(f"95 % {end}", 0, points[0], points[1], "c0", "2 3") for end, points in ends.items()]
    told = ", ".join(f"{b:.3f} at {a:.2f}" for a, b in list(zip(x, y, strict=True))[:: max(1, len(x) // 10)])
    figure: Markup = drawing.panel(lines, axes, f"{name}: everyone", f"{axes[1]}: {told}", f"fhibe-{name.lower()}")
    return {"name": name, "figure": figure, "told": told}


def group_rates(run: FhibeRun) -> list[dict[str, Any]]:
    """Each group's validation rate with its interval, from the run."""
    import json

    path = run.path / VERIFICATION
    if not path.exists():
        return []
    rows = []
    for attributes, groups in json.loads(path.read_text(encoding="utf-8")).items():
        names = CROSS.join(attribute_label(name) for name in literal(attributes, str(path)))
        for group, entry in groups.items():
            values = CROSS.join(str(value) for value in literal(group, str(path)))
            fields = {key.replace(" ", "_"): value for key, value in entry.items()}
            rows.append({"attributes": names, "group": values, **fields})
    return rows
