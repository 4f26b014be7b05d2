"""Boxes in another reading, and boxes of the other thing, in a run."""

import json
from dataclasses import replace

import numpy as np
import pytest

from countenance.answers import Boxes
from countenance.cli.app import run as run_command
from countenance.data import ArrayImage, Dataset, DatasetCard, Sample, Subject, load_dataset
from countenance.data.truth_problems import check
from countenance.errors import InputError
from countenance.metrics.readings import CORNERS, READINGS, Reading
from countenance.run import evaluate
from countenance.testing import DiscDetector, write_small_dataset

CENTRE = Reading("cxcywh", "rel")


def options(reading: Reading) -> dict[str, str]:
    return {"box_format": reading.form, "units": reading.units}


class GivenAs:
    """The disc detector with its boxes given in some reading."""

    name = "given-as"

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.content = str(reading)

    def __call__(self, images):
        sizes = np.array([[image.shape[1], image.shape[0]] for image in images], dtype=float)
        found = DiscDetector()(images)
        return [
            {"boxes": self.reading.numbers(b.xyxy, size[None]), "scores": b.scores}
            for b, size in zip(found, sizes, strict=True)
        ]


@pytest.mark.parametrize("reading", [reading for reading in READINGS if reading != CORNERS], ids=str)
def test_boxes_in_any_other_reading_are_told_by_name_and_the_option_puts_them_right(tmp_path, discs, reading):
    remedy = f'box_format="{reading.form}", units="{reading.units}"'
    try:
        run = evaluate(GivenAs(reading), "face_localization", discs, out=tmp_path / "wrong")
        (note,) = run.notes
        assert run.results()[0].value < 0.5  # the reading in use was not changed
    except InputError as error:  # some readings turn every box round: the run stops and says the same
        note = str(error)
    assert f"read as {reading} (" in note and remedy in note
    right = evaluate(GivenAs(reading), "face_localization", discs, out=tmp_path / "right", **options(reading))
    assert right.notes == [] and set(right.scores()["m.recall@0.5"].drop_null().to_pylist()) == {1.0}
    assert right.manifest.boxes == {"form": reading.form, "units": reading.units}


def test_another_reading_is_another_run(tmp_path, discs):
    first = evaluate(GivenAs(CENTRE), "face_localization", discs, out=tmp_path / "a", **options(CENTRE))
    other = evaluate(GivenAs(CENTRE), "face_localization", discs, out=tmp_path / "b", **options(Reading("xywh", "rel")))
    assert first.manifest["key"] != other.manifest["key"]


def test_worker_processes_read_boxes_in_the_same_way(tmp_path, discs, monkeypatch):
    (tmp_path / "shares.py").write_text(
        "import numpy as np\nfrom countenance.testing import DiscDetector\n"
        "def model(images):\n"
        "    return [b.xyxy / np.tile([i.shape[1], i.shape[0]], 2) for b, i in zip(DiscDetector()(images), images)]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    corners = Reading("xyxy", "rel")
    wrong = evaluate("shares:model", "face_localization", discs, out=tmp_path / "wrong", workers=2)
    assert "read as xyxy, rel" in wrong.notes[0] and "would localise 120 of 120" in wrong.notes[0]
    right = evaluate("shares:model", "face_localization", discs, out=tmp_path / "right", workers=2, **options(corners))
    assert right.notes == [] and right.results()[0].value == 1.0


@pytest.mark.parametrize("reading", READINGS, ids=str)
@pytest.mark.parametrize("form", ["corners.csv", "sizes.csv", "coco.json"])
def test_a_file_of_predictions_in_any_reading_is_told_and_put_right(tmp_path, discs, form, reading):
    """The option says what the numbers of the file are, whatever its format says."""
    rows = []
    for sample in load_dataset(discs):
        numbers = reading.numbers(sample.subjects[0].face_box, np.array([[64.0, 64.0]]))[0].tolist()
        rows.append((sample.id, numbers))
    file = tmp_path / form
    if form.endswith("json"):
        file.write_text(json.dumps([{"image_id": i, "category_id": 1, "bbox": n, "score": 0.9} for i, n in rows]))
    else:
        header = "image,x0,y0,x1,y1" if form == "corners.csv" else "image,x,y,w,h"
        file.write_text("\n".join([header, *(",".join([i, *map(repr, n)]) for i, n in rows)]) + "\n")
    usual = Reading("xyxy" if form == "corners.csv" else "xywh", "px")
    model = f"predictions:{file}"
    try:
        notes = evaluate(model, "face_localization", discs, out=tmp_path / "wrong").notes
    except InputError as error:
        notes = [str(error)]
    if reading == usual:
        assert notes == []
    else:
        assert f"read as {reading} (" in notes[0]
        assert f'box_format="{reading.form}", units="{reading.units}"' in notes[0]
    right = evaluate(model, "face_localization", discs, out=tmp_path / "right", **options(reading))
    assert right.notes == [] and right.results()[0].value == 1.0


def test_refused_boxes_are_tried_in_other_readings_before_the_run_stops(tmp_path, discs):
    """Read as corners, a small face far from the corner is turned round: nothing is answered, and the reason told."""
    far = load_dataset(discs).filter(lambda sample: sample.subjects[0].face_box[:2].min() > 24)
    with pytest.raises(InputError) as caught:
        evaluate(GivenAs(CENTRE), "face_localization", far, out=tmp_path / "run")
    text = str(caught.value)
    assert "has x1 < x0 or y1 < y0; boxes are x0, y0, x1, y1 in pixels" in text
    assert "read as cxcywh, rel (cx, cy, w, h as shares of the picture), the same predictions would" in text


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (Reading("xywh", "px"), "of the true boxes of the faces leave their pictures"),
        (Reading("xyxy", "rel"), "the true boxes of the faces look normalised"),
    ],
)
def test_a_truth_in_another_reading_is_not_blamed_on_the_model(tmp_path, discs, truth, message):
    """Corners taken for a corner and a size, as in a COCO file with the wrong bbox: the model's boxes are right."""
    wrong = []
    for sample in load_dataset(discs):
        (subject,) = sample.subjects
        size = np.array([[64.0, 64.0]])
        box = truth.corners(subject.face_box, size) if truth.units == "px" else truth.numbers(subject.face_box, size)
        wrong.append(replace(sample, subjects=(replace(subject, face_box=box[0]),)))
    dataset = Dataset(DatasetCard(name="wrong", real_people=False), wrong)
    (note,) = evaluate(DiscDetector(), "face_localization", dataset, out=tmp_path / "run").notes
    assert message in note and "--box-format" not in note
    kinds = {problem.kind for problem in check(dataset)}
    assert kinds & {"box outside the image", "normalised boxes"}


def test_no_box_at_all_is_said(tmp_path, discs):
    run = evaluate(lambda images: [np.zeros((0, 4))] * len(images), "face_localization", discs, out=tmp_path / "run")
    assert run.notes == ["no box was predicted in any of the 120 pictures with faces"]


def test_a_detector_of_the_other_thing_is_told_apart(tmp_path):
    """Faces inside people: a face detector that is evaluated for people finds faces, and the note says so."""
    samples = []
    for i in range(20):
        x = float(5 + i)
        person = Subject("0", person_box=np.array([x, 5, x + 40, 95]), face_box=np.array([x + 10, 8, x + 30, 32]))
        samples.append(Sample(f"p{i:02d}", ArrayImage(np.full((100, 100, 3), i, np.uint8)), 100, 100, (person,)))
    dataset = Dataset(DatasetCard(name="people", real_people=False), samples)

    def faces(images):
        return [Boxes([samples[int(image[0, 0, 0])].subjects[0].face_box]) for image in images]

    def people(images):
        return [Boxes([samples[int(image[0, 0, 0])].subjects[0].person_box]) for image in images]

    run = evaluate(faces, "person_localization", dataset, out=tmp_path / "a")
    assert "0 of 20 people were localised, and the same boxes localise 20 of 20 faces" in run.notes[0]
    assert "face_localization evaluates that" in run.notes[0]
    run = evaluate(people, "face_localization", dataset, out=tmp_path / "b")
    assert "person_localization evaluates that" in run.notes[0]
    assert evaluate(people, "person_localization", dataset, out=tmp_path / "c").notes == []


def test_the_command_says_what_another_reading_would_give(tmp_path, capsys, monkeypatch):
    (tmp_path / "shares.py").write_text(
        "from countenance.testing import DiscDetector\n"
        "def model(images):\n    return [b.xyxy / 64 for b in DiscDetector()(images)]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = write_small_dataset(tmp_path / "discs", n=30)
    command = ["run", "face_localization", "--model", "shares:model", "--data", folder, "--quiet"]
    assert run_command([str(part) for part in [*command, "--out", tmp_path / "wrong"]]) == 0
    out = capsys.readouterr().out
    assert "note     0 of 30 faces were localised; read as xyxy, rel" in out and "30 of 30" in out
    assert "--boxes xyxy --units rel" in out
    right = [*command, "--out", tmp_path / "right", "--boxes", "xyxy", "--units", "rel"]
    assert run_command([str(part) for part in right]) == 0
    assert "note" not in capsys.readouterr().out


@pytest.fixture(scope="module")
def discs(tmp_path_factory):
    return write_small_dataset(tmp_path_factory.mktemp("data") / "discs", n=120)
