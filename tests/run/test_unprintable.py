"""Exceptions of models that fail when they are printed: one line, whatever they do."""

import sys
from pathlib import Path

import pytest

from countenance.cli.app import run as command
from countenance.decoding import first_line
from countenance.errors import InputError
from countenance.loading import load_code
from countenance.models.path_models import blamed
from countenance.run import Run
from countenance.run.shard import FailedImage
from countenance.testing import write_small_dataset
from countenance.text import kind_and_words, kind_of, words_of

sys.path.insert(0, str(Path(__file__).parent))
from unprintable import KINDS, Texts

NAMES = ["Raises", "Leaves", "Interrupts", "Base", "Endless", "Number", "Texts", "WithoutName", "Attributes"]


@pytest.mark.parametrize(("kind", "name"), list(zip(KINDS, NAMES, strict=True)), ids=NAMES)
def test_an_exception_that_cannot_be_printed_has_its_kind(kind: type[BaseException], name: str) -> None:
    error = kind()
    assert kind_of(error) == name and type(words_of(error)) is str
    expected = "Texts: another text" if kind is Texts else name
    assert kind_and_words(error) == expected
    assert FailedImage.of(error) == FailedImage("model", expected)
    assert "\n" not in first_line(error)
    if issubclass(kind, Exception):
        with pytest.raises(InputError, match=rf"a.png: the model raised {name}: "), blamed("a.png"):
            raise error


def test_a_module_that_raises_one_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "raising.py").write_text("from unprintable import Raises\nraise Raises()\n")
    with pytest.raises(InputError, match=r"importing .*raising.py failed \(Raises\)$"):
        load_code("model", f"{tmp_path}/raising.py:x")


def test_a_run_of_such_a_model_costs_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    data = write_small_dataset(tmp_path / "set", n=len(KINDS), size=16)
    words = ["run", "face_localization", "--model", f"{Path(__file__).parent}/unprintable.py:model"]
    words += ["--data", str(data), "--out", str(tmp_path / "run"), "--batch", "1", "-q"]
    assert command(words) == 2
    text = capfd.readouterr().err
    assert text.count("\n") == 1 and text.startswith(
        "error: all 9 images failed; the first, s00000: Raises; 8 more reasons"
    )
    assert command([*words, "--max-failures", "1"]) == 0
    reasons = Run(tmp_path / "run").failures()["reason"].to_pylist()
    assert reasons == ["Texts: another text" if name == "Texts" else name for name in NAMES]
    assert "Traceback" not in capfd.readouterr().err
