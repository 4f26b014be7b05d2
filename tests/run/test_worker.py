"""A worker's side, in this process: what it tells, in which order, with which deadline; and what feeds its model."""

import subprocess
import sys
import time
import types
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.data import Sample
from countenance.data.image import EncodedImage
from countenance.data.manifest_writer import ManifestWriter
from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.models.inputs import InputSpec
from countenance.run.engine import decoding, worker
from countenance.run.engine.base import Job
from countenance.run.engine.decoding import Decoders, file_size
from countenance.run.engine.worker import _Deadlines, made_feed
from countenance.run.feeding import by_thread, without_pixels
from countenance.run.plan import Piece
from countenance.run.rows import columns_of
from countenance.run.store import RunStore
from countenance.run.withdrawals import Withdrawn, hashed_id
from countenance.tasks import load_task
from countenance.testing import DiscDetector, small_dataset

TASK = load_task("face_localization")


@pytest.fixture(autouse=True)
def switch() -> Iterator[None]:
    """A worker lets threads change sooner; this process goes on as before."""
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@dataclass
class Serving:
    """A worker in this process, and its run."""

    handle: Any
    store: RunStore

    @property
    def worker(self) -> Any:
        return self.handle.__self__


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a worker with a model, the names of its images, and a list for what it tells."""

    def make(model: Any = None, n: int = 12, **given: Any) -> tuple[Serving, list[str], list[dict[str, Any]]]:
        dataset = small_dataset(n, 16)
        manifest = ManifestWriter(tmp_path / "m", dataset.card, partition=n).write(list(dataset))
        columns = columns_of(TASK, manifest.attributes)
        store = str(tmp_path / "run")
        job = Job(TASK.name, None, ModelSpec("m"), str(tmp_path / "m"), store, columns, 4, time_limit=7.0)
        monkeypatch.setattr(worker, "loaded_model", lambda job: model or DiscDetector())
        return Serving(worker.serve(replace(job, **given)), RunStore(store)), [sample.id for sample in dataset], []

    return make


def tell(told: list[dict[str, Any]]) -> Any:
    return lambda **message: told.append(message)


def test_the_limits_of_a_worker() -> None:
    assert (worker.WRITING, worker.SWITCH, worker.PROBED) == (300.0, 0.0005, 5)
    assert (decoding.WAITING, decoding.READ_AHEAD, decoding.ARENA) == (64, 4, 536_870_912)


def test_shards_are_told_batch_by_batch_and_kept(made: Any) -> None:
    one, names, told = made()
    pieces = [asdict(Piece(0, 0, 0, 6)), asdict(Piece(3, 0, 6, 12))]
    assert one.handle({"pieces": pieces}, tell(told)) == {"commit": {0: "first", 3: "first"}}
    asked = [(message["shard"], message["asking"]) for message in told if "asking" in message]
    assert asked == [(0, names[:4]), (0, names[4:6]), (3, names[6:10]), (3, names[10:])]
    answered = [(m["shard"], m["answered"], m["failures"]) for m in told if "answered" in m]
    assert answered == [(0, 4, []), (0, 2, []), (3, 4, []), (3, 2, [])]
    assert sorted(m["shard"] for m in told if "commit" in m) == [0, 3] and {m["limit"] for m in told} <= {7.0, 300.0}
    assert sorted(one.store.committed()) == [0, 3] and one.store.committed()[3].answered == 6
    assert one.handle({"piece": asdict(Piece(0, 0, 0, 6)), "careful": False}, tell(told)) == {"commit": "same"}


def test_a_deadline_is_short_while_the_model_is_asked() -> None:
    told: list[dict[str, Any]] = []
    deadline = _Deadlines(tell(told), 7.0)
    deadline.asking(0, ["a"])
    deadline.asking(0, ["b"])
    deadline.answered(0, 1, [])
    deadline.tell(shard=0, commit="first")
    row = {"sample": "b", "kind": "model", "reason": "r", "boxes": [[0.0]], "people": ["p"]}
    deadline.answered(0, 1, [row])
    deadline.tell(shard=0, commit="first")
    assert [message["limit"] for message in told] == [7.0, 7.0, 7.0, 7.0, 300.0, 300.0]
    assert told[4]["failures"] == [{"sample": "b", "kind": "model", "reason": "r", "boxes": [[0.0]]}]


def test_careful_is_image_by_image(made: Any) -> None:
    one, names, told = made()
    order = {"piece": asdict(Piece(2, 0, 3, 7)), "careful": True, "known_failures": {names[4]: "it kills"}}
    assert one.handle(order, tell(told)) == {"commit": "first"}
    assert [m["asking"] for m in told if "asking" in m] == [[names[3]], [names[5]], [names[6]]]
    assert [m["limit"] for m in told] == [7.0, 300.0] * 3 + [300.0] and told[-1]["commit"] == "first"
    assert {m["shard"] for m in told} == {2}
    marker = one.store.committed()[2]
    assert marker.answered == 3 and [row["reason"] for row in one.store.shard_failures(2)] == ["it kills"]


def test_a_search_looks_at_a_part_and_stores_nothing(made: Any) -> None:
    one, names, told = made(withdrawn=Withdrawn("x", frozenset({hashed_id("s00004", "x")})))
    assert "s00004" in names
    order = {"piece": asdict(Piece(2, 0, 3, 9)), "careful": True, "known_failures": {}, "only": [1, 3]}
    assert one.handle(order, tell(told)) == {}
    assert [m["asking"] for m in told if "asking" in m] == [[names[5]], [names[6]]]
    assert one.store.committed() == {}


def test_strict_stops_at_the_first_failure(made: Any) -> None:
    def fails(images: list[Any]) -> list[Any]:
        raise KeyError("no")

    one, names, told = made(model=fails, strict=True)
    said = {"stop": f"{names[0]}: KeyError: 'no'"}
    assert one.handle({"pieces": [asdict(Piece(0, 0, 0, 4))]}, tell(told)) == said
    assert one.handle({"piece": asdict(Piece(0, 0, 0, 4)), "careful": False}, tell(told)) == said
    order = {"piece": asdict(Piece(0, 0, 0, 4)), "careful": True, "known_failures": {}}
    assert one.handle(order, tell(told)) == said and one.store.committed() == {}


def test_a_probe_compares_with_what_is_stored(made: Any) -> None:
    one, names, told = made()
    piece = asdict(Piece(0, 0, 0, 6))
    one.handle({"pieces": [piece]}, tell(told))
    told.clear()
    assert one.handle({"piece": piece, "probe": names[2:4]}, tell(told)) == {"difference": None}
    assert told == [{"limit": 7.0 * 4 + 300.0}]
    one.worker.model = lambda images: [ct.Boxes([[0, 0, 1, 1]], [0.5]) for _ in images]
    found = one.handle({"piece": piece, "probe": names[2:4]}, tell(told))
    assert found == {"difference": {"sample": names[2], "repeatable": True}}


@pytest.mark.parametrize(
    ("n", "decoders", "piece", "images"),
    [
        (60, 0, Piece(0, 0, 0, 60), 16),
        (60, 1, Piece(0, 0, 0, 60), 16),
        (60, 4, Piece(0, 0, 5, 60), 36),
        (60, 0, Piece(0, 0, 0, 9), 5),
        (60, 0, Piece(0, 0, 0, 8), 4),
        (60, 0, Piece(0, 0, 0, 7), None),
        (60, 0, Piece(0, 0, 0, 60, tuple(range(1, 60, 2))), 16),
        (60, 0, Piece(0, 0, 0, 60, (1, 9, 30)), None),
    ],
)
def test_a_rate_is_measured_on_a_few_batches_after_the_first(made: Any, n, decoders, piece, images) -> None:
    calls: list[int] = []

    def model(pictures: list[Any]) -> Any:
        calls.append(len(pictures))
        time.sleep(0.05 if len(calls) == 1 else 0.0)  # the first batch warms up
        return DiscDetector()(pictures)

    one, _, told = made(model=model, n=n)
    one.worker.job = replace(one.worker.job, decoders=decoders)
    found = one.handle({"piece": asdict(piece), "rate": True}, tell(told))
    assert told[0] == {"limit": 7.0 * 8 + 300.0} and one.store.committed() == {}
    if images is None:
        assert found is None and calls == []
    else:
        assert found["images"] == images and sum(calls) == images + 4 and 0 < found["seconds"] < 300


# what feeds a model


def model_with(**given: Any) -> Any:
    return types.SimpleNamespace(**given)


def test_where_batches_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def decoders(count: int, spec: Any, pin: Any = None) -> str:
        started.append((count, spec, pin))
        return "decoders"

    monkeypatch.setattr(worker, "Decoders", decoders)
    monkeypatch.setattr(worker, "import_torch", lambda: "torch")
    monkeypatch.setattr(worker, "GpuDecoder", lambda spec, device, readers: (spec, device, readers))
    spec = InputSpec(size=(8, 8))

    def job(decoders: int = 0, decode: str = "exact") -> Job:
        return Job("t", None, ModelSpec("mine"), "m", "s", {}, 4, decoders=decoders, decode=decode)

    saved = model_with(needs_pixels=False, device="cuda")
    assert made_feed(job(3), saved) is without_pixels and made_feed(job(), lambda images: []) is by_thread
    ready = {"input": spec, "begin": print}
    assert made_feed(job(3), model_with(**ready, device="cuda:1")) == "decoders"
    assert made_feed(job(2), model_with(**ready, device="cpu")) == "decoders"
    assert made_feed(job(2), model_with(input=spec, device="cuda")) == "decoders"  # it cannot begin a batch
    assert made_feed(job(2), lambda images: []) == "decoders"
    assert started == [(3, spec, "torch"), (2, spec, None), (2, None, None), (2, None, None)]
    assert made_feed(job(5, "gpu"), model_with(**ready, device="cuda:1")) == (spec, "cuda:1", 5)
    for unfit in (model_with(**ready, device="cpu"), model_with(input=spec, device="cuda"), lambda images: []):
        with pytest.raises(InputError, match="model 'mine' cannot take pictures from a GPU"):
            made_feed(job(5, "gpu"), unfit)


def test_about_how_large_a_file_is(tmp_path: Path) -> None:
    picture = tmp_path / "a.png"
    picture.write_bytes(b"x" * 70)
    empty = tmp_path / "b.png"
    empty.write_bytes(b"")

    def sample(image: Any, width: int = 100, height: int = 50) -> Sample:
        return Sample("s", image, width, height)

    def at(path: Path) -> Any:
        return types.SimpleNamespace(path=path)

    assert file_size(sample(at(picture))) == 70 and file_size(sample(at(empty))) == 1
    assert file_size(sample(at(tmp_path / "gone.png"))) == 7500  # half of its pixels
    assert file_size(sample(EncodedImage(b"12345", "x"))) == 5
    assert (
        file_size(sample(types.SimpleNamespace(), 10, 10)) == 4096 and file_size(sample(EncodedImage(b"", "x"))) == 7500
    )


@pytest.fixture
def decoders(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Decoders without processes: what they are sent is kept."""
    sent: list[Any] = []
    monkeypatch.setattr(decoding, "packed", lambda content: content)

    def start(self: Decoders) -> Any:
        return decoding._Process(None, len(sent), None)

    monkeypatch.setattr(Decoders, "_start", start)
    monkeypatch.setattr(Decoders, "_send", lambda self, process, data: sent.append((process, data)))
    monkeypatch.setattr(Decoders, "_end", lambda self, process: 5)
    found = Decoders(2, None, size=10_000)
    found.sent = sent  # type: ignore[attr-defined]
    return found


def group(count: int, width: int = 20, height: int = 20) -> Any:
    image = ct.ArrayImage(np.zeros((height, width, 3), np.uint8))
    return decoding.FedGroup([Sample(f"s{k}", image, width, height) for k in range(count)])


def begin(decoders: Any, group: Any) -> Any:
    """Room for a batch, as `_batches` asks for it."""
    sizes = [decoders._size(sample) for sample in group.samples]
    return decoders._begin(group, sizes)


def test_batches_get_room_while_there_is_some(decoders: Any) -> None:
    work = begin(decoders, group(4))
    assert work.start == 0 and work.left == 4 and work.places == [(k * 1200, 1200) for k in range(4)]
    assert [(p.index, p.start, p.room) for p in decoders.todo] == [(k, k * 1200, 1200) for k in range(4)]
    assert begin(decoders, group(5)).start is None  # 6,000 of 10,000 bytes: too large, decoded here
    assert begin(decoders, group(4)).start == 4800
    assert begin(decoders, group(1)) is None and len(decoders.todo) == 8


def test_half_of_the_memory_is_the_most_that_a_batch_may_take(decoders: Any) -> None:
    assert begin(decoders, group(1, 40, 41)).start == 0  # 4,920 bytes
    decoders.arena.free()
    assert begin(decoders, group(1, 42, 40)).start is None  # 5,040
    decoders.arena.size = 9_840
    assert begin(decoders, group(1, 40, 41)).start == 0  # exactly half
    assert decoders._size(Sample("s", None, 0, 9)) == 1  # type: ignore[arg-type]


def given(decoders: Any) -> list[list[list[int]]]:
    """For each process, the places in their batches of the pictures in each of its orders."""
    return [[[picture.index for picture in order] for order in process.orders] for process in decoders.processes]


def test_pictures_are_given_to_whoever_has_least_to_do(decoders: Any) -> None:
    work = begin(decoders, group(4))
    assert work.start == 0 and work.left == 4 and work.places == [(k * 1200, 1200) for k in range(4)]
    assert begin(decoders, group(5)) is not None  # 10,800 of 10,000 bytes: too large, decoded here
    assert begin(decoders, group(5)).start is None
    decoders._give()
    assert given(decoders) == [[[0, 1], [3]], [[2]]]  # fewer at once towards the end, so that nobody waits
    orders = [[(start, room) for start, room, _ in order] for _, order in decoders.sent]
    assert orders == [[(0, 1200), (1200, 1200)], [(2400, 1200)], [(3600, 1200)]]
    assert begin(decoders, group(4)).start == 4800
    assert begin(decoders, group(1)) is None  # no room
    decoders._give()
    assert given(decoders) == [[[0, 1], [3]], [[2], [0, 1]]] and len(decoders.todo) == 2


def test_an_order_holds_so_many_pictures_at_most(decoders: Any) -> None:
    begin(decoders, group(40, 5, 5))
    decoders._give()
    assert given(decoders) == [[list(range(8)), list(range(16, 24))], [list(range(8, 16)), list(range(24, 32))]]


def test_a_picture_that_cannot_be_fetched_fails_and_is_given_to_nobody(
    decoders: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = {"s0", "s2"}
    monkeypatch.setattr(decoding, "_alone", lambda sample: InputError("gone") if sample.id in gone else sample)
    work = begin(decoders, group(3))
    decoders._give()
    assert given(decoders) == [[[1]], []] and work.left == 1
    assert work.replies == [{"error": "gone"}, {}, {"error": "gone"}]


def test_a_picture_on_which_two_processes_died_is_a_failed_image(decoders: Any) -> None:
    work = begin(decoders, group(4))
    decoders._give()
    first = decoders.processes[0]
    decoders._replace(first)  # it worked on 0 and 1, and 3 was to come
    assert first not in decoders.processes and [p.index for p in decoders.todo] == [0, 1, 3] and work.left == 4
    assert [p.deaths for p in decoders.todo] == [1, 1, 0]
    decoders._give()
    assert given(decoders) == [[[0], [1]], [[2], [3]]]  # each of the two alone
    decoders._replace(decoders.processes[0])
    assert work.left == 3 and work.replies[0] == {"error": "a decode process ended on this picture twice (5)"}
    assert [(p.index, p.deaths) for p in decoders.todo] == [(1, 1)]  # it was not reached
    decoders.processes[1].orders.popleft()[0].note({"shape": (20, 20)})
    assert work.left == 2 and work.replies[2] == {"shape": (20, 20)}
    decoders._replace(decoders.processes[0])  # it had nothing to do
    assert work.left == 2 and [p.index for p in decoders.todo] == [1]


def test_what_processes_found_becomes_a_batch(decoders: Any) -> None:
    work = begin(decoders, group(3))
    decoders.arena.bytes[:3600] = 9
    work.replies[:] = [{"shape": (2, 5), "digest": "d0", "points": None}, {"error": "torn"}, {"large": True}]
    batch = decoders._finished(work)
    pixels, digest, points = batch.pictures[0]
    assert points is None
    assert pixels.shape == (2, 5, 3) and digest == "d0" and (pixels == 9).all() and batch.prepared is None
    assert isinstance(batch.pictures[1], InputError) and "torn" in str(batch.pictures[1])
    assert batch.pictures[2][0].shape == (20, 20, 3) and (batch.pictures[2][0] == 0).all()  # decoded here
    assert decoders.arena.take(9_000) is None
    batch.drop_pixels()
    assert decoders.arena.take(9_000) == 0


@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
def test_a_batch_decoded_here_is_what_processes_would_have_made(decoders: Any, resize: Any) -> None:
    decoders.spec = spec = InputSpec(size=(8, 6), resize=resize)
    batch = decoders._here(group(2, 20, 10))
    assert batch.prepared.pixels.shape == (2, *spec.shape()) and batch.prepared.shape == [(10, 20), (10, 20)]
    assert all(picture[0] is None and len(picture[1]) == 64 for picture in batch.pictures)
    torn = decoding.FedGroup([Sample("t", EncodedImage(b"torn", "t"), 4, 4)])
    failed = decoders._here(torn)
    assert isinstance(failed.pictures[0], Exception) and failed.prepared.pixels.shape == (0, *spec.shape())
    block = np.arange(3 * np.prod(spec.shape()), dtype=np.uint8).reshape(3, *spec.shape())
    told = [{"scale": k, "offset": k, "shape": (k, k), "digest": "d"} for k in range(3)]
    fine = Decoders._prepared(block, [(None, "d"), InputError("x"), (None, "d")], told)
    assert (fine.pixels == block[[0, 2]]).all() and fine.shape == [(0, 0), (2, 2)]
    assert Decoders._prepared(block, [(None, "d")] * 3, told).pixels is block


# where a picture lies in the network's input on a GPU


def test_where_a_picture_lies_in_the_input() -> None:
    from countenance.models.inputs import letterbox
    from countenance.run.engine.nvjpeg import GpuDecoder

    one = GpuDecoder.__new__(GpuDecoder)
    one.spec = InputSpec(size=(8, 6), resize="stretch")
    height, width, _ = one.spec.shape()
    scale, offset = one._where(12, 32)
    assert scale.tolist() == [width / 32, height / 12] and offset.tolist() == [0.0, 0.0]
    one.spec = InputSpec(size=(8, 6), resize="letterbox")
    scale, offset = one._where(12, 32)
    ratio, _, corner = letterbox(32, 12, one.spec)
    assert scale.tolist() == [ratio, ratio] and offset.tolist() == list(corner)


def test_a_worker_imports_neither_readers_nor_audits_nor_pages() -> None:
    words = "import sys, countenance.run.engine.worker; print('\\n'.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.split()
    assert "countenance.run.engine.worker" in loaded
    slow = (
        "countenance.data.registry",
        "countenance.data.folders",
        "countenance.auditing",
        "countenance.report",
        "scipy",
    )
    assert [name for name in loaded if name.startswith(slow)] == []
