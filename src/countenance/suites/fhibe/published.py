"""The published results layout: grouped results of each metric, and one file for each person's scores."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.suites.fhibe.evaluation import FhibeEvaluation
from countenance.suites.fhibe.groups import all_groups
from countenance.suites.fhibe.outputs import write_json
from countenance.suites.fhibe.table import FhibeTable

Array = NDArray[np.float64]
Names = Mapping[str, float]
"""Thresholds by the names that results give them."""


def grouped_results(job: FhibeEvaluation, metric: str, depth: int | None = None) -> dict[str, dict[str, Any]]:
    """`str(attributes)` → `str(values)` → {scores, METRIC, Class_Size}; a group without any score is left out."""
    out: dict[str, dict[str, Any]] = {}
    for group in all_groups(job.labels, depth):
        found = out.setdefault(group.attributes_key, {})
        entry = _entry(job, metric, group.rows)
        if entry is not None:
            found[group.values_key] = entry
    return out


def _entry(job: FhibeEvaluation, metric: str, rows: NDArray[np.intp]) -> dict[str, Any] | None:
    if metric in job.of_group:
        return job.of_group[metric](rows)
    if metric in job.parts:
        parts = {name: _summary(values[rows], metric) for name, values in job.parts[metric].items()}
        return parts if job.strict else parts | {"All": _summary(job.rows[metric][rows], metric)}
    summary = _summary(job.rows[metric][rows], metric)
    return summary if summary["Class_Size"] else None


def _summary(values: Array, metric: str) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if known.size else float("nan")
    return {"scores": known.tolist(), metric: mean, "Class_Size": int(known.size)}


def write_published(job: FhibeEvaluation) -> None:
    """Write the published files into a model's folder: grouped results by metric, and one for each person's scores."""
    folder, custom_keypoints = job.settings.folder, job.settings.options.get("custom_keypoints")
    for metric in job.computed:
        results: dict[str, Any] = grouped_results(job, metric, job.settings.depth)
        unrounded = _take_unrounded(results)
        if unrounded:
            write_json(folder / f"detailed_results_{metric}.json", unrounded)
        if custom_keypoints:
            results["custom_keypoints"] = list(custom_keypoints)
        write_json(folder / f"intersectional_results_{metric}.json", results)
    for name, content in job.files.items():
        if content:
            write_json(folder / name, content)


def _take_unrounded(grouped: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Strict VAL is published with two decimals; its full numbers go into a second file."""
    out: dict[str, dict[str, Any]] = {}
    for attributes, entries in grouped.items():
        for values, entry in entries.items():
            if "_unrounded" in entry:
                out.setdefault(attributes, {})[values] = entry.pop("_unrounded")
    return out


def _ids(table: FhibeTable) -> list[dict[str, str]]:
    """What every published row says of its person."""
    columns = zip(table.text("image_id"), table.text("subject_id"), table.keys(), strict=True)
    return [{"image_id": image, "subject_id": subject, "filepath": path} for image, subject, path in columns]


def threshold_files(table: FhibeTable, values: Array, names: Names, what: str) -> dict[str, Any]:
    """The per-row files of a metric with thresholds."""
    results: dict[str, Any] = {}
    detailed: dict[str, Any] = {}
    ids, numbers = _ids(table), values.tolist()
    for name, threshold in names.items():
        accept = (values >= threshold).astype(int).tolist()
        results[name] = {str(i): one for i, one in enumerate(accept)}
        rows = enumerate(zip(numbers, accept, ids, strict=True))
        detailed[name] = {
            "summary": f"{sum(accept) / len(accept):.2f}",
            "individual_results": [{"idx": i, "val": v, "accept": a} | about for i, (v, a, about) in rows],
        }
    return {f"results_{what}_threshold.json": results, f"detailed_results_{what}_threshold.json": detailed}


def keypoint_file(table: FhibeTable, thresholds: Array, shares: Array, means: Array) -> dict[str, Any]:
    """The per-row file of PCK."""
    rows = enumerate(zip(means.tolist(), shares.tolist(), _ids(table), strict=True))
    results = {
        str(i): {"mean_percentage_correct_keypoints": mean, "pcks@thresholds": each} | about
        for i, (mean, each, about) in rows
    }
    return {"pck_scores_threshold.json": {"thresholds": thresholds.tolist(), "results": results}}


def part_files(
    table: FhibeTable, people: Sequence[Mapping[str, float]], parts: Sequence[str], names: Names, metric: str
) -> dict[str, Any]:
    """The per-row files of a metric of body parts."""
    results: dict[str, Any] = {}
    detailed: dict[str, Any] = {}
    ids = _ids(table)
    for name, threshold in names.items():
        accepts = [{part: int(value >= threshold) for part, value in person.items()} for person in people]
        results[name] = {str(i): accept for i, accept in enumerate(accepts)}
        rows = [
            {"idx": i, **{part: {"val": person[part], f"accept_{part}": accept[part]} for part in person}, **about}
            for i, (person, accept, about) in enumerate(zip(people, accepts, ids, strict=True))
        ]
        found = {part: sum(accept.get(part, 0) for accept in accepts) / len(table) for part in parts}
        summary = {part: f"{share:.2f}" for part, share in found.items()}
        detailed[name] = {"summary": summary, "individual_results": rows}
    return {
        "body_part_detections.json": list(people),
        f"results_body_parts_{metric}_threshold.json": results,
        f"detailed_results_body_parts_{metric}_threshold.json": detailed,
    }
