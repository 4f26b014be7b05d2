"""`countenance compare`, `leaderboard` and `audit --report`, as they are typed."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from countenance.cli.app import run as run_command


def command(*arguments: object) -> int:
    return run_command([str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Three models in CSV files: v1, v2 (better for all), v3 (worse for one group)."""
    rng = np.random.default_rng(0)
    n = 900
    tone, hard = rng.choice(["light", "dark"], n, p=[0.7, 0.3]), rng.random(n)
    paths = []
    for name, shift in (("zz_v1", 0.0), ("v2", 0.08), ("v3", np.where(tone == "dark", -0.15, 0.08))):
        ok = (hard < 0.85 + shift).astype(int)
        lines = ["photo,person,tone,correct", *(f"{i:03d},p{i // 2},{tone[i]},{ok[i]}" for i in range(n))]
        paths.append(tmp_path / f"{name}.csv")
        paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


ASKED = ("--by", "tone", "--metric", "correct", "--pair", "photo", "--cluster", "person", "--quiet")


def test_the_decision_comes_first_and_everything_is_written(files, tmp_path: Path, capsys) -> None:
    outputs = ["--json", tmp_path / "o.json", "--csv", tmp_path / "o.csv", "--report", tmp_path / "o.html"]
    assert command("compare", files[0], files[1], *ASKED, *outputs) == 0
    said = capsys.readouterr().out.splitlines()
    found = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert said[0] == f"decision {found['decision']}"
    assert found["decision"].startswith("v2 is better overall (+8.") and (found["a"], found["b"]) == ("zz_v1", "v2")
    with (tmp_path / "o.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["part"] for row in rows] == ["overall", "group", "group", "gap", "gap"]
    on_the_page = found["decision"].replace("0.05", "5 points")
    assert on_the_page in (tmp_path / "o.html").read_text(encoding="utf-8")


def test_more_than_two_models_are_ranked(files, tmp_path: Path, capsys) -> None:
    assert command("compare", *files, *ASKED, "--json", tmp_path / "o.json", "--report", tmp_path / "o.html") == 0
    found = json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))
    assert found["ranking"][0]["model"] == "v2"
    assert [(one["a"], one["b"]) for one in found["overall"]] == [("zz_v1", "v2"), ("zz_v1", "v3"), ("v2", "v3")]
    assert {gap["b"] for gap in found["gaps"] if gap["verdict"] == "disparity"} == {"v3"}
    assert "critical" in (tmp_path / "o.html").read_text(encoding="utf-8")


def test_leaderboard(files, tmp_path: Path, capsys) -> None:
    options = ["--metric", "correct", "--by", "tone", "--pair", "photo", "--cluster", "person"]
    outputs = ["--report", tmp_path / "o.html", "--json", tmp_path / "o.json", "--csv", tmp_path / "o.csv"]
    assert command("leaderboard", *files, *options, *outputs) == 0
    out = capsys.readouterr().out
    assert "v2 is better than all others" in out and "tone = dark" in out
    assert (tmp_path / "o.html").exists() and "group score" in (tmp_path / "o.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metric", "correct"], "name the column(s) with --pair"),
        (["--metric", "correct", "--pair", "person"], "have the same key (person = 'p0')"),
        (["--pair", "photo"], "name the metrics to compare"),
        (
            ["--metric", "correct", "--pair", "photo", "--gallery", "some"],
            "expected 'auto', 'off', 'blurred' or 'full'",
        ),
        (["--metric", "correct", "--pair", "photo", "--json", "/no/such/folder/o.json"], "cannot be written"),
        (["--metric", "correct", "--pair", "photo", "--alpha", "2"], "alpha 2.0"),
        (["--metric", "correct", "--pair", "photo", "--by", "tome"], "did you mean 'tone'"),
    ],
)
def test_wrong_input_is_one_line_and_exit_2(files, options, words, capsys) -> None:
    assert command("compare", files[0], files[1], *options, "--quiet") == 2
    said = capsys.readouterr().err.strip()
    assert words in said and said.count("\n") == 0 and said.startswith("error: ")


def test_one_table_or_none_is_refused(files, tmp_path: Path, capsys) -> None:
    assert command("compare", files[0]) == 2 and "expected two or more" in capsys.readouterr().err
    assert command("compare", files[0], tmp_path / "nowhere.csv") == 2
    assert "no such file or folder" in capsys.readouterr().err
    assert command("compare", files[0], tmp_path) == 2


def test_a_table_has_a_report(files, tmp_path: Path, capsys) -> None:
    page = tmp_path / "page.html"
    asked = ["--by", "tone", "--metric", "correct", "--cluster", "person", "--quiet", "--report", page]
    assert command("audit", files[2], *asked) == 0
    text = page.read_text(encoding="utf-8")
    assert "tone dark" in text and "served worse" in text and "All findings" in text
    assert "countenance audit v3.csv --by tone --metric correct --cluster person --report page.html" in text
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org", "")
    first = page.read_bytes()
    assert command("audit", files[2], *asked) == 0 and page.read_bytes() == first
