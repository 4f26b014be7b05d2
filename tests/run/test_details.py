"""Details of a run, each by itself: limits at their edge, names of files, draws, retries, what is told and when."""

import time
import types
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.data.manifest_writer import ManifestWriter
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.run import early_stop, evaluate, evaluation, feeding, plan, staleness, store
from countenance.run.early_stop import Watch, hopeless
from countenance.run.engine import local
from countenance.run.engine.arena import Arena
from countenance.run.engine.base import Job, Rate
from countenance.run.engine.local import _Probes, _Shards, _Work
from countenance.run.engine.processes import Death
from countenance.run.manifest import DatasetRecord, Manifest, located
from countenance.run.plan import InManifest, Piece, make_plan
from countenance.run.shard import FailedImage, answers, own_copy, predictions, run_shard, started
from countenance.run.staleness import Difference, _same, differs, draw, lowest_score
from countenance.settings import RunSettings
from countenance.settings.engine import EngineSettings
from countenance.tasks import load_task
from countenance.testing import small_dataset

CARD = ModelCard(name="m", content="x")
TASK = load_task("face_localization")


# the plan


def test_defaults_that_numbers_depend_on() -> None:
    assert RunSettings() == RunSettings(batch=8, seed=0, limit=None, shard=None, decode="exact")
    assert (plan.SMALLEST, plan.LARGEST) == (64, 50_000)
    assert (staleness.PROBED, staleness.EDGES) == (8, 4) and (early_stop.FIRST, early_stop.LOST) == (10, 3)
    assert (evaluation.LONG, evaluation.ATTEMPTS, store.MOST_ROWS) == (10_000, 3, 10_000_000)
    assert (feeding.AHEAD, feeding.BUDGET) == (2, 268_435_456)
    assert (local.MOST_AT_ONCE, local.MOST_DEATHS) == (8, 10)
    engine = EngineSettings()
    assert (engine.workers, engine.threads, engine.decoders, engine.time_limit) == (1, None, None, 120.0)
    assert (engine.strict, engine.max_failures, engine.engine, engine.gpus_per_worker) == (False, 0.05, "local", 0.0)
    job = Job("t", None, None, "m", "s", {}, 4)  # type: ignore[arg-type]
    assert (job.decoders, job.strict, job.time_limit, job.max_failures) == (0, False, 120.0, 0.05)
    record = Manifest(task="t", model=CARD, dataset=DatasetRecord(card=ct.DatasetCard(name="d")))
    assert (record.format, record.seed, record.failed, record.max_failures, record.purged) == (2, 0, 0, 0.05, 0)
    assert (record.dataset.images, record.dataset.skipped) == (0, 0)


@pytest.mark.parametrize(("cores", "workers", "each"), [(9, 1, 8), (9, 2, 4), (9, 3, 2), (2, 4, 1), (None, 1, 1)])
def test_decode_processes_share_the_cores(monkeypatch, cores, workers, each) -> None:
    monkeypatch.setattr("countenance.settings.engine.os.cpu_count", lambda: cores)
    settings = EngineSettings(workers=workers)
    assert settings.decode_processes("cuda:0") == each and settings.decode_processes("cpu") == 0
    assert settings.decode_processes("cuda", "gpu") == min(each, 6) and settings.decode_processes("cpu", "gpu") == 0
    assert EngineSettings(workers=workers, decoders=0).decode_processes("cuda") == 0


@pytest.fixture
def manifest(tmp_path: Path) -> Any:
    """Twelve samples in partitions of five."""
    dataset = small_dataset(12, 16)
    return ManifestWriter(tmp_path / "m", dataset.card, partition=5).write(list(dataset))


def test_pieces_of_a_manifest_stay_within_its_partitions(manifest) -> None:
    whole = InManifest(manifest)
    pieces = whole.pieces(2)
    assert [(p.number, p.partition, p.start, p.stop) for p in pieces] == [
        (0, 0, 0, 2),
        (1, 0, 2, 4),
        (2, 0, 4, 5),
        (3, 1, 0, 2),
        (4, 1, 2, 4),
        (5, 1, 4, 5),
        (6, 2, 0, 2),
    ]
    assert all(p.chosen is None for p in pieces) and whole.skipped == 0
    names = [sample.id for sample in small_dataset(12, 16)]
    assert [sample.id for piece in pieces for sample in whole.read(piece)] == names


@pytest.mark.parametrize("limit", [1, 4, 7, 11, 12, 20])
def test_a_limit_draws_the_same_rows_of_a_manifest_as_of_a_dataset(manifest, limit: int) -> None:
    settings = RunSettings(limit=limit, seed=3, shard=2, batch=2)
    far = make_plan(TASK, manifest, CARD, settings=settings)
    near = make_plan(TASK, small_dataset(12, 16), CARD, settings=settings)
    names = [sample.id for piece in far.pieces() for sample in far.read(piece)]
    assert names == [sample.id for sample in near.samples.samples] and far.images() == min(limit, 12)
    for piece in far.pieces():
        if piece.chosen is not None:
            assert piece.start == piece.chosen[0] and piece.stop == piece.chosen[-1] + 1 and piece.images <= 2


def test_the_first_images_of_a_piece() -> None:
    some = Piece(1, 0, 5, 30, (6, 9, 29))
    assert some.first(0) == Piece(1, 0, 5, 5, ()) and some.first(1) == Piece(1, 0, 5, 7, (6,))
    assert some.first(9) == some and Piece(1, 0, 5, 8).first(9) == Piece(1, 0, 5, 8)
    assert Piece(1, 0, 5, 8).first(2) == Piece(1, 0, 5, 7) and Piece(1, 0, 5, 8).first(3).stop == 8


def test_what_the_task_does_not_ask_is_skipped_and_nothing_is_hashed_before_it_is_decoded() -> None:
    dataset = small_dataset(5, 16)
    bare = ct.Sample("bare", next(iter(dataset)).image, 16, 16)
    data = ct.Dataset(dataset.card, [*dataset, bare])
    made = make_plan(TASK, data, CARD)
    asked = [sample for sample in data if TASK.asks(sample)]
    assert made.samples.skipped == 6 - len(asked) and len(made.samples.samples) == len(asked)
    assert all(sample.sha256 is None for sample in made.samples.samples)


# is it the same model?


def test_eight_are_drawn_and_four_at_each_edge() -> None:
    scored = {0: {f"a{i:04d}": 1 - i / 5000 for i in range(2000)}, 1: {f"b{i:03d}": None for i in range(200)}}
    names = [name for some in draw(scored, 5).values() for name in some]
    lowest = [f"a{i:04d}" for i in range(1996, 2000)]
    drawn = [name for name in names if name not in lowest]
    empty = [name for name in drawn if name.startswith("b")]
    assert set(lowest) <= set(names) and len(set(names)) == len(names)
    known = sorted((shard, name) for shard, some in scored.items() for name in some)
    order = [known[i][1] for i in np.random.default_rng(5).permutation(len(known))]
    first_empty = [name for name in order if name.startswith("b")][:4]
    assert set(names) == {*order[:8], *lowest, *first_empty} and len(empty) >= 4
    assert draw(scored, 5, most=0) == {0: sorted(lowest), 1: sorted(first_empty)}


def test_sure_predictions_without_a_score_count_as_one() -> None:
    assert lowest_score(ct.Labels({"a": "b"}, {})) == 1.0
    assert lowest_score(types.SimpleNamespace(probabilities={"a": {}})) == 1.0
    assert lowest_score(types.SimpleNamespace(probabilities={"a": {"x": 0.2, "y": 0.3}, "b": {"z": 0.9}})) == 0.3
    assert lowest_score(types.SimpleNamespace(years=None)) is None and lowest_score(object()) == 1.0


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (1.0, 1.0005, True),
        (1.0, 1.01, False),
        (1.0, 1, True),
        (1.0, "1", False),
        ("1", 1.0, False),
        (0.0, 5e-5, True),
        (0.0, 2e-3, False),
        ([1.0, 2.0], (1.0, 2.0), True),
        ([1.0], [1.0, 2.0], False),
        ({"a": 1.0}, {"b": 1.0}, False),
        ({"landmarks": 1.0, "b": 2.0}, {"landmarks": 9.0, "b": 2.0}, True),
        (None, None, True),
        (None, 1.0, False),
        (np.zeros(2), None, False),
        (None, np.zeros(2), False),
        (np.zeros(2), 0.0, False),
        (2, 2.0, True),
        (2, 3, False),
        (np.zeros((40, 50), np.uint8), np.r_[[[1] * 50], np.zeros((39, 50))].astype(np.uint8), False),
        (np.zeros((40, 50), bool), np.pad(np.ones((1, 2), bool), ((0, 39), (0, 48))), True),
        (np.zeros((40, 50), bool), np.pad(np.ones((1, 3), bool), ((0, 39), (0, 47))), False),
        (np.zeros((20, 20, 3), np.uint8), np.ones((20, 20, 3), np.uint8), True),
        (np.zeros((20, 20, 3), np.uint8), np.full((20, 20, 3), 2, np.uint8), False),
        (np.zeros((20, 20), np.uint8), np.ones((20, 20), np.uint8), False),
        (np.full((4, 4, 3), 255, np.uint8), np.zeros((4, 4, 3), np.uint8), False),
        (np.zeros((2, 2, 2), bool), np.ones((2, 2, 2), bool), False),
        (np.array([0.0, 0.5]), np.array([0.0, 0.50055]), True),
        (np.array([0.0, 0.5]), np.array([0.0, 0.502]), False),
        (np.array([]), np.array([]), True),
    ],
)
def test_values_that_are_the_same_but_for_rounding(one, two, same: bool) -> None:
    assert _same(one, two) is same


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ([5.0], None),
        ([5.0001], None),
        ([6.0, 6.0], Difference("s", True)),
        ([6.0, 7.0], Difference("s", False)),
        ([None, None], Difference("s", True)),
        ([None, 5.0], Difference("s", False)),
        ([6.0, None], Difference("s", False)),
    ],
)
def test_a_model_differs_from_what_is_stored_or_from_itself(said, found) -> None:
    left = deque(said)

    class Model:
        needs_pixels = False

        def by_id(self, name: str) -> Any:
            if (value := left.popleft()) is None:
                raise ValueError("fails now")
            return types.SimpleNamespace(value=value)

    task = types.SimpleNamespace(check=lambda raw, sample, context: raw)
    sample = next(iter(small_dataset(1, 16)))
    sample = replace(sample, id="s")
    assert differs(task, Model(), [sample], {"s": types.SimpleNamespace(value=5.0)}) == found  # type: ignore[arg-type]
    assert not left


# stopping early


@pytest.mark.parametrize(
    ("seen", "stop"),
    [
        ((0, 9, 0), False),
        ((0, 10, 0), True),
        ((0, 2, 2), False),
        ((0, 3, 3), True),
        ((1, 50, 9), False),
        ((0, 0, 0), 0),
    ],
)
def test_when_a_run_is_hopeless(seen, stop) -> None:
    assert hopeless(*seen) == stop


def test_a_watch_counts_images_once_and_workers_that_were_lost() -> None:
    def failed(name: str, kind: str = "model") -> dict[str, str]:
        return {"sample": name, "kind": kind, "reason": "r"}

    watch = Watch(0.05)
    for _ in range(5):
        watch.saw(0, [failed("a")], lost=True)
    assert watch.lost == 1 and list(watch.failed) == ["a"]  # the same image
    watch.saw(0, [failed(f"i{k}", "image") for k in range(30)], lost=True)
    assert watch.lost == 1
    watch.saw(0, [failed("b")], lost=True)
    with pytest.raises(InputError, match="the first 3 images all failed"):
        watch.saw(0, [failed("c")], lost=True)
    one = Watch(0.99, remedy="")
    with pytest.raises(InputError, match=r"stopped: the first image failed; the first, a: r$"):
        early, early_stop.FIRST = early_stop.FIRST, 1
        try:
            one.saw(0, [failed("a")])
        finally:
            early_stop.FIRST = early
    calm = Watch(1.0)
    calm.saw(0, [failed(f"m{k}") for k in range(40)], lost=True)
    assert calm.lost == 40


# supervision


def test_a_probe_that_the_machine_killed_is_tried_again_once() -> None:
    order = {"probe": ["a", "b"]}
    probes = _Probes([])
    probes.died(order, Death("killed", signal=9))
    assert probes.difference is None and probes.orders == [order] and probes.killed and not probes.finished()
    assert probes.next() is order
    probes.died(order, Death("killed", signal=9))
    assert probes.difference == Difference("a", True) and probes.finished()
    for death in (Death("late", signal=9, overdue=True), Death("crash", signal=11)):
        other = _Probes([])
        other.died(order, death)
        assert other.difference == Difference("a", True)
    done = _Probes([])
    done.done(order, {"difference": None})
    assert done.over and done.difference is None


def test_careful_shards_are_given_out_alone() -> None:
    works = [_Work(Piece(k, 0, 0, 1), careful=k == 2) for k in range(4)]
    crew = _Shards(deque(works), Watch(0.05), lambda n: None)
    assert [piece["number"] for piece in crew.next()["pieces"]] == [0, 1]
    order = crew.next()
    assert order["piece"]["number"] == 2 and order["careful"] is True and order["known_failures"] == {}
    assert [piece["number"] for piece in crew.next()["pieces"]] == [3] and crew.next() is None
    assert crew.left == 4 and set(crew.under_way) == {0, 1, 2, 3}


def test_of_several_shards_only_those_begun_become_careful() -> None:
    crew = _Shards(deque(_Work(Piece(k, 0, 0, 1)) for k in range(3)), Watch(0.05), lambda n: None)
    order = crew.next()
    crew.heard(order, {"shard": 0, "commit": "first"})
    crew.heard(order, {"shard": 1, "asking": ["a"]})
    crew.died(order, Death("gone"))
    assert [(work.piece.number, work.careful) for work in crew.waiting] == [(1, True), (2, False)]
    assert crew.deaths == 1 and crew.left == 2 and crew.watch.answered == 0
    crew.heard(crew.next(), {"shard": 1, "answered": 1, "failures": []})
    assert crew.deaths == 0


def test_a_message_is_no_progress_twice() -> None:
    seen: list[int] = []
    crew = _Shards(deque([_Work(Piece(0, 0, 0, 9))]), Watch(0.05), seen.append)
    order = crew.next()
    for answered in (3, 0, 2):
        crew.heard(order, {"shard": 0, "answered": answered, "failures": []})
    assert seen == [3, 2] and crew.reported == {0: 5} and crew.under_way[0].answered == 5


@pytest.mark.parametrize(
    ("seconds", "images", "workers", "said"),
    [
        (1.0, 899, 1, "about 90 s with 1 worker"),
        (1.0, 899.9, 1, "about 90 s"),
        (1.0, 900, 1, "about 2 min"),
        (1.0, 35_999, 1, "about 60 min"),
        (1.0, 36_000, 1, "about 1.0 h"),
        (1.0, 72_000, 2, "about 1.0 h with 2 workers"),
        (0.0, 100, 1, "about 0 s"),
        (2.0, 100, 1, "took one worker 2.00 s (5 images/s), so about 20 s"),
    ],
)
def test_an_estimate_is_told_in_fitting_units(seconds, images, workers, said: str) -> None:
    assert said in Rate(10, seconds, workers).estimate(images)


# one shard


def test_a_batch_that_fails_is_tried_image_by_image() -> None:
    samples = list(small_dataset(3, 16))
    batch = [(sample, sample.load()) for sample in samples]
    sizes: list[int] = []

    def model(images: list[Any]) -> list[Any]:
        sizes.append(len(images))
        if len(images) > 1 or int(images[0].sum()) == int(batch[1][1].sum()):
            raise KeyError("two")
        return [{"boxes": [[0, 0, 1, 1]]}]

    found = answers(model, batch)
    assert sizes == [3, 1, 1, 1] and found[1] == FailedImage("model", "KeyError: 'two'")
    assert found[0] == found[2] == {"boxes": [[0, 0, 1, 1]]} and answers(model, []) == []
    assert FailedImage.of(InputError("no")) == FailedImage("answer", "no")


@pytest.mark.parametrize(("given", "said"), [(2, "2 answers for 3 images"), (9, "4 answers for 3 images")])
def test_a_model_gives_one_answer_for_each_image(given: int, said: str) -> None:
    batch = [(sample, sample.load()) for sample in small_dataset(3, 16)]
    with pytest.raises(ValueError, match=said):
        predictions(lambda images: ["x"] * given, batch)
    with pytest.raises(ValueError, match="returned int, expected one answer"):
        predictions(lambda images: 7, batch)
    assert predictions(lambda images, ids: ids, batch) == [sample.id for sample, _ in batch]


def test_what_a_model_keeps_for_itself_is_copied_three_levels_deep() -> None:
    shared = np.zeros(1)
    nested = [[[shared]], {"a": (shared, shared)}, ct.Embedding(shared), "x"]
    ours = own_copy(nested)
    deeper = own_copy([[[[shared]]]])
    shared[0] = 1
    assert ours[0][0][0].tolist() == [0] and ours[1]["a"][1].tolist() == [0] and ours[2].vector.tolist() == [0]
    assert ours[3] == "x" and deeper[0][0][0][0] is shared


def test_refused_boxes_are_kept_where_they_could_be_boxes_at_all() -> None:
    sample = next(iter(small_dataset(1, 16)))
    for boxes, held in (
        ([[9.0, 9.0, 1.0, 1.0]], True),
        ([[9.0, 9.0, -9.9e6, 1.0]], True),
        ([[9.0, 9.0, 1e7, 1.0]], False),
        ([[9.0, 9.0, np.nan, 1.0]], False),
    ):
        result = run_shard(TASK, lambda images, boxes=boxes: [{"boxes": boxes}], [sample], batch=1)
        assert len(result.failures) == 1 and result.failures[0]["kind"] == "answer"
        assert (sample.id in result.refused) is held, boxes
    assert result.rows == [] and result.answers == []


def test_known_failures_are_not_tried_again() -> None:
    samples = list(small_dataset(4, 16))
    bare = ct.Sample("bare", samples[0].image, 16, 16)
    task = replace(TASK, asks=lambda sample: bool(sample.subjects))
    result, left = started(task, [*samples, bare], {samples[2].id: "it kills"})
    assert result.skipped == 1 and [s.id for s in left] == [samples[i].id for i in (0, 1, 3)]
    assert [(row["sample"], row["kind"], row["reason"]) for row in result.failures] == [
        (samples[2].id, "model", "it kills")
    ]


def test_a_thread_that_reads_ahead_ends_with_its_reader() -> None:
    made: list[int] = []

    def source() -> Any:
        while len(made) < 10_000_000:
            made.append(0)
            yield len(made)

    values = feeding.ahead(source, 2)
    assert next(values) == 1
    values.close()
    time.sleep(0.3)
    assert len(made) <= 6


# where things come from


def test_sources_are_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faces").mkdir()
    monkeypatch.chdir(tmp_path)
    assert located("faces") == str(tmp_path / "faces") and located("s3://b/p") == "s3://b/p"
    assert located("uccs:faces?set=test") == f"uccs:{tmp_path}/faces?set=test" and located("uccs:gone") == "uccs:gone"
    assert located("people:faces") == "people:faces"  # a part, not the folder
    assert located("people:") == "people:" and located("gone") == "gone" and located("faces?x=1") == "faces?x=1"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"box_format": "xywh"}, {"form": "xywh", "units": "px"}),
        ({}, {"form": "xyxy", "units": "px"}),
        ({"units": "rel"}, {"form": "xyxy", "units": "rel"}),
    ],
)
def test_boxes_are_read_as_the_user_says(tmp_path: Path, given: dict[str, Any], read: dict[str, str]) -> None:
    data = small_dataset(4, 16)
    box = [[0, 0, 0.5, 0.5]]
    run = evaluate(lambda images: [box for _ in images], TASK, data, out=tmp_path / "r", max_failures=1.0, **given)
    assert run.manifest.boxes == read
    if given:
        with pytest.raises(InputError, match=f"has no boxes; leave {next(iter(given))} out"):
            evaluate(lambda images: [], "face_verification", data, out=tmp_path / "v", **given)


def test_memory_that_cannot_be_pinned_is_an_error() -> None:
    given: list[Any] = []

    def torch(code: int) -> Any:
        def register(*what: Any) -> int:
            given.append(what)
            return code

        return types.SimpleNamespace(
            cuda=types.SimpleNamespace(cudart=lambda: types.SimpleNamespace(cudaHostRegister=register))
        )

    arena = Arena(10)
    arena.pin(torch(0))
    assert given == [(arena.bytes.ctypes.data, 10, 0)]
    with pytest.raises(RuntimeError, match="CUDA error 1"):
        Arena(10).pin(torch(1))
    assert feeding.FedGroup([]).last is False
