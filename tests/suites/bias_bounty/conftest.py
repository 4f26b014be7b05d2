"""A small challenge folder of drawn heads: an ellipse whose colour is the tone, whose size is the age."""

import csv
from pathlib import Path

import numpy as np
import pytest

from countenance.data.adapters.bias_bounty_files import CLASSES, COLUMNS
from countenance.data.card import DatasetCard
from countenance.data.image import ArrayImage, encode_png
from countenance.data.sample import Dataset, Sample, Subject
from countenance.suites.bias_bounty.made_data import write_challenge

SIDE = 64


def draw_head(tone: int, age: int, gender: int, rng: np.random.Generator, side: int = SIDE) -> np.ndarray:
    """A picture of a head whose three attributes can be seen."""
    y, x = np.mgrid[0:side, 0:side] / side
    picture = np.ones((side, side, 3)) * rng.uniform(60, 200, 3)
    radius = 0.2 + 0.05 * age
    head = ((x - 0.5) / radius) ** 2 + ((y - 0.5) / (radius * 1.3)) ** 2 < 1
    picture[head] = np.array([250, 215, 190]) * (1 - 0.085 * tone)
    hair = (np.hypot(x - 0.5, y - 0.3) < radius * 0.9) & (y < (0.45 if gender else 0.28))
    picture[hair] = (30, 20, 15)
    return np.clip(picture + rng.normal(0, 3, picture.shape), 0, 255).astype(np.uint8)


def draw_nothing(rng: np.random.Generator, side: int = SIDE) -> np.ndarray:
    """A picture without a head: stripes."""
    y, x = np.mgrid[0:side, 0:side]
    stripes = np.sin(x * rng.uniform(0.2, 1) + y * rng.uniform(0.2, 1))[..., None] * 60
    return np.clip(stripes + rng.uniform(60, 200, 3), 0, 255).astype(np.uint8)


def write_split(folder: Path, count: int, seed: int, nonfaces: int = 0) -> None:
    """`count` heads and some pictures without, with labels.csv."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    rows, outside = [], []
    for i in range(count):
        tone, age, gender = i % 10, int(rng.integers(4)), int(rng.integers(2))
        name = f"h{i:03d}.png"
        (folder / name).write_bytes(encode_png(draw_head(tone, age, gender, rng)))
        words = {
            "skin_tone": CLASSES["skin_tone"][tone],
            "age": CLASSES["age"][age],
            "gender": CLASSES["gender"][gender],
        }
        rows.append([name, *(words[column] for column in COLUMNS[1:])])
    for i in range(nonfaces):
        name = f"n{i:03d}.png"
        (folder / name).write_bytes(encode_png(draw_nothing(rng)))
        rows.append(
            [name, *(str(rng.choice(CLASSES[column])) for column in COLUMNS[1:])]
        )  # random, as in the challenge
        outside.append(name)
    with (folder / "labels.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *rows])
    if folder.name == "holdout":
        (folder / "nonfaces.txt").write_text("\n".join(outside) + "\n")


@pytest.fixture(scope="session")
def challenge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge folder with train, test and holdout."""
    root = tmp_path_factory.mktemp("challenge") / "data"
    write_split(root / "train", 120, 0, 24)
    write_split(root / "test", 30, 1, 6)
    write_split(root / "holdout", 30, 2, 60)
    return root


@pytest.fixture(scope="session")
def population() -> Dataset:
    """A drawn stand-in for the rendered people: portraits, twins, group scenes and objects with splits."""
    rng = np.random.default_rng(3)
    samples = []
    for i in range(60):
        split = ("train", "train", "validation", "test")[i % 4]
        tone, age, gender = i % 10, i % 4, i % 2
        words = {"skin_tone": CLASSES["skin_tone"][tone], "age_group": CLASSES["age"][age]}
        words["gender"] = CLASSES["gender"][gender]
        part = "twins" if i % 10 == 9 else "portraits"
        picture = ArrayImage(draw_head(tone, age, gender, rng, 256))
        who = Subject(f"s{i}", identity=f"id{i // 8}", attributes=words, face_box=np.array([60.0, 60, 190, 190]))
        samples.append(Sample(f"{part}/{i}", picture, 256, 256, (who,), {"part": part, "split": split}))
    for i, split in enumerate(("train", "validation", "test") * 2):
        picture = ArrayImage(draw_nothing(rng, 256))
        samples.append(Sample(f"objects/{i}", picture, 256, 256, (), {"part": "objects", "split": split}))
    for i, split in enumerate(("train", "validation", "test")):
        pixels = rng.integers(0, 255, (600, 900, 3), dtype=np.uint8)
        who = Subject("g", face_box=np.array([400.0, 250, 460, 330]))
        samples.append(Sample(f"groups/{i}", ArrayImage(pixels), 900, 600, (who,), {"part": "groups", "split": split}))
    return Dataset(DatasetCard(name="drawn", real_people=False), samples)


@pytest.fixture(scope="session")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded people in the challenge's layout: what the shipped entries were trained on."""
    out = tmp_path_factory.mktemp("embedded") / "data"
    write_challenge(out)
    return out


@pytest.fixture(scope="session")
def unsupervised(challenge: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cheapest of the three entries, trained."""
    pytest.importorskip("torch")
    pytest.importorskip("onnxscript")
    from countenance.suites.bias_bounty.training import EntryTraining, train_entry

    out = tmp_path_factory.mktemp("entries") / "unsupervised"
    train_entry("unsupervised", challenge, out, EntryTraining(threads=1))
    return out
