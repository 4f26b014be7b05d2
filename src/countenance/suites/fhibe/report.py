"""The bias report: the report of every run, with a section for FHIBE's readers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from countenance.auditing import Finding
from countenance.auditing.groups import CROSS
from countenance.data.adapters.fhibe.places import LARGEST, is_largest, offered
from countenance.data.adapters.fhibe.words import MEANINGS, MULTIPLE, UNKNOWN
from countenance.data.vocabulary import FITZPATRICK, KEYPOINTS
from countenance.errors import InputError
from countenance.report import numbers, render, write_pdf
from countenance.report.draw.mpl.style import check_installed
from countenance.report.findings import by_size, finding_words
from countenance.report.gallery import mode_for
from countenance.report.harms import metric_words, shown_kind
from countenance.report.names import REST, Names, tone_colour, value_label
from countenance.report.page import context, write_page
from countenance.report.source import ReportSource
from countenance.report.words import DISPARITY
from countenance.run.file_names import REPORT
from countenance.run.run import Run
from countenance.run.suite import Section
from countenance.suites.fhibe.evaluation import amended
from countenance.suites.fhibe.pairs import FEWEST, published_pairs
from countenance.suites.fhibe.vocabulary import DATASET_TEXTS, EXPLAINED, compared_by
from countenance.tasks import Metric
from countenance.tasks.results import Number, Result, Table
from countenance.tasks.validation_rate import RATES

LISTED = 60
PDF = "report.pdf"
EQUITY = "equity within groups: "
"""Prefix of the titles of tables about one attribute, which follows."""


class ReportedRun(Run):
    """A run as a report shows it: chosen attributes, with ancestry and nationality by continent if requested."""

    largest_regions: bool = False
    compared: tuple[str, ...] | None = None
    """The attributes that the report is about; None: all."""

    def scores(self) -> Any:
        """The score table."""
        table = super().scores()
        for attribute, largest in LARGEST.items() if self.largest_regions else ():
            name = f"attr.{attribute}"
            if name in table.column_names:
                known = ([v for v in row or () if v in (*largest, UNKNOWN)] for row in table[name].to_pylist())
                column = [values or [UNKNOWN] for values in known]
                table = table.set_column(table.column_names.index(name), name, [column])
        return table

    def results(self) -> list[Result]:
        """The results of the whole run; results of groups only for the report's attributes."""
        shown: list[Result] = []
        for result in super().results():
            if isinstance(result, Table) and result.name == RATES:
                rows = [row for row in result.rows if self.compares(*row[:2])]
                shown.append(result.model_copy(update={"rows": rows}))
            elif self._is_about(result):
                shown.append(result)
        return shown

    def _is_about(self, result: Result) -> bool:
        attribute = getattr(result, "attribute", None) or result.name.partition(EQUITY)[2] or None
        if isinstance(result, Number):
            return not result.group or self.compares(attribute, result.group)
        return attribute is None or self.compared is None or set(attribute.split(CROSS)) <= set(self.compared)

    def compares(self, by: Any, group: Any) -> bool:
        """Whether the report includes a group, alone or in an intersection."""
        names = str(by).split(CROSS)
        named = self.compared is None or set(names) <= set(self.compared)
        return named and (not self.largest_regions or is_largest(names, str(group).split(CROSS)))


def fhibe_facts(run: Run) -> dict[str, Any]:
    """The facts that only FHIBE's runs have: compat, attributes, metrics, thresholds, metrics that were left out."""
    if run.manifest.suite != "fhibe" or not run.manifest.about:
        raise InputError(f"{run.place}: not a run of `countenance fhibe evaluate`")
    return run.manifest.about


def audited_metrics(run: Run) -> list[str]:
    """The columns that a report compares: the metrics requested and their parts, else the headline metrics of rows."""
    records = run.manifest.metrics or []
    own = {record.published: record.name for record in records if record.published}
    columns = [name.removeprefix("m.") for name in run.scores().column_names if name.startswith("m.")]
    chosen = []
    for metric in fhibe_facts(run)["metrics"]:
        name = own.get(metric, metric)
        parts = [column for column in columns if column.startswith(f"{name} ") and name != "F1"]
        chosen += [column for column in (name, *parts) if column in columns]
    if chosen:
        return chosen
    return [record.name for record in records if record.headline and not record.of_groups and record.name in columns]


def write_bias_report(
    run: Run,
    out: Path | str | None = None,
    *,
    by: list[str] | None = None,
    depth: int = 2,
    gallery: str = "off",
    pdf: bool = False,
    group_largest_regions: bool = False,
    show_significance: bool = True,
) -> Path:
    """Audit the run and write its bias report: a page, a PDF beside it with `pdf`, or a PDF alone if `out` is one.

    `by` names some of the run's attributes; the report covers these alone. With `group_largest_regions` ancestry and
    nationality are compared by continent; `show_significance` marks groups with a disparity in the PDF's plots.

    No face is shown unless `gallery` is blurred or full: people may withdraw their consent, and a page that was sent
    cannot be recalled. What was shown is recorded in the run.
    """
    gallery = mode_for(gallery, real_people=True)
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
    facts: dict[str, Any] = {"gallery": gallery, "group_largest_regions": group_largest_regions}
    outputs = run.path.parent
    if path.resolve().is_relative_to(outputs.resolve()) and not path.resolve().is_relative_to(run.path.resolve()):
        place = path.resolve().relative_to(outputs.resolve()).as_posix()
        facts["reports"] = sorted({place, *fhibe_facts(run).get("reports", ())})  # for `purge`
    amended(run, **facts)
    shown = ReportedRun(run.place, verified=run.store.verified)
    there = [name.removeprefix("attr.") for name in run.scores().column_names]
    shown.largest_regions = group_largest_regions
    shown.compared = tuple(compared_by(by or fhibe_facts(run)["attributes"], there))
    shown.audit(list(shown.compared), audited_metrics(shown), depth=depth, seed=0)
    write_pages(shown, path, gallery=gallery, pdf=pdf, show_significance=show_significance)
    return path


def write_pages(run: Run, path: Path, *, gallery: str, pdf: bool, show_significance: bool = True) -> None:
    """Write the page of the last audit, the PDF beside it, or the PDF alone, as `path` and `pdf` say."""
    only_pdf = path.suffix.lower() == ".pdf"
    source = ReportSource.of(run)
    page = context(source, gallery)
    compared = {n: about for n, about in page["card"]["attributes"].items() if n in source.names.by}
    page["card"] = page["card"] | {"attributes": compared}
    if not only_pdf:
        write_page(source, path, gallery, page)
    if pdf or only_pdf:
        beside = path if only_pdf else path.with_suffix(".pdf")
        write_pdf(source, beside, content=page, verdicts=show_significance)
        if beside.parent.resolve() == run.path.resolve():
            run.store.seal([beside.name])  # it is the run's, so a purge removes it


def sections(source: ReportSource) -> list[Section]:
    """The section of a report for FHIBE's readers."""
    template = (Path(__file__).parent / "templates" / "bias_section.html.j2").read_text(encoding="utf-8")
    text = render.environment().from_string(template).render(**_section(source.run, source))
    return [("fhibe", "FHIBE: the task and its metrics", Markup(text))]  # noqa: S704 - an autoescaped template


def _section(run: Run, source: ReportSource) -> dict[str, Any]:
    about, names, card = fhibe_facts(run), source.names, run.manifest.dataset.card
    disparities = [f for f in by_size(source.audit.findings) if f.verdict == DISPARITY]
    pairs = published_pairs(source)
    return {
        "task": EXPLAINED[str(about["task"])],
        "about": about,
        "by": names.by,
        "version": card.version,
        "dataset": DATASET_TEXTS.get(str(about["dataset"]), card.description) if card.real_people else card.description,
        "evaluated": _evaluated(run),
        "compat": "as published, quirks included" if about["compat"] == "strict" else "corrected (the default)",
        "problems": [*run.manifest.dataset.notes, *about.get("notes", ())],
        "metrics": [
            *(_metric(run, metric, source) for metric in source.metrics),
            *(_number(result) for result in source.results if isinstance(result, Number) and _is_published(result)),
        ],
        "disparities": [
            finding_words(f, source) | {"mirror": mirrored(f, disparities, names)} for f in disparities[:LISTED]
        ],
        "tested": len(disparities),
        "pairs": [pair.words(names) for pair in pairs[:LISTED]],
        "all_pairs": len(pairs),
        "fewest": FEWEST,
        "attributes": [_attribute(name, card, names) for name in names.by],
    }


def _is_published(result: Number) -> bool:
    return bool(result.published) and result.group is None


def _number(result: Number) -> dict[str, str]:
    """A number of the whole run under its published name, as a row of the table of metrics."""
    return {
        "name": result.published,
        "meaning": result.meaning,
        "better": result.better,
        "overall": result.text(),
        "n": numbers.count(result.n),
        "thresholds": "none",
    }


def _evaluated(run: Run) -> str:
    """The keypoints or body parts that count, in words; empty for other tasks."""
    facts = fhibe_facts(run)
    if facts["task"] == "keypoint_estimation":
        return f"Keypoints: {', '.join(facts['options'].get('custom_keypoints') or KEYPOINTS)}."
    if facts["task"] == "body_parts_detection":
        columns = [name.partition(" ")[2] for name in run.scores().column_names if name.startswith("m.ACC_DET ")]
        return f"Body parts: {', '.join(columns)}."
    return ""


def _attribute(name: str, card: Any, names: Names) -> dict[str, Any]:
    """An attribute with its meaning, who assigned it, and its values in this run; skin tones with their colours."""
    known = card.attributes.get(name)  # a dataset's own meaning may differ from FHIBE's (rendered people)
    meaning = known.meaning if known is not None and known.meaning else MEANINGS.get(name, "")
    colours = {label: colour for colour, label in FITZPATRICK.items()}
    here = [value_label(name, value) for value in names.levels.get(name, ())]
    return {
        "name": name,
        "meaning": meaning,
        "assigned": "" if known is None else known.assigned_by,
        "several": name in MULTIPLE,
        "options": [
            {"label": label, "colour": tone_colour(value)}
            for label, value in zip(here, names.levels.get(name, ()), strict=True)
        ],
        "further": [
            {"label": label, "colour": colours.get(label)}
            for label in (offered(name) if card.real_people else ())
            if label not in here
        ],
    }


def mirrored(finding: Finding, disparities: Sequence[Finding], names: Names) -> str:
    """The group whose failures make the other groups of its attribute look better; empty if there is no single one."""
    if finding.direction != "better" or finding.versus != REST:
        return ""
    alike = [f for f in disparities if (f.metric, f.attribute) == (finding.metric, finding.attribute)]
    failing = {f.group for f in alike if f.direction == "worse"}
    return names.who(finding.attribute, failing.pop()) if len(failing) == 1 else ""


def _metric(run: Run, metric: Metric, source: ReportSource) -> dict[str, str]:
    whole, shown, n = source.overall.get(metric.name), "–", "0"
    if whole:
        kind = shown_kind(whole.metric_kind, metric_words(source, metric.name)[1])
        shown = f"{numbers.value(whole.estimate, kind)} ({numbers.span(whole.low, whole.high, kind)})"
        n = numbers.count(whole.n)
    name = metric.published or metric.name
    levels = fhibe_facts(run)["thresholds"].get(name.split(" ")[0], ())
    thresholds = ", ".join(f"{level:g}" for level in levels) or "none"
    about = {"name": name, "meaning": metric.meaning, "better": metric.better or ""}
    return about | {"overall": shown, "n": n, "thresholds": thresholds}
