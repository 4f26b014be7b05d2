"""The steps of a training: rates, seeds, the average of the weights, the clock; and which pictures it sees."""

import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from scripted import Scripted

from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.data.sample import Rle
from countenance.errors import InputError
from countenance.suites.mask_fairness import train as training
from countenance.suites.mask_fairness.train import augmented_pictures as augment
from countenance.suites.mask_fairness.train import network
from countenance.suites.mask_fairness.train.augmented_pictures import to_picture, training_pictures

torch = pytest.importorskip("torch")


class Clock:
    """Time that passes only where a test says so."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def told(monkeypatch):
    """A training of a small network whose every step adds one to each weight and takes 12 seconds."""
    made = SimpleNamespace(clock=Clock(), rates=[], decay=[], clips=[], keys=[], threads=set(), said=[])

    def small():
        torch.manual_seed(5)
        return torch.nn.Sequential(torch.nn.Conv2d(3, 6, 8, 8), torch.nn.BatchNorm2d(6))

    def batch(pictures, scenes, size, seed):
        made.keys.append((seed.entropy, *seed.spawn_key))
        made.threads.add(threading.current_thread().name)
        return np.random.default_rng(seed).random((size, 3, 160, 160)).astype(np.float32), np.zeros((size, 6, 20, 20))

    def descend(optimiser, loss, clip):
        made.clips.append(clip)
        made.rates.append([group["lr"] for group in optimiser.param_groups])
        made.decay.append(
            [(group["weight_decay"], {w.ndim for w in group["params"]}) for group in optimiser.param_groups]
        )
        with torch.no_grad():
            for group in optimiser.param_groups:
                for weight in group["params"]:
                    weight += 1
        made.clock.now += 12

    monkeypatch.setattr(training, "time", made.clock)
    monkeypatch.setattr(network, "make_network", small)
    monkeypatch.setattr(training, "_batch", batch)
    monkeypatch.setattr(training, "descend", descend)
    made.small = small
    return made


def test_rates_rise_for_forty_steps_and_fall_like_a_cosine(told):
    found = training.train([], [], training.TrainSettings(steps=45, minutes=100, batch=1, seed=3), told.said.append)
    cosine = [0.01 + 0.99 * (1 + math.cos(math.pi * k / 45)) / 2 for k in range(45)]
    expected = [0.003 * min(1, (k + 1) / 40) * one for k, one in enumerate(cosine)]
    assert told.rates == [pytest.approx([rate, rate]) for rate in expected]
    assert told.decay == [[(0.02, {4}), (0.0, {1})]] * 45 and told.clips == [5.0] * 45
    assert told.keys == [(3, k) for k in range(45)] + [([3, 1], k) for k in range(30)]
    assert len(told.threads) == 2, "one thread makes the pictures, this one measures the average again"
    average = 1.0
    for k in range(2, 46):
        average = 0.98 * average + 0.02 * k
    before = told.small()[0].weight
    assert torch.allclose(found[0].weight - before, torch.full_like(before, average), atol=1e-3)
    assert not found.training and found[1].num_batches_tracked == 30
    weights = 6 * 3 * 8 * 8 + 6 + 6 + 6
    assert told.said[0] == f"{weights:,} weights"
    # The clock shows 24, 48, … seconds when more than 15 have passed since the last line.
    assert [line.split(":")[0] for line in told.said[1:]] == [f"step {k}/45, {12 * k} s" for k in range(2, 45, 2)] + [
        "step 45/45, 540 s"
    ]
    assert ": loss " in told.said[1] and told.said[1].endswith(", masks 0.000, boxes 0.000)")


def test_a_training_ends_with_its_minutes(told):
    training.train([], [], training.TrainSettings(steps=40, minutes=1, batch=2), told.said.append)
    assert told.said[-1] == "the 1 minutes are over after 5 of 40 steps" and len(told.rates) == 5
    done = [max(k / 40, 12 * k / 60) for k in range(5)]
    expected = [0.003 * (k + 1) / 40 * (0.01 + 0.99 * (1 + math.cos(math.pi * one)) / 2) for k, one in enumerate(done)]
    assert [rate for rate, _ in told.rates] == pytest.approx(expected)


def test_one_step_is_a_training_and_the_defaults_are_those_of_the_pages(told):
    training.train([], [], training.TrainSettings(steps=1, batch=2))
    assert told.keys == [(0, 0), ([0, 1], 0)] and told.rates == [pytest.approx([0.003 / 40] * 2)]
    assert vars(training.TrainSettings()) == {
        "steps": 1200,
        "minutes": 8.0,
        "batch": 24,
        "threads": 1,
        "seed": 0,
        "device": "cpu",
    }
    form = training.EXPORTED
    assert (form.size, form.outputs, form.input, form.highest, form.any_side) == (160, ("map",), "pixels", 1.0, True)


def test_fifteen_of_a_hundred_pictures_show_nobody(monkeypatch):
    white, nobody = np.full((160, 160, 3), 255, np.uint8), (np.zeros((0, 4)), np.zeros(0))
    white[0, 1, 2] = 51
    box = np.array([[40.0, 40, 90, 90]])
    monkeypatch.setattr(training, "random_window", lambda scene, boxes, random, side: (scene, boxes, side))
    monkeypatch.setattr(training, "recolour", lambda scene, random: scene)
    monkeypatch.setattr(augment, "augmented", lambda picture, scenes, random: (picture // 5 * 3, box, np.ones(1)))
    for chance, faces in ((0.149, 0), (0.15, 1)):
        random = Scripted([chance], choices=[0])
        monkeypatch.setattr(np.random, "default_rng", lambda seed, random=random: random)
        pixels, wanted = training._batch([white], [white], 1, np.random.SeedSequence(0))
        assert pixels.shape == (1, 3, 160, 160) and pixels[0, 0, 0, 0] == pytest.approx(0.6 if faces else 1.0)
        assert pixels[0, 2, 0, 1] == pytest.approx(30 / 255 if faces else 0.2)
        assert (wanted[0, 0] == 1).any() == bool(faces) and nobody[0].shape == (0, 4)


def person(name: str, masked: str | None = "no", face: bool = True, mask=None) -> Subject:
    about = {} if masked is None else {"masked": masked}
    box = np.array([2.0, 3, 8, 9]) if face else None
    return Subject(name, identity=name, face_box=box, attributes=about, mask=mask)


def sample(name: str, *people: Subject, split: str = "train", part: str = "portraits") -> Sample:
    return Sample(name, ArrayImage(np.zeros((12, 10, 3), np.uint8)), 10, 12, people, {"split": split, "part": part})


def test_it_learns_from_the_train_split_and_never_sees_people_of_another(tmp_path):
    samples = [
        sample("a", person("anna")),
        sample("b", person("bert", "yes"), person("back", None, face=False)),
        sample("c", person("carl"), split="test"),
        sample("d", person("anna"), person("carl"), part="groups"),
        sample("e", person("anna"), person("new"), person("anna"), part="groups"),
        sample("f", person("anna"), part="twins"),
        sample("g"),
        sample("h", split="test"),
        sample("i", person("new"), part="groups", split="test"),
    ]
    pictures, scenes = training_pictures(Dataset(DatasetCard(name="few"), samples))
    assert [len(one.boxes) for one in pictures] == [1, 1, 3] and len(scenes) == 1
    assert [one.masked.tolist() for one in pictures] == [[0.0], [1.0], [0.0, 0.0, 0.0]]
    with pytest.raises(InputError, match="dataset 'few' has no train split with faces"):
        training.train_and_export(
            tmp_path / "net.onnx", training.TrainSettings(), dataset=Dataset(DatasetCard(name="few"), samples[6:])
        )


def test_a_picture_for_training_has_boxes_masks_landmarks_and_outlines():
    outline = np.zeros((12, 10), bool)
    outline[2:5, 3:6] = True
    other = np.roll(outline, 4, axis=0)
    both = (person("a", None, mask=Rle.encode(outline)), person("b", mask=Rle.encode(other)))
    made = to_picture(sample("x", *both))
    assert made.masked.tolist() == [-1.0, 0.0] and np.array_equal(made.people, outline | other)
    assert made.landmarks.shape == (2, 5, 2) and np.isnan(made.landmarks).all() and made.boxes.shape == (2, 4)
    assert to_picture(sample("y", both[0], person("c"))).people is None
    assert to_picture(sample("z", person("d", face=False))).boxes.shape == (0, 4)
