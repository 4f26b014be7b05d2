"""The hostile corpus: no code runs, nothing outside is touched, exit 0, 1 or 2 with a sentence."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.hostile.items import COMMANDS, Item, corpus
from tests.hostile.making import make_good
from tests.hostile.sweep import HERE, judged, untouched, world

from countenance.cli.app import run as command

ITEMS = {item.name: item for item in corpus()}
SLOW = (
    "rows-without-end",
    "text-without-end",
    "boxes-rows-without-end",
    "boxes-text-without-end",
    "tar-bomb",
    "boxes-200000",
)
"""Items that take seconds to make; the sweep has them."""
EDITED = ("edited-table", "edited-table-unfinished", "hashes-are-missing", "format-before-hashes")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile") / "good"
    make_good(folder)
    return folder


def ran(good: Path, item: Item, words: list[str], place: Path, capsys, monkeypatch) -> tuple[int, str, list[str]]:
    """A command over an item in this process: its exit code, what it said, and what is wrong."""
    canary = place / "canary"
    monkeypatch.setenv("CANARY", str(canary))
    with world(good, item, place) as folder:
        monkeypatch.chdir(folder)
        (folder / "out").mkdir(exist_ok=True)
        before = untouched(folder)
        code = command(words)
        said = capsys.readouterr()
        text = said.out + said.err
        return code, text, judged(code, text, canary, before, untouched(folder))


TELLING = [
    pytest.param(name, command, id=f"{name}-{command}")
    for name, item in ITEMS.items()
    if name not in SLOW
    for command in item.telling[:1]
]


@pytest.mark.parametrize(("name", "which"), TELLING)
def test_a_hostile_item_costs_one_line(good: Path, name: str, which: str, tmp_path: Path, capsys, monkeypatch) -> None:
    item = ITEMS[name]
    _, text, problems = ran(good, item, COMMANDS[item.kind][which], tmp_path, capsys, monkeypatch)
    assert problems == [], text[-800:]


@pytest.mark.parametrize("name", EDITED)
@pytest.mark.parametrize("which", ["gate", "audit", "report", "compare"])
def test_an_edited_run_is_refused_and_said_to_be_unverified(
    good: Path, name: str, which: str, tmp_path: Path, capsys, monkeypatch
) -> None:
    words = COMMANDS["run"][which]
    code, text, problems = ran(good, ITEMS[name], words, tmp_path, capsys, monkeypatch)
    assert code == 2 and problems == [] and "error:" in text
    if name == "edited-table":
        assert "scores.parquet: its content is not what was written" in text and "--unverified" in text
        code, text, _ = ran(good, ITEMS[name], [*words, "--unverified"], tmp_path, capsys, monkeypatch)
        assert code in (0, 1)
        assert which == "report" or "were not compared with their hashes (--unverified)" in text


def test_a_page_of_a_run_that_was_not_verified_says_so(good: Path, tmp_path: Path, capsys, monkeypatch) -> None:
    with world(good, ITEMS["edited-table"], tmp_path) as folder:
        for words in (["report", "--out"], ["report", "--evidence", "--out"], ["card", "--out"]):
            page = folder / f"page{len(words)}.html"
            assert command([words[0], str(folder / "run"), *words[1:], str(page), "--unverified"]) == 0
            assert "were not compared with their hashes" in page.read_text()


@pytest.mark.slow
def test_every_command_over_every_item() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "sweep.py"), "--jobs", "2"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")},
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
