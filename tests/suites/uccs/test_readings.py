"""Score files whose boxes are given in another reading, and detectors that fail."""

import csv

import numpy as np
import pytest
from PIL import Image

from countenance.data.image import LazyImage
from countenance.metrics.readings import READINGS, Reading

AS_WRITTEN = Reading("xywh", "px")


@pytest.fixture
def crowd(tmp_path):
    """Twelve images of three faces in the layout of version 2, with their pictures."""
    random = np.random.default_rng(1)
    data = tmp_path / "data"
    (data / "protocol").mkdir(parents=True)
    (data / "validation").mkdir()
    rows, face = [], 0
    for i in range(12):
        name, (width, height) = f"c{i:02d}.jpg", ((900, 700), (640, 800))[i % 2]
        Image.new("RGB", (width, height), (i, i, i)).save(data / "validation" / name)
        for k in range(3):
            face += 1
            x, y = 20 + 200 * k + int(random.integers(0, 60)), int(random.integers(200, 400))
            rows.append([face, name, face % 5 or -1, x, y, 70, 90])
    with (data / "protocol" / "validation.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["FACE_ID", "FILE", "SUBJECT_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT"])
        writer.writerows(rows)
    return data, rows


def scores(path, crowd, reading: Reading, recognition: bool = False):
    data, rows = crowd
    lines = []
    for _, name, subject, *box in rows:
        size = np.array([LazyImage(data / "validation" / name).size()], dtype=float)
        corners = AS_WRITTEN.corners(np.array([box], dtype=float), size)
        numbers = ",".join(f"{value:.6f}" for value in reading.numbers(corners, size)[0])
        lines.append(f"{name},{numbers},0.9" + (f",{subject},0.8" if recognition else ""))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_every_other_reading_is_named_with_what_it_would_find(tmp_path, crowd, command, reading):
    file = scores(tmp_path / "mine.txt", crowd, reading)
    code, out, err = command("evaluate-detector", "--data-directory", crowd[0], "--result-files", file)
    assert code == 0
    if reading == AS_WRITTEN:
        assert "36 of 36 faces found" in out and "warning" not in err
    else:
        assert f"read as {reading} ({reading.numbers_are}), the same predictions would localise 36 of 36" in err
        assert "write BB_X, BB_Y, BB_WIDTH, BB_HEIGHT as the top-left corner and the size in pixels" in err


def test_a_recognition_file_and_the_check_are_warned_too(tmp_path, crowd, command):
    file = scores(tmp_path / "mine.txt", crowd, Reading("xyxy", "px"), recognition=True)
    code, _, err = command("evaluate-recognizer", "--data-directory", crowd[0], "--result-files", file)
    assert code == 0 and "read as xyxy, px" in err
    code, _, err = command("check", file, "--data-directory", crowd[0])
    assert code == 0 and "notice: " in err and "read as xyxy, px" in err


def test_normalised_boxes_without_the_pictures_are_still_told(tmp_path, crowd, command):
    file = scores(tmp_path / "mine.txt", crowd, Reading("cxcywh", "rel"))
    for path in (crowd[0] / "validation").iterdir():
        path.unlink()
    code, _, err = command("evaluate-detector", "--data-directory", crowd[0], "--result-files", file)
    assert code == 0 and "no number of a box is above 1.5: write BB_X" in err


def test_a_file_that_covers_few_images_is_not_suspected(tmp_path, crowd, command):
    file = scores(tmp_path / "mine.txt", crowd, AS_WRITTEN)
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:3]))
    code, _, err = command("evaluate-detector", "--data-directory", crowd[0], "--result-files", file)
    assert code == 0 and "localise" not in err


MODELS = """
import numpy as np
def bad(images):
    raise KeyError("no such layer")
def sometimes(images):
    if images[0][0, 0, 0] == 3:
        raise KeyError("no such layer")
    return [{"boxes": [[5, 5, 40, 50]], "scores": [0.9]} for _ in images]
def turned(images):
    return [np.array([[300, 300, 40, 50]]) for _ in images]
"""


def test_a_detector_that_fails_on_one_image_goes_on_and_one_that_always_fails_stops(
    tmp_path, crowd, command, monkeypatch
):
    (tmp_path / "uccs_models.py").write_text(MODELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    given = ("detect", "--data-directory", crowd[0], "--result-file", tmp_path / "out.txt", "--model")
    code, out, err = command(*given, "uccs_models:sometimes")
    assert code == 0 and "11 detections in 12 images" in out
    assert err.count("c03.jpg: the model failed (KeyError: 'no such layer'); it has no detection") == 1
    for model, reason in (("bad", "KeyError: 'no such layer'"), ("turned", "has x1 < x0 or y1 < y0")):
        (tmp_path / "out.txt").unlink(missing_ok=True)
        code, _, err = command(*given, f"uccs_models:{model}")
        assert (
            code == 2 and "error: stopped: the first 10 images all failed; the first, c00.jpg" in err and reason in err
        )
        assert not (tmp_path / "out.txt").exists()
