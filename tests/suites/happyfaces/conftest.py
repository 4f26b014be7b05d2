"""A small world for HappyFaces: grey pictures in which stripes stand for the two features."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from countenance.data.adapters.happyfaces_layout import MATCHED, SETS, TAGS, HappyFaces, make_photos
from countenance.data.image import encode_png

SIDE = 128


def picture(tag: str, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Upper half: stripes lie (F H) or stand (F S); lower strip: stripes lie (W H) or stand (W S); noise everywhere."""
    image = rng.normal(110, 20, (SIDE, SIDE))
    for letter, (top, bottom), strength in ((tag[1], (16, 56), 26), (tag[3], (100, 124), 90)):
        y, x = np.mgrid[top:bottom, 32:96]
        phase = rng.integers(0, 8)
        wave = np.sin(2 * np.pi * ((y if letter == "H" else x) + phase) / 8)
        image[top:bottom, 32:96] += strength * rng.uniform(0.2, 1.0) * wave
    return np.repeat(image.clip(0, 255).astype(np.uint8)[..., None], 3, -1)


def small_set(tags: tuple[str, ...], each: int, seed: int) -> tuple[list[NDArray[np.uint8]], list[str]]:
    rng = np.random.default_rng(seed)
    kinds = [tag for tag in tags for _ in range(each)]
    return [picture(tag, rng) for tag in kinds], kinds


@pytest.fixture(scope="session")
def world() -> HappyFaces:
    """60 labelled, 4 × 30 unlabelled, 4 × 15 validation pictures."""
    sets = []
    for seed, (tags, each) in enumerate(((MATCHED, 30), (TAGS, 30), (TAGS, 15))):
        pixels, kinds = small_set(tags, each, seed)
        sets.append(make_photos(pixels, kinds, [f"{i}.png" for i in range(len(kinds))], "test"))
    return HappyFaces(*sets)


@pytest.fixture(scope="session")
def write_world() -> Callable[[HappyFaces, Path, Callable[[int], str]], None]:
    """Writes a world to a folder, each file named by a function of its number."""

    def write(world: HappyFaces, folder: Path, name: Callable[[int], str]) -> None:
        for photos, (folders, _) in zip(
            (world.labelled, world.unlabelled, world.validation), SETS.values(), strict=True
        ):
            for number, (pixels, tag) in enumerate(zip(photos.pixels, photos.tags, strict=True)):
                place = folder / folders[0] / tag
                place.mkdir(parents=True, exist_ok=True)
                (place / f"{name(number)}.png").write_bytes(encode_png(pixels))

    return write
