"""A run as a record of Every Eval Ever, the EvalEval coalition's schema for results of evaluations (version 0.2.2)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import write_json
from countenance.report.exports.published import PublishedNumber, published, sentence
from countenance.report.source import ReportSource
from countenance.run.licences import in_words, of_manifest
from countenance.text import redacted

SCHEMA = "0.2.2"


def every_eval_ever(source: ReportSource, now: float | None = None) -> dict[str, Any]:
    """The record: the model and data of the evaluation, and a result with its uncertainty for each published number."""
    manifest, numbers = source.run.manifest, published(source)
    moment = f"{time.time() if now is None else now:.6f}"
    model = _identifier(source.run.model_name)
    record: dict[str, Any] = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{manifest.task}/{model}/{moment}",
        "retrieved_timestamp": moment,
        "source_metadata": {
            "source_name": "countenance",
            "source_type": "evaluation_run",
            "source_organization_name": "not stated",
            "evaluator_relationship": "other",
            "additional_details": {
                "verdict": source.audit.verdict,
                "sentence": sentence(source),
                "licences": in_words(of_manifest(manifest)),
            },
        },
        "eval_library": {"name": "countenance", "version": manifest.countenance},
        "model_info": {
            "name": source.run.model_name,
            "id": model,
            "additional_details": {"content": manifest.model.content, "licence": manifest.model.licence},
        },
        "evaluation_results": [_result(number, source, _bounds(number, numbers)) for number in numbers],
    }
    return record | ({"evaluation_timestamp": manifest.finished} if manifest.finished else {})


def write_every_eval_ever(source: ReportSource, out: Path) -> None:
    """Write the record as JSON; the project wants the file to be named after a UUID."""
    if out.suffix.lower() != ".json":
        raise InputError(f"{out}: a record of Every Eval Ever is JSON; end the name in .json")
    write_json(out, every_eval_ever(source))


def _bounds(number: PublishedNumber, numbers: Sequence[PublishedNumber]) -> tuple[float, float]:
    """The smallest and largest score of a metric: 0 and 1 for a share, else those among the record's numbers."""
    values = [
        value for other in numbers if other.metric == number.metric for value in (other.value, *(other.interval or ()))
    ]
    return (0.0, 1.0) if number.share else (min(values), max(values))


def _result(number: PublishedNumber, source: ReportSource, bounds: tuple[float, float]) -> dict[str, Any]:
    manifest = source.run.manifest
    metric: dict[str, Any] = {
        "evaluation_description": number.meaning or number.metric,
        "metric_id": f"countenance.{number.metric}",
        "metric_name": number.metric,
        "lower_is_better": number.better == "lower",
        "score_type": "continuous",
        "min_score": bounds[0],
        "max_score": bounds[1],
    }
    if number.share:
        metric["metric_unit"] = "proportion"
    else:
        metric["additional_details"] = {"bounds": "of the scores in this record; the metric itself has none"}
    details: dict[str, Any] = {"score": number.value, "uncertainty": {"num_samples": number.n}}
    if number.interval is not None:
        low, high = number.interval
        details["uncertainty"]["confidence_interval"] = {
            "lower": low,
            "upper": high,
            "confidence_level": number.level,
            "method": f"clustered by {source.audit.settings.get('unit') or 'row'}",
        }
    if number.attribute is not None:
        details["details"] = {"attribute": number.attribute, "group": str(number.group), "unit": number.unit}
    name = "/".join(part for part in (manifest.task, number.metric, number.who) if part)
    data = {
        "dataset_name": manifest.dataset.card.name,
        "source_type": "other",
        "additional_details": {"fingerprint": manifest.dataset.fingerprint, "images": str(manifest.dataset.images)},
    }
    return {"evaluation_name": name, "source_data": data, "metric_config": metric, "score_details": details}


def _identifier(model: str) -> str:
    """A model's name as part of an identifier: without spaces, `developer/model` where it has that form.

    >>> _identifier("my net v2"), _identifier("org/net")
    ('my_net_v2', 'org/net')
    """
    return "".join(sign if sign.isalnum() or sign in "._-/" else "_" for sign in redacted(model))
