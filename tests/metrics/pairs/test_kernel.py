"""The host's side of the GPU kernel: what it is given, and what is made of what it counts; a loop takes its place."""

import types
from contextlib import nullcontext

import numpy as np
import pytest

from countenance.metrics.pairs import device_count
from countenance.metrics.pairs.device_count import Block, Fused, Overflow, PlainCount

torch = pytest.importorskip("torch")


def kernel(grid, block, given):
    """What `device_count.KERNEL` says, one score after the other."""
    scores, ends, total, columns, row, column, masked, limits, bins, histogram, kept, first, second, value, room = given
    assert grid[1:] == block[1:] == (1, 1) and block[0] == 512 and total == scores.numel()
    assert grid[0] == min(12, -(-total // 2048))  # three processors with four groups each; four scores a thread
    shift, scale, cut = limits.tolist()
    for place, score in enumerate(scores.reshape(-1).tolist()):
        i, j = divmod(place, columns)
        if masked and column + j < int(ends[row + i]):
            continue
        if bins:
            histogram[min(max(int((score + shift) * scale), 0), bins - 1)] += 1
        if score >= cut:
            at = int(kept[0])
            kept += 1
            if at < room:
                first[at], second[at], value[at] = row + i, column + j, score


class Torch:
    """Torch on the processor, with streams that have nothing to wait for, and the loop above as the kernel."""

    def __init__(self):
        self.compiled = []
        self.cuda = types.SimpleNamespace(
            _compile_kernel=lambda text, name: (self.compiled.append((text, name)), kernel)[1],
            get_device_properties=lambda device: types.SimpleNamespace(multi_processor_count=3),
            Event=lambda: types.SimpleNamespace(record=lambda: None, synchronize=lambda: None),
            stream=lambda stream: nullcontext(),
        )

    def zeros(self, *given, **more):
        made = torch.zeros(*given, **more)
        made.pin_memory = lambda: made
        return made

    def __getattr__(self, name):
        return getattr(torch, name)


def counted(counter, blocks, cut):
    counter.start(cut)
    for scores, block in blocks:
        counter.add(scores.clone(), block)
    counter.end()
    histogram, pairs = counter.result()
    first, second, value = (np.concatenate([one[k] for one in pairs]) for k in range(3))
    order = np.lexsort((second, first))
    return np.asarray(histogram), first[order].tolist(), second[order].tolist(), value[order].tolist()


@pytest.mark.parametrize(("bins", "cut"), [(8, 0.25), (8, -2.0), (0, 0.5)])
def test_the_kernel_counts_what_torch_counts(monkeypatch, bins, cut):
    monkeypatch.setattr(device_count, "ROOM", 6000)
    made, random = Torch(), np.random.default_rng(bins)
    ends = torch.from_numpy(np.array([2, 2, 5, 5, 5, 6, 90], np.int64))
    blocks = [
        (torch.from_numpy(random.uniform(-1, 1, shape).astype(np.float32)), Block(row, column, masked))
        for shape, row, column, masked in (((3, 4), 2, 2, True), ((2, 5), 0, 2, False), ((4, 1200), 2, 6, False))
    ]
    fused = Fused(made, ends, bins, (-1.0, 1.0), None)
    plain = PlainCount(torch, ends, bins, (-1.0, 1.0))
    for again in (cut, cut + 0.1):  # the second time begins from nothing
        one, two = counted(fused, blocks, again), counted(plain, blocks, again)
        assert one[1:] == two[1:]
        assert not bins or one[0].tolist() == two[0].tolist()
    assert fused.cut == pytest.approx(cut + 0.1) and len(fused.histogram) == max(bins, 1)
    assert made.compiled == [(device_count.KERNEL, "count_pairs")]


def test_more_pairs_than_there_is_room_for_are_an_overflow(monkeypatch):
    monkeypatch.setattr(device_count, "ROOM", 6)
    fused = Fused(Torch(), torch.tensor([1, 2, 3]), 4, (-1.0, 1.0), None)
    scores = torch.full((2, 3), 0.5)
    assert len(counted(fused, [(scores, Block(0, 3, False))], 0.5)[1]) == 6
    with pytest.raises(Overflow):
        counted(fused, [(scores, Block(0, 3, False)), (scores[:1, :1], Block(0, 9, False))], 0.5)


def test_without_a_compiler_there_is_no_kernel():
    def broken(*_):
        raise RuntimeError

    made = Torch()
    made.cuda._compile_kernel = broken
    assert device_count.compiled(made) is None
