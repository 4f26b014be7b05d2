"""Names, paths, tags and order of the photos have no influence on a method."""

import inspect
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from countenance.data.adapters.happyfaces_layout import read_happyfaces
from countenance.suites.happyfaces.draws import draw, method_input
from countenance.suites.happyfaces.interface import Heads
from countenance.suites.happyfaces.methods.spatial import SpatialDiscovery
from countenance.suites.happyfaces.protocol import MixTask, run


def test_a_method_is_given_three_plain_arrays_and_nothing_else(world):
    seen = {}

    class Spy:
        name = "spy"

        def fit(self, *arrays):
            seen["arrays"] = arrays
            seen["caller"] = [frame.function for frame in inspect.stack()[1:2]]
            return Heads(lambda pictures: np.zeros((len(pictures), 2)))

    run(world, MixTask(Spy(), 0.3, 5))
    labelled, labels, unlabelled = seen["arrays"]
    assert [type(value) for value in seen["arrays"]] == [np.ndarray] * 3
    assert (labelled.dtype, labels.dtype, unlabelled.dtype) == (np.uint8, np.int64, np.uint8)
    assert all(value.base is None for value in seen["arrays"])  # copies: no way back to the dataset's own arrays


def test_labels_of_unlabelled_photos_cannot_be_read_from_their_order(world):
    chosen = draw(world.unlabelled.tags, 0.5, 0)
    kinds = [world.unlabelled.tags[i] for i in chosen.drawn]
    changes = sum(a != b for a, b in pairwise(kinds))
    assert changes > 0.5 * len(kinds)  # sorted by type there would be 3 changes
    _, labels, _ = method_input(world, chosen.drawn, 0)
    assert sum(a != b for a, b in pairwise(labels)) > 5


def test_renaming_and_moving_files_changes_nothing_at_all(world, write_world, tmp_path: Path):
    records = []
    for folder, name in (("one", lambda i: f"a{i:04d}"), ("two", lambda i: f"{(i * 7919) % 10007:05d}_FHWS_secret")):
        write_world(world, tmp_path / folder, name)
        record, _ = run(read_happyfaces(tmp_path / folder), MixTask("spatial", 0.3, 1))
        records.append({key: record[key] for key in ("validation", "not_drawn", "notes")})
    assert records[0] == records[1]


def test_permuting_the_unlabelled_photos_changes_nothing_but_rounding(world):
    labelled, labels, unlabelled = method_input(world, draw(world.unlabelled.tags, 0.3, 2).drawn, 2)
    turned = np.random.default_rng(9).permutation(len(unlabelled))
    mixed = np.random.default_rng(8).permutation(len(labels))
    here = SpatialDiscovery().fit(labelled, labels, unlabelled)
    there = SpatialDiscovery().fit(labelled[mixed], labels[mixed], unlabelled[turned])
    np.testing.assert_allclose(here.predict(world.validation.pixels), there.predict(world.validation.pixels), atol=1e-4)


@pytest.mark.parametrize("name", ["divdis", "dbat", "topk", "topk-exp"])
def test_permuting_the_unlabelled_photos_changes_no_networks_answer(world, name: str):
    pytest.importorskip("torch")
    from countenance.suites.happyfaces.methods import make_method
    from countenance.suites.happyfaces.networks.training import NetworkSettings

    small = NetworkSettings(backbone="resnet", size=64, resnet_steps=4, steps=20, restarts=2, device="cpu")
    labelled, labels, unlabelled = method_input(world, draw(world.unlabelled.tags, 0.3, 2).drawn, 2)
    turned = np.random.default_rng(9).permutation(len(unlabelled))
    text = [
        make_method(name, 1, settings=small).fit(labelled, labels, some).predict(world.validation.pixels)
        for some in (unlabelled, unlabelled[turned])
    ]
    np.testing.assert_allclose(text[0], text[1], atol=1e-3)
    assert np.abs(text[0][:, 0] - text[0][:, 1]).max() > 1e-3  # it did learn two heads


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 1.0])
def test_a_draw_depends_on_the_seed_alone(rate):
    tags = tuple(tag for tag in ("FHWH", "FHWS", "FSWH", "FSWS") for _ in range(150))
    first, again, other = draw(tags, rate, 4), draw(tags, rate, 4), draw(tags, rate, 5)
    assert np.array_equal(first.drawn, again.drawn)
    assert not np.array_equal(first.drawn, other.drawn)
    assert len(first.drawn) == 300
    assert set(first.drawn) | set(first.not_drawn) == set(range(600))
    crossed = sum(tags[i] in ("FHWS", "FSWH") for i in first.drawn)
    assert crossed == 2 * round(150 * rate)


def test_a_method_that_writes_on_its_photos_changes_no_other_evaluation(world):
    class Writes:
        name = "writes"

        def fit(self, labelled, labels, unlabelled):
            for array in (labelled, labels, unlabelled):
                array[:] = 0
            return Heads(self.predict)

        def predict(self, pictures):
            shades = pictures.reshape(len(pictures), -1).mean(axis=1)
            pictures[:] = 0
            return np.stack([shades > np.median(shades), shades <= np.median(shades)], axis=1).astype(float)

    before = world.validation.pixels.copy()
    first, again = (run(world, MixTask(Writes(), 0.3, 5))[0] for _ in range(2))
    assert first["validation"] == again["validation"] and (world.validation.pixels == before).all()
