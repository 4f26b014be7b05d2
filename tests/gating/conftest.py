"""Runs made by hand: a manifest and rows, so that every outcome of every rule can be made on purpose."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from countenance.data.card import DatasetCard
from countenance.models import ModelCard
from countenance.run import Run
from countenance.run.file_names import FAILURES, SCORES
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord
from countenance.run.rows import FAILURE
from countenance.run.store import RunStore
from countenance.tasks.reduce import Reduced
from countenance.tasks.results import Result

Made = Callable[..., Run]


def write_run(
    place: Path,
    columns: Mapping[str, Sequence[Any]],
    *,
    better: Mapping[str, str] | None = None,
    licences: tuple[str, str] = ("CC0", "MIT"),
    results: Sequence[Result] = (),
    images: int | None = None,
    **facts: Any,
) -> Run:
    """A finished run with the rows given. Columns that rows must have are filled in: a person and an image each."""
    n = len(next(iter(columns.values())))
    rows = {
        "sample": [f"s{i}" for i in range(n)],
        "subject": ["0"] * n,
        "identity": [f"p{i}" for i in range(n)],
        **columns,
    }
    table = pa.table(rows)
    metrics = [name.removeprefix("m.") for name in rows if name.startswith("m.")]
    store = RunStore(place)
    card = DatasetCard(name="made", licence=licences[0], real_people=False)
    store.write_manifest(
        Manifest(
            task="face_localization",
            question="found?",
            model=ModelCard(name="net", licence=licences[1]),
            dataset=DatasetRecord(card=card, images=n if images is None else images, fingerprint="f"),
            metrics=[
                MetricRecord(name=name, headline=True, better=(better or {}).get(name, "higher")) for name in metrics
            ],
            **facts,
        )
    )
    store.write_table(SCORES, table)
    kinds = dict.fromkeys(FAILURE, pa.string()) | {"people": pa.list_(pa.string())}
    store.write_table(FAILURES, pa.table({name: pa.array([], kind) for name, kind in kinds.items()}))
    if results:
        store.write_results(Reduced(list(results)))
    store.seal()
    return Run(place)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes runs; each gets a folder of its own."""
    count = iter(range(1000))

    def make(columns: Mapping[str, Sequence[Any]], **facts: Any) -> Run:
        return write_run(tmp_path / f"run{next(count)}", columns, **facts)

    return make
