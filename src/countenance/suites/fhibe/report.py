"""The bias report: the report of every run, with what FHIBE's readers look for on top."""

from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.errors import InputError
from countenance.report import numbers, render, write_pdf
from countenance.report.findings import by_size, finding_words
from countenance.report.page import context, write_page
from countenance.report.plots.style import check_installed
from countenance.report.source import ReportSource
from countenance.run.store import REPORT
from countenance.run.suite import Section
from countenance.suites.fhibe.rundir import FhibeRun
from countenance.suites.fhibe.vocabulary import EXPLAINED, MEANINGS
from countenance.tasks import Metric

LISTED = 60


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
    path = run.path / REPORT if out is None else Path(out)
    only_pdf = path.suffix.lower() == ".pdf"
    if not only_pdf and path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: expected a name that ends in .html or .pdf")
    if path.is_dir():
        raise InputError(f"{path}: a folder; name the file to write")
    if only_pdf and gallery != "off":
        raise InputError(f"{path}: a PDF never shows a face; for gallery {gallery!r} name a file that ends in .html")
    if pdf or only_pdf:
        check_installed("a report as PDF", pdf=True)
    run.largest_regions, run.compared = group_largest_regions, tuple(by or run.fhibe["attributes"])
    run.audit(list(run.compared), depth=depth, seed=0)
    told: dict[str, Any] = {"gallery": gallery, "group_largest_regions": group_largest_regions}
    if path.parent.resolve() == run.path.parent.resolve():
        told["reports"] = sorted({path.name, *run.fhibe.get("reports", ())})  # for `purge`
    run.amend(dataset_version, **told)
    write_pages(run, path, gallery=gallery, pdf=pdf, show_significance=show_significance)
    return path


def write_pages(run: FhibeRun, path: Path, *, gallery: str, pdf: bool, show_significance: bool = True) -> None:
    """Write the page of the last audit, the PDF beside it, or the PDF alone, as `path` and `pdf` say."""
    only_pdf = path.suffix.lower() == ".pdf"
    source = ReportSource.of(run)
    said = context(source, gallery)
    compared = {n: about for n, about in said["card"]["attributes"].items() if n in source.names.by}
    said["card"] = said["card"] | {"attributes": compared}
    if not only_pdf:
        write_page(source, path, gallery, said)
    if pdf or only_pdf:
        beside = path if only_pdf else path.with_suffix(".pdf")
        write_pdf(source, beside, said=said, verdicts=show_significance)
        if beside.parent.resolve() == run.path.resolve():
            run.store.seal([beside.name])  # it is the run's, so a purge removes it


def sections(source: ReportSource) -> list[Section]:
    """The section of a report that FHIBE's readers look for."""
    run = source.run
    if not isinstance(run, FhibeRun):
        run = FhibeRun(run.store.storage, verified=run.store.verified)
    template = (Path(__file__).parent / "templates" / "bias_section.html.j2").read_text(encoding="utf-8")
    text = render.environment().from_string(template).render(**_section(run, source))
    return [("fhibe", "FHIBE: the task and its metrics", Markup(text))]  # noqa: S704 - an autoescaped template


def _section(run: FhibeRun, source: ReportSource) -> dict[str, Any]:
    about, names, listed = run.fhibe, source.names, by_size(source.audit.findings)
    card = run.manifest.dataset.card  # it may say another meaning than FHIBE's (rendered people)
    said = {name: one.meaning for name, one in card.attributes.items() if one.meaning}
    return {
        "task": EXPLAINED[str(about["task"])],
        "about": about,
        "by": names.by,
        "version": card.version,
        "compat": "as published, quirks included" if about["compat"] == "strict" else "corrected (the default)",
        "metrics": [_metric(run, metric, source) for metric in source.metrics],
        "disparities": [finding_words(f, names) for f in listed[:LISTED]],
        "tested": len(listed),
        "attributes": [(name, said.get(name, MEANINGS.get(name, ""))) for name in names.by],
    }


def _metric(run: FhibeRun, metric: Metric, source: ReportSource) -> dict[str, str]:
    whole, shown, n = source.overall.get(metric.name), "–", "0"
    if whole:
        limits = numbers.span(whole.low, whole.high, whole.metric_kind)
        shown = f"{numbers.value(whole.estimate, whole.metric_kind)} ({limits})"
        n = numbers.count(whole.n)
    levels = run.fhibe["thresholds"].get(metric.name.split(" ")[0], ())
    thresholds = ", ".join(f"{level:g}" for level in levels) or "none"
    about = {"name": metric.name, "meaning": metric.meaning, "better": metric.better or ""}
    return about | {"overall": shown, "n": n, "thresholds": thresholds}
