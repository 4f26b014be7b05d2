"""The command on real photographs: tables that a plain loop over the detector confirms."""

import csv
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from countenance.cli import mask_fairness

PHOTOS = 80


@pytest.fixture
def photographs(shared: Path, tmp_path: Path) -> Path:
    source = shared / "data" / "fairface"
    if not source.is_dir():
        pytest.skip("../shared/data/fairface is not here")
    root = tmp_path / "fairface"
    (root / "val").mkdir(parents=True)
    lines = (source / "fairface_label_val.csv").read_text().splitlines()[: PHOTOS + 1]
    (root / "fairface_label_val.csv").write_text("\n".join(lines) + "\n")
    for line in lines[1:]:
        shutil.copyfile(source / line.split(",")[0], root / line.split(",")[0])
    return root


def test_the_counts_of_rfb320_are_those_of_a_plain_loop(shared, photographs, tmp_path):
    import cv2
    import onnxruntime as ort

    weights = shared / "weights" / "rfb320.onnx"
    if not weights.is_file():
        pytest.skip("../shared/weights/rfb320.onnx is not here")
    out = tmp_path / "out"
    command = [
        "assess",
        "--dataset",
        "fairface",
        "--data-directory",
        str(photographs),
        "--detector",
        "rfb320",
        "--weights",
        str(weights),
        "--by",
        "age,gender,race",
        "--out",
        str(out),
        "--quiet",
        "--threads",
        "1",
    ]
    result = CliRunner().invoke(mask_fairness.app, command)
    assert result.exit_code == 0, result.output
    assert "repaired (03-Sep is 3-9)" in result.output

    net = ort.InferenceSession(str(weights), providers=["CPUExecutionProvider"])
    faces, found = Counter(), Counter()
    with (photographs / "fairface_label_val.csv").open() as stream:
        for row in csv.DictReader(stream):
            image = cv2.cvtColor(cv2.imread(str(photographs / row["file"])), cv2.COLOR_BGR2RGB)
            pixels = (cv2.resize(image, (320, 240)).astype(np.float32) - 127) / 128
            (scores,) = net.run(["scores"], {"input": pixels.transpose(2, 0, 1)[None]})
            faces[row["race"]] += 1
            found[row["race"]] += bool((scores[0, :, 1] >= 0.7).any())
    with (out / "assessment_race_localization.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["group"]: int(row["n"]) for row in rows} == dict(faces)
    counted = {row["group"]: round(float(row["rate"]) * int(row["n"])) for row in rows}
    assert sum(abs(counted[race] - found[race]) for race in faces) <= 1
    for metric in ("true_positive", "true_negative"):
        with (out / f"assessment_age_group_{metric}.csv").open() as stream:
            assert all(row["rate"] == "" and row["verdict"] == "not assessable" for row in csv.DictReader(stream))
    assert (out / "run.json").is_file() and (out / "report.html").is_file()
