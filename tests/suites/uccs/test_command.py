"""The commands as a participant types them."""

import json
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures" / "ties"


@pytest.fixture
def mine(tmp_path, good_lines):
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(good_lines) + "\n")
    return path


def curves(path):
    return json.loads(Path(path).read_text())["curves"]


def test_the_contract_of_evaluate_detector(command):
    file = FIXTURES / "v2-detection.txt"
    options = ("--data-directory", FIXTURES, "--result-files", file, "--log-x", "--only-present", "--json", "o.json")
    assert command("evaluate-detector", *options)[0] == 0
    expected = json.loads((FIXTURES / "ref-v2-froc-log-only-present.json").read_text())["curves"]
    assert curves("o.json") == expected
    assert Path("UCCS-v2-FROC.pdf").read_bytes().startswith(b"%PDF-1.4")


def test_the_contract_of_evaluate_recognizer(command):
    file = FIXTURES / "v2-recognition.txt"
    options = ("--data-directory", FIXTURES, "--result-files", file, "--rank", 3, "--json", "o.json")
    assert command("evaluate-recognizer", *options)[0] == 0
    assert curves("o.json") == json.loads((FIXTURES / "ref-v2-dir-lin-rank3.json").read_text())["curves"]
    assert Path("UCCS-v2-DIR.pdf").is_file()


def test_version_three_is_recognised_by_its_files(command):
    file = FIXTURES / "v3-detection.txt"
    assert command("evaluate-detector", "-d", FIXTURES, "-r", file, "--json", "o.json")[0] == 0
    found = json.loads(Path("o.json").read_text())
    assert found["protocol_version"] == 3
    assert found["curves"] == json.loads((FIXTURES / "ref-v3-froc.json").read_text())["curves"]
    assert Path("UCCS-v3-FROC.pdf").is_file()


def test_several_files_with_labels_follow_one_option(command, small, mine):
    code, _, _ = command(
        "evaluate-detector", "-d", small, "--result-files", mine, mine, "--labels", "A", "B", "--json", "o.json", "-s"
    )
    assert code == 0
    assert [curve["label"] for curve in curves("o.json")] == ["A", "B"]


def test_files_may_also_repeat_the_option(command, small, mine):
    files = ("-r", mine, "-r", mine)
    assert command("evaluate-detector", "-d", small, *files, "--json", "o.json")[0] == 0
    assert [curve["label"] for curve in curves("o.json")] == ["mine.txt", "mine.txt"]
    files = (f"--result-files={mine}", mine)
    assert command("evaluate-detector", "-d", small, *files, "--json", "o.json")[0] == 0
    assert [curve["label"] for curve in curves("o.json")] == ["mine.txt", "mine.txt"]


@pytest.mark.parametrize("ending", ["pdf", "png", "svg", "html"])
def test_plots_are_written_in_the_format_of_their_ending(command, small, mine, ending):
    assert command("evaluate-recognizer", "-d", small, "-r", mine, "--dir-file", f"plots/p.{ending}")[0] == 0
    content = Path(f"plots/p.{ending}").read_bytes()
    assert {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<svg", "html": b"<html"}[ending] in content[:40]
    assert [path.name for path in Path("plots").iterdir()] == [f"p.{ending}"], "nothing temporary is left"


def test_an_unknown_ending_is_refused_before_any_work(command, small):
    code, _, err = command("evaluate-detector", "-d", small, "-r", "none.txt", "--froc-file", "plot.gif")
    assert code == 2
    assert err == "error: plot.gif: plots are written as .pdf, .svg, .png, .html; choose one of these endings\n"


def test_wrong_input_is_one_line_and_leaves_nothing(command, small, mine):
    mine.write_text(mine.read_text() + "a.jpg,1,1,8,8\n")
    code, out, err = command("evaluate-detector", "-d", small, "-r", mine, "--json", "o.json")
    assert (code, out) == (2, "")
    columns = "FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE"
    assert err == f"error: {mine} line 7: 5 fields, expected at least 6 ({columns})\n"
    assert list(Path().iterdir()) == []


def test_a_band_is_drawn_when_asked_for(command, small, mine):
    assert (
        command("evaluate-detector", "-d", small, "-r", mine, "--bootstrap", 50, "--json", "o.json", "-w", "p.svg")[0]
        == 0
    )
    assert 'id="band-0"' in Path("p.svg").read_text()
    assert len(curves("o.json")[0]["low"]) == len(curves("o.json")[0]["x"])


def test_check_says_what_is_in_a_good_file(command, small, mine):
    code, out, err = command("check", mine, "--data-directory", small)
    assert (code, err) == (0, "")
    assert "2 (recognition)" in out
    assert "2 of the 2 images" in out
    assert out.endswith("ready to submit\n")


def test_check_lists_every_wrong_line(command, mine):
    lines = mine.read_text().splitlines()
    mine.write_text("\n".join([lines[0], "FILE,BB_X", "a.jpg,1,1", lines[3], "a.jpg,1,1,8,8,nan", '"a', ""]))
    code, _, err = command("check", mine)
    assert code == 2
    for expected in ("line 2: a header line", "line 3: 3 fields", "line 5: DETECTION_SCORE is 'nan'", "line 6: "):
        assert f"problem: {mine} {expected}" in err
    assert f"error: {mine}: 4 problems; not ready to submit" in err


def test_check_stops_after_twenty_problems(command, mine):
    mine.write_text("a.jpg,1\n" * 1000)
    code, _, err = command("check", mine)
    assert code == 2
    assert err.count("problem: ") == 21
    assert "20 or more problems" in err


def test_check_notices_what_looks_like_a_mistake(command, small, mine):
    mine.write_text("a.jpg,1,1,8,8,.5,3,.5,0,.4\na.jpg,1,1,8,8,.5,3,.5,4,.4\nz.jpg,1,1,8,8,.5,3,.5,4,.4\n")
    code, out, err = command("check", mine, "-d", small)
    assert code == 0
    assert "every detection score is 0.5" in err
    assert "line 2: the same box and score as an earlier line" in err
    assert "line 1: SUBJECT_ID 0" in err
    assert "no label is -1" in err
    assert "image 'z.jpg' is not in validation.csv" in err
    assert "1 images of the protocol have no detection" in err
    assert "ready to submit (see the notices)" in out


def test_check_wants_a_column_for_every_gallery_subject(command, small, tmp_path):
    landmarks = ",".join(f"{p}_{a}" for p in ("REYE", "LEYE", "NOSE", "RMOUTH", "LMOUTH") for a in "XY")
    rows = "".join(f"{s}.png,{s},{','.join('1' * 10)}\n" for s in (3, 5))
    (small / "gallery.csv").write_text(f"FILE,SUBJECT_ID,{landmarks}\n{rows}")
    path = tmp_path / "v3.txt"
    path.write_text("FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,S_0003\na,.5,1,1,8,8,.1\n")
    code, _, err = command("check", path, "-d", small)
    assert code == 2
    assert "no similarity column for gallery subject 5 (1 missing)" in err


def test_without_a_result_file_the_baseline_is_evaluated(command, small, mine):
    Path("results").mkdir()
    Path("results/UCCS-v2-detection-baseline-validation.txt").write_text(mine.read_text())
    assert command("evaluate-detector", "-d", small, "--json", "o.json")[0] == 0
    code, _, err = command("evaluate-recognizer", "-d", small)
    assert (code, err) == (2, "error: results/UCCS-v2-recognition-baseline-validation.txt: no such file\n")
