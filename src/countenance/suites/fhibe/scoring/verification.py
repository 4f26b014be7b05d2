"""Face verification: the validation rate of a group, exact over all its pairs, or as published in strict mode."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.errors import InputError
from countenance.metrics.verification import Verification, accepted_shares, validation_rate
from countenance.metrics.verification_bands import roc_bands
from countenance.metrics.verification_strict import draw_pairs, rates_of_pairs
from countenance.suites.fhibe.outputs import FILE, Matcher, field, read_entries
from countenance.suites.fhibe.scoring.base import Array, Job, Scored
from countenance.suites.fhibe.table import Table

TRUE, FALSE = ("1", "1.0", "true"), ("0", "0.0", "false", "")


def usable(table: Table) -> Table:
    """The rows that verification uses: pictures of one person, people with at least two of these."""
    alone = np.empty(len(table), dtype=bool)
    for i, cell in enumerate(table.text("multiple_subjects")):
        word = cell.strip().lower()
        if word not in TRUE + FALSE:
            raise InputError(f"{table.place(i, 'multiple_subjects')}: {cell!r}, expected True or False")
        alone[i] = word in FALSE
    _, code = np.unique(np.array(table.text("subject_id")), return_inverse=True)
    count = np.bincount(code[alone], minlength=int(code.max()) + 1)
    return table.take(np.flatnonzero(alone & (count[code] >= 2)))


def keys_of(table: Table) -> list[str]:
    """The published name of each row's embedding: the dataset's root replaced by its processed folder."""
    return [f"{table.root}/data/processed/{name}" for name in table.text("filepath")]


def read_embeddings(job: Job, scored: Scored, table: Table) -> tuple[Array, NDArray[np.bool_]]:
    """The embedding of each row (NaN: the face could not be aligned) and whether the outputs name it at all."""
    keys = keys_of(table)
    matcher = Matcher(keys)
    plain = Matcher(table.keys())
    row_of = {i: row for row, key in enumerate(keys) for i in (matcher.index[key],)}
    path = job.folder / FILE
    named = np.zeros(len(table), dtype=bool)
    vectors: Array | None = None
    failed = 0
    for name, entry in read_entries(path):
        i = matcher.find(name)
        i = plain.find(name) if i is None else i
        if i is None:
            continue
        row, place = row_of[i], f"{path}: {name}"
        value = field(entry, "detections", place)
        named[row] = True
        if value is None:
            failed += 1
            continue
        try:
            vector = np.array(value, dtype=np.float64)
        except (ValueError, TypeError):
            vector = np.zeros(0)
        if vector.ndim != 1 or not vector.size or not np.isfinite(vector).all():
            raise InputError(f"{place}: detections is not an embedding (a list of finite numbers)")
        if vectors is None:
            vectors = np.full((len(table), vector.size), np.nan)
        if vector.size != vectors.shape[1]:
            raise InputError(f"{place}: an embedding of {vector.size} numbers, the first has {vectors.shape[1]}")
        vectors[row] = vector
    if vectors is None:
        raise InputError(f"{path}: no embedding of any image of {table.path}")
    scored.report_missing(matcher, named, path)
    if failed:
        scored.problems.append(f"{path}: {failed} images without an embedding (no face was aligned)")
    return vectors, named


def score_verification(job: Job, files: bool = False) -> Scored:
    """VAL of any group of rows."""
    table = usable(job.table)
    if not len(table):
        raise InputError(f"{job.table.path}: no person has two pictures alone; verification needs pairs")
    scored = Scored(table)
    vectors, named = read_embeddings(job, scored, table)
    people = np.array(table.text("subject_id"))
    keys = keys_of(table)
    if job.strict:

        def published(rows: NDArray[np.intp]) -> dict[str, Any] | None:
            return _published(rows, vectors, named, people, keys)

        scored.of_group["VAL"] = published
        return scored
    whole = np.asarray(~np.isnan(vectors).any(axis=1))
    scored.rows["enrolled"] = whole.astype(np.float64)
    measured: dict[bytes, Verification | None] = {}

    def exact(rows: NDArray[np.intp]) -> dict[str, Any] | None:
        key = rows.tobytes()
        if key not in measured:
            measured[key] = verify(vectors, people, rows[whole[rows]])
        return None if (found := measured[key]) is None else entry_of(found)

    scored.of_group["VAL"] = exact

    def overall() -> None:
        everyone = verify(vectors, people, np.flatnonzero(whole))
        if everyone is not None:
            scored.overall["VAL"] = {"value": everyone.val, "low": everyone.low, "high": everyone.high}
            rows = np.flatnonzero(whole)
            _, code = np.unique(people[rows], return_inverse=True)
            bands = roc_bands(vectors[rows], code)
            scored.overall["EER"] = {"value": everyone.eer, "low": bands.eer_low, "high": bands.eer_high}
            scored.curves["ROC"] = bands.far.tolist(), bands.val.tolist()
            scored.curves["ROC, lower"] = bands.far.tolist(), bands.val_low.tolist()
            scored.curves["ROC, upper"] = bands.far.tolist(), bands.val_high.tolist()
            shares = accepted_shares(vectors[rows], code, everyone.threshold)
            for name, share in zip(("genuine_accepted", "impostor_accepted"), shares, strict=True):
                scored.rows[name] = np.full(len(table), np.nan)
                scored.rows[name][rows] = share

    scored.whole = overall
    return scored


def verify(vectors: Array, people: NDArray[Any], rows: NDArray[np.intp]) -> Verification | None:
    """The exact validation rate over some rows; None when there is no same or no different pair."""
    _, code = np.unique(people[rows], return_inverse=True)
    if not len(rows) or code.max() < 1 or np.bincount(code).max() < 2:
        return None
    return validation_rate(vectors[rows], code)


def entry_of(found: Verification) -> dict[str, Any]:
    """A group's entry in the results."""
    return {
        "VAL": found.val,
        "VAL_Low": found.low,
        "VAL_High": found.high,
        "EER": found.eer,
        "FAR": found.far,
        "Threshold": found.threshold,
        "Class_Size": found.images,
        "Identities": found.identities,
        "Same / Different Pairs": f"{found.same_pairs}/{found.different_pairs}",
        "Evidence": "sufficient" if found.sufficient else "insufficient evidence",
    }


def _published(
    rows: NDArray[np.intp], vectors: Array, named: NDArray[np.bool_], people: NDArray[Any], keys: list[str]
) -> dict[str, Any] | None:
    rows = rows[named[rows]]
    _, code = np.unique(people[rows], return_inverse=True)
    if not len(rows):
        return None
    rows = rows[np.bincount(code)[code] >= 2]
    identities = len(np.unique(people[rows]))
    if identities < 2:
        return None
    same, different = draw_pairs([keys[i] for i in rows], people[rows].tolist())
    val, deviation, far, folds = rates_of_pairs(vectors[rows], same, different)
    return {
        "VAL": float(np.around(val, 2)),
        "VAL_Error": float(np.around(deviation, 2)),
        "Class_Size": len(rows),
        "Identities": identities,
        "Same / Different Pairs": f"{len(same)}/{len(different)}",
        "_unrounded": {"VAL": val, "VAL_Error": deviation, "FAR": far, "folds": folds},
    }
