"""The commands of docs/data.md on a user's folders are run on folders like these, and print what the page shows."""

import contextlib
import io
import json
import shlex
from pathlib import Path

import pytest
from PIL import Image
from tests.test_how_to import Step, assert_shown, steps

from countenance.cli.app import run as command
from countenance.testing import face_picture, write_small_dataset

PAGE = [step for step in steps("data") if "#" not in step.text.split(" --out")[0] or "my_dataset" in step.text]


def write_pictures(folder: Path, names: list[str]) -> list[list[int]]:
    """Pictures of a disc, with the disc's box."""
    boxes = []
    for number, name in enumerate(names):
        pixels, box = face_picture(number)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / name)
        boxes.append([round(float(side)) for side in box])
    return boxes


def write_coco(file: Path, pictures: Path, categories: dict[int, str], shown: list[int]) -> None:
    """One picture with an annotation of each category in `shown`."""
    (box,) = write_pictures(pictures, ["000000000001.jpg"])
    with Image.open(pictures / "000000000001.jpg") as image:
        width, height = image.size
    row = [box[0], box[1], box[2] - box[0], box[3] - box[1]]
    content = {
        "images": [{"id": 1, "file_name": "000000000001.jpg", "width": width, "height": height}],
        "annotations": [{"id": i, "image_id": 1, "category_id": c, "bbox": row} for i, c in enumerate(shown)],
        "categories": [{"id": number, "name": name} for number, name in categories.items()],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folders that the page names."""
    monkeypatch.chdir(tmp_path)
    write_small_dataset(Path("my_dataset"))
    names = [f"p{number:02}.png" for number in range(60)]
    boxes = write_pictures(Path("photos"), names)
    people = [f"{who},{('female', 'male')[who % 2]},{('light', 'dark')[who % 3 // 2]}" for who in range(15)]
    rows = [
        f"{name},{people[i // 4]},{','.join(map(str, box))}"
        for i, (name, box) in enumerate(zip(names, boxes, strict=True))
    ]
    Path("my.csv").write_text("file,person,gender,skin,xmin,ymin,xmax,ymax\n" + "\n".join(rows) + "\n", "utf-8")
    Path("bad.csv").write_text("file,age\np00.png,31\ngone.jpg,32\nlost.jpg,33\np03.png,old\n", encoding="utf-8")
    write_coco(
        Path("coco/annotations/instances_val2017.json"),
        Path("coco/val2017"),
        {1: "person", 3: "car", 18: "dog"},
        [1, 3, 3, 18],
    )
    write_coco(Path("faces.json"), Path("images"), {1: "visage", 18: "someone"}, [1, 18])
    write_pictures(Path("street"), ["images/a.jpg", "images/b.jpg"])
    Path("street/labels").mkdir()
    Path("street/labels/a.txt").write_text("0 .5 .4 .2 .2\n2 .2 .8 .1 .1\n", encoding="utf-8")
    Path("street/labels/b.txt").write_text("1 .5 .5 .4 .8\n", encoding="utf-8")
    Path("street/classes.txt").write_text("head\nperson\ndog\n", encoding="utf-8")
    write_pictures(Path("FAIRFACE"), ["val/1.jpg", "val/2.jpg"])
    labels = "file,age,gender,race,service_test\nval/1.jpg,20-29,Male,White,True\nval/2.jpg,30-39,Female,Black,True\n"
    Path("FAIRFACE/fairface_label_val.csv").write_text(labels, encoding="utf-8")
    return tmp_path


def assert_runs(step: Step) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = command(shlex.split(step.text, comments=True)[1:])
    assert code == (2 if "bad.csv" in step.text else 0), (step.text, printed.getvalue())
    assert_shown(step.shown, printed.getvalue(), step.text)


@pytest.mark.usefixtures("folder")
def test_what_is_read_is_printed_as_the_page_shows_it() -> None:
    checks = [step for step in PAGE if " check " in step.text]
    assert len(checks) == 5
    for step in checks:
        assert_runs(step)


@pytest.mark.slow
@pytest.mark.usefixtures("folder")
def test_the_runs_of_the_page_run() -> None:
    runs = [step for step in PAGE if step.text.startswith("countenance run ")]
    assert len(runs) == 4
    for step in runs:
        assert_runs(step)
