"""Rendering itself: skipped by name where the extra is not installed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("mitsuba", reason="needs countenance[render]: mitsuba")
pytest.importorskip("anny", reason="needs countenance[render]: anny")
pytest.importorskip("pycocotools")

from countenance.data.people import checks
from countenance.data.people.render import engine
from countenance.data.people.render.sampling import PictureSpec, portraits, twins

pytestmark = pytest.mark.filterwarnings("ignore")


def small(spec: PictureSpec) -> PictureSpec:
    return replace(spec, width=96, height=96, spp=36)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("people")


@pytest.fixture(scope="module")
def specs() -> list[PictureSpec]:
    pair = [spec for spec in twins(5, 1) if spec.sample.endswith(("base", "maskblue"))]
    return [small(spec) for spec in (portraits(5, 1)[0], *pair)]


@pytest.fixture(scope="module")
def tables(folder: Path, specs: list[PictureSpec]) -> tuple[list[checks.Row], list[checks.Row]]:
    pq = pytest.importorskip("pyarrow.parquet")
    assert engine.render_specs(specs, folder, threads=2) == []
    samples, subjects = engine.collect(folder, specs)
    return checks.rows(pq.read_table(samples)), checks.rows(pq.read_table(subjects))


def test_a_rendered_persons_truth_is_true(tables: tuple[list[checks.Row], list[checks.Row]]) -> None:
    samples, subjects = tables
    assert len(samples) == len(subjects) == 3
    for subject in subjects:
        assert checks.subject_problems(subject, 96, 96) == []
        assert subject["visible"] > 0.9


def test_a_masked_twin_differs_only_around_the_face(
    folder: Path, tables: tuple[list[checks.Row], list[checks.Row]]
) -> None:
    from PIL import Image

    def load(sample: str) -> np.ndarray:
        return np.asarray(Image.open(folder / f"{sample}.webp").convert("RGB"))

    assert checks.twin_problems(*tables, load) == []


def test_a_finished_picture_is_not_made_again(
    folder: Path, specs: list[PictureSpec], tables: tuple[list[checks.Row], list[checks.Row]]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.webp")}
    assert engine.render_specs(specs, folder) == []
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.webp")} == before


def test_the_same_specification_gives_the_same_bytes(
    folder: Path, tmp_path: Path, specs: list[PictureSpec], tables: tuple[list[checks.Row], list[checks.Row]]
) -> None:
    engine.render_specs(specs[:1], tmp_path, threads=2)
    name = f"{specs[0].sample}.webp"
    assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
