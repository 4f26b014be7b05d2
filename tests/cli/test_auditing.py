"""`countenance audit` and `countenance plan`, as they are typed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from countenance.cli.app import run as run_command
from countenance.testing import write_small_dataset


def command(*arguments: object) -> int:
    return run_command([str(argument) for argument in arguments])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = ["tone,sex,age,light,person,correct,latency_ms,split"]
    for i in range(1200):
        tone, light = rng.choice(["light", "dark"]), rng.choice(["dim", "bright"])
        correct = int(rng.random() < (0.8 if tone == "dark" else 0.95))
        latency = 100 + 10 * rng.normal() + (8 if tone == "dark" else 0)
        sex, part = rng.choice(["f", "m"]), rng.choice(["train", "test"])
        age = rng.integers(1, 90)
        lines.append(f"{tone},{sex},{age},{light},p{i // 3},{correct},{latency:.2f},{part}")
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def audited(table: Path, *options: object) -> dict:
    out = table.parent / "out.json"
    assert command("audit", table, "--json", out, "--quiet", *options) == 0
    return json.loads(out.read_text(encoding="utf-8"))


def test_everything_is_said_and_stored(table, capsys) -> None:
    asked = ["--by", "tone,sex", "--metric", "correct,latency_ms", "--cluster", "person", "--where", "light=dim"]
    found = audited(table, *asked, "--delta", "correct=.01,latency_ms=5", "--better", "latency_ms=lower")
    settings = found["settings"]
    assert found["verdict"] == "disparity" and settings["delta"] == {"correct": 0.01, "latency_ms": 5.0}
    assert settings["better"] == {"correct": "higher", "latency_ms": "lower"} and settings["where"] == {
        "light": ["dim"]
    }
    assert settings["unit"].startswith("person (column person): ")
    assert {entry["attribute"] for entry in settings["not_compared"]} >= {"age", "light", "split"}
    directions = {f["metric"]: f["direction"] for f in found["findings"] if f["group"] == "dark"}
    assert directions == {"correct": "worse", "latency_ms": "worse"}
    out = capsys.readouterr().out
    for line in (
        "verdict  disparity",
        "in short Where light = dim: tone = dark does worse than tone = light",
        "unit     ",
        "where    light = dim",
        "adjusted by min-p over",
        "not compared: ",
    ):
        assert line in out, line


def test_equity_measures_are_printed_and_in_the_json(table, capsys) -> None:
    found = audited(table, "--by", "tone", "--metric", "correct", "--equity", "--adjust", "holm")
    assert "equity measures" in capsys.readouterr().out
    ratio = next(one for one in found["equity"] if one["measure"] == "impact_ratio")
    assert ratio["attribute"] == "tone" and ratio["low"] < ratio["value"] < ratio["high"] < 1
    assert 0.9 < ratio["fair"] < 1 and ratio["p"] < 0.01 and set(ratio["groups"]) == {"dark", "light"}
    assert "equity" not in audited(table, "--by", "tone", "--metric", "correct", "--adjust", "holm")


def test_groups_that_no_row_can_answer_for_are_one_line_with_their_count(table, capsys) -> None:
    options = ["--truth", "correct", "--pred", "guess", "--by", "tone,sex,tone*sex", "--adjust", "holm"]
    lines = table.read_text(encoding="utf-8").splitlines()
    guesses = ["guess", *(str(int(place % 5 > 1)) for place in range(len(lines) - 1))]
    rows = [f"{line},{guess}" for line, guess in zip(lines, guesses, strict=True)]
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    excluded = [left for left in audited(table, *options)["excluded"] if left["metric"] == "selection_ratio"]
    assert len(excluded) == 4, "the JSON lists every group"
    printed = capsys.readouterr().out
    assert printed.count("selection_ratio is not computed") == 1
    assert "left out 4 groups of tone × sex: selection_ratio is not computed by this attribute" in printed


def test_without_by_every_attribute_is_compared(table, capsys) -> None:
    found = audited(table, "--metric", "correct")
    assert found["settings"]["by"] == ["tone", "sex", "light"] and found["settings"]["depth"] == 1
    why = {entry["attribute"]: entry["why"] for entry in found["settings"]["not_compared"]}
    assert "numbers" in why["age"] and "divided" in why["split"] and "person" not in why
    assert "unit     person (column person): " in capsys.readouterr().out


def test_bins_intersections_and_families(table) -> None:
    found = audited(
        table, "--by", "age:18,40,65,sex,tone*sex", "--metric", "correct,latency_ms", "--families", "metric"
    )
    assert {f["attribute"] for f in found["findings"]} == {"age", "sex", "tone × sex"}
    assert {f["family"] for f in found["findings"]} == {"correct", "latency_ms"}
    assert found["settings"]["by"] == ["age:18,40,65", "sex", "tone*sex"]
    named = audited(
        table, "--by", "sex,tone", "--metric", "correct,latency_ms", "--families", "safety=correct;speed=latency_ms"
    )
    assert {f["family"] for f in named["findings"]} == {"safety", "speed"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "tonne", "--metric", "correct"], "did you mean 'tone'"),
        (["--by", "tone"], "name the metrics"),
        (["--by", "tone", "--metric", "correct", "--where", "light=green"], "no row has light = green"),
        (["--by", "tone", "--metric", "correct", "--delta", "big"], "expected a number above 0"),
        (["--by", "tone", "--metric", "correct", "--better", "correct=up"], "METRIC=higher"),
        (["--by", "tone", "--metric", "correct", "--adjust", "none"], "expected minp, holm or bh"),
        (["--by", "sex:18", "--metric", "correct"], "cannot be cut into bins"),
        (["--by", "tone", "--metric", "correct", "--families", "=x"], "families"),
    ],
)
def test_wrong_options_are_one_line_and_exit_2(table, capsys, options, words) -> None:
    assert command("audit", table, *options) == 2
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1 and err.startswith("error: ")


def test_a_long_adjustment_stops_cleanly(tmp_path) -> None:
    rng = np.random.default_rng(0)
    n = 60_000
    path, out = tmp_path / "big.csv", tmp_path / "out.json"
    columns = [rng.integers(0, 9, n).astype(str), rng.integers(0, 9, n).astype(str), (rng.random(n) < 0.9).astype(int)]
    path.write_text("a,b,ok\n" + "\n".join(f"x{a},y{b},{k}" for a, b, k in zip(*columns, strict=True)) + "\n")
    script = (  # Ctrl-C comes when the permutations begin, however fast the machine is
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
        "from countenance.auditing import minp\n"
        "whole = minp.Shuffling.adjust\n"
        "def stopped(*given):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    return whole(*given)\n"
        "minp.Shuffling.adjust = stopped\n"
        "from countenance.cli.app import main\n"
        "main()\n"
    )
    asked = [sys.executable, "-c", script, "audit", str(path), "--by", "a,b", "--metric", "ok", "--json", str(out)]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 130 and "nothing was written" in ended.stderr and "Traceback" not in ended.stderr
    assert not ended.stdout and not out.exists()


def test_a_run_is_checked_before_any_image_is_evaluated(tmp_path, capsys, monkeypatch) -> None:
    import countenance.run

    discs = write_small_dataset(tmp_path / "discs", n=40)
    monkeypatch.setattr(countenance.run, "evaluate", lambda *a, **k: pytest.fail("an image was evaluated"))
    asked = (
        "run",
        "face_localization",
        "--model",
        "countenance.testing:DiscDetector",
        "--data",
        discs,
        "--out",
        tmp_path / "r",
    )
    for options, words in (
        (("--by", "skin_tone:18"), "cannot be cut into bins"),
        (("--by", "skin_tone*sex"), "no attribute 'sex'"),
        (("--where", "gender=other"), "no row has gender = other"),
        (("--where", "gendr=female"), "where: no attribute 'gendr'"),
        (("--delta", "speed=1"), "'speed' is not one of the metrics"),
        (("--adjust", "none"), "expected minp, holm or bh"),
        (("--given", "img.size_px:quantiles9"), "given: 'img.size_px:quantiles9', expected quantiles2 to quantiles4"),
        (("--given", ""), "--given '': expected names of columns"),
        (("--given", "recall@0.5"), "no attribute 'recall@0.5'"),
    ):
        assert command(*asked, *options) == 2
        assert words in capsys.readouterr().err


def test_a_part_of_a_run_is_audited_and_its_page_says_so(tmp_path, capsys) -> None:
    discs = write_small_dataset(tmp_path / "discs", n=90)
    asked = ("run", "face_localization", "--model", "countenance.testing:DiscDetector", "--data", discs, "--quiet")
    assert command(*asked, "--out", tmp_path / "run", "--by", "skin_tone", "--where", "gender=female") == 0
    stored = json.loads((tmp_path / "run" / "audit.json").read_text(encoding="utf-8"))
    assert stored["settings"]["where"] == {"gender": ["female"]}
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Where gender = female" in page and "--where gender=female" in page
    capsys.readouterr()
    assert command("audit", tmp_path / "run", "--by", "skin_tone", "--where", "gender=female", "--quiet") == 0
    assert "where    gender = female" in capsys.readouterr().out


def test_plan_for_a_table_says_how_many_more(table, capsys) -> None:
    assert command("plan", "--source", table, "--by", "tone,sex", "--metric", "correct", "--cluster", "person") == 0
    lines = capsys.readouterr().out.strip().splitlines()
    assert len(lines) == 6 and all("people (" in line for line in lines)
    assert any("more people" in line for line in lines) and "with 80% power" in lines[0]
    assert command("plan", "--source", table, "--by", "tone", "--metric", "latency_ms") == 2
    assert "give an effect or delta" in capsys.readouterr().err
    assert command("plan", "--source", table, "--by", "tone", "--metric", "latency_ms", "--effect", "diff=2") == 0
    assert "show a gap of" in capsys.readouterr().out


def test_plan_knows_people_and_means(capsys) -> None:
    assert (
        command("plan", "--metric", "mean", "--effect", "diff=5", "--sd", 20, "--rows-per-person", 4, "--icc", 0.5) == 0
    )
    assert "191 people with 764 rows in each of 2 groups" in capsys.readouterr().out
    assert command("plan", "--metric", "speed") == 2


@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_table_with_another_separator_is_read_alike(
    table: Path, capsys: pytest.CaptureFixture[str], sign: str
) -> None:
    other = table.with_name("other.csv")
    other.write_text(table.read_text(encoding="utf-8").replace(",", sign), encoding="utf-8")
    shown = []
    for path in (table, other):
        assert command("audit", path, "--by", "tone", "--metric", "correct") == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1]


def test_a_name_in_other_case_is_suggested(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("audit", table, "--by", "TONE", "--metric", "correct") == 2
    assert "did you mean 'tone'" in capsys.readouterr().err


def test_the_smallest_p_of_the_permutations_is_printed_as_a_bound(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("audit", table, "--by", "tone", "--metric", "correct", "--quiet") == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("correct ")]
    assert " < 0.0005 " in line


def test_a_metric_without_values_has_no_nan_in_its_table(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.write_text("g,ok\n" + "a,\n" * 30 + "b,\n" * 30, encoding="utf-8")
    assert command("audit", table, "--by", "g", "--metric", "ok", "--quiet") == 0
    out = capsys.readouterr().out
    assert "no row has a value of the metric" in out and "nan" not in out


def test_a_run_that_cannot_be_written_to_is_audited_all_the_same(tmp_path, capsys, monkeypatch) -> None:
    import countenance.run
    from countenance.testing import DiscDetector

    data = write_small_dataset(tmp_path / "set", n=30)
    countenance.run.evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run")

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "audit.json")

    monkeypatch.setattr(countenance.run, "store_audit", refused)
    told = tmp_path / "told.json"
    assert command("audit", tmp_path / "run", "--by", "skin_tone", "--adjust", "holm", "--json", told) == 0
    found = capsys.readouterr()
    assert "verdict" in found.out and told.is_file()
    assert "the audit is not stored (audit.json: Permission denied)" in found.err
    for words in (
        ["report", tmp_path / "run", "--out", tmp_path / "page.html"],
        ["card", tmp_path / "run", "--out", told],
    ):
        assert command(*words) == 0 and "not stored" in capsys.readouterr().err
    assert "Whom it fails" in (tmp_path / "page.html").read_text() or (tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize("text", ["", " , "])
def test_conditions_without_a_name_are_refused(table, capsys, text):
    assert command("audit", table, "--by", "sex", "--metric", "correct", "--given", text) == 2
    assert f"--given {text!r}: expected names of columns" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("condition", "words"), [("correct", "is a metric"), ("person", "says whose a row is"), ("sex", "with itself")]
)
def test_columns_with_another_role_are_refused_as_conditions(table, capsys, condition, words):
    assert command("audit", table, "--by", "sex", "--metric", "correct", "--given", condition) == 2
    error = capsys.readouterr().err
    assert words in error and "given: " in error and "permutations" not in error
