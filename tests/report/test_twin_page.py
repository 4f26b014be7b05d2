"""The page with the twin ladders of several runs."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import countenance as ct
from countenance.report.harms import twin_label
from countenance.report.twin_page import write_twin_page


class BrightFaces:
    """Finds a face in the middle of every picture but those of which the mean is dark."""

    name = "by-brightness"

    def __call__(self, images):
        whole = [[0, 0, image.shape[1], image.shape[0]] for image in images]
        return [ct.Boxes([box] if image.mean() > 100 else [], None) for box, image in zip(whole, images, strict=True)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ct.Run:
    out = tmp_path_factory.mktemp("twins") / "run"
    run = ct.evaluate(BrightFaces(), "face_localization", "people:twins", out=out, limit=200, workers=1)
    ct.audit(run)
    return run


@pytest.mark.parametrize("change", ["skin_tone", "age"])
def test_every_model_is_shown_by_the_change_that_is_asked_for(run: ct.Run, tmp_path: Path, change: str) -> None:
    page = write_twin_page([run, run], tmp_path / "index.html", change=change).read_text(encoding="utf-8")
    headline = re.sub(r"\s+", " ", re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)[1])
    assert headline.count(change.replace("_", " ") + " alone") == 2


def test_a_ladder_that_shows_nothing_for_sure_says_so(run: ct.Run, tmp_path: Path) -> None:
    page = write_twin_page([run], tmp_path / "index.html", change="skin_tone").read_text(encoding="utf-8")
    assert "So few may be chance" in page or "Nobody in these twins is lost" in page


def test_a_change_of_many_values_is_called_changed() -> None:
    assert twin_label("hair_colour", "changed", SimpleNamespace()) == "hair colour changed"
