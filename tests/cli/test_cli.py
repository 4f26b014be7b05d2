import json
import subprocess
import sys

import pytest

from countenance.cli.app import run as run_command
from countenance.data import load_dataset
from countenance.data.sample import truth
from countenance.testing import write_small_dataset


@pytest.fixture
def discs(tmp_path):
    return write_small_dataset(tmp_path / "discs", n=90)


def command(*arguments: object) -> int:
    return run_command([str(argument) for argument in arguments])


def test_people_render_prints_how_and_refuses_to_render(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("people", "render") == 0
    assert "countenance-people render" in capsys.readouterr().out
    assert command("people", "render", "--n", 5) == 2
    assert "countenance-people render" in capsys.readouterr().err


def test_import_and_help_load_nothing_heavy() -> None:
    heavy = {"numpy", "scipy", "statsmodels", "pandas", "duckdb", "pyarrow", "plotly", "onnxruntime", "cv2", "torch"}
    script = (
        "import sys, countenance; before = set(sys.modules)\n"
        "from countenance.cli import app; app.run(['--help'])\n"
        f"print(sorted({heavy!r} & set(sys.modules)), sorted({heavy!r} & before), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[] []"


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "countenance", "data", "check", "nowhere"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stderr.startswith("error: 'nowhere' is neither")


def test_everything_public_can_be_named() -> None:
    import countenance

    for name in countenance.__all__:
        assert getattr(countenance, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = countenance.nonsense


def test_wrong_input_is_one_line_and_exit_2(capsys) -> None:
    assert command("data", "check", "nowhere") == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: 'nowhere' is neither") and shown.err.count("\n") == 1


def test_a_wrong_option_is_a_usage_error(capsys) -> None:
    assert command("run", "--nonsense") == 2
    assert "--nonsense" in capsys.readouterr().err


def test_a_bug_is_exit_3_with_a_traceback(capsys, monkeypatch) -> None:
    import countenance.data

    def broken(source):
        raise KeyError("oops")

    monkeypatch.setattr(countenance.data, "load_dataset", broken)
    assert command("data", "check", "people") == 3
    assert "This is a bug in countenance" in capsys.readouterr().err


def test_data_check_lists_problems_and_exits_2(discs, capsys) -> None:
    assert command("data", "check", discs) == 0
    assert "90 images, 45 people shown 90 times, no problem found" in capsys.readouterr().out
    (discs / "images" / "s00004.png").unlink()
    assert command("data", "check", discs) == 2
    out = capsys.readouterr().out
    assert "s00004.png: no such image" in out and "1 problem: 1 × missing image" in out


def test_data_show_prints_card_and_balance(discs, tmp_path, capsys) -> None:
    assert command("data", "show", discs, "--out", tmp_path / "sheet.html") == 0
    out = capsys.readouterr().out
    assert "licence     CC0" in out and "monk_2" in out and "█" in out
    assert (tmp_path / "sheet.html").read_text().lstrip().lower().startswith("<!doctype html>")


@pytest.mark.parametrize("form", ["coco", "folder"])
def test_data_export_reads_back(discs, tmp_path, form: str, capsys) -> None:
    assert command("data", "export", discs, "--layout", form, "--out", tmp_path / "out") == 0
    again = load_dataset(tmp_path / "out")
    assert [truth(a) for a in again] == [truth(b) for b in load_dataset(discs)]
    assert command("data", "export", discs, "--layout", form, "--out", tmp_path / "out") == 2
    assert "exists already" in capsys.readouterr().err


def test_run_audits_and_reports(discs, tmp_path, capsys) -> None:
    asked = ("run", "face_localization", "--model", "countenance.testing:DiscDetector", "--data", discs)
    assert command(*asked, "--out", tmp_path / "run", "--by", "skin_tone,gender", "--quiet") == 0
    out = capsys.readouterr().out
    assert out.startswith("verdict  ") and len(out.strip().splitlines()) <= 6
    for name in ("run.json", "scores.parquet", "failures.parquet", "findings.parquet", "report.html", "answers"):
        assert (tmp_path / "run" / name).exists()
    assert command(*asked, "--out", tmp_path / "run2", "--by", "skin") == 2
    assert "did you mean skin_tone" in capsys.readouterr().err


def test_audit_works_on_any_table(tmp_path) -> None:
    rows = ["group,ok"] + [f"a,{int(i % 10 > 2)}" for i in range(400)] + [f"b,{int(i % 10 > 0)}" for i in range(400)]
    table = tmp_path / "rows.csv"
    table.write_text("\n".join(rows) + "\n")
    out = tmp_path / "out.json"
    assert command("audit", table, "--by", "group", "--metric", "ok", "--comparison", "rest", "--json", out) == 0
    found = json.loads(out.read_text())
    assert set(found) >= {"verdict", "reason", "findings", "excluded"}
    (finding,) = found["findings"]
    assert found["verdict"] == "disparity" and finding["n"] + finding["n_versus"] == 800
    assert command("audit", table, "--by", "grp", "--metric", "ok") == 2
    assert command("audit", table) == 2


def test_report_without_a_run_is_refused(tmp_path, capsys) -> None:
    assert command("report", tmp_path) == 2
    assert "no run here" in capsys.readouterr().err


def test_plan_says_how_many(capsys) -> None:
    assert command("plan", "--rate", ".95", "--effect", "h=.2", "--groups", "9", "--cluster-deff", "4") == 0
    assert "1,470 rows in each of 9 groups" in capsys.readouterr().out
    assert command("plan", "--effect", "big") == 2


def test_lists(capsys) -> None:
    assert command("list") == 0 and command("models", "list") == 0
    out = capsys.readouterr().out
    assert "face_localization" in out and "mtcnn" in out and "runs here" in out


@pytest.mark.parametrize("name", ["", "."])
def test_an_empty_name_of_a_file_is_refused(name, discs, tmp_path, capsys) -> None:
    """An empty shell variable after --out."""
    from countenance.run import evaluate
    from countenance.testing import DiscDetector

    evaluate(DiscDetector(), "face_localization", discs, out=tmp_path / "run", limit=20)
    capsys.readouterr()
    for arguments in (["report"], ["export", "--what", "coco"], ["export", "--what", "findings", "--format", "md"]):
        assert command(*arguments, tmp_path / "run", "--out", name) == 2, arguments
        assert "expected the name of a file" in capsys.readouterr().err


def test_names_from_files_do_not_steer_the_terminal(tmp_path, capsys) -> None:
    red = "\x1b[31mred\x07"
    rows = "".join(f"p{k},{(red, 'blue')[k % 2]},{k % 3 // 2}\n" for k in range(80))
    (tmp_path / "t.csv").write_text("person,group,hit\n" + rows)
    assert command("audit", tmp_path / "t.csv", "--by", "group", "--metric", "hit", "--adjust", "holm") == 0
    assert command("audit", tmp_path / "t.csv", "--by", red, "--metric", "hit") == 2
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err and "\\x1b[31mred" in shown.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["audit", "t.csv", "--by", "a", "--by", "b"], "--by is given 2 times"),
        (["data", "show", "people", "--out", "a", "--out", "b"], "--out is given 2 times"),
    ],
)
def test_an_option_that_takes_one_value_is_refused_twice(arguments, told, capsys):
    assert run_command(arguments) == 2
    assert told in capsys.readouterr().err


def test_an_option_that_takes_several_values_may_be_repeated(tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("g,h,ok\n" + "a,x,1\nb,x,0\n" * 30)
    assert run_command(["audit", str(table), "--by", "g", "--metric", "ok", "--where", "g=a,b", "--where", "h=x"]) == 0


def test_ctrl_c_is_one_line(monkeypatch, capsys) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("countenance.data.registry.dataset_names", interrupted)
    assert command("data", "check", "people") == 130
    assert capsys.readouterr().err == "stopped; the same command resumes\n"
