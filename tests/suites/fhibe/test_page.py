"""The code and the commands of docs/suites/fhibe.md, run as they stand on data that `make-data` writes."""

import contextlib
import csv
import io
import shlex
import shutil
from pathlib import Path

import pytest
from tests.test_how_to import assert_shown, steps

from countenance.cli.app import run as command

MODELS = """
import numpy as np
import countenance as ct

class Parser:
    def __call__(self, images):
        return [ct.LabelMap(np.ones(image.shape[:2], np.uint8)) for image in images]
"""


@pytest.fixture
def dataset(rendered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with the data as FHIBE, stored outputs of a model `mine`, a wrapper's package and two lists."""
    root = tmp_path / "FHIBE"
    shutil.copytree(rendered, root)
    for outputs in list((root / "results").glob("*/*/demo")):
        shutil.copytree(outputs, outputs.with_name("mine"))
    shutil.copytree(root / "data/processed/fhibe_downsampled", root / "data/processed/fhibe")
    (root / "data/processed/fhibe/fhibe_downsampled.csv").rename(root / "data/processed/fhibe/fhibe.csv")
    (tmp_path / "my_package").mkdir()
    (tmp_path / "my_package" / "models.py").write_text(MODELS, encoding="utf-8")
    with (root / "data/processed/fhibe/fhibe.csv").open(encoding="utf-8", newline="") as stream:
        first, second, *_ = dict.fromkeys(row["subject_id"] for row in csv.DictReader(stream))
    (tmp_path / "withdrawn.txt").write_text(f"{first}\n", encoding="utf-8")
    (tmp_path / "withdrawn.csv").write_text(f"subject_id\n{second}\nstranger\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return root


@pytest.mark.slow
def test_the_page_runs(dataset: Path) -> None:
    page = steps("suites/fhibe")
    (script,) = [step for step in page if step.kind == "python"]

    class Wrapper:
        def data_preprocessor(self, img_filepaths: list[str], **_: object) -> list[list[str]]:
            return [img_filepaths]

        def __call__(self, batch: list[str]) -> list[dict[str, object]]:
            return [{"bboxes": [[1.0, 1.0, 40.0, 60.0]], "scores": [1.0], "labels": [0]} for _ in batch]

    exec(compile(script.text, "fhibe.md", "exec"), {"my_wrapper": Wrapper()})
    assert Path("bias.html").is_file() and Path("bias.pdf").is_file()

    run = dataset / "results" / "keypoint_estimation" / "fhibe_downsampled" / "mine" / "run"
    done = 0
    for step in page:
        program, *arguments = shlex.split(step.text, comments=True) if step.kind == "console" else [""]
        if program != "countenance" or "make-data" in arguments:
            continue  # tests/suites/fhibe/test_made_data.py and test_original.py run these
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = command([str(run) if word == "RUN" else word for word in arguments])
        assert code == 0, (step.text, printed.getvalue())
        assert_shown(step.shown, printed.getvalue().replace(str(run), "RUN"), f"fhibe: {step.text}")
        done += 1
    assert done == 8 and Path("bias.pdf").is_file()
