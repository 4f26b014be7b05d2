"""What an assessment says about boxes in another reading and about detectors that do not judge."""

import json

import numpy as np
import pytest

from countenance.answers import Boxes
from countenance.cli.app import run as run_command
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject
from countenance.data.adapters.mask_fairness import ONE_FACE, MaskData, ReadingOptions, load_mask_data
from countenance.errors import InputError
from countenance.metrics.readings import READINGS, Reading
from countenance.suites.mask_fairness.assessment_run import assess
from countenance.suites.mask_fairness.made_data import make_data
from countenance.suites.mask_fairness.saved_predictions import predictions_of

TOPLEFT = Reading("xywh", "px")


def crowd(n: int = 33) -> Dataset:
    """Two faces in each picture, one masked; the number of the picture is in its first pixel."""
    random = np.random.default_rng(4)
    samples = []
    for i in range(n):
        pixels = np.full((120, 160, 3), i, np.uint8)
        x, y = (float(v) for v in random.integers(4, 26, 2))
        faces = (
            Subject("0", face_box=np.array([x, y, x + 30, y + 40]), attributes={"masked": "yes", "sex": "female"}),
            Subject(
                "1", face_box=np.array([x + 70, y + 30, x + 110, y + 70]), attributes={"masked": "no", "sex": "male"}
            ),
        )
        samples.append(Sample(f"p{i:02d}", ArrayImage(pixels), 160, 120, faces))
    return Dataset(DatasetCard(name="crowd", real_people=False), samples)


def write(path, dataset, reading: Reading, form: int):
    """The truth as a prediction file of one of the four forms, its boxes in some reading."""
    size, lines, results = np.array([[160.0, 120.0]]), [], []
    for sample in dataset:
        for subject in sample.subjects:
            (box,) = reading.numbers(subject.face_box[None], size).tolist()
            masked = subject.attributes["masked"] == "yes"
            numbers = ",".join(repr(value) for value in box)
            if form == 1:
                lines.append(f"{sample.id},{sample.id}.png,{'mask' if masked else 'nomask'},0.9,{numbers}")
            elif form == 2:
                lines.append(f"{sample.id},{1 if masked else 3},0.9,{numbers}")
            elif form == 3:
                lines.append(f"{sample.id},{int(masked)},{numbers}")
            results.append({"image_id": sample.id, "category_id": 1 + masked, "bbox": box, "score": 0.9})
    if form == 1:
        lines.insert(0, "image_name,image_path,class,confidence,x,y,w,h")
    path.write_text(json.dumps(results) if form == 4 else "\n".join(lines) + "\n")
    return path


SIDES = {1: TOPLEFT, 2: Reading("xyxy", "px"), 3: TOPLEFT, 4: TOPLEFT}
"""How each form gives boxes in pixels."""


@pytest.mark.parametrize("form", SIDES)
@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_every_form_in_every_reading_is_right_or_told_and_the_option_puts_it_right(tmp_path, form, reading):
    made = crowd()
    data = MaskData(Dataset(made.card, made.samples, categories={1: "no_mask", 2: "mask"}))
    file = write(tmp_path / ("x.json" if form == 4 else "x.csv"), data.dataset, reading, form)
    said = []
    try:
        model = predictions_of(file, data, say=said.append)
    except ValueError as error:  # turned round: refused, every reading that fits is named
        assert f'box_format="{reading.form}", units="{reading.units}"' in str(error)
    else:
        run, _ = assess(data, model, tmp_path / "out", by=["sex"])
        right = sum(run.scores()["m.localised"].to_pylist()) == 66
        if not right:
            note = run.notes[-1]
            assert note.startswith("0 of 66 faces were localised; ") or "of 66 faces were localised; " in note
            assert f"read as {reading} ({reading.numbers_are}), the same predictions would localise 66 of 66" in note
            assert f'use box_format="{reading.form}", prediction_units="{reading.units}"' in note
    model = predictions_of(file, data, box_format=reading.form, units=reading.units)
    run, assessment = assess(data, model, tmp_path / "right", by=["sex"])
    assert sum(run.scores()["m.localised"].to_pylist()) == 66 and run.notes == []
    assert assessment.not_assessable == {}


def test_a_detector_that_judges_but_finds_nothing_is_not_called_one_that_does_not_judge(tmp_path):
    def far(images):
        return [Boxes([[150, 110, 158, 118]], [0.9], ["mask"]) for _ in images]

    run, assessment = assess(MaskData(crowd()), far, tmp_path / "out", by=["sex"])
    assert set(assessment.not_assessable.values()) == {"not assessable: no such face was localised"}
    assert "do the boxes belong to these pictures?" in run.notes[0]


def test_a_detector_with_boxes_and_no_labels_does_not_judge(tmp_path):
    _, assessment = assess(
        MaskData(crowd()), lambda images: [Boxes([[0, 0, 9, 9]])] * len(images), tmp_path / "out", by=["sex"]
    )
    assert all("does not judge masks" in reason for reason in assessment.not_assessable.values())


def test_a_wrong_reading_of_the_dataset_is_told_with_its_own_options(tmp_path, capsys):
    made = crowd()
    make_data(made, tmp_path / "data", "bafmd")
    predictions = write(tmp_path / "x.csv", made, TOPLEFT, 1)
    command = [
        "mask-fairness",
        "assess",
        "--dataset",
        "bafmd",
        "--data-directory",
        tmp_path / "data",
        "--predictions",
        predictions,
        "--by",
        "sex",
        "--quiet",
    ]
    wrong = [*command, "--truth-boxes", "xywh", "--out", tmp_path / "wrong"]
    assert run_command([str(part) for part in wrong]) == 0
    shown = capsys.readouterr()
    assert "these readings fit: --truth-boxes xywh" in shown.err and "or --truth-boxes cxcywh" in shown.err
    assert "with the dataset's boxes read as cxcywh, rel" in shown.out
    assert "the predictions would localise 66 of 66: use --truth-boxes cxcywh --truth-units rel" in shown.out
    assert run_command([str(part) for part in [*command, "--out", tmp_path / "right"]]) == 0
    assert "66 of 66 (1.0000)" in capsys.readouterr().out


def test_a_detector_that_runs_here_may_be_read_in_another_way(tmp_path, capsys, monkeypatch):
    make_data(crowd(), tmp_path / "data", "bafmd")
    (tmp_path / "shares.py").write_text(
        "from countenance.data.adapters.mask_fairness import load_mask_data\n"
        "from pathlib import Path\n"
        f"DATA = load_mask_data('bafmd', Path({str(tmp_path / 'data')!r})).dataset\n"
        "def model(images):\n"
        "    found = []\n"
        "    for image in images:\n"
        "        boxes = [s.face_box / [160, 120, 160, 120] for s in DATA[int(image[0, 0, 0])].subjects]\n"
        "        found.append({'boxes': boxes, 'labels': ['mask', 'no_mask']})\n"
        "    return found\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    command = [
        "mask-fairness",
        "assess",
        "--dataset",
        "bafmd",
        "--data-directory",
        tmp_path / "data",
        "--detector",
        "shares:model",
        "--by",
        "sex",
        "--quiet",
    ]
    assert run_command([str(part) for part in [*command, "--out", tmp_path / "wrong"]]) == 0
    assert "use --boxes xyxy --prediction-units rel" in capsys.readouterr().out
    right = [
        *command,
        "--out",
        tmp_path / "right",
        "--prediction-format",
        "xyxy",
        "--prediction-units",
        "rel",
    ]
    assert run_command([str(part) for part in right]) == 0
    assert "66 of 66 (1.0000)" in capsys.readouterr().out


def test_inverted_classes_on_pictures_of_one_face(tmp_path):
    one = [Sample(s.id, s.image, s.width, s.height, s.subjects[1:]) for s in crowd()]
    data = MaskData(Dataset(DatasetCard(name="bare", real_people=False), one), ONE_FACE)
    run, _ = assess(
        data, lambda images: [Boxes([[0, 0, 9, 9]], [0.9], ["mask"])] * len(images), tmp_path / "out", by=["sex"]
    )
    assert "the classes look inverted: true negative rate 0 of 33; with mask and no mask exchanged" in run.notes[0]


def test_a_detector_that_is_right_half_of_the_time_is_not_called_inverted(tmp_path):
    faces = {i: s.subjects for i, s in enumerate(crowd())}

    def coin(images):
        return [
            Boxes(
                [s.face_box for s in faces[int(image[0, 0, 0])]],
                None,
                ["mask", "mask"] if image[0, 0, 0] % 2 else ["no_mask", "no_mask"],
            )
            for image in images
        ]

    run, _ = assess(MaskData(crowd()), coin, tmp_path / "out", by=["sex"])
    assert run.notes == []


def test_other_categories_of_a_coco_file_are_left_out_and_named(tmp_path):
    from countenance.data.adapters.mask_fairness import load_mask_data
    from countenance.errors import InputError

    make_data(crowd(6), tmp_path / "data", "coco")
    path = tmp_path / "data" / "annotations.json"
    content = json.loads(path.read_text())
    content["categories"].append({"id": 7, "name": "hat"})
    content["annotations"].append({"id": 99, "image_id": 1, "category_id": 7, "bbox": [1, 1, 9, 9]})
    path.write_text(json.dumps(content))
    dataset = load_mask_data("folder", tmp_path / "data").dataset
    assert sum(len(sample.subjects) for sample in dataset) == 12
    assert "1 annotation is in no category that says mask or no mask and left out (1 hat)" in dataset.notes[0]
    told = load_mask_data("folder", tmp_path / "data", ReadingOptions(classes={7: "no_mask"}))
    assert sum(len(s.subjects) for s in told.dataset) == 13
    content["categories"] = [{"id": i, "name": word} for i, word in ((1, "a"), (2, "b"), (7, "hat"))]
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="none of its 13 annotations is in a category that says mask or no mask"):
        load_mask_data("folder", tmp_path / "data")


def test_errors_about_a_reading_name_arguments_in_python_and_flags_on_the_command_line(tmp_path, capsys):
    made = crowd()
    make_data(made, tmp_path / "data", "bafmd")
    predictions = write(tmp_path / "x.csv", made, TOPLEFT, 1)
    command = ["mask-fairness", "assess", "--dataset", "bafmd", "--data-directory", str(tmp_path / "data")]
    command += ["--predictions", str(predictions), "--by", "sex", "--out", str(tmp_path / "out"), "--quiet"]
    wrong = Reading("cxcywh", "px")
    with pytest.raises(InputError, match='truth_boxes="cxcywh", truth_units="rel"') as error:
        load_mask_data("bafmd", tmp_path / "data", ReadingOptions(wrong))
    assert "--" not in str(error.value)
    assert run_command([*command, "--truth-units", "px"]) == 2
    assert "--truth-boxes cxcywh --truth-units rel (" in capsys.readouterr().err
    with pytest.raises(InputError, match='box_format="xywh", units="px"') as error:
        predictions_of(predictions, load_mask_data("bafmd", tmp_path / "data"), box_format="xyxy")
    assert "--" not in str(error.value)
    assert run_command([*command, "--boxes", "xyxy"]) == 2
    assert "--boxes xywh --prediction-units px (" in capsys.readouterr().err
