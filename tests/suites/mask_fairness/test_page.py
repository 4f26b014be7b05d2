"""The commands of docs/suites/mask_fairness.md, run on data made for them.

Weights of other projects and FairFace's photographs are not here: the shipped detector stands for theirs, and rendered
portraits in FairFace's layout for its photographs.
"""

import contextlib
import io
import shlex
from pathlib import Path

import pytest
from tests.test_how_to import assert_shown, steps

import countenance as ct
from countenance.cli.app import run as command

OURS = "countenance-mask"
WEIGHTS = {"face_mask_detection.caffemodel", "wearmask_yolo_fastest.onnx", "--weights"}


def write_fairface(root: Path) -> None:
    """Portraits as FairFace has its validation photographs, with every word that its label file uses."""
    (root / "val").mkdir(parents=True)
    lines = ["file,age,gender,race,service_test"]
    for number, sample in enumerate(list(ct.load_dataset("people:portraits"))[:24], 1):
        (root / "val" / f"{number}.jpg").write_bytes(sample.image.read_bytes())
        age, race = ("20-29", "03-Sep", "60-69")[number % 3], ("Black", "White", "East Asian")[number // 8 % 3]
        lines.append(f"val/{number}.jpg,{age},{('Male', 'Female')[number % 2]},{race},True")
    (root / "fairface_label_val.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_predictions(data: Path, file: Path) -> None:
    """The true boxes of a folder, as detectors write them with centres in shares of the picture (form 3)."""
    rows = []
    for labels in sorted(data.rglob("*.txt")):
        if labels.name != "classes.txt":
            rows += [f"{labels.stem},{','.join(line.split())}" for line in labels.read_text("utf-8").splitlines()]
    file.write_text("path,class,x,y,w,h\n" + "\n".join(rows) + "\n", encoding="utf-8")


@pytest.mark.slow
def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    write_fairface(Path("FAIRFACE"))
    page = [step for step in steps("suites/mask_fairness") if step.text.startswith("countenance ")]
    makes = next(step for step in page if "make-data" in step.text)
    assert command([*shlex.split(makes.text)[1:], "--quiet"]) == 0
    write_predictions(Path("data"), Path("theirs.csv"))
    for name in ("rfb320", "wearmask"):  # the page compares runs of other detectors with these names
        words = "mask-fairness assess --dataset fairface --data-directory FAIRFACE --by race -q"
        assert command([*words.split(), "--detector", OURS, "--out", f"out/{name}"]) == 0
    order = sorted(page, key=lambda step: "mask-fairness page" in step.text)  # the page shows it before its last input
    for step in order:
        words = [OURS if word in ("aizoo", "wearmask") else word for word in shlex.split(step.text)[1:]]
        words = [word if word != "25" else "0.1" for word in words if word not in WEIGHTS]
        words += ["--limit", "30"] if "assess" in words else []
        if step is makes:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = command(words)
        assert code == 0, (step.text, printed.getvalue())
        if words[0] == "plan":
            assert_shown(step.shown, printed.getvalue(), step.text)
        if "xywh" in words:
            assert "use --boxes cxcywh" in printed.getvalue() or "--units rel" in printed.getvalue()
    assert Path("table.html").is_file() and Path("countenance_mask.onnx").is_file() and len(page) == 10
