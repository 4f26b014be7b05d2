"""The feed of a GPU's JPEG decoder, with the processor in the place of the GPU: order, sizes, places, failures."""

import io
import types
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from countenance.data import Sample
from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.models.inputs import InputSpec, letterbox
from countenance.run.engine import nvjpeg
from countenance.run.feeding import FedGroup

torch = pytest.importorskip("torch")


class Torch:
    """Torch, with streams that have nothing to wait for."""

    cuda = types.SimpleNamespace(
        Stream=lambda device: types.SimpleNamespace(synchronize=lambda: None),
        stream=lambda stream: nullcontext(),
        is_available=lambda: True,
    )

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


class Decoder:
    """torchvision's decoder, as far as it is used; it counts how many files it is given at once."""

    ImageReadMode = types.SimpleNamespace(RGB="RGB")

    def __init__(self) -> None:
        self.given: list[int] = []

    def decode_jpeg(self, data: list[Any], mode: str, device: str) -> list[Any]:
        self.given.append(len(data))
        found = []
        for one in data:
            content = one.numpy().tobytes()
            if not content.endswith(b"\xff\xd9"):
                raise RuntimeError("damaged")
            pixels = np.asarray(Image.open(io.BytesIO(content)).convert(mode))
            found.append(torch.from_numpy(pixels.transpose(2, 0, 1).copy()))
        return found


@pytest.fixture
def decoder(monkeypatch: pytest.MonkeyPatch) -> Decoder:
    made = Decoder()
    monkeypatch.setattr(nvjpeg, "import_torch", Torch)
    monkeypatch.setattr(nvjpeg, "import_decoder", lambda: made)
    return made


def picture(folder: Path, name: str, size: tuple[int, int]) -> Sample:
    """A smooth picture, so that its pixels survive JPEG and scaling."""
    x, y = np.meshgrid(np.linspace(0, 200, size[0]), np.linspace(0, 250, size[1]))
    pixels = np.stack([x, y, (x + y) / 2], axis=2).astype(np.uint8)
    options = {"quality": 98} if name.endswith("jpg") else {}
    Image.fromarray(pixels).save(folder / name, **options)
    return Sample(name, LazyImage(folder / name), *size)


def pixels_of(sample: Sample) -> Any:
    return torch.from_numpy(np.ascontiguousarray(sample.load().transpose(2, 0, 1)))[None].float()


def scaled(sample: Sample, size: tuple[int, int]) -> np.ndarray[Any, Any]:
    found = torch.nn.functional.interpolate(pixels_of(sample), size, mode="bilinear", align_corners=False)
    return np.asarray(found[0].permute(1, 2, 0))


@pytest.mark.parametrize("same", [True, False], ids=["one size", "several sizes"])
def test_pictures_are_stretched_to_the_size_of_the_network(tmp_path: Path, decoder: Decoder, same: bool) -> None:
    samples = [picture(tmp_path, f"{k}.jpg", (40, 24) if same else (40 + 8 * k, 24)) for k in range(5)]
    spec = InputSpec(size=(16, 12), resize="stretch")
    feed = nvjpeg.GpuDecoder(spec, "cpu")
    batches = list(feed([FedGroup(samples[:3]), FedGroup(samples[3:])]))
    assert [len(batch.pictures) for batch in batches] == [3, 2] and sorted(decoder.given) == [2, 3]
    for batch in batches:
        for k, sample in enumerate(batch.group.samples):
            height, width = batch.prepared.shape[k]
            assert (width, height) == (sample.width, sample.height)
            assert batch.prepared.scale[k].tolist() == [16 / width, 12 / height]
            assert batch.prepared.offset[k].tolist() == [0, 0] and batch.pictures[k][0] is None
            assert batch.pictures[k][1] == sample.content_hash()
            assert np.abs(np.asarray(batch.prepared.pixels[k], float) - scaled(sample, (12, 16))).max() < 4


def test_pictures_keep_their_proportions_in_a_frame(tmp_path: Path, decoder: Decoder) -> None:
    samples = [picture(tmp_path, "wide.jpg", (40, 10)), picture(tmp_path, "high.jpg", (10, 40))]
    spec = InputSpec(size=(20, 16), resize="letterbox", pad=7)
    (batch,) = nvjpeg.GpuDecoder(spec, "cpu")([FedGroup(samples)])
    for k, sample in enumerate(samples):
        ratio, (w, h), (left, top) = letterbox(sample.width, sample.height, spec)
        made = np.asarray(batch.prepared.pixels[k], float)
        assert made.shape == (16, 20, 3) and batch.prepared.scale[k].tolist() == [ratio, ratio]
        assert batch.prepared.offset[k].tolist() == [left, top]
        assert np.abs(made[top : top + h, left : left + w] - scaled(sample, (h, w))).max() < 4
        frame = np.ones((16, 20), bool)
        frame[top : top + h, left : left + w] = False
        assert (made[frame] == 7).all() and frame.any()


def test_what_the_decoder_cannot_take_is_decoded_here_or_failed(tmp_path: Path, decoder: Decoder) -> None:
    good, turned = picture(tmp_path, "good.jpg", (40, 24)), picture(tmp_path, "turned.jpg", (24, 40))
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.open(tmp_path / "turned.jpg").save(tmp_path / "turned.jpg", exif=exif, quality=98)
    other = picture(tmp_path, "other.png", (40, 24))
    torn = Sample("torn", LazyImage(tmp_path / "torn.jpg"), 40, 24)
    (tmp_path / "torn.jpg").write_bytes((tmp_path / "good.jpg").read_bytes()[:60])
    gone = Sample("gone", LazyImage(tmp_path / "gone.jpg"), 40, 24)
    spec = InputSpec(size=(8, 8), resize="stretch")
    (batch,) = nvjpeg.GpuDecoder(spec, "cpu")([FedGroup([gone, good, turned, torn, other])])
    assert [isinstance(one, Exception) for one in batch.pictures] == [True, False, False, True, False]
    assert len(batch.prepared.pixels) == len(batch.prepared.shape) == 3
    assert batch.prepared.shape == [(24, 40), (24, 40), (24, 40)]  # the second was turned upright
    for k, sample in enumerate((good, turned, other)):
        assert np.abs(np.asarray(batch.prepared.pixels[k], float) - scaled(sample, (8, 8))).max() < 4
    (nothing,) = nvjpeg.GpuDecoder(spec, "cpu")([FedGroup([gone])])
    assert len(nothing.prepared.pixels) == 0 and nothing.prepared.scale == []


def test_batches_come_in_order_and_not_far_ahead(tmp_path: Path, decoder: Decoder) -> None:
    sample = picture(tmp_path, "a.jpg", (16, 16))
    drawn: list[int] = []

    def groups() -> Any:
        for k in range(20):
            drawn.append(k)
            yield FedGroup([sample], k)

    feed = nvjpeg.GpuDecoder(InputSpec(size=(8, 8)), "cpu")(groups())
    assert next(feed).group.owner == 0 and len(drawn) <= 6
    assert [batch.group.owner for batch in feed] == list(range(1, 20))


def test_where_there_is_no_gpu_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    blind = types.SimpleNamespace(__version__="2", cuda=types.SimpleNamespace(is_available=lambda: False))
    monkeypatch.setattr(nvjpeg, "import_torch", lambda: blind)
    monkeypatch.setattr(nvjpeg, "import_module", lambda name: "decoder")
    with pytest.raises(InputError, match="needs an NVIDIA GPU that torch sees"):
        nvjpeg.import_decoder()
    blind.cuda.is_available = lambda: True
    assert nvjpeg.import_decoder() == "decoder"
    monkeypatch.setattr(nvjpeg, "import_module", lambda name: types.SimpleNamespace(__version__="0.9"))
    assert nvjpeg.gpu_decoder().startswith("nvjpeg (torchvision 0.9), for other files ")
    assert ";" not in nvjpeg.gpu_decoder()
