"""Runs of every release are kept, and every later version reads, audits, reports and verifies them."""

import json
import shutil
from pathlib import Path

import pytest

import countenance as ct
from countenance.cli import app

RUNS = sorted(path.parent for path in Path(__file__).parent.glob("*/*/run.json"))


@pytest.mark.parametrize("place", RUNS, ids=lambda place: f"{place.parent.name}/{place.name}")
def test_a_run_of_an_earlier_release_is_read(place: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(place, copy)
    run = ct.Run(copy)
    assert run.manifest["countenance"] == place.parent.name and run.complete
    assert run.scores().num_rows and run.answers()
    assert app.run(["verify", str(copy)]) == 0
    audit = ct.audit(run, by=["gender"], metrics=["recall@0.5"])
    stored = json.loads((place / "audit.json").read_text(encoding="utf-8"))
    assert audit.verdict == stored["verdict"]
    assert run.report(tmp_path / "report.html").exists()


def test_there_is_a_run_of_this_release() -> None:
    assert any(place.parent.name == "0.2.0" for place in RUNS)
