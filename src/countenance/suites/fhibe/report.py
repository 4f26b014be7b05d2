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
from countenance.suites.fhibe.places import is_largest
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
    "ACC_DET": ("probability threshold", "share of parts answered correctly"),
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
    dataset_version: str | None = None,
    group_largest_regions: bool = False,
    show_significance: bool = True,
) -> Path:
    """Audit the run and write its bias report: a page, a PDF beside it with `pdf`, or a PDF alone if `out` is one.

    `by` names some of the run's attributes; the report is about these alone. With `group_largest_regions` ancestry
    and nationality are compared by continent; `show_significance` marks groups with a disparity in the PDF's plots.

    No face is shown unless `gallery` is blurred or full: people may withdraw their consent, and a page that was sent
    cannot be recalled. What was shown is recorded in the run.
    """
    if gallery not in ("off", "blurred", "full"):
        raise InputError(f"gallery {gallery!r}, expected off, blurred or full")
    path = run.path / "report.html" if out is None else Path(out)
    only_pdf = path.suffix.lower() == ".pdf"
    if not only_pdf and path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: expected a name that ends in .html or .pdf")
    if path.is_dir():
        raise InputError(f"{path}: a folder; name the file to write")
    if only_pdf and gallery != "off":
        raise InputError(f"{path}: a PDF never shows a face; for gallery {gallery!r} name a file that ends in .html")
    run.largest_regions = group_largest_regions
    found = audit_fhibe(run, by, depth)
    manifest = run.manifest.model_dump(exclude={"format"})
    manifest["fhibe"] |= {"gallery": gallery, "group_largest_regions": group_largest_regions}
    if dataset_version is not None:
        manifest["dataset"]["card"]["version"] = dataset_version
    if path.parent.resolve() == run.path.parent.resolve():
        manifest["fhibe"]["reports"] = sorted({path.name, *run.fhibe.get("reports", ())})  # for `purge`
    write_json(run.path / "run.json", manifest)
    run.manifest = run.store.manifest()
    source = Source(found, fhibe_task(run), run)
    said = context(source, gallery)
    said["card"] = _card_of(run, source)
    if not only_pdf:
        template = (Path(__file__).parent / "templates" / "bias_section.html.j2").read_text(encoding="utf-8")
        section = render.environment().from_string(template).render(**_section(run, found, source))
        text = render.page("report.html.j2", **said).replace("</nav>", "</nav>\n" + section, 1)
        text = text.replace(
            '<li><a href="#cannot-tell">', '<li><a href="#fhibe">FHIBE</a></li>\n<li><a href="#cannot-tell">', 1
        )
        render.write(path, text)
    if pdf or only_pdf:
        from countenance.suites.fhibe.pdf_report import write_pdf

        write_pdf(run, source, said, path.with_suffix(".pdf") if pdf and not only_pdf else path, show_significance)
    return path


def _card_of(run: FhibeRun, source: Source) -> dict[str, Any]:
    """The dataset's card, which describes the compared attributes alone."""
    card = run.manifest.dataset.card.model_dump()
    return card | {"attributes": {n: about for n, about in card["attributes"].items() if n in source.names.by}}


def meanings(run: FhibeRun, by: list[str]) -> list[tuple[str, str]]:
    """What some attributes mean: as the dataset's card says, which may differ from FHIBE's (rendered people)."""
    card = run.manifest.dataset.card.attributes
    said = {name: about.meaning for name, about in card.items() if about.meaning}
    return [(name, said.get(name, descriptions.ATTRIBUTE_MEANINGS.get(name, ""))) for name in by]


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
        "by": names.by,
        "version": run.manifest.dataset.card.version,
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
        "val": group_rates(run, names.by),
        "attributes": meanings(run, names.by),
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


def group_rates(run: FhibeRun, by: list[str]) -> list[dict[str, Any]]:
    """The validation rate of each group of some attributes with its interval, from the run."""
    import json

    path = run.path / VERIFICATION
    if not path.exists():
        return []
    rows = []
    for attributes, groups in json.loads(path.read_text(encoding="utf-8")).items():
        names = literal(attributes, str(path))
        for group, entry in groups.items() if set(names) <= set(by) else ():
            values = literal(group, str(path))
            if run.largest_regions and not is_largest(names, values):
                continue
            fields = {key.replace(" ", "_"): value for key, value in entry.items()}
            said = {"attributes": CROSS.join(map(attribute_label, names)), "group": CROSS.join(map(str, values))}
            rows.append({**said, **fields})
    return rows
