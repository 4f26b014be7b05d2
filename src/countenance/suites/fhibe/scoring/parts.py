"""Body parts: the probability of each part against its presence."""

from typing import Any

import numpy as np

from countenance.errors import InputError
from countenance.metrics.parts import part_accuracy, part_recall
from countenance.suites.fhibe.outputs import FILE, field
from countenance.suites.fhibe.scoring.base import Job, Scored, threshold_keys
from countenance.suites.fhibe.table import Table
from countenance.suites.fhibe.vocabulary import visible_parts


def true_parts(table: Table, strict: bool) -> list[list[str]]:
    """The parts that are there, for each row."""
    out = []
    for i, (points, segments) in enumerate(zip(table.literals("keypoints"), table.literals("segments"), strict=True)):
        try:
            classes = [segment["class_name"] for segment in segments]
            out.append(visible_parts(points, classes, "strict" if strict else "default"))
        except (KeyError, TypeError, AttributeError, IndexError):
            place = table.place(i, "segments")
            raise InputError(f"{place}: segments need a class_name, keypoints [x, y, visible]") from None
    return out


def read_parts(job: Job, scored: Scored) -> list[dict[str, float]]:
    """Each row's probabilities by part, {} where the image has no answer.

    Answers pair with people by order; another number of answers than people is an error that names the image (in
    strict mode only when there are too few).
    """
    matcher, image = job.images()
    rows_of: list[list[int]] = [[] for _ in matcher.names]
    for row, i in enumerate(image.tolist()):
        rows_of[i].append(row)
    out: list[dict[str, float]] = [{} for _ in image]
    answered = np.zeros(len(matcher.names), dtype=bool)
    for i, place, entry in job.entries(matcher):
        people = field(entry, "detections", place)
        if people is None:
            continue
        answered[i] = True
        rows = rows_of[i]
        if not isinstance(people, list) or not all(isinstance(person, dict) for person in people):
            raise InputError(f"{place}: expected a list with the parts of each person")
        for row, position in zip(rows, _positions(job, rows, entry.get("rows"), len(people), place), strict=True):
            person = people[position]
            for name, value in person.items():
                _check_probability(value, name, place)
            out[row] = person
    scored.report_missing(matcher, answered, job.folder / FILE)
    return out


def _positions(job: Job, rows: list[int], named: Any, answers: int, place: str) -> list[int]:
    """For each row of an image the number of its answer.

    Published: the i-th answer for the i-th row at hand, also when a draw left some of the image's people out. By
    default the entry's own "rows" decide (numbers of the table, one for each answer); without them the order is
    that of the whole table, or that of the draw where the outputs were made for it.
    """
    table, standing = job.table, job.table.standings()
    everyone = standing[rows[0]][1]
    if job.strict:
        if answers >= len(rows):
            return list(range(len(rows)))
        everyone = len(rows)
    elif named is not None:
        lines = [table.line[row] for row in rows]
        if not isinstance(named, list) or len(named) != answers or not set(lines) <= set(named):
            raise InputError(f"{place}: rows {named!r:.60} do not name the rows {lines} of its {answers} answers")
        return [named.index(line) for line in lines]
    elif job.drawn_outputs and answers == len(rows):
        return list(range(len(rows)))
    elif answers == everyone:
        return [standing[row][0] for row in rows]
    raise InputError(
        f"{place}: {answers} answers for {everyone} people; parts pair with people by order, "
        "so there must be one for each"
    )


def _check_probability(value: Any, name: str, place: str) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 1:
        raise InputError(f"{place}: part {name!r} has probability {value!r:.30}, expected 0 to 1")


def score_parts(job: Job, files: bool = False) -> Scored:
    """AR_DET and ACC_DET by part, and (by default) averaged over the parts of each row."""
    table = job.table
    scored = Scored(table)
    people = read_parts(job, scored)
    truth = true_parts(table, job.strict)
    # Published: the parts are those of the first row. By default: those of the first row that has any.
    names = list(people[0] if job.strict else next((person for person in people if person), {}))
    if not names and not job.strict:
        raise InputError(f"{job.folder / FILE}: no body part in any answer")
    chance = np.zeros((len(table), len(names)))
    for i, person in enumerate(people):
        if person:
            for j, name in enumerate(names):
                if name not in person:
                    place = table.keys()[i]
                    raise InputError(f"{job.folder / FILE}: {place}: part {name!r} is missing, other people have it")
                chance[i, j] = person[name]
    present = np.array([[name in parts for name in names] for parts in truth], dtype=bool).reshape(chance.shape)
    for metric, formula in (("AR_DET", part_recall), ("ACC_DET", part_accuracy)):
        if metric not in job.metrics:
            continue
        keys = threshold_keys(job.thresholds[metric], job.strict)
        values = formula(chance, present, np.array(list(keys.values())))
        scored.parts[metric] = {name: values[:, j] for j, name in enumerate(names)}
        if not job.strict:
            count = (~np.isnan(values)).sum(axis=1)
            total = np.nansum(values, axis=1)
            scored.rows[metric] = np.divide(total, count, out=np.full(len(table), np.nan), where=count > 0)
        scored.curves[metric] = (
            list(keys.values()),
            [
                float(formula(chance, present, np.array([t]))[~np.isnan(values)].mean()) if names else float("nan")
                for t in keys.values()
            ],
        )
        if files:
            scored.files["body_part_detections.json"] = people
            scored.files.update(_files(table, people, names, keys, metric))
    return scored


def _files(
    table: Table, people: list[dict[str, float]], names: list[str], keys: dict[str, float], metric: str
) -> dict[str, Any]:
    results: dict[str, Any] = {}
    detailed: dict[str, Any] = {}
    ids = list(zip(table.text("image_id"), table.text("subject_id"), table.keys(), strict=True))
    for key, threshold in keys.items():
        accepts = [{name: int(value >= threshold) for name, value in person.items()} for person in people]
        results[key] = {str(i): accept for i, accept in enumerate(accepts)}
        rows = []
        for i, (person, accept, (image_id, subject, path)) in enumerate(zip(people, accepts, ids, strict=True)):
            row: dict[str, Any] = {"idx": i}
            row.update({name: {"val": person[name], f"accept_{name}": accept[name]} for name in person})
            row.update(image_id=image_id, subject_id=subject, filepath=path)
            rows.append(row)
        found = {name: sum(accept.get(name, 0) for accept in accepts) / len(table) for name in names}
        detailed[key] = {"summary": {name: f"{share:.2f}" for name, share in found.items()}, "individual_results": rows}
    return {
        f"results_body_parts_{metric}_threshold.json": results,
        f"detailed_results_body_parts_{metric}_threshold.json": detailed,
    }
