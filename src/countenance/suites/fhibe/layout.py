"""The published results layout: folders, and one file of grouped results for each metric."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.suites.fhibe.groups import Group
from countenance.suites.fhibe.outputs import FILE, write_json
from countenance.suites.fhibe.scoring import Scored

Array = NDArray[np.float64]


def model_folder(results: str | Path | None, task: str, dataset: str, model_name: str, mini: bool = False) -> Path:
    """`{results}/[mini/]{task}/{dataset}/{model_name}`.

    >>> model_folder("R", "face_parsing", "fhibe_face_crop_align", "m", mini=True).as_posix()
    'R/mini/face_parsing/fhibe_face_crop_align/m'
    """
    if not model_name or Path(model_name).name != model_name or model_name in (".", ".."):
        raise InputError(f"model name {model_name!r}: it names a folder, so it may hold no slash")
    root = Path("results" if results is None else results)
    return (root / "mini" if mini else root) / task / dataset / model_name


def outputs_folder(results: str | Path | None, task: str, dataset: str, model_name: str, mini: bool) -> Path:
    """Where a model's outputs lie. For the mini dataset, those of the whole dataset serve when it has none."""
    folder = model_folder(results, task, dataset, model_name, mini)
    whole = model_folder(results, task, dataset, model_name)
    wanted = "face_encodings" if task == "face_encoding" else FILE
    return whole if mini and not (folder / wanted).exists() and (whole / wanted).exists() else folder


def grouped_results(scored: Scored, metric: str, groups: Sequence[Group], *, strict: bool) -> dict[str, dict[str, Any]]:
    """`str(attributes)` → `str(values)` → {scores, METRIC, Class_Size}; a group without any score is left out."""
    out: dict[str, dict[str, Any]] = {}
    for group in groups:
        found = out.setdefault(group.attributes_key, {})
        entry = _entry(scored, metric, group, strict)
        if entry is not None:
            found[group.values_key] = entry
    return out


def _entry(scored: Scored, metric: str, group: Group, strict: bool) -> dict[str, Any] | None:
    if metric in scored.of_group:
        return scored.of_group[metric](group.rows)
    if metric in scored.parts:
        parts = {name: _summary(values[group.rows], metric) for name, values in scored.parts[metric].items()}
        if not strict:
            parts["All"] = _summary(scored.rows[metric][group.rows], metric)
        return parts
    summary = _summary(scored.rows[metric][group.rows], metric)
    return summary if summary["Class_Size"] else None


def _summary(values: Array, metric: str) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if known.size else float("nan")
    return {"scores": known.tolist(), metric: mean, "Class_Size": int(known.size)}


def write_layout(
    folder: Path,
    scored: Scored,
    metrics: Sequence[str],
    groups: Sequence[Group],
    *,
    strict: bool,
    custom_keypoints: Sequence[str] | None = None,
) -> dict[str, dict[str, Any]]:
    """Write the published files into a model's folder; returns the grouped results by metric."""
    results: dict[str, dict[str, Any]] = {}
    for metric in metrics:
        if metric in scored.skipped:
            continue
        grouped = grouped_results(scored, metric, groups, strict=strict)
        unrounded = _take_unrounded(grouped)
        if unrounded:
            write_json(folder / f"detailed_results_{metric}.json", unrounded)
        if custom_keypoints:
            grouped["custom_keypoints"] = list(custom_keypoints)  # type: ignore[assignment]
        results[metric] = grouped
        write_json(folder / f"intersectional_results_{metric}.json", grouped)
    for name, content in scored.files.items():
        if content:
            write_json(folder / name, content)
    return results


def _take_unrounded(grouped: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Strict VAL is published with two decimals; its full numbers go into a file of their own."""
    out: dict[str, dict[str, Any]] = {}
    for attributes, entries in grouped.items():
        for values, entry in entries.items():
            if "_unrounded" in entry:
                out.setdefault(attributes, {})[values] = entry.pop("_unrounded")
    return out
