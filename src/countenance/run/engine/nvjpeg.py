"""JPEG files decoded by an NVIDIA GPU, through torchvision: an option, since its pixels are not the processor's.

The decoder may ignore the stream that it is called in, so each thread has a stream of its own, whose memory nobody
else is given, and waits for it before and after decoding (pytorch/vision #9606). Pictures are resized on the GPU.
Files that it cannot decode as asked (no JPEG, damaged, turned by EXIF, other colours) are decoded by the processor.
"""

import io
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np

from countenance.data import Sample
from countenance.data import image as images
from countenance.data.jpeg import whole
from countenance.errors import InputError
from countenance.models.inputs import InputSpec, Prepared, letterbox
from countenance.models.torch_model import import_torch
from countenance.run.feeding import FedBatch, FedGroup, Outcome

THREADS = 3
"""Batches that are read and decoded at once."""


def import_decoder() -> Any:
    """torchvision's decoder; InputError, with the remedy, where it is not to be had."""
    torch = import_torch()
    try:
        found = import_module("torchvision.io")
    except Exception as error:  # it is missing, or was built for another torch
        raise InputError(
            f"--decode gpu needs torchvision, built for torch {torch.__version__} ({error}); "
            "install it, or leave --decode out: the processor decodes"
        ) from None
    if not torch.cuda.is_available():
        raise InputError("--decode gpu needs an NVIDIA GPU that torch sees; leave it out: the processor decodes")
    return found


def gpu_decoder() -> str:
    """How a run records this decoder."""
    import_decoder()
    version = import_module("torchvision").__version__
    return f"nvjpeg (torchvision {version}), for other files {images.decoder().partition(';')[0]}"


class GpuDecoder:
    """A feed whose pictures are decoded and resized on the GPU that the model is on."""

    def __init__(self, spec: InputSpec, device: str) -> None:
        self.spec, self.device, self.io, self.torch = spec, device, import_decoder(), import_torch()
        self.own = threading.local()

    def __call__(self, groups: Iterable[FedGroup]) -> Iterator[FedBatch]:
        """The batches of some groups, in order."""
        with ThreadPoolExecutor(THREADS) as pool:
            waiting: deque[Future[FedBatch]] = deque()
            for group in groups:
                while len(waiting) > THREADS:
                    yield waiting.popleft().result()
                waiting.append(pool.submit(self._batch, group))
            while waiting:
                yield waiting.popleft().result()

    def _batch(self, group: FedGroup) -> FedBatch:
        pictures: list[Outcome] = []
        files: list[tuple[Sample, bytes]] = []
        for sample in group.samples:
            try:
                content, digest = sample.read_checked()
            except Exception as error:  # one unreadable image is a failure of that image
                pictures.append(error)
                continue
            pictures.append((None, digest))
            files.append((sample, content))
        if not hasattr(self.own, "stream"):
            self.own.stream = self.torch.cuda.Stream(self.device)
        stream = self.own.stream
        with self.torch.inference_mode(), self.torch.cuda.stream(stream):
            tensors = self._tensors(files, stream)
            made: list[Any] = [tensor for tensor in tensors if not isinstance(tensor, Exception)]
            shapes = [(int(tensor.shape[1]), int(tensor.shape[2])) for tensor in made]
            pixels = self._resized(made)
            stream.synchronize()
        failed = {
            sample.id: found for (sample, _), found in zip(files, tensors, strict=True) if isinstance(found, Exception)
        }
        pictures = [failed.get(sample.id, found) for sample, found in zip(group.samples, pictures, strict=True)]
        scale, offset = zip(*(self._where(*shape) for shape in shapes), strict=True) if shapes else ((), ())
        return FedBatch(group, pictures, Prepared(pixels, list(scale), list(offset), shapes))

    def _tensors(self, files: list[tuple[Sample, bytes]], stream: Any) -> list[Any]:
        """The pictures as tensors on the GPU (colours × height × width), or why one cannot be decoded."""
        torch, found = self.torch, [None] * len(files)
        fit = [i for i, (_, content) in enumerate(files) if fits(content)]
        data = [torch.frombuffer(bytearray(files[i][1]), dtype=torch.uint8) for i in fit]
        stream.synchronize()
        try:
            there = self.io.decode_jpeg(data, mode=self.io.ImageReadMode.RGB, device=self.device) if data else []
        except RuntimeError:  # one of them; the processor says which and why
            there = [None] * len(fit)
        stream.synchronize()
        for i, tensor in zip(fit, there, strict=True):
            found[i] = tensor
        return [self._here(*files[i]) if tensor is None else tensor for i, tensor in enumerate(found)]

    def _here(self, sample: Sample, content: bytes) -> Any:
        try:
            pixels = images.decode(content, sample.place)
        except InputError as error:
            return error
        return self.torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))).to(self.device)

    def _resized(self, pictures: list[Any]) -> Any:
        """All pictures at the network's size: batch × height × width × 3."""
        torch = self.torch
        height, width, _ = self.spec.shape()
        out = torch.empty((len(pictures), height, width, 3), dtype=torch.uint8, device=self.device)
        if pictures and self.spec.resize == "stretch" and len({tuple(one.shape) for one in pictures}) == 1:
            out.copy_(self._scaled(torch.stack(pictures), (height, width)).permute(0, 2, 3, 1))
            return out
        for place, picture in zip(out, pictures, strict=True):
            if self.spec.resize == "stretch":
                place.copy_(self._scaled(picture[None], (height, width))[0].permute(1, 2, 0))
                continue
            _, (w, h), (left, top) = letterbox(picture.shape[2], picture.shape[1], self.spec)
            place.fill_(int(self.spec.pad))
            place[top : top + h, left : left + w] = self._scaled(picture[None], (h, w))[0].permute(1, 2, 0)
        return out

    def _scaled(self, pictures: Any, size: tuple[int, int]) -> Any:
        scaled = self.torch.nn.functional.interpolate(
            pictures.to(self.torch.float16), size, mode="bilinear", align_corners=False
        )
        return scaled.round_().clamp_(0, 255).to(self.torch.uint8)

    def _where(self, height: int, width: int) -> tuple[Any, Any]:
        target_h, target_w, _ = self.spec.shape()
        if self.spec.resize == "stretch":
            return np.array([target_w / width, target_h / height]), np.zeros(2)
        ratio, _, corner = letterbox(width, height, self.spec)
        return np.array([ratio, ratio]), np.array(corner, dtype=np.float64)


def fits(content: bytes) -> bool:
    """Whether the GPU's decoder gives what the processor would, nearly: a whole, upright JPEG in RGB or grey.

    >>> from countenance.data.jpeg import sample_file
    >>> fits(sample_file()), fits(b"GIF89a")
    (True, False)
    """
    if not whole(content):
        return False
    from PIL import Image

    with Image.open(io.BytesIO(content)) as picture:
        return picture.format == "JPEG" and picture.mode in ("RGB", "L") and not images.turned(picture)
