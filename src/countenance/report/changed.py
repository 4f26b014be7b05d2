"""Samples that changed between two models: from right to wrong and back, as pictures where they may be shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from countenance.auditing import Audit
from countenance.comparing import Comparison
from countenance.comparing.entries import ComparedModel, entries_of
from countenance.comparing.pairing import Paired, pair_entries
from countenance.errors import InputError
from countenance.report.drawing import said
from countenance.report.gallery import MOST_ROWS, Failure, choose, failure, loaded, mode_for, why_off
from countenance.report.source import ReportSource
from countenance.run import Run

SHOWN = 12
NAMED = 40


@dataclass(frozen=True)
class Changed:
    """Samples that changed in one direction by one metric."""

    title: str
    metric: str
    total: int
    sentence: str = ""
    failures: list[Failure] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    real: bool = False
    mode: str = "off"


def galleries(found: Comparison, entries: Sequence[Any], asked: str) -> list[Changed]:
    """What changed by the first metric: what was lost first, then what was gained."""
    opened = entries_of(entries, [found.a, found.b])
    settings = found.settings
    metric = settings["metrics"][0]
    paired = pair_entries(opened, by=[], metrics=[metric], pair=settings["pair"], cluster=None, where=settings["where"])
    change = paired.scores[metric][:, 1] - paired.scores[metric][:, 0]
    sign = -1.0 if settings["better"][metric] == "lower" else 1.0
    rate = paired.kinds[metric] == "rate"
    made = []
    for way, words in (
        (-1.0, ("From right to wrong", "Largest losses")),
        (1.0, ("From wrong to right", "Largest gains")),
    ):
        moved = np.nan_to_num(way * sign * change)
        rows = np.flatnonzero(moved > 0)
        rows = rows[np.argsort(-moved[rows], kind="stable")]
        one = Changed(words[not rate], metric, len(rows))
        made.append(_shown(one, rows, opened, paired, asked, settings))
    return made


def _shown(
    one: Changed, rows: Any, entries: Sequence[ComparedModel], paired: Paired, asked: str, settings: dict[str, Any]
) -> Changed:
    if not len(rows):
        return replace(one, sentence="No sample.")
    keys = [
        " · ".join(str(paired.table.column(_column(paired, name))[int(row)].as_py()) for name in paired.keys)
        for row in rows[:NAMED]
    ]
    one = replace(one, keys=keys)
    old, new = entries[0].run, entries[1].run
    if old is None or new is None or "sample" not in paired.keys:
        return one
    real = any(run.manifest.dataset.card.real_people for run in (old, new))
    mode = mode_for(asked, real)
    one = replace(one, real=real, mode=mode)
    if mode == "off":
        return replace(one, sentence=why_off(asked))
    source = _source(new, settings)
    dataset, problem = loaded(source)
    if dataset is None:
        return replace(one, sentence=f"No pictures: {problem}.")
    table = paired.table.take(rows[:MOST_ROWS])
    scores = paired.scores[one.metric][rows[:MOST_ROWS]]
    candidates = [row | {"_scores": pair} for row, pair in zip(table.to_pylist(), scores.tolist(), strict=True)]
    chosen = choose(candidates, source, SHOWN)
    wanted = {str(row["sample"]) for row in chosen}
    samples = {sample.id: sample for sample in dataset if sample.id in wanted}
    before, after = dict(old.store.answers(wanted)), dict(new.store.answers(wanted))
    pictures = []
    for row in chosen:
        sample = samples.get(str(row["sample"]))
        if sample is None:
            continue
        try:
            picture = failure(
                row, sample, after.get(sample.id), source, blurred=mode == "blurred", before=before.get(sample.id)
            )
        except InputError:
            continue
        told = [
            f"{entry.name}: {words}"
            for entry, answers in zip(entries, (before, after), strict=True)
            if (words := said(answers.get(sample.id)))
        ]
        first, second = row["_scores"]
        pictures.append(replace(picture, said="; ".join(told), scores=[(one.metric, f"{first:.3g} → {second:.3g}")]))
    sentence = "" if pictures else "The pictures cannot be read again."
    return replace(one, failures=pictures, sentence=sentence)


def _column(paired: Paired, name: str) -> str:
    return name if name in paired.table.column_names else f"attr.{name}"


def _source(run: Run, settings: dict[str, Any]) -> ReportSource:
    """What the gallery of a report needs to know: the task and the attributes that were compared by."""
    by = [name for name in settings["by"] if "*" not in name]
    told = {"metrics": settings["metrics"], "by": [name.rpartition(":")[0] or name for name in by]}
    return ReportSource(Audit(verdict="", reason="", findings=[], excluded=[], settings=told), run.task(), run)
