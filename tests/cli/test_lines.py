"""What the commands print: one function prints, and nothing in a foreign name can steer the terminal."""

import ast
import io
import json
import sys
import unicodedata
from pathlib import Path

import pytest

from countenance.cli import app, lines, tables
from countenance.cli.lines import note, say
from countenance.cli.progress import progress
from countenance.data.image import encode_png
from countenance.testing import face_picture
from countenance.text import printable

SOURCE = Path(__file__).resolve().parents[2] / "src" / "countenance"
HOSTILE = "\x1b]0;owned\x07\x1b[31m\u202e\x9b2J"
OUTSIDE = {
    "suites/fhibe/original/__main__.py": 3,
    "suites/happyfaces/questions.py": 2,
    "run/engine/relay.py": 1,
    "worker_process.py": 1,
}
"""Files outside the commands that print, and how often: a published script's wrapper, a dialogue, child processes."""


def printing_calls(path: Path) -> int:
    """How often a file prints other than through `say`: by print, by a function of typer or click, or by a stream."""
    found, text = 0, path.read_text(encoding="utf-8")
    if not any(word in text for word in ("print", "echo", "sys.std")):
        return 0
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            found += node.func.id == "print"
        elif isinstance(node.func, ast.Attribute):
            found += node.func.attr in ("echo", "secho", "print_exc", "print_exception") and not (
                node.func.attr == "print_exc" and any(word.arg == "file" for word in node.keywords)
            )
            owner = ast.unparse(node.func.value)
            found += node.func.attr in ("write", "writelines") and owner in ("sys.stdout", "sys.stderr")
    return found


def test_every_command_prints_through_say():
    stray = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        allowed = OUTSIDE.get(place, 0) + (place == "cli/lines.py")
        calls = printing_calls(path)
        if calls != allowed:
            stray[place] = calls
    assert stray == {}


@pytest.mark.parametrize("code", [*range(32), *range(127, 160), 0x200E, 0x202E, 0x2066, 0xD800])
def test_control_characters_are_shown_as_codes(code):
    shown = printable(chr(code))
    assert shown == chr(code) if chr(code) in "\n\t" else shown.startswith("\\") and shown.isascii()


def test_letters_and_spaces_of_every_language_stay():
    text = "Ærø · 5 % · Ελληνικά · 日本語 · 👩 ₁ █ \u202f|"
    assert printable(text) == text


@pytest.mark.parametrize("function, stream", [(say, "out"), (note, "err")])
def test_a_terminal_that_knows_fewer_letters_gets_codes(function, stream, monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, f"std{stream}", narrow)
    function("Score₁ █")
    assert narrow.buffer.getvalue() == b"Score\\u2081 \\u2588\n"


def test_progress_without_a_terminal_is_clean(capsys):
    with progress(f"images of {HOSTILE}", 2) as step:
        step(2)
    assert clean(capsys.readouterr())


def test_progress_on_a_terminal_is_clean(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with progress(f"a [red]name[/red] {HOSTILE}", 2) as step:
        step(2)
    shown = sys.stderr.getvalue()
    assert "[red]name[/red]" in shown and "\x07" not in shown and "\u202e" not in shown


def test_a_usage_error_is_clean(capsys):
    for words in (["run", f"--no{HOSTILE}"], [f"no{HOSTILE}"], ["verify"]):
        assert app.run(words) == 2
        told = capsys.readouterr()
        assert told.err.strip() and clean(told)


def test_a_bug_is_told_cleanly(monkeypatch, capsys):
    monkeypatch.setattr("countenance.run.store.RunStore.manifest", broken)
    assert app.run(["verify", "."]) == 3
    told = capsys.readouterr()
    assert clean(told) and "This is a bug" in told.err and "test_lines" in told.err


def broken(_):
    raise RuntimeError(HOSTILE)


def clean(told) -> bool:
    """Whether a capture holds no sign that could steer a terminal."""
    return not [
        sign for sign in told.out + told.err if unicodedata.category(sign) in ("Cc", "Cf", "Cs") and sign not in "\n\t"
    ]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """A COCO file and saved predictions whose names carry control characters."""
    folder = tmp_path_factory.mktemp("hostile")
    images, annotations, predictions = [], [], []
    for i in range(40):
        pixels, (x0, y0, x1, y1) = face_picture(i)
        name = f"{i}.png"  # a reader refuses control characters in the names of files
        (folder / name).write_bytes(encode_png(pixels))
        images.append({"id": i + 1, "file_name": name, "width": 64, "height": 64})
        box = [float(x0), float(y0), float(x1 - x0), float(y1 - y0)]
        about = {f"tone{HOSTILE}": f"{'ab'[i % 2]}{HOSTILE}"}
        annotations.append(
            {
                "id": i + 1,
                "image_id": i + 1,
                "category_id": 1,
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": 0,
                "attributes": about,
                "identity": f"who{i}{HOSTILE}",
            }
        )
        if i % 4 != 1:
            predictions.append({"image_id": i + 1, "category_id": 1, "bbox": box, "score": 0.9})
    content = {"images": images, "annotations": annotations, "categories": [{"id": 1, "name": "face"}]}
    (folder / "data.json").write_text(json.dumps(content))
    (folder / "predictions.json").write_text(json.dumps(predictions))
    return folder


def test_hostile_names_reach_the_terminal_in_no_command(hostile, tmp_path, capsys):
    data, out, by = str(hostile / "data.json"), str(tmp_path / f"run{HOSTILE}"), f"tone{HOSTILE}"
    saved = f"predictions:{hostile / 'predictions.json'}"
    run = ["run", "face_localization", "--model", saved, "--data", data]
    (tmp_path / "ids.txt").write_text(f"who3{HOSTILE}\nwho{HOSTILE}\n")
    commands = [
        (["data", "show", data], 0),
        (["data", "check", data], 0),
        (["data", "index", data, "--out", str(tmp_path / f"index{HOSTILE}")], 0),
        ([*run, "--out", out, "--by", by], 0),
        ([*run, "--out", out, "--by", f"none{HOSTILE}"], 2),
        ([*run, "--out", f"{out}2", "--limit", "20"], 0),
        (["audit", out, "--by", by], 0),
        (["audit", out, "--by", by, "--metric", f"none{HOSTILE}"], 2),
        (["plan", "--source", out, "--by", by, "--metric", f"no{HOSTILE}"], 2),
        (["plan", "--source", out, "--by", by], None),
        (["gate", out, "--init"], 0),
        (["report", out], 0),
        (["compare", out, f"{out}2"], None),
        (["leaderboard", out, f"{out}2", "--report", str(tmp_path / "page.html")], None),
        (["gate", out, "--policy", str(tmp_path / f"no{HOSTILE}.yaml")], 2),
        (["verify", out], 0),
        (["purge", out, "--subjects", str(tmp_path / "ids.txt")], 0),
        (["purge", out, "--subjects", str(tmp_path / "ids.txt")], 2),
        (["verify", f"{out}{HOSTILE}"], 2),
    ]
    for words, code in commands:
        found = app.run(words)
        told = capsys.readouterr()
        assert clean(told), words
        assert found in (0, 1, 2) if code is None else found == code, (words, told.err)


def test_verdicts_have_a_colour_in_a_terminal_alone(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    line = lines.PaintedLine(["verdict  ", lines.PaintedText("dis\x1bparity", "severe")])
    assert line == "verdict  dis\x1bparity"
    lines.say(line)
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines.say(line)
    out = capsys.readouterr().out
    assert out.count("\x1b[") == 2 and "\\x1b" in out, "text cannot colour, a mark can"
    monkeypatch.setenv("NO_COLOR", "1")
    lines.say(line)
    assert "\x1b" not in capsys.readouterr().out


def test_a_narrow_table_shortens_drops_and_cuts_in_this_order() -> None:
    rows = [("who", "p", "verdict"), ("a" * 30, "0.01", lines.PaintedText("disparity (severe)", "severe", "worse"))]
    assert max(map(len, tables.fitted(rows, 45))) <= 45 and "worse" in tables.fitted(rows, 45)[1]
    assert "0.01" in tables.fitted(rows, 45, ["p"])[1] and "0.01" not in tables.fitted(rows, 38, ["p"])[1]
    assert "…" in tables.fitted(rows, 30, ["p"])[1] and max(map(len, tables.fitted(rows, 30, ["p"]))) <= 30
    assert "disparity (severe)" in tables.fitted(rows)[1]


def test_a_run_without_comparisons_says_so(tmp_path, capsys):
    """Nobody has an attribute: there is nothing to compare, and no adjustment of nothing is named."""
    import csv

    from countenance.cli.app import run as command
    from countenance.testing import write_small_dataset

    discs = write_small_dataset(tmp_path / "discs", n=12)
    table = (discs / "labels.csv").read_text().splitlines()
    names = table[0].split(",")
    plain = [name for name in names if not name.startswith("attr.") and name not in ("gender", "skin_tone")]
    assert len(plain) < len(names)
    rows = list(csv.DictReader(table))
    with (discs / "labels.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, plain, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    words = ["run", "face_localization", "--model", "countenance.testing:DiscDetector", "--data", str(discs), "-q"]
    assert command([*words, "--out", str(tmp_path / "run")]) == 0
    assert "findings none: nothing was compared\n" in capsys.readouterr().out
