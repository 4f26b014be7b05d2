"""Runs in trackers: with the real packages where they are installed (offline), and with stand-ins of them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from countenance.data import Dataset
from countenance.errors import InputError
from countenance.report.exports.published import source_of
from countenance.report.loggers import log_run, logged
from countenance.run import Run, evaluate
from countenance.testing import DiscDetector, small_dataset

NAME = "recall_at_0.5/skin_tone/monk_10"


def dark(run: Run) -> float:
    groups = source_of(run).audit.groups
    return next(e.estimate for e in groups if (e.metric, e.group) == ("recall@0.5", "monk_10"))


def test_what_is_logged(run: Run) -> None:
    content = logged(run)
    assert content.metrics[NAME] == dark(run) and content.metrics[f"{NAME} low"] < dark(run)
    assert content.metrics["disparities"] > 0 and content.parameters["verdict"] == "disparity"
    assert {path.name for path in content.files} == {"run.json", "results.json", "audit.json"}  # nobody is named there
    assert all(sign.isalnum() or sign in "._-/ " for name in content.metrics for sign in name)


@pytest.mark.parametrize("real", [False, True])
def test_a_report_on_people_who_exist_is_logged_on_request(tmp_path: Path, real: bool) -> None:
    discs = small_dataset(12)
    data = Dataset(discs.card.model_copy(update={"real_people": real}), list(discs))
    run = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run")
    run.audit(by=["gender"], adjust="holm")
    (tmp_path / "run" / "report.html").write_text("a page")
    assert ("report.html" in {path.name for path in logged(run).files}) is not real
    assert "report.html" in {path.name for path in logged(run, report=True).files}
    assert "report.html" not in {path.name for path in logged(run, report=False).files}


def test_unknown_and_missing_trackers(run: Run, monkeypatch) -> None:
    with pytest.raises(InputError, match=r"no tracker 'mlfow' \(did you mean mlflow\?\)"):
        log_run(run, "mlfow")
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(InputError, match="logging to wandb needs its package: pip install wandb"):
        log_run(run, "wandb")


class Calls(list[tuple[str, Any]]):
    """What a stand-in was called with."""

    def taking(self, name: str) -> Any:
        return lambda *values, **options: self.append((name, (values, options)))

    def first(self, name: str) -> Any:
        return next(values[0] for own, (values, _) in self if own == name)


@pytest.mark.parametrize("active", [False, True])
def test_mlflow_stand_in(run: Run, monkeypatch, active: bool) -> None:
    calls, module = Calls(), ModuleType("mlflow")
    under_way = SimpleNamespace(info=SimpleNamespace(run_id="7"))

    @contextmanager
    def start_run(**options: Any) -> Iterator[Any]:
        calls.append(("start", ((options,), {})))
        yield under_way

    module.start_run, module.active_run = start_run, lambda: under_way if active else None
    for name in ("set_tags", "log_metrics", "log_dict", "log_artifact", "set_tracking_uri", "set_experiment"):
        setattr(module, name, calls.taking(name))
    monkeypatch.setitem(sys.modules, "mlflow", module)
    assert log_run(run, "mlflow", step=3) == "7"
    assert calls.first("log_metrics")[NAME] == dark(run)
    assert calls.first("set_tags")["countenance.verdict"] == "disparity"
    assert ("start" in [name for name, _ in calls]) is not active


def test_wandb_stand_in(run: Run, monkeypatch) -> None:
    calls, module = Calls(), ModuleType("wandb")

    class Started:
        id, dir, summary = "7", "wandb/run", {}
        config = SimpleNamespace(update=calls.taking("config"))
        log, log_artifact = staticmethod(calls.taking("log")), staticmethod(calls.taking("artifact"))

        def __enter__(self) -> "Started":
            return self

        def __exit__(self, *_: object) -> None:
            calls.append(("finished", ((None,), {})))

    module.run, module.init = None, lambda **options: Started()
    module.Table = lambda columns, data: (columns, data)
    module.Artifact = lambda name, type: SimpleNamespace(add_file=calls.taking("file"))
    monkeypatch.setitem(sys.modules, "wandb", module)
    assert log_run(run, "wandb", mode="offline") == "wandb/run"
    assert calls.first("log")[f"countenance/{NAME}"] == dark(run) and calls[-1][0] == "finished"
    assert "drawn-faces misses 35 of 59" in Started.summary["countenance/sentence"]
    calls.clear()
    module.run = Started()  # a run under way is not ended
    log_run(run, "wandb")
    assert "finished" not in [name for name, _ in calls]


def test_tensorboard_stand_in(run: Run, monkeypatch, tmp_path: Path) -> None:
    calls, module = Calls(), ModuleType("tensorboard.summary")
    module.Writer = lambda folder: SimpleNamespace(add_scalar=calls.taking("scalar"), close=calls.taking("close"))
    monkeypatch.setitem(sys.modules, "tensorboard", ModuleType("tensorboard"))
    monkeypatch.setitem(sys.modules, "tensorboard.summary", module)
    assert log_run(run, "tensorboard", logdir=tmp_path, step=2) == str(tmp_path)
    scalars = {values[0]: values[1:] for name, (values, _) in calls if name == "scalar"}
    assert scalars[f"countenance/{NAME}"] == (dark(run), 2) and calls[-1][0] == "close"
    with pytest.raises(InputError, match="no option 'folder'; there is logdir"):
        log_run(run, "tensorboard", folder=tmp_path)


# the real packages


@pytest.mark.filterwarnings("ignore")
def test_mlflow_itself(run: Run, tmp_path: Path, monkeypatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)
    place = f"sqlite:///{tmp_path}/runs.db"
    key = log_run(run, "mlflow", tracking_uri=place, experiment_name="faces", run_name="first")
    stored = mlflow.get_run(key)
    assert stored.data.metrics[NAME] == pytest.approx(dark(run)) and stored.info.run_name == "first"
    assert stored.data.tags["countenance.verdict"] == "disparity" and stored.info.status == "FINISHED"
    artifacts = {one.path for one in mlflow.MlflowClient().list_artifacts(key, "countenance")}
    assert {f"countenance/{name}" for name in ("run.json", "audit.json", "groups.json")} <= artifacts
    with mlflow.start_run() as under_way:
        assert log_run(run, "mlflow", step=1) == log_run(run, "mlflow", step=2) == under_way.info.run_id
    assert [one.step for one in mlflow.MlflowClient().get_metric_history(under_way.info.run_id, NAME)] == [1, 2]


@pytest.mark.filterwarnings("ignore")
def test_wandb_itself(run: Run, tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb", minversion="0.12")
    folder = Path(log_run(run, "wandb", mode="offline", dir=str(tmp_path), settings={"silent": True}))
    wandb.teardown()  # its service writes the last lines when it ends
    (table,) = folder.rglob("*.table.json")
    assert "monk_10" in table.read_text()
    (stored,) = folder.parent.glob("*.wandb")
    assert f"countenance/{NAME}".encode() in stored.read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_tensorboard_itself(run: Run, tmp_path: Path) -> None:
    reading = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log_run(run, "tensorboard", logdir=tmp_path / "logs", step=5)
    events = reading.EventAccumulator(str(tmp_path / "logs"))
    events.Reload()
    (event,) = events.Tensors(f"countenance/{NAME}")
    assert event.step == 5 and event.tensor_proto.float_val[0] == pytest.approx(dark(run))
