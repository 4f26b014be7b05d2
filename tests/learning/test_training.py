"""What trainings share: devices that are there, whole batches, clipped steps, pictures varied by their seed."""

import numpy as np
import pytest

from countenance.errors import InputError, MissingExtra
from countenance.learning.augmentation import recolour, vary
from countenance.learning.training import batches, descend, follow, minimise, need_torch, training_device

torch = pytest.importorskip("torch")


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert training_device("auto") == training_device("cpu") == "cpu"
    with pytest.raises(InputError, match="device 'cuda' is not available here; take device="):
        training_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert training_device("auto") == "cuda" and training_device("cuda:1") == "cuda:1"


def test_a_missing_package_is_named():
    with pytest.raises(MissingExtra, match=r"training an entry \(no_such_package is missing\) needs .*torch"):
        need_torch("training an entry", "no_such_package")


@pytest.mark.parametrize(("count", "left_out"), [(8, 0), (9, 1), (10, 0)])
def test_batches_hold_every_row_once_but_a_last_one_alone(count, left_out):
    rows = torch.cat(batches(count, 4, torch.Generator().manual_seed(0), "cpu")).tolist()
    assert len(rows) == len(set(rows)) == count - left_out


def test_a_step_is_no_longer_than_its_clip():
    for clip, moved in ((None, 30.0), (3.0, 3.0)):
        weight = torch.zeros(1, requires_grad=True)
        descend(torch.optim.SGD([weight], lr=1.0), 30 * weight.sum(), clip)
        assert -weight.item() == pytest.approx(moved, rel=1e-4)


def test_the_loop_finds_the_lowest_place_and_tells_the_time():
    weight, told = torch.zeros(1, requires_grad=True), []

    def loss(done):
        told.append(done)
        return (weight - 2).square().sum()

    minimise(torch.optim.SGD([weight], lr=0.4), 50, loss, rise=0.1)
    assert weight.item() == pytest.approx(2, abs=1e-3) and told[0] == 0 and told[25] == 0.5


def test_an_average_moves_by_its_share_and_counts_nothing():
    average, network = torch.nn.BatchNorm1d(1), torch.nn.BatchNorm1d(1)
    with torch.no_grad():
        network.weight.fill_(3.0)
        network.num_batches_tracked.fill_(7)
    follow(average, network, keep=0.75)
    assert average.weight.item() == pytest.approx(1.5) and int(average.num_batches_tracked) == 0


def test_the_same_generator_varies_a_batch_alike():
    images = torch.rand(6, 3, 20, 20) * 255
    one, two = (vary(images, torch.Generator().manual_seed(3), erase=1.0) for _ in range(2))
    assert torch.equal(one, two) and not torch.equal(one, images)
    assert float(one.min()) >= 0 and float(one.max()) <= 255
    assert bool((one == 127.5).flatten(1).any(dim=1).all())  # of every picture a patch is grey


def test_pictures_of_any_shape_are_recoloured():
    pytest.importorskip("cv2")
    picture = np.full((20, 50, 3), 120, np.uint8)
    for seed in range(20):
        found = recolour(picture, np.random.default_rng(seed))
        assert found.shape == picture.shape and found.dtype == np.uint8
