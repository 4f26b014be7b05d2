"""Decode processes, shared memory and batches under way change how fast a run is, never one of its bytes."""

import os
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from countenance.data import Sample
from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.models.inputs import InputSpec, Prepared, normalised, resized
from countenance.run import evaluate
from countenance.run.engine.arena import Arena
from countenance.run.engine.decoding import Decoders
from countenance.run.feeding import FedGroup, pixel_bytes
from countenance.testing import write_small_dataset


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of pictures, one of them damaged."""
    folder = write_small_dataset(tmp_path_factory.mktemp("data") / "pictures", 40, 48)
    damaged = sorted(folder.rglob("*.png"))[7]
    damaged.write_bytes(damaged.read_bytes()[:300])
    return folder


def bytes_of(folder: Path) -> dict[str, bytes]:
    names = ["scores.parquet", "failures.parquet"]
    found = {name: (folder / name).read_bytes() for name in names}
    return found | {path.name: path.read_bytes() for path in sorted((folder / "answers").iterdir())}


@pytest.mark.parametrize("model", ["countenance.testing:DiscDetector", "fakes:raises", "fakes:TorchDiscs"])
def test_decode_processes_change_no_byte(model: str, pictures: Path, tmp_path: Path) -> None:
    if "Torch" in model:
        pytest.importorskip("torch")
    for name, decoders in (("thread", 0), ("processes", 2)):
        evaluate(
            model,
            "face_localization",
            pictures,
            out=tmp_path / name,
            batch=4,
            shard=12,
            threads=1,
            decoders=decoders,
            max_failures=1.0,
        )
    assert bytes_of(tmp_path / "thread") == bytes_of(tmp_path / "processes")


def groups_of(folder: Path, count: int, size: tuple[int, int] = (30, 20)) -> list[FedGroup]:
    samples = []
    for i in range(count):
        path = folder / f"{i}.png"
        Image.fromarray(np.full((size[1], size[0], 3), i % 256, np.uint8)).save(path)
        samples.append(Sample(str(i), LazyImage(path), *size))
    return [FedGroup(samples[i : i + 3]) for i in range(0, count, 3)]


def test_batches_come_in_order_through_little_memory(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 40)
    decoders = Decoders(2, None, size=3 * 3 * 30 * 20 * 3)
    try:
        seen = []
        for batch in decoders(groups):
            seen += [int(picture[0][0, 0, 0]) for picture in batch.pictures]
            batch.drop_pixels()
        assert seen == list(range(40))
    finally:
        decoders.close()


def test_a_picture_larger_than_declared_or_than_the_memory_is_decoded_all_the_same(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 6)
    Image.fromarray(np.full((90, 90, 3), 77, np.uint8)).save(tmp_path / "1.png")
    decoders = Decoders(1, None, size=3 * 30 * 20 * 3 * 2)
    try:
        shapes = [picture[0].shape for batch in decoders(groups) for picture in batch.pictures]
        assert shapes[1] == (90, 90, 3) and shapes[0] == shapes[5] == (20, 30, 3)
    finally:
        decoders.close()


def test_pictures_of_unknown_size_get_more_memory_once_some_were_larger_than_expected(tmp_path: Path) -> None:
    size, groups = (900, 600), groups_of(tmp_path, 6, (900, 600))  # 1.6 MB of pixels in files of a few kB
    groups = [FedGroup([Sample(s.id, s.image) for s in group.samples]) for group in groups]
    decoders = Decoders(1, None)
    try:
        for batch in decoders(groups):
            assert [picture[0].shape[1::-1] for picture in batch.pictures] == [size] * 3
            assert [sample.known_size for sample in batch.group.samples] == [size] * 3
            batch.drop_pixels()
        fresh = Sample("0", groups[0].samples[0].image)
        assert decoders._size(fresh) > 3 * 900 * 600 > pixel_bytes([fresh])
    finally:
        decoders.close()


def test_a_blank_picture_takes_no_memory_from_photographs(tmp_path: Path) -> None:
    """Its file is a thousandth of its pixels; a photograph of that share would need more than there is."""
    noise = np.random.default_rng(0).integers(0, 255, (200, 200, 3), dtype=np.uint8)
    files = [tmp_path / "blank.png", *(tmp_path / f"{i}.png" for i in range(3))]
    Image.new("RGB", (1500, 1500)).save(files[0])
    for file in files[1:]:
        Image.fromarray(noise).save(file)
    decoders = Decoders(1, None)
    try:
        for batch in decoders([FedGroup([Sample(file.name, LazyImage(file))]) for file in files]):
            batch.drop_pixels()
        photograph = Sample("photograph", LazyImage(files[1]))
        assert decoders._size(photograph) < 100 * files[1].stat().st_size
    finally:
        decoders.close()


def test_a_decode_process_that_dies_is_replaced(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 300)
    decoders = Decoders(2, InputSpec(size=(8, 8)))
    try:
        seen = 0
        for batch in decoders(groups):
            if seen in (30, 90):
                os.kill(decoders.processes[0].popen.pid, signal.SIGKILL)
            assert all(not isinstance(picture, Exception) for picture in batch.pictures)
            seen += len(batch.pictures)
            batch.drop_pixels()
        assert seen == 300
    finally:
        decoders.close()


def test_a_picture_that_kills_its_process_fails_alone(tmp_path: Path) -> None:
    import fakes

    groups = groups_of(tmp_path, 48)
    victim = groups[3].samples[1]
    groups[3].samples[1] = replace(victim, image=fakes.DeadlyImage(victim.image.path))  # type: ignore[index]
    decoders = Decoders(2, None)
    try:
        found = [picture for batch in decoders(groups) for picture in batch.pictures]
        assert [k for k, picture in enumerate(found) if isinstance(picture, Exception)] == [10]
        assert "ended on this picture twice" in str(found[10])
    finally:
        decoders.close()


def test_an_unreadable_picture_is_a_failed_image(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, 9)
    victim = groups[1].samples[1]
    victim.image.path.unlink()
    os.mkfifo(victim.image.path)  # "not a regular file": an error, not a hang
    decoders = Decoders(1, None)
    try:
        found = [picture for batch in decoders(groups) for picture in batch.pictures]
        assert [isinstance(picture, Exception) for picture in found] == [i == 4 for i in range(9)]
    finally:
        decoders.close()


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 50)), max_size=60))
@settings(max_examples=100, deadline=None)
def test_blocks_of_the_arena_never_overlap(steps: list[tuple[bool, int]]) -> None:
    arena = Arena(100)
    blocks: list[tuple[int, int]] = []
    for take, size in steps:
        if take:
            start = arena.take(size)
            if start is not None:
                assert start >= 0 and start + size <= 100
                assert all(start + size <= a or b <= start for a, b in blocks)
                blocks.append((start, start + size))
        elif blocks:
            arena.free()
            blocks.pop(0)
    if not blocks:
        assert arena.take(100) == 0


@pytest.mark.parametrize("colour", ["RGB", "BGR"])
def test_torch_normalises_as_numpy_does(colour: str) -> None:
    torch = pytest.importorskip("torch")
    from countenance.models.torch_model import TorchModel

    spec = InputSpec(size=(9, 7), colour=colour, mean=(123.7, 116.3, 103.5), scale=0.0173, std=(0.9, 1.1, 0.7))  # type: ignore[arg-type]
    images = [np.random.default_rng(k).integers(0, 256, (11 + k, 13, 3), dtype=np.uint8) for k in range(3)]
    batch = Prepared.of(images, spec)
    model = TorchModel(torch.nn.Identity(), spec, lambda out, *_: out)
    wanted = np.concatenate([normalised(pixels, spec) for pixels in batch.pixels])
    assert np.array_equal(np.stack(model(images)), wanted)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_small_batch_is_filled_up_for_a_network_of_one_shape(layout: str) -> None:
    torch = pytest.importorskip("torch")
    from countenance.models.torch_model import TorchModel

    seen = []

    class Kept(torch.nn.Module):
        def forward(self, x):
            seen.append(x)
            return x

    spec = InputSpec(size=(9, 7), layout=layout, mean=(3, 5, 7))  # type: ignore[arg-type]
    images = [np.random.default_rng(k).integers(1, 256, (11, 13, 3), dtype=np.uint8) for k in range(5)]
    wanted = TorchModel(Kept(), spec, lambda out, *_: out)(images)
    model = TorchModel(Kept(), spec, lambda out, *_: out, batch=4)
    assert np.array_equal(model(images[:3]), wanted[:3]) and np.array_equal(model(images), wanted)
    model(images[:1])
    assert [len(x) for x in seen] == [5, 4, 5, 1]
    assert not seen[1][3].any() and seen[1][:3].any()


@pytest.mark.parametrize(("device", "batch"), [("cpu", 1), ("cuda:0", 64)])
def test_a_worker_on_a_gpu_fills_batches_up(device: str, batch: int) -> None:
    torch = pytest.importorskip("torch")
    from countenance.models.torch_model import TorchModel
    from countenance.run.engine.worker import loaded_model

    model = TorchModel(torch.nn.Identity(), InputSpec(size=(9, 7)), lambda out, *_: out)
    model.device = device
    job = SimpleNamespace(model=SimpleNamespace(load=lambda: model), batch=64)
    assert loaded_model(job).batch == batch  # type: ignore[arg-type]


def test_gpu_decoding_is_refused_where_it_cannot_be_had(pictures: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='decode="gpu" needs'):
        evaluate("fakes:TorchDiscs", "face_localization", pictures, out=tmp_path / "run", decode="gpu")
    with pytest.raises(InputError, match="decode is 'fast', expected 'exact' or 'gpu'"):
        evaluate("fakes:TorchDiscs", "face_localization", pictures, out=tmp_path / "run", decode="fast")


@pytest.mark.parametrize("resize", ["stretch", "letterbox"])
def test_pictures_are_resized_to_the_same_bytes_without_opencv(resize: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = InputSpec(size=(37, 29), resize=resize)  # type: ignore[arg-type]
    for shape in ((50, 70), (20, 33), (90, 12)):
        image = np.random.default_rng(shape[0]).integers(0, 256, (*shape, 3), dtype=np.uint8)
        with_it = resized(image, spec).pixels
        with monkeypatch.context() as patch:
            patch.setattr("countenance.models.inputs.installed", lambda: None)
            assert np.array_equal(resized(image, spec).pixels, with_it)
