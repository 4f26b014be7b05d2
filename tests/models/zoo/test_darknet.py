"""YOLOv3-tiny in darknet's own files: heads that say one thing everywhere give boxes that can be computed by hand."""

import struct
from pathlib import Path

import numpy as np
import pytest

from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.models.zoo.darknet import Darknet

pytest.importorskip("cv2")

SIDE, CELLS, ANCHOR = 96, 6, (23, 27)
BODY = [16, "max", 32, "max", 64, "max", 128, "max", 256, "max", 512, "stay", 1024]


def conv(filters: int, size: int, linear: bool = False) -> str:
    kind = "activation=linear" if linear else "batch_normalize=1\nactivation=leaky"
    return f"[convolutional]\nfilters={filters}\nsize={size}\nstride=1\npad=1\n{kind}\n"


def yolo(mask: str) -> str:
    return f"[yolo]\nmask={mask}\nanchors=10,14, 23,27, 37,58, 81,82, 135,169, 344,319\nclasses=2\nnum=6\n"


def write_tiny(folder: Path, head: np.ndarray) -> Path:
    """The published architecture with random weights; the two heads answer the same numbers in every cell."""
    text = f"[net]\nwidth={SIDE}\nheight={SIDE}\nchannels=3\n\n"
    draw = np.random.default_rng(0)
    blobs, inputs = [], 3

    def weights(filters: int, size: int, channels: int) -> None:
        around = np.stack(
            [np.zeros(filters), np.ones(filters), np.zeros(filters), np.ones(filters)]
        )  # bias, batch norm
        kernel = draw.normal(0, 0.1, (filters, channels, size, size))
        blobs.extend([around.astype("<f4").tobytes(), kernel.astype("<f4").tobytes()])

    def answer(numbers: np.ndarray, channels: int) -> None:
        blobs.append(numbers.astype("<f4").tobytes() + bytes(4 * len(numbers) * channels))

    for layer in BODY:
        if layer in ("max", "stay"):
            text += f"[maxpool]\nsize=2\nstride={2 if layer == 'max' else 1}\n"
        else:
            text += conv(layer, 3)
            weights(layer, 3, inputs)
            inputs = layer
    nothing = np.tile([0, 0, 0, 0, -20, 0, 0], 3).astype(float)
    for filters, size in ((256, 1), (512, 3)):
        text += conv(filters, size)
        weights(filters, size, inputs)
        inputs = filters
    text += conv(21, 1, linear=True) + yolo("3,4,5") + "[route]\nlayers=-4\n" + conv(128, 1)
    answer(nothing, 512)
    weights(128, 1, 256)
    text += "[upsample]\nstride=2\n[route]\nlayers=-1,8\n" + conv(256, 3)
    weights(256, 3, 384)
    text += conv(21, 1, linear=True) + yolo("0,1,2")
    answer(head, 256)
    (folder / "tiny.cfg").write_text(text)
    (folder / "tiny.weights").write_bytes(struct.pack("<iiiq", 0, 2, 0, 0) + b"".join(blobs))
    (folder / "tiny.names").write_text("with_mask\nwithout_mask\n")
    return folder / "tiny.weights"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    head = np.tile([0, 0, 0, 0, -20, 0, 0], 3).astype(float)
    head[7:14] = [0, 0, 0, 0, 20, -20, 20]  # the second anchor sees an unmasked face in every cell
    return write_tiny(tmp_path_factory.mktemp("darknet"), head)


def test_every_cell_has_the_box_that_its_head_says(tiny: Path) -> None:
    picture = np.random.default_rng(1).integers(0, 256, (60, 120, 3), dtype=np.uint8)
    (found,) = Darknet(tiny)([picture])
    assert len(found) == CELLS**2 and set(found.labels) == {"no_mask"} and found.scores.min() > 0.99
    centres = (np.arange(CELLS) + 0.5) / CELLS
    expected = np.array(
        [
            [
                (x - ANCHOR[0] / SIDE / 2) * 120,
                (y - ANCHOR[1] / SIDE / 2) * 60,
                (x + ANCHOR[0] / SIDE / 2) * 120,
                (y + ANCHOR[1] / SIDE / 2) * 60,
            ]
            for y in centres
            for x in centres
        ]
    ).clip(0, [120, 60, 120, 60])
    order = np.lexsort((found.xyxy[:, 0], found.xyxy[:, 1].round(2)))
    assert np.abs(found.xyxy[order] - expected).max() < 0.01


def test_it_is_a_model_of_the_zoo(tiny: Path) -> None:
    model = ModelSpec("darknet", str(tiny)).load()
    assert len(model([np.zeros((64, 64, 3), np.uint8)])[0]) == CELLS**2


def test_what_is_missing_is_named(tiny: Path, tmp_path: Path) -> None:
    lonely = tmp_path / "a.weights"
    lonely.write_bytes(b"")
    with pytest.raises(InputError, match=r"a.cfg: no such file; put the .cfg beside"):
        Darknet(lonely)
    (tmp_path / "a.cfg").write_text(tiny.with_suffix(".cfg").read_text())
    with pytest.raises(InputError, match=r"a.names: no such file; list the classes there"):
        Darknet(lonely)
    (tmp_path / "a.names").write_text("cat\ndog\n")
    with pytest.raises(InputError, match="line 1: 'cat' says neither mask nor no mask"):
        Darknet(lonely)


def write_yolov3(folder: Path, head: np.ndarray, part: int) -> Path:
    """YOLOv3 in its published depth (52 convolutions, shortcuts, three heads), as wide or a part of it."""
    draw = np.random.default_rng(0)
    text, blobs = f"[net]\nwidth={SIDE}\nheight={SIDE}\nchannels=3\n\n", []
    channels: list[int] = []  # of every layer

    def add(layer: str, outputs: int, kernel: tuple[int, int] | None = None, stride: int = 1) -> None:
        nonlocal text
        if kernel:
            size, inputs = kernel
            layer = conv(outputs, size).replace("stride=1", f"stride={stride}")
            around = np.repeat([[0.0], [1.0], [0.0], [1.0]], outputs, axis=1)  # bias, batch norm
            blobs.extend([around.astype("<f4").tobytes()])
            blobs.append(draw.normal(0, 0.1, (outputs, inputs, size, size)).astype("<f4").tobytes())
        text += layer
        channels.append(outputs)

    def convolve(outputs: int, size: int, stride: int = 1) -> None:
        add("", outputs, (size, channels[-1] if channels else 3), stride)

    def answer(numbers: np.ndarray, mask: str) -> None:
        blobs.append(numbers.astype("<f4").tobytes() + bytes(4 * len(numbers) * channels[-1]))
        add(conv(21, 1, linear=True), 21)
        add(yolo(mask).replace("num=6", "num=9").replace("344,319", "344,319, 1,1, 2,2, 3,3"), 21)

    kept = []
    convolve(32 // part, 3)
    for outputs, blocks in ((64 // part, 1), (128 // part, 2), (256 // part, 8), (512 // part, 8), (1024 // part, 4)):
        convolve(outputs, 3, 2)
        for _ in range(blocks):
            convolve(outputs // 2, 1)
            convolve(outputs, 3)
            add("[shortcut]\nfrom=-3\nactivation=linear\n", outputs)
        kept.append(len(channels) - 1)
    nothing = np.tile([0, 0, 0, 0, -20, 0, 0], 3).astype(float)
    for k, (outputs, mask) in enumerate(((512 // part, "6,7,8"), (256 // part, "3,4,5"), (128 // part, "0,1,2"))):
        if k:
            add("[route]\nlayers=-4\n", channels[-4])
            convolve(outputs, 1)
            add("[upsample]\nstride=2\n", outputs)
            add(f"[route]\nlayers=-1,{kept[-1 - k]}\n", outputs + channels[kept[-1 - k]])
        for _ in range(3):
            convolve(outputs, 1)
            convolve(outputs * 2, 3)
        answer(head if k == 1 else nothing, mask)
    (folder / "yolov3.cfg").write_text(text)
    (folder / "yolov3.weights").write_bytes(struct.pack("<iiiq", 0, 2, 0, 0) + b"".join(blobs))
    (folder / "yolov3.names").write_text("with_mask\nwithout_mask\n")
    return folder / "yolov3.weights"


@pytest.mark.parametrize("part", [16, pytest.param(1, marks=pytest.mark.slow)])
def test_yolov3_with_its_three_heads(tmp_path: Path, part: int) -> None:
    head = np.tile([0, 0, 0, 0, -20, 0, 0], 3).astype(float)
    head[7:14] = [0, 0, -2, -2, 20, 20, -20]  # the second anchor of the middle head, made smaller: masked everywhere
    (found,) = Darknet(write_yolov3(tmp_path, head, part))([np.zeros((96, 96, 3), np.uint8)])
    assert len(found) == CELLS**2 and set(found.labels) == {"mask"}
    width = np.exp(-2) * 135  # the fifth anchor is 135 × 169
    assert np.abs(np.diff(found.xyxy[:, ::2], axis=1).max() - width) < 0.01
