"""Tasks, models, datasets and formats of a user's file: `path.py:attr`, from anywhere."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from PIL import Image

import countenance as ct
from countenance.errors import InputError
from countenance.loading import plugins

CODE = '''
    """A reader, a model and a task in one file."""
    from dataclasses import replace
    from pathlib import Path

    import numpy as np

    import countenance as ct
    from helper_beside import BOX

    HERE = Path(__file__).parent


    def person(i):
        face = ct.Subject(f"s{i}", face_box=np.array(BOX), attributes={"side": "ab"[i % 2]})
        return ct.Sample(f"p{i}", ct.LazyImage(HERE / f"p{i}.png"), 16, 16, subjects=(face,))


    def load():
        return ct.Dataset(ct.DatasetCard(name="mine"), [person(i) for i in range(6)])


    DATA = load()
    NUMBER = 7


    def needs_one(folder):
        return load()


    def model(images):
        return [ct.Boxes([BOX]) for _ in images]


    TASK = replace(ct.load_task("face_localization"), name="my_task")
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "mine.py").write_text(textwrap.dedent(CODE))
    (tmp_path / "helper_beside.py").write_text("BOX = [2.0, 2.0, 12.0, 12.0]\n")
    for i in range(6):
        Image.fromarray(np.full((16, 16, 3), 40 * i, np.uint8)).save(tmp_path / f"p{i}.png")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith(("mine", "helper_beside"))]:
        del sys.modules[name]


@pytest.mark.parametrize("reader", ["load", "DATA"])
def test_a_run_of_a_readers_file_a_models_file_and_a_tasks_file(folder, reader):
    place = folder / "mine.py"
    run = ct.evaluate(f"{place}:model", f"{place}:TASK", data=f"{place}:{reader}", out=folder / "run")
    assert run.scores().num_rows >= 6
    manifest = (folder / "run" / "run.json").read_text()
    assert "mine.py:TASK" in manifest and str(folder) not in manifest
    assert run.code_task().name == "my_task"


def test_a_name_relative_to_the_current_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert len(ct.load_dataset("mine.py:load")) == 6
    assert ct.load_task("mine.py:TASK").name == "my_task"


@pytest.mark.parametrize(
    "name, problem",
    [
        ("mine.py:lod", "mine.py has no 'lod' .did you mean load"),
        ("other.py:load", "no file .*other.py"),
        ("mine.py:NUMBER", "that is a int, expected a Dataset"),
        ("mine.py:needs_one", "the function needs arguments"),
    ],
)
def test_wrong_names_are_told(folder, name, problem):
    with pytest.raises(InputError, match=problem):
        ct.load_dataset(f"{folder}/{name}")


def test_a_file_that_fails_is_named_with_its_error(folder):
    (folder / "bad.py").write_text("1 / 0\n")
    with pytest.raises(InputError, match=r"importing .*bad\.py failed \(ZeroDivisionError"):
        ct.load_dataset(f"{folder}/bad.py:load")


def test_a_former_public_name_is_read_and_warns():
    with pytest.warns(DeprecationWarning, match=r"ct.Wanted is now called ct.PredictionRequest"):
        former = ct.Wanted
    assert former is ct.PredictionRequest and "Wanted" not in ct.__all__


def test_what_is_installed_while_python_runs_is_found(tmp_path, monkeypatch):
    """As in a notebook, whose kernel need not start again after `%pip install`."""
    monkeypatch.syspath_prepend(tmp_path)
    assert "guess" not in plugins("model")
    package = tmp_path / "guess-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: guess\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[countenance.models]\nguess = guess:Guess\n")
    os.utime(tmp_path, ns=(0, 1))  # some clocks are too slow to show the change
    assert plugins("model")["guess"].value == "guess:Guess"


def test_names_that_load_when_they_are_used_are_listed():
    """For completion in a notebook, and for `help`."""
    listed = subprocess.run(
        [sys.executable, "-c", "import countenance.data; print(*dir(countenance.data))"], capture_output=True, text=True
    )
    assert {"dataset_names", "load_dataset", "Sample"} <= set(listed.stdout.split())
