"""Each kind of wrong input has its class, so that a program can tell a missing picture from a damaged run."""

import ast
import re
from pathlib import Path

import pytest

import countenance as ct
from countenance.cli.app import run as command
from countenance.testing import write_small_dataset

SOURCE = Path(ct.__file__).parent
PACKAGES = {"data/adapters": "DataError", "data/reading": "DataError", "models": "ModelError", "answers": "ModelError"}
"""Packages whose errors are all of one class; the stored answers of a run are the run's."""


def nothing(images):
    return [ct.Boxes([]) for _ in images]


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        (ct.DataError, lambda: ct.load_dataset("no/such/folder")),
        (ct.DataError, lambda: ct.load_dataset("peple")),
        (ct.DataError, lambda: ct.LazyImage(Path("no.png")).load()),
        (ct.DataError, lambda: ct.Subject("ann", face_box="10, 10")),
        (ct.ModelError, lambda: ct.evaluate("no-model", "face_localization", "people:twins", limit=1)),
        (ct.ModelError, lambda: ct.evaluate("predictions:no.csv", "face_localization", "people:twins", limit=1)),
        (ct.ModelError, lambda: ct.evaluate("haar", "person_localization", "people:twins", limit=1)),
        (ct.RunError, lambda: ct.Run("no-run")),
        (ct.RunError, lambda: ct.read_audit(ct.evaluate(nothing, "face_localization", "people:twins", limit=1))),
        (ct.OptionError, lambda: ct.evaluate(nothing, "face_localization", "people:twins", workers=0)),
    ],
)
def test_wrong_input_has_the_class_of_what_is_wrong(kind, call):
    with pytest.raises(ct.InputError) as error:
        call()
    assert type(error.value) is kind


def test_a_damaged_run_is_a_run_error(tmp_path):
    folder = write_small_dataset(tmp_path / "set", n=10, size=16)
    run = ct.evaluate(nothing, "face_localization", folder, out=tmp_path / "run")
    (run.path / "scores.parquet").write_bytes(b"other")
    with pytest.raises(ct.RunError, match="its content is not what was written"):
        ct.Run(run.path).scores()
    (run.path / "run.json").write_text("{")
    with pytest.raises(ct.RunError, match="damaged"):
        ct.Run(run.path)


@pytest.mark.parametrize(("package", "kind"), PACKAGES.items())
def test_a_package_raises_its_class(package, kind):
    stray = []
    for path in (SOURCE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            raised = node.exc.func if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) else None
            if isinstance(raised, ast.Name) and raised.id == "InputError":
                stray.append(f"{path.relative_to(SOURCE)}:{node.lineno} raises InputError, not {kind}")
    assert stray == []


def test_a_reader_that_fails_is_wrong_input(tmp_path, monkeypatch, capsys):
    """The fault is in the user's code: one line that names it, exit 2, and no request to send us anything."""
    (tmp_path / "my_reader.py").write_text("def load():\n    return [][0]\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ct.DataError, match=r"'my_reader\.py:load': the function failed \(IndexError: list index out"):
        ct.load_dataset("my_reader.py:load")
    assert command(["data", "show", "my_reader.py:load"]) == 2
    assert "This is a bug" not in capsys.readouterr().err


def test_where_a_person_is_may_be_given_in_any_form():
    person = ct.Subject("ann", face_box=(10, 10, 40, 50), keypoints=[[1, 2, 2]] * 17)
    assert person.face_box.tolist() == [10, 10, 40, 50] and person.keypoints.shape == (17, 3)


COMMANDS_ALONE = ("view/", "data/settings_file.py", "suites/fhibe/original/__main__.py")
"""The viewer, configuration files and the original's script are started and read by commands, never from Python."""
COMMANDS = ("report/method.py", "report/notes.py", "report/page.py", "suites/mask_fairness/detectors.py")
"""Files that write out whole commands."""


def literal_texts(node: ast.AST) -> list[str]:
    """The texts that a statement spells out."""
    return [part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def test_texts_of_the_library_name_arguments_and_no_flags():
    """Errors and stored notes are right in Python, too. A whole command in backquotes says what to type."""
    stray = []
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE).as_posix()
        if place.startswith(("cli/", *COMMANDS_ALONE, "settings/", *COMMANDS)):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for part in ast.walk(tree):  # docstrings are for readers of the code
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                part.value.value = ""
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant | ast.JoinedStr):
                text = re.sub(r"`[^`]*(`|$)|var\(--", "", " ".join(literal_texts(node)))
                if re.search(r"(?<![\w-])--[a-z]", text):
                    stray.append(f"{place}:{node.lineno}")
    assert stray == []


@pytest.mark.parametrize(
    ("words", "call", "argument", "flag"),
    [
        (
            ["data", "show", "pictures"],
            lambda: ct.load_dataset("pictures"),
            'name the table: labels="my.csv"',
            "name the table: --labels my.csv",
        ),
        (
            ["data", "show", "pictures", "--labels", "my.csv", "--columns", "file:name"],
            lambda: ct.load_dataset("pictures", labels="my.csv", columns="file:name"),
            "columns='file:name': expected ROLE=COLUMN",
            "--columns 'file:name': expected ROLE=COLUMN",
        ),
        (
            ["data", "show", "pictures", "--labels", "my.csv", "--columns", "file=odd"],
            lambda: ct.load_dataset("pictures", labels="my.csv", columns="file=odd"),
            "columns= names 'odd'",
            "--columns names 'odd'",
        ),
        (
            ["audit", "my.csv", "--truth", "y"],
            lambda: ct.audit("my.csv", truth="y"),
            "name the column of predictions: pred=",
            "name the column of predictions: --pred",
        ),
        (
            ["run", "face_localization", "--model", "predictions:my.csv.odd", "--data", "people", "--out", "never"],
            lambda: ct.evaluate("predictions:my.csv.odd", "face_localization", "people", limit=1),
            'settings={"format": "module:attr"}',
            "--setting format=module:attr",
        ),
    ],
)
def test_an_error_speaks_its_reader_s_language(words, call, argument, flag, tmp_path, monkeypatch, capsys):
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    for name in ("pictures/a.png", "pictures/b.png"):
        Path(name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (8, 8)).save(name)
    Path("my.csv").write_text("name,y\na.png,1\nb.png,0\n")
    Path("my.csv.odd").write_text("odd")
    with pytest.raises(ct.InputError) as error:
        call()
    assert argument in str(error.value) and "--" not in str(error.value)
    assert command(words) == 2
    assert flag in capsys.readouterr().err
