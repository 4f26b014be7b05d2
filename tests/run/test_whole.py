"""A run as its reducer and its notes see it, and the files that tables are written into."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countenance as ct
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.run import evaluate, stages, whole_run
from countenance.run.early_stop import REMEMBERED, Watch
from countenance.run.plan import make_plan
from countenance.run.store import RunStore
from countenance.run.whole_run import LoadedShards, StoredShards, WholeRun, stored
from countenance.settings import RunSettings
from countenance.tasks import Reduced, Shard, load_task
from countenance.testing import DiscDetector, small_dataset, write_small_dataset

TASK = load_task("face_localization")


def seen(*tables: dict[str, list[Any]], by: tuple[str, ...] | None = None) -> WholeRun:
    made = [pa.table(table) for table in tables]
    return WholeRun(LoadedShards(lambda: iter([Shard([], {}, one) for one in made])), by=by)


def column(values: int) -> list[str]:
    return [f"v{k % values}" for k in range(62)]


def test_results_are_given_for_attributes_of_two_to_thirty_words() -> None:
    plain = {"a": column(2), "b": column(30), "c": column(31), "d": column(1), "split": column(3), "base": column(3)}
    table: dict[str, list[Any]] = {f"attr.{name}": values for name, values in plain.items()}
    table |= {"attr.n": [float(k % 3) for k in range(62)], "m.x": [1.0] * 62}
    assert seen(table).attributes == ("a", "b")
    first = table | {"attr.gender": column(2), "attr.skin_tone": column(3), "attr.age_group": column(40)}
    assert seen(first).attributes == ("skin_tone", "gender")
    assert seen(table, by=("a", "n", "x:1", "c")).attributes == ("a", "c")
    # parts of a run together: 20 words and 20 others are too many, one and another are enough
    parts = [{"attr.e": [f"{k}-{i}" for i in range(20)], "attr.f": [str(k)] * 20} for k in range(2)]
    assert seen(*parts).attributes == ("f",)
    assert seen({"attr.a": ["x", None]}, {"attr.a": ["x", "x"]}).attributes == ()
    assert WholeRun(LoadedShards(lambda: iter([]))).seed == 0


def test_columns_of_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = seen({"a": [1], "b": [2]}, {"a": [3]})
    assert [one.column_names for one in run.blocks(["b", "a"])] == [["b", "a"], ["a"]]
    assert run.rows(["a"])["a"].to_pylist() == [1, 3]
    assert list(run.states(lambda shard: {"rows": shard.rows.num_rows})) == [{"rows": 1}, {"rows": 1}]
    monkeypatch.setattr(whole_run, "BLOCK", 4)
    store = RunStore(tmp_path)
    store.write_table("scores.parquet", pa.table({"sample": [str(k) for k in range(9)], "m.x": [1.0] * 9}))
    parts = StoredShards(store, [])
    assert [one.num_rows for one in parts.tables()] == [4, 4, 1]
    assert [one.column_names for one in parts.tables(["m.x", "no"])] == [["m.x"]] * 3
    store.write_table("scores.parquet", pa.table({"sample": pa.array([], pa.string())}))
    assert [one.num_rows for one in parts.tables()] == [0]


@pytest.mark.parametrize(("most", "images"), [(100, 24), (24, 24), (23, 24), (12, 12), (6, 6), (1, 1)])
def test_notes_look_at_some_images_evenly_spaced(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, most: int, images: int
) -> None:
    data = small_dataset(24, 16)
    evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run", shard=4, batch=4)
    plan = make_plan(TASK, data, ModelCard(name="m"), settings=RunSettings(shard=4, batch=4))
    monkeypatch.setattr(stages, "MOST_NOTED", most)
    told: list[Any] = []

    def notes(samples: Any, answers: Any, context: Any) -> list[str]:
        told.append(([sample.id for sample in samples], sorted(answers)))
        return ["n"]

    assert stages.notes_on(plan, RunStore(tmp_path / "run"), notes) == ["n"]
    names, answered = told[0]
    step = max(1, 24 // most)
    pieces = plan.pieces()[::step]
    each = 24 if most >= 24 else -(-most // len(pieces))
    expected = [sample.id for piece in pieces for sample in plan.read(piece)[:each]]
    assert names == expected and answered == sorted(expected) and len(names) == images


def test_columns_of_a_reducer_have_a_value_for_each_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RunStore(tmp_path)
    table = pa.table({"sample": list("abcde"), "m.x": [1.0] * 5})
    with pytest.raises(InputError, match="column 'y' of the reducer has 4 values for 5 rows"):
        stages.write_scores(store, table, Reduced(columns={"y": np.zeros(4)}))
    added = Reduced(columns={"x": np.array([1.0, np.nan, 3.0, 4.0, 5.0]), "y": np.arange(5.0)})
    stages.write_scores(store, table, added)
    assert store.scores().to_pydict() == {
        "sample": list("abcde"),
        "m.x": [1.0, None, 3.0, 4.0, 5.0],
        "m.y": [0.0, 1.0, 2.0, 3.0, 4.0],
    }
    monkeypatch.setattr(stages, "MOST_ROWS", 2)
    stages.write_scores(store, table, added)
    assert store.score_files() == [f"scores/0000{k}.parquet" for k in range(3)]
    assert store.scores()["m.y"].to_pylist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    with store.score_paths() as paths:
        assert paths is not None and len(paths) == 3


def test_a_watch_forgets_reasons_once_images_were_answered() -> None:
    failures = [{"sample": f"s{k}", "kind": "model", "reason": "r"} for k in range(REMEMBERED + 5)]
    watch = Watch(0.05, answered=1)
    watch.saw(0, failures)
    assert len(watch.failed) == REMEMBERED == 1000


def test_a_finished_run_counts_images_failures_and_what_was_skipped(tmp_path: Path) -> None:
    data = list(small_dataset(10, 16))
    torn = ct.Sample("torn", ct.LazyImage(tmp_path / "gone.png"), 16, 16, data[0].subjects)
    run = evaluate(
        DiscDetector(),
        "face_localization",
        ct.Dataset(ct.DatasetCard(name="d"), [*data, torn]),
        out=tmp_path / "run",
        shard=4,
        batch=4,
    )
    found = run.manifest
    assert (found.dataset.images, found.failed, found.dataset.skipped) == (11, 1, 0) and len(
        found.dataset.pictures
    ) == 64
    assert run.failures()["sample"].to_pylist() == ["torn"] and run.results()[0].n == 11 - 1
    assert not run.store.storage.entries("work/")


def test_a_reducer_sees_a_failed_image_as_a_sample_without_a_prediction(tmp_path: Path) -> None:
    def share_failed(state, run) -> ct.Reduced:  # type: ignore[no-untyped-def]
        images = sum(len(shard.samples) for shard in run.shards())
        failed = images - sum(1 for sample, answer in run.answers())
        assert state["images"].sum() == images and state["answered"].sum() == images - failed
        return ct.Reduced([ct.Number(name="failed", value=failed / images)])

    def partial(shard: ct.Shard) -> dict[str, np.ndarray]:
        answered = [answer for sample, answer in shard.answered()]
        return {"images": np.array([len(shard.samples)]), "answered": np.array([len(answered)])}

    task = replace(load_task("face_localization"), reduce=ct.Reduce(partial, share_failed))
    data = write_small_dataset(tmp_path / "set", n=10)
    (data / "images" / "s00006.png").write_bytes(b"")
    run = evaluate(DiscDetector(), task, data, out=tmp_path / "run", shard=4)
    again = stages.reduce(task, stored(run.store, run.dataset(), run.manifest))
    assert run.results()[0].value == again.results[0].value == 0.1
