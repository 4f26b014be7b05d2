"""The stored form of answers: a Parquet file per shard, a row per image."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from countenance.answers.base import Answer
from countenance.answers.boxes import Boxes, Identifications
from countenance.answers.shapes import Keypoints, LabelMap, Masks, Picture
from countenance.answers.values import Age, Embedding, Labels, Parts, Scalars
from countenance.decoding import decoding, read_parquet
from countenance.errors import RunError

KINDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Boxes,
        Labels,
        Masks,
        Keypoints,
        Parts,
        LabelMap,
        Embedding,
        Picture,
        Age,
        Identifications,
        Scalars,
    )
}


def _schema(kind: str) -> Any:
    import pyarrow as pa

    numbers = pa.list_(pa.float64())
    fields = {
        "Boxes": [("boxes", pa.list_(numbers)), ("scores", numbers), ("labels", pa.list_(pa.string()))],
        "Labels": [("values", pa.string()), ("probabilities", pa.string())],
        "Masks": [("size", pa.list_(pa.int64())), ("counts", pa.list_(pa.string())), ("scores", numbers)],
        "Keypoints": [("points", pa.list_(numbers)), ("scores", numbers)],
        "Parts": [("parts", pa.list_(pa.string()))],
        "LabelMap": [("png", pa.binary())],
        "Embedding": [("vector", numbers)],
        "Picture": [("png", pa.binary())],
        "Age": [("years", pa.float64()), ("probabilities", numbers)],
        "Scalars": [("names", pa.list_(pa.string())), ("numbers", numbers)],
        "Identifications": [
            ("boxes", pa.list_(numbers)),
            ("scores", numbers),
            ("count", pa.list_(pa.int64())),
            ("identity", pa.list_(pa.int64())),
            ("similarity", numbers),
        ],
    }[kind]
    return pa.schema([("sample", pa.string()), *fields], metadata={"answer": kind})


def answers_table(kind: type[Any], answers: Iterable[tuple[str, Answer]]) -> Any:
    """Answers as an Arrow table, each with the id of its sample."""
    import pyarrow as pa

    rows = [{"sample": sample, **answer.to_row()} for sample, answer in answers]
    return pa.Table.from_pylist(rows, schema=_schema(kind.__name__))


def answers_from_table(table: Any, place: str) -> dict[str, Answer]:
    """The answers of a table by sample id; `place` names it in messages."""
    kind = KINDS.get((table.schema.metadata or {}).get(b"answer", b"").decode(errors="replace"))
    if kind is None:
        raise RunError(f"{place}: does not say what kind of answers it holds; saved answers come from a run")
    if "sample" not in table.column_names or not _is_text(table.schema.field("sample").type):
        raise RunError(f"{place}: no column sample with names; saved answers come from a run")
    with decoding(place, "file of answers"):
        return {row.pop("sample"): kind.from_row(row) for row in table.to_pylist()}


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def read_answers(folder: Path) -> dict[str, Answer]:
    """Every answer in a folder of shards, by sample id; also a single file."""
    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else [folder]
    if not files or not files[0].exists():
        raise RunError(f"{folder}: holds no saved answers (*.parquet); run a model first")
    answers: dict[str, Answer] = {}
    for file in files:
        answers.update(answers_from_table(read_parquet(file, file), str(file)))
    return answers
