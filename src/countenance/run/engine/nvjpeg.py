"""JPEG files decoded by an NVIDIA GPU, through torchvision: an option, since its pixels are not the processor's.

The decoder may ignore the stream that it is called in, so it gets its own stream with its own memory, and we wait for
that stream before and after decoding (pytorch/vision #9606). One thread decodes (there is one decoder in a process, and
several threads only wait for each other), another resizes on the GPU. Files that it cannot decode as asked (no JPEG,
damaged, turned by EXIF, other colours) are decoded by the processor.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from typing import Any

import numpy as np

from countenance.data import Sample
from countenance.data import image as images
from countenance.errors import InputError
from countenance.models.inputs import InputSpec, Prepared, letterbox
from countenance.models.torch_model import import_torch
from countenance.run.engine.decoding import Decoders, EncodedFile, FileBatch, FileOutcome, read_file
from countenance.run.feeding import Decoded as DecodedPicture
from countenance.run.feeding import FedBatch, FedGroup, Outcome

AHEAD = 4
"""Batches that are being decoded or resized, or wait for the model."""

Decoded = tuple[list[FileOutcome], list[Any]]
"""The files of a batch, and for each that could be read its picture on the GPU or why it cannot be decoded."""


def import_decoder() -> Any:
    """torchvision's decoder; InputError, with the remedy, where it is not available."""
    torch = import_torch()
    try:
        decoder = import_module("torchvision.io")
    except Exception as error:  # it is missing, or was built for another torch
        raise InputError(
            f'decode="gpu" needs torchvision, built for torch {torch.__version__} ({error}); '
            "install it, or leave decode= out: the processor decodes"
        ) from None
    if not torch.cuda.is_available():
        raise InputError('decode="gpu" needs an NVIDIA GPU that torch sees; leave it out: the processor decodes')
    return decoder


def gpu_decoder() -> str:
    """The name of this decoder in a run's record."""
    import_decoder()
    version = import_module("torchvision").__version__
    return f"nvjpeg (torchvision {version}), for other files {images.decoder().partition(';')[0]}"


class GpuDecoder:
    """A feed whose pictures are decoded and resized on the GPU that the model is on.

    Files are read and checked by `readers` processes (0: by the threads that decode), since only one thread at a time
    runs Python in the model's process.
    """

    def __init__(self, spec: InputSpec, device: str, readers: int = 0) -> None:
        self.spec, self.device, self.io, self.torch = spec, device, import_decoder(), import_torch()
        self.decoding, self.resizing = self.torch.cuda.Stream(device), self.torch.cuda.Stream(device)
        self.readers = Decoders(readers, None, files=True) if readers else None

    def __call__(self, groups: Iterable[FedGroup]) -> Iterator[FedBatch]:
        """The batches of some groups, in order."""
        read = (_unread(group) for group in groups) if self.readers is None else self.readers.read(groups)
        with ThreadPoolExecutor(1) as decoder, ThreadPoolExecutor(1) as resizer:
            waiting: deque[tuple[FileBatch, Future[FedBatch]]] = deque()
            for batch in read:
                while len(waiting) >= AHEAD:
                    yield _ready(*waiting.popleft())
                decoded = decoder.submit(self._decode, batch)
                waiting.append((batch, resizer.submit(self._resize, batch.group, decoded)))
            while waiting:
                yield _ready(*waiting.popleft())

    def _decode(self, batch: FileBatch) -> Decoded:
        """The pictures of a batch, decoded at full size."""
        samples = batch.group.samples
        files = batch.files or [read_file(sample) for sample in samples]
        both = zip(samples, files, strict=True)
        readable = [(sample, file) for sample, file in both if isinstance(file, EncodedFile)]
        with self.torch.inference_mode(), self.torch.cuda.stream(self.decoding):
            tensors = self._tensors(readable)
            self.decoding.synchronize()  # another stream is going to read them
        return files, tensors

    def _resize(self, group: FedGroup, decoded: Future[Decoded]) -> FedBatch:
        """The pictures of a batch as the network's input, finished, so that the larger ones may be overwritten."""
        files, tensors = decoded.result()
        readable: list[Any] = [tensor for tensor in tensors if not isinstance(tensor, Exception)]
        shapes = [(int(tensor.shape[1]), int(tensor.shape[2])) for tensor in readable]
        with self.torch.inference_mode(), self.torch.cuda.stream(self.resizing):
            pixels = self._resized(readable)
            self.resizing.synchronize()
        remaining = iter(tensors)
        pictures: list[Outcome] = []
        for sample, file in zip(group.samples, files, strict=True):
            if isinstance(file, EncodedFile):
                tensor = next(remaining)
                if not isinstance(tensor, Exception):
                    sample.note_size(int(tensor.shape[2]), int(tensor.shape[1]))
                pictures.append(tensor if isinstance(tensor, Exception) else DecodedPicture(None, file.digest))
            else:
                pictures.append(file)
        where = {shape: self._where(*shape) for shape in set(shapes)}
        scale, offset = [where[shape][0].copy() for shape in shapes], [where[shape][1].copy() for shape in shapes]
        return FedBatch(group, pictures, Prepared(pixels, scale, offset, shapes))

    def _tensors(self, files: list[tuple[Sample, EncodedFile]]) -> list[Any]:
        """The pictures as tensors on the GPU (colours × height × width), or why one cannot be decoded."""
        torch, tensors = self.torch, [None] * len(files)
        fit = [i for i, (_, file) in enumerate(files) if file.upright]
        data = [torch.from_numpy(files[i][1].content) for i in fit]
        self.decoding.synchronize()
        try:
            there = self.io.decode_jpeg(data, mode=self.io.ImageReadMode.RGB, device=self.device) if data else []
        except RuntimeError:  # one of them is damaged; decoding on the CPU shows which
            there = [None] * len(fit)
        self.decoding.synchronize()
        for i, tensor in zip(fit, there, strict=True):
            tensors[i] = tensor
        return [
            self._here(files[i][0], files[i][1].content.tobytes()) if tensor is None else tensor
            for i, tensor in enumerate(tensors)
        ]

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
        if pictures and self.spec.resize == "stretch" and len({tuple(tensor.shape) for tensor in pictures}) == 1:
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
        return scaled.round_()  # back to 0 to 255

    def _where(self, height: int, width: int) -> tuple[Any, Any]:
        target_h, target_w, _ = self.spec.shape()
        if self.spec.resize == "stretch":
            return np.array([target_w / width, target_h / height]), np.zeros(2)
        ratio, _, corner = letterbox(width, height, self.spec)
        return np.array([ratio, ratio]), np.array(corner, dtype=np.float64)


def _ready(batch: FileBatch, future: Future[FedBatch]) -> FedBatch:
    """A batch that was decoded; the memory of its files is given back in the order of the batches."""
    fed = future.result()
    batch.free()
    return fed


def _unread(group: FedGroup) -> FileBatch:
    """A group whose files are read by the thread that decodes them."""
    return FileBatch(group, [])
