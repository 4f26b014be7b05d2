"""Rendering itself, in small: skipped by name where mitsuba or anny is not installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mitsuba", reason="needs mitsuba")
pytest.importorskip("anny", reason="needs anny")

from countenance.data import load_dataset
from countenance.data.people import checks
from countenance_people import engine
from countenance_people.engine import Settings
from countenance_people.portraits import portraits
from countenance_people.scenes import attacks
from countenance_people.spec import PictureSpec
from countenance_people.tables import collect, seal
from countenance_people.twins import twins

pytestmark = pytest.mark.filterwarnings("ignore")
SIZE = 64
SETTINGS = Settings(samples=2, depth=3, depth_maps=True)
Rows = list[checks.Row]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("people")


@pytest.fixture(scope="module")
def specs() -> list[PictureSpec]:
    pair = [spec for spec in twins(5, 1) if spec.sample.endswith(("base", "mask"))]
    chosen = (portraits(5, 1)[0], *pair, attacks(5, 1)[0])
    return [replace(spec, width=SIZE, height=SIZE) for spec in chosen]


@pytest.fixture(scope="module")
def tables(folder: Path, specs: list[PictureSpec]) -> tuple[Rows, Rows]:
    import pyarrow.parquet as pq

    assert engine.render_specs(specs, folder, SETTINGS, workers=1) == []
    samples, subjects = collect(folder, specs)
    seal(folder, SETTINGS, 5)
    return checks.rows(pq.read_table(samples)), checks.rows(pq.read_table(subjects))


def test_a_rendered_persons_truth_is_true(tables: tuple[Rows, Rows]) -> None:
    samples, subjects = tables
    assert len(samples) == len(subjects) == 4
    for subject in subjects:
        assert checks.subject_problems(subject, SIZE, SIZE) == []
        assert subject["visible"] > 0.9
        assert 0 < subject["face_luminance"] < 1
        assert len(subject["keypoints"]) == 17 * 3 and len(subject["keypoints_33"]) == 33 * 3


def test_the_package_reads_what_was_rendered(folder: Path, tables: tuple[Rows, Rows]) -> None:
    people = load_dataset("people:twins", root=folder)
    assert [sample.attributes["change"] for sample in people] == ["none", "mask"]
    (shown,) = load_dataset("people:attacks", root=folder)
    assert shown.attributes["attack"] in ("print", "phone", "tablet", "cutout")
    assert all(sample.load().shape == (SIZE, SIZE, 3) for sample in people)


def test_what_an_attack_shows_lies_where_its_truth_says(folder: Path, tables: tuple[Rows, Rows]) -> None:
    """Fair skin under dark hair: a picture that is shown upside down has cloth where its truth has hair."""
    from PIL import Image

    subject = tables[1][3]
    image = np.asarray(Image.open(folder / f"{subject['sample']}.webp").convert("L"), float)
    parts = {part["label"]: checks.decode(part["counts"], SIZE, SIZE) for part in subject["face_parts"]}
    assert image[parts["hair"]].mean() < image[parts["skin"]].mean() - 30


def test_an_attacks_truth_is_of_the_picture_that_shows_it(tables: tuple[Rows, Rows]) -> None:
    subject = tables[1][3]
    mask = checks.decode(subject["mask"], SIZE, SIZE)
    assert sum(subject["body_part_pixels"]) == mask.sum()
    assert 0.1 < subject["distance"] < 1.3  # the sheet is nearer than the person was


def test_depth_is_stored_in_millimetres(folder: Path, tables: tuple[Rows, Rows]) -> None:
    from PIL import Image

    sample, subject = tables[0][0], tables[1][0]
    depth = np.asarray(Image.open(folder / sample["depth_file"]))
    mask = checks.decode(subject["mask"], SIZE, SIZE)
    assert abs(np.median(depth[mask]) / 1000 - subject["distance"]) < 0.25
    assert (depth[~mask] == 0).any()


def test_a_masked_twin_differs_only_around_the_face(folder: Path, tables: tuple[Rows, Rows]) -> None:
    from PIL import Image

    def load(sample: str) -> np.ndarray:
        return np.asarray(Image.open(folder / f"{sample}.webp").convert("RGB"))

    assert checks.twin_problems(*tables, load) == []


def test_the_same_specification_gives_the_same_bytes_in_any_batch(
    folder: Path, tmp_path: Path, specs: list[PictureSpec], tables: tuple[Rows, Rows]
) -> None:
    """The last picture of the batch, alone in a process; what is finished is not made again."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.webp")}
    assert engine.render_specs(specs, folder, SETTINGS) == []
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.webp")} == before
    engine.render_specs(specs[2:3], tmp_path, SETTINGS, workers=2)
    name = f"{specs[2].sample}.webp"
    assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_no_picture_is_begun_when_the_time_is_up(tmp_path: Path, specs: list[PictureSpec]) -> None:
    assert engine.render_specs(specs[:1], tmp_path, SETTINGS, until=0.0) == [specs[0].sample]
