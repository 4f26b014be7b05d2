"""The model card of a run: what the model is, whom it fails, and the evidence for that."""

from __future__ import annotations

import math
from typing import Any

from countenance.auditing.headline import delta_words
from countenance.report import charts, method, words
from countenance.report.cards.front_matter import front_matter, licence_fields
from countenance.report.cards.tables import cell, groups_table
from countenance.report.harms import kind_shown, metric_words
from countenance.report.page import AUDITED, DEFAULTS, too_many_failed
from countenance.report.sentences import sentence
from countenance.report.source import ReportSource
from countenance.run import Run
from countenance.run.licences import in_words, of_manifest
from countenance.run.suite import suite_of

HUB_TASKS = {
    "face_localization": "object-detection",
    "person_localization": "object-detection",
    "mask_detection": "object-detection",
    "keypoint_estimation": "keypoint-detection",
    "face_parsing": "image-segmentation",
    "person_parsing": "image-segmentation",
    "face_verification": "image-feature-extraction",
    "face_encoding": "image-feature-extraction",
}


def model_card(run: Run) -> str:
    """A model card in Markdown with the front matter of the Hugging Face hub, from an audited run alone."""
    source = ReportSource.of(run)
    manifest, settings = DEFAULTS | run.plain_manifest(), AUDITED | source.audit.settings
    audit = source.audit
    headline = sentence(source, run.model_label, too_many_failed=too_many_failed(manifest))
    strongest = words.strongest(audit.findings, source.names)
    wordings = {metric.name: metric_words(source, metric.name)[1] for metric in source.metrics}
    kinds = [kind_shown(f, source) for f in strongest]
    statements = [
        words.statement(f, source.names, wordings[f.metric].noun, kind)
        for f, kind in zip(strongest, kinds, strict=True)
    ] or words.in_short(
        audit,
        source.names,
        {name: wording.noun for name, wording in wordings.items()},
        {f.metric: kind_shown(f, source) for f in audit.findings},
    )
    card, model = run.manifest.dataset.card, run.manifest.model
    lines = [front_matter(_fields(run, source), "model"), f"# {cell(run.model_label)}", ""]
    lines += [f"{cell(model.description)}.", ""] if model.description else []
    lines += [f"**{cell(headline)}** Verdict of the audit: {audit.verdict}.", ""]
    lines += [f"- **{cell(statement.who)}**: {cell(statement.text)}" for statement in statements]
    lines += ["", cell(words.how_sure(strongest[0], settings)) if strongest else cell(words.summary(audit)), ""]
    lines += ["## Evaluation", "", _evaluation(run, settings), ""]
    lines += ["| number | value | interval | from |", "|---|---:|---:|---:|"]
    for number in charts.headline_numbers(source):
        lines.append(f"| {cell(number.name)} | {cell(number.value)} | {cell(number.interval)} | {cell(number.n)} |")
    lines += ["", "## Groups", "", groups_table(source).markdown()]
    lines += ["## Limits", "", *(f"- {line}" for line in _limits(source, manifest, settings)), ""]
    lines += ["## Data", "", *_data(card), "", "## Licences", ""]
    lines += [f"- {cell(what)}: {cell(licence)}" for what, licence in of_manifest(run.manifest).items()]
    suite = suite_of(run)
    if suite is not None:
        lines += ["", "## Protocol", "", f"- {cell(suite.name)}: {cell(suite.question)}"]
        lines += [f"- {what}: {cell(text)}" for what, text in suite.rights().items()]
    lines += ["", "## How this was made", "", "```console"]
    lines += [f"$ {line}" for line in method.commands(manifest, settings, "auto")]
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    lines += ["```", "", f"Finished {manifest['finished']}, countenance {manifest['countenance']}"]
    lines[-1] += f" ({cell(versions)})." if versions else "."
    return "\n".join(lines) + "\n"


def _evaluation(run: Run, settings: dict[str, Any]) -> str:
    images = f"{run.manifest.dataset.images:,} images of {cell(run.dataset_name)}"
    failed = f"; {run.manifest.failed:,} have no prediction" if run.manifest.failed else ""
    by = ", ".join(cell(name) for name in settings["by"])
    return (
        f"Task `{run.manifest.task}` on {images}{failed}, compared by {by}. "
        f"Counted: {cell(words.unit_words(str(settings['unit'])) or 'rows')}. "
        f"The smallest difference that matters: {delta_words(settings)}. Level {settings['alpha']:g}."
    )


def _limits(source: ReportSource, manifest: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    """The limits of the evidence: what a reader must not conclude."""
    audit, card = source.audit, source.run.manifest.dataset.card
    lines = [cell(card.warning)] if card.warning else []
    missing = words.untested_groups(audit)
    if missing:
        named = ", ".join(cell(source.names.who(attribute, group)) for attribute, group in missing[:8])
        more = f" and {len(missing) - 8} more" if len(missing) > 8 else ""
        lines.append(f"Not tested, too few {words.counted_nouns(settings)[1]}: {named}{more}.")
    unsure = sum(words.mark(f.verdict) == words.UNSURE for f in audit.findings)
    if unsure:
        lines.append(
            f"{unsure:,} of {len(audit.findings):,} comparisons cannot rule out a difference of "
            f"{delta_words(settings)} or more."
        )
    lines += [cell(str(note)) for note in [*manifest["notes"], *settings["notes"]]]
    lines.append("Numbers hold for this data, this task and these versions.")
    return lines


def _data(card: Any) -> list[str]:
    facts = (
        ("Name", f"{card.name}, version {card.version}"),
        ("About", card.description),
        ("Licence", card.licence),
        ("Consent", card.consent),
        ("Citation", card.citation),
    )
    return [f"- {label}: {cell(value)}" for label, value in facts if value]


def _fields(run: Run, source: ReportSource) -> dict[str, Any]:
    """The front matter: licence, tags and the numbers of the whole run as `model-index`."""
    card, task = run.manifest.dataset.card, run.manifest.task
    results = []
    for metric in source.metrics:
        e = source.overall.get(metric.name)
        if e is not None and math.isfinite(e.estimate):
            name = f"{metric.name} ({100 * (1 - float(source.audit.settings.get('alpha', 0.05))):g} % interval "
            name += f"{e.low:.4f} to {e.high:.4f}, n = {e.n})"
            results.append({"type": metric.name, "value": round(e.estimate, 6), "name": name})
    fields: dict[str, Any] = licence_fields(run.manifest.model.licence)
    hub_task = HUB_TASKS.get(task)
    fields |= {"pipeline_tag": hub_task} if hub_task else {}
    fields["tags"] = ["countenance", "fairness-audit", task]
    if results:
        fields["model-index"] = [
            {
                "name": run.model_name,
                "results": [
                    {
                        "task": {"type": hub_task or task, "name": task},
                        "dataset": {"type": card.name, "name": card.name},
                        "metrics": results,
                    }
                ],
            }
        ]
    fields["countenance"] = {
        "verdict": source.audit.verdict,
        "licences": in_words(of_manifest(run.manifest)),
        "finished": run.manifest.finished,
    }
    return fields
