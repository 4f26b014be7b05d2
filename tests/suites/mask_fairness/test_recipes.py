"""Each of the six assessed algorithms runs here with its weights, and has a recipe that says whose they are."""

import json
import re

import pytest

from countenance.cli.app import run as command
from countenance.suites.mask_fairness.detectors import ALGORITHMS, RECIPES, recipe_of, slug

ASSESSED = [row for row in ALGORITHMS if row.assessed]


def test_all_six_run_here_with_their_weights() -> None:
    assert len(ASSESSED) == 6 and {row.status for row in ASSESSED} == {"runs here with --weights"}


@pytest.mark.parametrize("row", ASSESSED, ids=lambda row: row.name)
def test_a_recipe_says_licence_and_weights_and_runs_the_right_detector(row) -> None:
    text = recipe_of(row.name)
    assert f"# Licence: {row.licence}\n" in text and f"# Weights: {row.weights}\n" in text
    (line,) = re.findall(r"^ENTRYPOINT (.+)$", text, re.MULTILINE)
    words = json.loads(line)
    assert words[:3] == ["countenance", "mask-fairness", "assess"]
    assert words[words.index("--detector") + 1] == row.zoo
    weights = words[words.index("--weights") + 1]
    copied = re.findall(r"^COPY (?!--from)(.+) /weights/\S*$", text, re.MULTILINE)
    assert weights.rsplit("/", 1)[1] in " ".join(copied).split()
    assert "http" not in text and "curl" not in text, "nobody's weights are fetched by it"


def test_packages_that_only_run_together_are_named_together() -> None:
    texts = [text for row in ASSESSED if "tensorflow" in (text := recipe_of(row.name))]
    assert len(texts) == 2
    for text in texts:  # without the bound, pip chooses an onnx that fails on import beside TensorFlow 2.15
        assert '"tensorflow-cpu<2.16" tf2onnx "onnx<1.18" "numpy<2"' in text


def test_no_recipe_is_left_over() -> None:
    files = {path.name for path in RECIPES.iterdir()}
    assert files == {f"{slug(row.name)}.Containerfile" for row in ASSESSED}


def test_the_command_prints_or_writes_it(tmp_path, capsys) -> None:
    assert command(["mask-fairness", "recipe", "moxa_yolov3_tiny"]) == 0
    assert "yolov3-tiny.weights" in capsys.readouterr().out
    assert command(["mask-fairness", "recipe", "RHF", "--out", str(tmp_path / "Containerfile")]) == 0
    assert (tmp_path / "Containerfile").read_text() == recipe_of("RHF")
    capsys.readouterr()
    assert command(["mask-fairness", "recipe", "RHH"]) == 2
    assert "did you mean RHF?" in capsys.readouterr().err
