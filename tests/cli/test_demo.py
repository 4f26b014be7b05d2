"""`countenance demo`: the first command of the README, as it is typed."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from countenance.cli.app import app

pytest.importorskip("cv2")
RUNS = ("demo", "demo-twins/haar", "demo-twins/mtcnn")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("first")
    result = CliRunner().invoke(app, ["demo", "--out", str(folder / "demo"), "--quiet"])
    assert result.exit_code == 0, result.output
    assert f"open     {folder / 'demo-twins' / 'index.html'}" in result.output
    return folder


def test_fewer_than_a_quarter_of_its_comparisons_are_untestable(folder: Path) -> None:
    verdicts: Counter[str] = Counter()
    for run in RUNS:
        verdicts.update(pq.read_table(folder / run / "findings.parquet", columns=["verdict"])["verdict"].to_pylist())
    assert verdicts.total() > 300
    assert verdicts["untestable"] < verdicts.total() / 4


def test_its_page_opens_with_a_detector_that_fails_by_tone_and_with_another_that_does_not(folder: Path) -> None:
    page = (folder / "demo-twins" / "index.html").read_text(encoding="utf-8")
    sentences = re.findall(r"For (\d+) of 160 people, skin tone alone decides whether they are found", page)
    assert int(sentences[0]) >= 20
    assert int(sentences[-1]) <= 2
    assert len(page) < 1_500_000
