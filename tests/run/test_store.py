"""The store of a run, shard by shard, and one evaluation: who counts, what is done again, what is said."""

import json
import types
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import countenance as ct
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.run.chosen_model import ChosenModel
from countenance.run.engine.base import Rate
from countenance.run.evaluation import Evaluation
from countenance.run.file_names import answers_name, marker_name, work_rows
from countenance.run.manifest import DatasetRecord, Manifest, read_manifest
from countenance.run.marker import Committed, Marker
from countenance.run.plan import Piece, make_plan
from countenance.run.store import RunStore
from countenance.settings import RunSettings
from countenance.settings.engine import EngineSettings
from countenance.tasks import load_task
from countenance.testing import DiscDetector, small_dataset

CARD = ModelCard(name="m", content="x")
TASK = load_task("face_localization")


# the store


def test_files_of_a_run_have_numbers_of_five_digits() -> None:
    assert (marker_name(7), answers_name(7), work_rows(123456)) == (
        "shards/00007.json",
        "answers/00007.parquet",
        "work/123456.scores.parquet",
    )


def commit(store: RunStore, number: int = 0, box: float = 1.0, **more: Any) -> Committed:
    rows = pa.table({"sample": ["a"], "m.x": [box]})
    given = {"failures": [], **more}
    return store.commit(number, ct.Boxes, [("a", ct.Boxes([[0, 0, box, box]]))], rows, **given)


def test_of_two_writers_the_first_counts_and_the_second_leaves_nothing(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    assert commit(store) is Committed.FIRST and commit(store) is Committed.SAME
    assert commit(store, box=2.0) is Committed.DIFFERENT
    assert commit(store, failures=[{"sample": "b", "kind": "model", "reason": "r"}]) is Committed.DIFFERENT
    names = sorted(entry.name for entry in store.storage.entries())
    assert names == ["answers/00000.parquet", "shards/00000.json", "work/00000.scores.parquet"]
    marker = store.committed()[0]
    assert marker.answered == 1 and marker.skipped == 0 and marker.pictures == ""
    assert marker.sizes == {name: (tmp_path / name).stat().st_size for name in names if "shards" not in name}
    assert store.shard_answers(0)["a"].xyxy.tolist() == [[0, 0, 1, 1]]


def test_a_file_of_another_writer_is_never_touched(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    commit(store)
    first = (tmp_path / "answers/00000.parquet").read_bytes()
    store.forget_shard(0)
    assert commit(store, box=2.0) is Committed.FIRST
    assert (tmp_path / "answers/00000.parquet").read_bytes() == first
    (marker,) = store.committed().values()
    name = marker.file("answers/")
    assert name is not None and len(name) == len("answers/00000-0123456789ab.parquet")
    assert marker.files[name].startswith(name.removeprefix("answers/00000-").removesuffix(".parquet"))
    store.sweep(store.committed())
    assert not (tmp_path / "answers/00000.parquet").exists() and (tmp_path / name).exists()


def test_a_shard_counts_only_while_its_files_are_what_was_written(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    for number in (0, 1):
        commit(store, number)
    (tmp_path / "work/00000.scores.parquet").unlink()
    assert list(store.committed()) == [1] and sorted(store.committed(rows=False)) == [0, 1]
    content = (tmp_path / "answers/00001.parquet").read_bytes()
    (tmp_path / "answers/00001.parquet").write_bytes(content[:-1] + b"x")
    assert store.committed() == {} and list(store.committed(rows=False)) == [0]
    with pytest.raises(InputError, match="not what was written"):
        store.shard_answers(1)
    (tmp_path / "shards/00009.json").write_bytes((tmp_path / "shards/00000.json").read_bytes())
    assert 9 not in store.committed(rows=False)  # a marker under another number


def test_a_damaged_marker_is_written_again(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    commit(store)
    (tmp_path / "shards/00000.json").write_text('{"number": 0}')
    assert store.committed() == {} and commit(store) is Committed.FIRST and list(store.committed()) == [0]
    assert Marker.read(b'{"number": 0, "answered": 1, "failures": [{}], "files": {}}') is None


def test_runs_that_are_moved_aside_have_their_key_in_their_name(tmp_path: Path) -> None:
    names = []
    for _ in range(4):
        store = RunStore(tmp_path / "run")
        made = Manifest(task="t", key="0123456789", model=CARD, dataset=DatasetRecord(card=ct.DatasetCard(name="d")))
        store.write_manifest(made)
        names.append(Path(store.move_aside()).name)
    assert names == ["run-01234567", "run-01234567-2", "run-01234567-3", "run-01234567-4"]
    (tmp_path / "run").mkdir(exist_ok=True)
    (tmp_path / "run" / "run.json").write_text("{")
    assert Path(RunStore(tmp_path / "run").move_aside()).name == "run-unknown"


def test_hashes_are_kept_of_every_file_but_those_that_come_and_go(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    for name in ("run.json", "local.json", "views.json", "thumbnails/x.jpg", "work/1.parquet", "a/b.txt"):
        store.storage.write(name, name.encode())
    store.seal()
    assert sorted(store.sealed()) == ["run.json"], "a/b.txt is somebody else's"
    store.seal(["a/b.txt"])
    store.seal()
    assert sorted(store.sealed()) == ["a/b.txt", "run.json"]
    store.storage.write("a/b.txt", b"new")
    before = store.sealed()
    with store.replacing("c.txt"):
        assert store.sealed() == before
    with store.replacing("a/b.txt", "c.txt"):
        assert sorted(store.sealed()) == ["run.json"]
        store.storage.write("c.txt", b"c")
    assert sorted(store.sealed()) == ["a/b.txt", "c.txt", "run.json"] and store.sealed()["a/b.txt"] != before["a/b.txt"]
    store.storage.delete("c.txt")
    store.seal(["run.json"])
    assert sorted(store.sealed()) == ["a/b.txt", "c.txt", "run.json"], "a file that was removed is missed"


def test_a_manifest_of_this_format_opens_and_one_of_the_next_does_not() -> None:
    found = Manifest(task="t", model=CARD, dataset=DatasetRecord(card=ct.DatasetCard(name="d"))).model_dump(mode="json")
    assert read_manifest(json.dumps(found).encode(), "p").format == 2
    with pytest.raises(InputError, match="format 3, this one reads up to 2"):
        read_manifest(json.dumps(found | {"format": 3}).encode(), "p")
    for version in (1, "2", None, True):
        with pytest.raises(InputError, match=r"expected 2|not a run's manifest"):
            read_manifest(json.dumps(found | {"format": version}).encode(), "p")


# an evaluation


def an_evaluation(tmp_path: Path, **given: Any) -> tuple[Evaluation, list[str]]:
    said: list[str] = []
    settings = EngineSettings(say=said.append)
    made = make_plan(TASK, small_dataset(6, 16), CARD, settings=RunSettings(batch=2, shard=2))
    notes = lambda samples, answers, context: []  # noqa: E731
    whole = Evaluation(made, ChosenModel(CARD, target=DiscDetector()), RunStore(tmp_path / "run"), settings, notes, {})
    return replace(whole, **given), said


@pytest.mark.parametrize(("images", "told"), [(9_999, False), (10_000, True)])
def test_a_long_run_says_beforehand_what_it_costs(tmp_path: Path, images: int, told: bool) -> None:
    made, said = an_evaluation(tmp_path)
    pieces = [Piece(0, 0, 0, 4000), Piece(1, 0, 4000, images)]
    engine = types.SimpleNamespace(rate=lambda piece: Rate(32, 1.0, 1) if piece.number == 0 else None)
    made._say_cost(pieces, lambda: engine)  # type: ignore[arg-type]
    assert bool(said) is told and (not told or f"{images:,} images to do" in said[0])


class Unsure:
    """An engine whose uploads are cut off so many times."""

    def __init__(self, store: RunStore, lost: int) -> None:
        self.store, self.lost, self.asked = store, lost, []

    def run(self, pieces: list[Piece], step: Any) -> None:
        self.asked.append([piece.number for piece in pieces])
        for piece in pieces:
            commit(self.store, piece.number)
            step(piece.images)
            if piece.number == 1 and self.lost:
                self.lost -= 1
                (Path(self.store.place) / answers_name(1)).unlink()


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_a_shard_that_did_not_arrive_whole_is_done_again(tmp_path: Path, lost: int) -> None:
    made, _ = an_evaluation(tmp_path)
    engine, seen = Unsure(made.store, lost), []
    pieces = made.plan.pieces()
    if lost == 3:
        with pytest.raises(InputError, match="shard 1 did not arrive whole 3 times"):
            made._work_off(pieces, pieces, lambda: engine, seen.append)  # type: ignore[arg-type]
    else:
        markers = made._work_off(pieces, pieces, lambda: engine, seen.append)  # type: ignore[arg-type]
        assert sorted(markers) == [0, 1, 2]
    assert engine.asked == [[0, 1, 2], *[[1]] * min(lost, 2)] and seen == [2, 2, 2]


def test_nothing_is_asked_of_an_engine_that_has_nothing_to_do(tmp_path: Path) -> None:
    made, _ = an_evaluation(tmp_path)
    engine = Unsure(made.store, 0)
    engine.run(made.plan.pieces(), lambda n: None)
    assert sorted(made._work_off(made.plan.pieces(), [], lambda: 1 / 0, None)) == [0, 1, 2]  # type: ignore[arg-type]


def test_a_run_says_how_fast_it_was_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    steps: list[int] = []
    total: list[int] = []

    class Steps:
        def __init__(self, what: str, images: int) -> None:
            total.append(images)

        def __enter__(self) -> Any:
            return steps.append

        def __exit__(self, *_: object) -> None:
            return None

    made, _ = an_evaluation(tmp_path, settings=EngineSettings(progress=Steps))
    run = made.run()
    assert run.complete and steps == [0, 2, 2, 2] and total[0] == 6
    found = run.manifest
    assert found.engine["workers"] == 0 and found.engine["decoders"] == 0 and found.engine["name"] == "local"
    assert found.images_per_second and found.seconds is not None and 0 < found.seconds < 600
    assert found.images_per_second == pytest.approx(6 / found.seconds, rel=0.2)
    made.store.forget_shard(1)
    again, told = an_evaluation(tmp_path)
    again.run()
    assert any("resuming; 4 of 6 images are done" in line for line in told)


def test_images_of_an_earlier_attempt_count_as_answered(tmp_path: Path) -> None:
    made, _ = an_evaluation(tmp_path)
    Unsure(made.store, 0).run(made.plan.pieces(), lambda n: None)
    for path in (tmp_path / "run" / "work").iterdir():  # rows can be scored again
        path.unlink()
    assert made._watch().answered == 3 and made._watch().max_failures == 0.05


@pytest.mark.parametrize(
    "row",
    [
        {"sample": "a"},
        {"sample": 7, "kind": "image", "reason": "x"},
        {"sample": "a", "kind": "image", "reason": "x", "people": 7},
        {"sample": "a", "kind": "image", "reason": "x", "people": [["id"]]},
        {"sample": "a", "kind": "image", "reason": "x", "attributes": ["gender"]},
        {"sample": "a", "kind": "image", "reason": "x", "attributes": {"gender": "female"}},
        {"sample": "a", "kind": "image", "reason": "x", "attributes": {"gender": [7]}},
    ],
)
def test_a_marker_whose_failures_are_no_failures_is_damaged(row: dict[str, Any]) -> None:
    from countenance.run.marker import Marker

    good = {"sample": "a", "kind": "image", "reason": "x", "people": ["id"], "attributes": {"gender": ["f", None]}}
    assert Marker.read(Marker(0, 1, [good], {}).to_bytes()) is not None
    assert Marker.read(Marker(0, 1, [good, row], {}).to_bytes()) is None
