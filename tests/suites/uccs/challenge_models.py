"""A detector and an embedding that are right by construction: people are squares, and their colour is who they are."""

import numpy as np
from scipy import ndimage

from countenance.answers import Boxes, Embedding
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject

SIDE = 24


def person(identity: str, x: int, y: int, role: str) -> Subject:
    box = np.array([x, y, x + SIDE, y + SIDE], dtype=float)
    points = np.array([[6, 8], [18, 8], [12, 13], [8, 18], [16, 18]], dtype=float) + np.array([x, y])
    about = {"role": role, "skin_tone": f"monk_{1 + len(identity) % 3}", "masked": "no", "pose": "frontal"}
    about["age_group"] = "adult" if role == "known" else "child"
    return Subject(identity, identity=identity, face_box=box, landmarks=points, attributes=about)


def colour(identity: str) -> tuple[int, int, int]:
    seed = sum(ord(c) * 31**k for k, c in enumerate(identity))
    random = np.random.default_rng(seed)
    return tuple(int(v) for v in random.integers(60, 255, 3))


def scenes(splits=("train", "train", "validation", "validation", "test")) -> Dataset:
    """Scenes of four people: two known, one known unknown, one stranger."""
    samples = []
    for k, split in enumerate(splits):
        cast = [
            ("anna", "known"),
            (("bert", "carl")[k % 2], "known"),
            ("dora", "known_unknown"),
            (f"new{k}", "unknown"),
        ]
        pixels = np.zeros((120, 160, 3), np.uint8)
        people = []
        for slot, (identity, role) in enumerate(cast):
            x, y = 10 + 75 * (slot % 2), 10 + 55 * (slot // 2)
            pixels[y : y + SIDE, x : x + SIDE] = colour(identity)
            people.append(person(identity, x, y, role))
        samples.append(Sample(f"groups/g{k}", ArrayImage(pixels), 160, 120, tuple(people), {"split": split}))
    return Dataset(DatasetCard(name="squares", licence="CC0", real_people=False), samples)


class Squares:
    """Finds what is not black, and one false alarm in the lower right corner."""

    def __call__(self, images):
        return [self.one(image) for image in images]

    def one(self, image):
        marked, _ = ndimage.label(image.max(axis=2) > 40)
        boxes = [(s[1].start, s[0].start, s[1].stop, s[0].stop) for s in ndimage.find_objects(marked)]
        boxes = [b for b in boxes if b[2] - b[0] > 8 and b[3] - b[1] > 8]
        height, width = image.shape[:2]
        return Boxes([*boxes, (width - 9, height - 9, width, height)], [0.9] * len(boxes) + [0.3])


class Exact(Squares):
    """The same without the false alarm."""

    def one(self, image):
        found = super().one(image)
        return Boxes(found.xyxy[:-1], found.scores[:-1])


class Colour:
    """The colour of the middle of a picture."""

    def __call__(self, images):
        return [self.one(image) for image in images]

    def one(self, image):
        height, width = image.shape[:2]
        middle = image[height // 3 : 2 * height // 3 + 1, width // 3 : 2 * width // 3 + 1]
        return Embedding(middle.reshape(-1, 3).mean(axis=0) + 0.01)


class Broken:
    def __call__(self, images):
        raise RuntimeError("was asked although everything is known")
