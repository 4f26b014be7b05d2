"""Results for the Hugging Face hub: `.eval_results/*.yaml` entries, or the front matter of a model card.

The hub shows entries of benchmark datasets beside the model; a model card's `model-index` may name any dataset. Both
are checked by `huggingface_hub` where it is installed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from countenance.errors import InputError
from countenance.files import write_text
from countenance.report.cards.front_matter import front_matter
from countenance.report.cards.model import HUB_TASKS
from countenance.report.exports.published import PublishedNumber, published, sentence
from countenance.report.source import ReportSource


def hub_results(source: ReportSource) -> list[dict[str, Any]]:
    """One entry for each published number: dataset and task, value, date, and its interval in words."""
    card, manifest = source.run.manifest.dataset.card, source.run.manifest
    entries = []
    for number in published(source):
        task = "/".join(part for part in (manifest.task, number.metric, number.who) if part)
        entry = {
            "dataset": {"id": card.name, "task_id": task},
            "value": round(number.value, 6),
            "notes": _notes(number, source),
        }
        entries.append(entry | ({"date": manifest.finished} if manifest.finished else {}))
    return entries


def card_fields(source: ReportSource) -> dict[str, Any]:
    """The `model-index` of a model card: each number of everybody and of each group."""
    manifest = source.run.manifest
    task, dataset = manifest.task, manifest.dataset.card.name
    by_group: dict[str, list[dict[str, Any]]] = {}
    for number in published(source):
        metric = {"type": number.metric, "value": round(number.value, 6), "name": f"{number.metric} {_size(number)}"}
        by_group.setdefault(number.who, []).append(metric)
    results = [
        {
            "task": {"type": HUB_TASKS.get(task) or task, "name": task},
            "dataset": {"type": dataset, "name": f"{dataset}, {who}" if who else dataset, "config": who or "everybody"},
            "metrics": metrics,
        }
        for who, metrics in by_group.items()
    ]
    return {"model-index": [{"name": source.run.model_name, "results": results}]}


def write_eval_results(source: ReportSource, out: Path) -> None:
    """Write entries into a file ending in .yaml or .yml, or a model card's front matter into one ending in .md."""
    if out.suffix.lower() in (".yaml", ".yml"):
        write_text(out, yaml.safe_dump(checked(hub_results(source)), sort_keys=False, allow_unicode=True))
    elif out.suffix.lower() == ".md":
        write_text(out, front_matter(card_fields(source), "model"))
    else:
        remedy = "end the name in .yaml for the hub's .eval_results folder, or in .md for a model card's front matter"
        raise InputError(f"{out}: {remedy}")


def checked(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The entries as `huggingface_hub` reads and writes them; as they are where it is not installed, or too old."""
    try:
        from huggingface_hub import eval_result_entries_to_yaml, parse_eval_result_entries
    except ImportError:
        return entries
    return list(eval_result_entries_to_yaml(parse_eval_result_entries(entries)))


def _size(number: PublishedNumber) -> str:
    interval = number.interval
    shown = "" if interval is None else f"{100 * number.level:g} % interval {interval[0]:.4f} to {interval[1]:.4f}, "
    return f"({shown}n = {number.n})"


def _notes(number: PublishedNumber, source: ReportSource) -> str:
    """The notes on a number: what it is, whom it is about, its interval, and the audit's verdict."""
    who = f" of {number.who}" if number.who else ""
    better = {"higher": "higher is better", "lower": "lower is better"}.get(number.better, "")
    parts = [f"{number.metric}{who} {_size(number)}", better, sentence(source)]
    return "; ".join(part for part in parts if part)
