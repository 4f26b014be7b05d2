"""Face verification: the validation rate of a group, exact over all its pairs, or as published in strict mode."""

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Embedding
from countenance.errors import InputError
from countenance.suites.fhibe.outputs import FILE, Images, field, read_entries
from countenance.suites.fhibe.scored import Array, Scored, ScoringJob
from countenance.suites.fhibe.truth import usable
from countenance.tasks.validation_rate import Pictures


def read_embeddings(job: ScoringJob, scored: Scored) -> tuple[Array, NDArray[np.bool_]]:
    """The embedding of each row (NaN: the face could not be aligned) and whether the outputs name it at all."""
    table, path = scored.table, job.folder / FILE
    images = Images(table.output_keys("face_verification"), table.keys())
    named = np.zeros(len(images.names), dtype=bool)
    vectors: dict[int, Array] = {}
    for name, entry in read_entries(path):
        if (i := images.find(name)) is None:
            continue
        place = f"{path}: {name}"
        value = field(entry, "detections", place)
        named[i] = True
        if value is None:
            continue
        try:
            vectors[i] = np.array(value, dtype=np.float64)
        except (ValueError, TypeError):
            vectors[i] = np.zeros(0)
        if vectors[i].ndim != 1 or not vectors[i].size or not np.isfinite(vectors[i]).all():
            raise InputError(f"{place}: detections is not an embedding (a list of finite numbers)")
        first = len(next(iter(vectors.values())))
        if len(vectors[i]) != first:
            raise InputError(f"{place}: an embedding of {len(vectors[i])} numbers, the first has {first}")
    if not vectors:
        raise InputError(f"{path}: no embedding of any image of {table.path}")
    scored.report_missing(images, named, path)
    if failed := int(named.sum()) - len(vectors):
        scored.problems.append(f"{path}: {failed} images without an embedding (no face was aligned)")
    stack = np.full((len(images.names), first), np.nan)
    for i in list(vectors):
        stack[i] = vectors.pop(i)
    return stack[images.of_rows], named[images.of_rows]


def score_verification(job: ScoringJob) -> Scored:
    """VAL of any group of rows."""
    table = usable(job.table)
    if not len(table):
        raise InputError(f"{job.table.path}: no person has two pictures alone; verification needs pairs")
    scored = Scored(table)
    vectors, named = read_embeddings(job, scored)
    pictures = Pictures(vectors, np.array(table.text("subject_id")))
    whole = np.isin(np.arange(len(table)), pictures.embedded)
    scored.answers = lambda: (
        (int(row), Embedding(vectors[row] if whole[row] else None)) for row in np.flatnonzero(named)
    )
    if job.strict:
        keys = table.output_keys("face_verification")
        scored.of_group["VAL"] = lambda rows: pictures.published(rows[named[rows]], keys)
        return scored
    scored.rows["enrolled"] = whole.astype(np.float64)
    scored.of_group["VAL"] = pictures.entry

    def overall() -> None:
        results, columns = pictures.overall()
        scored.results += results
        scored.rows |= columns

    scored.whole = overall
    return scored
