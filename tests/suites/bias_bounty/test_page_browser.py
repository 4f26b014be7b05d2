"""The leaderboard and an entry's page in a real browser, opened from disk."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, predictions_text, read_labels
from countenance.suites.bias_bounty.board import Rules, rank
from countenance.suites.bias_bounty.page import write_pages
from countenance.suites.bias_bounty.scoring import Draws
from countenance.suites.bias_bounty.submissions import BountySubmission, hand_in

CHROMIUM = Path("/usr/bin/chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not here: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def pages(challenge: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    for split in ("test", "holdout"):
        names = read_labels(challenge / split / "labels.csv").names
        words = [{name: str(rng.choice(CLASSES[name])) for name in ATTRIBUTES} for _ in names]
        (folder / f"{split}.csv").write_text(predictions_text(names, words))
    for name, kind in (("one", "supervised"), ("two", "unsupervised")):
        given = BountySubmission(name, kind, folder / "test.csv", folder / "holdout.csv")
        hand_in(folder / "board", challenge, given)
    board = rank(folder / "board", challenge, Rules(draws=Draws(replicates=200)))
    index = write_pages(board, challenge, folder / "leaderboard.html", pictures=True)
    return [index, next(iter(sorted((folder / "leaderboard-entries").iterdir())))]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_page_has_no_barrier_no_error_and_no_sideways_scroll(
    chromium: Any, pages: list[Path], scheme: str, width: int
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for path in pages:
        page = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.goto(path.as_uri())
        found = axe.run(page).response["violations"]
        assert [violation["id"] for violation in found] == []
        assert said == []
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()


def test_the_table_leads_to_the_entry_and_back(chromium: Any, pages: list[Path]) -> None:
    page = chromium.new_page()
    page.goto(pages[0].as_uri())
    page.click("#public ~ * a >> text=one")
    assert page.inner_text("h1") == "one"
    page.click("text=Leaderboard")
    assert page.inner_text("h1").startswith("Leaderboard")
    page.close()
