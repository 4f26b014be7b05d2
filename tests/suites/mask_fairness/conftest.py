"""Small pictures with faces, written as each adapter expects them, and the modules beside the tests importable."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture
def pictures(tmp_path: Path):
    """Writes a picture of a size under a name in a folder and returns the folder."""

    def write(names: list[str], size: tuple[int, int] = (100, 50), folder: str = "data") -> Path:
        root = tmp_path / folder
        for i, name in enumerate(names):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((size[1], size[0], 3), 20 * i % 255, np.uint8)).save(root / name)
        return root

    return write


@pytest.fixture
def people() -> Dataset:
    """Ten pictures of two faces each: boxes, masks, two attributes."""
    samples = []
    for i in range(10):
        pixels = np.full((60, 80, 3), 10 * i, np.uint8)
        her = {"masked": "yes", "sex": "female", "tone": f"t{i % 3}"}
        him = {"masked": "no", "sex": "male", "tone": f"t{i % 2}"}
        subjects = (
            Subject("0", face_box=np.array([5.0, 5, 25, 35]), attributes=her),
            Subject("1", face_box=np.array([40.0, 10, 70, 50]), attributes=him),
        )
        samples.append(Sample(f"p{i:02d}", ArrayImage(pixels), 80, 60, subjects))
    return Dataset(DatasetCard(name="tiny", real_people=False), samples)
