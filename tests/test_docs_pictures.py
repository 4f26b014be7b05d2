"""Every picture of README and docs is made by tools/docs_pictures.py, and an empty tile is an error."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def maker() -> Any:
    spec = importlib.util.spec_from_file_location("docs_pictures", ROOT / "tools" / "docs_pictures.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCHMARKS = {"scale", "does-it-measure"}
"""Charts that a script of `benchmarks/` draws with its figures."""


def test_every_picture_that_a_page_shows_is_made_and_there(maker: Any) -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {
        name for page in pages for name in re.findall(r"!\[[^\]]*\]\(\S*?images/([\w-]+)\.\w+\)", page.read_text())
    }
    assert shown >= {"ladder", "first-screen"} and shown <= {*maker.pictures(Path()), *BENCHMARKS}
    for name in shown:
        assert any((ROOT / "docs" / "images" / f"{name}{end}").exists() for end in (".webp", ".svg")), name


def test_the_readme_begins_with_the_ladder_then_the_first_screen() -> None:
    pictures = re.findall(r"images/([\w-]+)\.", (ROOT / "README.md").read_text())
    assert list(dict.fromkeys(pictures))[:2] == ["ladder", "first-screen"]


def test_the_readme_takes_two_screens() -> None:
    """Its two pictures stand side by side; below each other, they alone were a screen and a half."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 75 and len([line for line in lines if "![" in line]) == 1


def test_an_empty_tile_is_an_error(maker: Any) -> None:
    with pytest.raises(SystemExit, match="the tile is empty"):
        maker.check_tile(np.full((8, 8, 3), 244, np.uint8), "view.webp, image 3")
    maker.check_tile(np.random.default_rng(0).integers(0, 255, (8, 8, 3)).astype(np.uint8), "view.webp")
