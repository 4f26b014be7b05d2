"""`countenance run --log`: the trackers that are installed get the run; others are refused before anything is done."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from countenance.cli.app import app
from countenance.errors import InputError
from countenance.testing import write_small_dataset


def words(tmp_path: Path, *log: str) -> list[str]:
    data = write_small_dataset(tmp_path / "set", n=24)
    base = ["run", "face_localization", "--model", "countenance.testing:DiscDetector", "--data", str(data)]
    return [*base, "--out", str(tmp_path / "run"), "--by", "gender", "--adjust", "holm", "-q", *log]


@pytest.mark.parametrize(("name", "message"), [("mlfow", "did you mean mlflow"), ("wandb", "pip install wandb")])
def test_a_tracker_that_is_not_there_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda module, *rest: None if module == name else real(module, *rest)
    )
    result = CliRunner().invoke(app, words(tmp_path, "--log", name))
    assert isinstance(result.exception, InputError) and message in str(result.exception)
    assert not (tmp_path / "run").exists()


def test_what_is_logged_is_the_run_and_where_it_is_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scalars: dict[str, float] = {}

    class Writer:
        def __init__(self, folder: str) -> None:
            self.folder = folder

        def add_scalar(self, name: str, value: float, step: int, description: str) -> None:
            scalars[name] = value

        def close(self) -> None:
            pass

    board, summary = ModuleType("tensorboard"), ModuleType("tensorboard.summary")
    board.__spec__ = importlib.util.spec_from_loader("tensorboard", None)
    summary.Writer = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensorboard", board)
    monkeypatch.setitem(sys.modules, "tensorboard.summary", summary)
    result = CliRunner().invoke(app, words(tmp_path, "--log", "tensorboard"))
    assert result.exit_code == 0, result.output
    assert "logged   tensorboard: runs/countenance" in result.output
    assert scalars["countenance/images"] == 24


@pytest.mark.filterwarnings("default")  # those of the trackers themselves
@pytest.mark.parametrize("tracker", ["mlflow", "wandb", "tensorboard"])
def test_the_real_packages_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tracker: str) -> None:
    pytest.importorskip(tracker)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    monkeypatch.setenv("WANDB_MODE", "offline")
    result = CliRunner().invoke(app, words(tmp_path, "--log", tracker))
    assert result.exit_code == 0, result.output
    assert f"logged   {tracker}: " in result.output
