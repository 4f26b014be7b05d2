"""The board site: pages sorted by score that open from disk, JSON and an Atom feed."""

import csv
import json
import random
import re
from datetime import datetime
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.browser import CHROMIUM, problems

from countenance.cli.app import run as command
from countenance.comparing import leaderboard
from countenance.report.board_site import against_best, by_score, feed, write_site
from countenance.report.leaderboard import write_leaderboard
from countenance.run.suite import load_suite

ATOM = "{http://www.w3.org/2005/Atom}"
RATES = {"weak": 0.55, "strong": 0.9, "<b>odd & name": 0.7}


def tables() -> list[dict]:
    draw = random.Random(3)
    rows = {"sample": [f"s{i}" for i in range(600)], "tone": [("dark", "light")[i % 2] for i in range(600)]}
    return [rows | {"ok": [int(draw.random() < rate) for _ in range(600)]} for rate in RATES.values()]


@pytest.fixture(scope="module")
def board():
    return leaderboard(tables(), ["tone"], ["ok"], names=list(RATES), better={"ok": "higher"})


def links(page: Path) -> list[str]:
    return [unescape(link) for link in re.findall(r'href="([^"#]+)"', page.read_text()) if not link.startswith("data:")]


def test_models_stand_by_score_with_the_evidence_beside(board, tmp_path: Path) -> None:
    index = write_site(board, tmp_path / "site")
    text = index.read_text()
    order = ["strong", "&lt;b&gt;odd &amp; name", "weak"]
    assert [text.index(f"<bdi>{name}</bdi></a>") for name in order] == sorted(
        text.index(f"<bdi>{name}</bdi></a>") for name in order
    )
    assert "<b>odd" not in text
    weak = next(standing for standing in by_score(board, "ok") if standing.model == "weak")
    change = against_best(board, weak)
    scores = {standing.model: standing.estimate for standing in board.standings("ok")}
    assert (change.a, change.b, change.verdict) == ("strong", "weak", "worse")
    assert change.difference == pytest.approx(scores["weak"] - scores["strong"])
    assert change.low < change.difference < change.high < 0
    assert text.count("adjusted p") == 2 and "best score" in text


def test_lower_is_first_where_lower_is_better() -> None:
    board = leaderboard(tables(), [], ["ok"], names=list(RATES), better={"ok": "lower"})
    assert [standing.model for standing in by_score(board, "ok")] == ["weak", "<b>odd & name", "strong"]


def test_every_link_leads_to_a_file_of_the_site_and_nothing_is_fetched(board, tmp_path: Path) -> None:
    site = write_site(board, tmp_path / "site").parent
    pages = sorted(site.rglob("*.html"))
    assert [str(page.relative_to(site)) for page in pages] == [
        "evidence.html",
        "index.html",
        "models/001.html",
        "models/002.html",
        "models/003.html",
    ]
    for page in pages:
        assert not re.search(r'<script[^>]+src|url\((?!#)|@import|<img[^>]+src="http', page.read_text())
        for link in links(page):
            assert "://" not in link and (page.parent / link).resolve().is_file(), (page, link)


def test_json_and_feed_say_what_the_index_says(board, tmp_path: Path) -> None:
    site = write_site(board, tmp_path / "site").parent
    content = json.loads((site / "board.json").read_text())
    models = content["metrics"][0]["models"]
    assert [entry["model"] for entry in models] == ["strong", "<b>odd & name", "weak"]
    assert models[0]["against_best"] is None and models[2]["against_best"]["verdict"] == "worse"
    assert {group["group"] for group in models[0]["groups"]} == {"dark", "light"}
    root = ElementTree.fromstring((site / "feed.xml").read_bytes())
    assert {entry.findtext(f"{ATOM}title") for entry in root.iter(f"{ATOM}entry")} == set(RATES)
    identities = [element.text for element in root.iter(f"{ATOM}id")]
    assert len(identities) == 4 == len(set(identities)) and all(text.startswith("urn:uuid:") for text in identities)
    for element in root.iter(f"{ATOM}updated"):
        assert datetime.fromisoformat(element.text).tzinfo is not None
    assert feed(board) == (site / "feed.xml").read_bytes()


def test_a_run_that_is_made_again_is_a_new_entry_of_the_feed(board) -> None:
    def entries(dates: list[str]) -> dict[str, str]:
        root = ElementTree.fromstring(feed(board.model_copy(update={"settings": board.settings | {"dates": dates}})))
        return {e.findtext(f"{ATOM}title"): e.findtext(f"{ATOM}id") for e in root.iter(f"{ATOM}entry")}

    before = entries(["2026-01-01T10:00:00+00:00"] * 3)
    after = entries(["2026-01-01T10:00:00+00:00", "2026-02-01T10:00:00", "2026-01-01T10:00:00+00:00"])
    assert [name for name in before if before[name] != after[name]] == ["strong"]
    assert next(iter(after)) == "strong"


def test_the_command_writes_a_site_again_and_leaves_other_folders_alone(tmp_path: Path, capsys) -> None:
    places = []
    for i, table in enumerate(tables()):
        places.append(str(tmp_path / f"m{i}.csv"))
        with Path(places[-1]).open("w", newline="") as stream:
            csv.writer(stream).writerows([table, *zip(*table.values(), strict=True)])
    site = tmp_path / "site"
    for _ in range(2):
        assert command(["leaderboard", *places, "--metric", "ok", "--site", str(site)]) == 0
        assert str(site / "index.html") in capsys.readouterr().out
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    assert command(["leaderboard", *places, "--metric", "ok", "--site", str(other)]) == 2
    assert "not empty" in capsys.readouterr().err and (other / "thesis.txt").read_text() == "mine"


def test_a_suite_is_named_with_its_citation(tmp_path: Path) -> None:
    suite = load_suite("mask_fairness")
    (run,) = suite.run("people:portraits", "countenance-mask", tmp_path / "run", limit=60, by=["gender"])
    board = leaderboard([run, run], [], names=["a", "b"])
    index = write_site(board, tmp_path / "site")
    assert suite.question in index.read_text() and "HHAI 2023" in index.read_text()
    assert json.loads((index.parent / "board.json").read_text())["citation"] == suite.citation


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not here: apt-get install chromium")
def test_it_opens_from_disk_in_a_browser_without_an_error(chromium, board, tmp_path: Path) -> None:
    index = write_site(board, tmp_path / "site")
    page = chromium.new_page(viewport={"width": 1200, "height": 800})
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.goto(index.as_uri())
    assert page.locator("tbody tr th").all_inner_texts() == ["strong", "<b>odd & name", "weak"]
    assert problems(page) == []
    page.click("th a:has-text('weak')")
    assert page.locator("h1").inner_text() == "weak" and problems(page) == []
    page.click("header a")
    assert page.url == index.as_uri() and messages == []
    page.set_viewport_size({"width": 390, "height": 844})
    for place in (index, write_leaderboard(board, tmp_path / "board.html")):
        page.goto(place.as_uri())
        page.locator(".eyebrow .verdict").evaluate("badge => badge.append(', ' + 'which is first '.repeat(5))")
        assert page.evaluate("document.documentElement.scrollWidth") == 390, "a long verdict breaks on a phone"
    page.close()
