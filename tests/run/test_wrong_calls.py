"""Calls from Python with the wrong things: one sentence that names what was found and what was expected."""

from pathlib import Path

import numpy as np
import pytest
from tests.run.recorded import record

import countenance as ct
from countenance.answers.formats import PredictionRequest, read_predictions
from countenance.auditing.settings import AuditSettings
from countenance.cli.app import run as run_command
from countenance.data import load_dataset
from countenance.data.names import ImageNames
from countenance.errors import InputError
from countenance.run.chosen_model import choose_model
from countenance.run.evaluator import evaluate
from countenance.run.manifest import DatasetRecord, Manifest
from countenance.run.shard import needs_pixels, takes_ids
from countenance.settings import ModelSettings
from countenance.storage.local import LocalStorage
from countenance.tasks import load_task
from countenance.testing import DiscDetector, small_dataset

ROWS = {"sex": ["f"] * 40 + ["m"] * 40, "found": [1, 0] * 40}
NOTHING = ModelSettings()


def empty() -> ct.Dataset:
    return ct.Dataset(ct.DatasetCard(name="empty"), [])


def test_one_name_may_be_given_without_a_list():
    assert ct.audit(ROWS, by="sex", metrics="found").findings == ct.audit(ROWS, ["sex"], ["found"]).findings


@pytest.mark.parametrize("by", [5, [None], [("sex",)]])
def test_names_that_are_no_text_are_refused(by):
    with pytest.raises(InputError, match=r"by: found .* expected names of columns"):
        ct.audit(ROWS, by=by, metrics=["found"])


@pytest.mark.parametrize("wrong", [{"depth": "2"}, {"seed": 0.5}, {"min_n": True}, {"alpha": "0.05"}, {"power": None}])
def test_settings_of_another_type_are_refused_by_name(wrong):
    with pytest.raises(InputError, match=f"^{next(iter(wrong))} .*, expected a (whole )?number"):
        AuditSettings(**wrong)
    assert AuditSettings(depth=np.int64(2), alpha=np.float32(0.1)).depth == 2


def test_a_folder_whose_manifest_is_none_is_refused_by_its_name(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(InputError, match=r"run.json: not a run's manifest; `countenance run` makes one"):
        ct.audit(str(tmp_path), by=["sex"])


def test_data_and_task_of_another_type_are_refused():
    with pytest.raises(InputError, match="data is a list, expected a dataset's name"):
        load_dataset([1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="task is a NoneType, expected a name"):
        load_task(None)  # type: ignore[arg-type]


class Mine:
    def __call__(self, images):
        return [None for _ in images]


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        (Mine, {}, r"model is the class Mine; give an object of it: Mine\(\)"),
        (Mine(), {"settings": {"threshold": 0.5}}, "settings and weights are for models by name"),
        (Mine(), {"weights": Path("w.onnx")}, "settings and weights are for models by name"),
        (Path("nowhere.csv"), {}, "nowhere.csv: no such file of predictions"),
        ({"image": ["a"], "x0": [1]}, {}, "a table holds no keypoints; give a file or a model"),
    ],
)
def test_models_that_cannot_be_meant_are_refused(model, settings, said):
    with pytest.raises(InputError, match=said):
        choose_model(model, ModelSettings(**settings), load_task("keypoint_estimation"), empty())


def test_the_index_of_a_table_may_name_the_images():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"image": ["1"], "age": [30.0]}).set_index("image")
    wanted = PredictionRequest(ct.Age, ImageNames(["1.png"]))
    assert read_predictions(frame, wanted).by_id["1.png"].years == 30


def test_a_file_where_the_run_should_be_is_named(tmp_path):
    (tmp_path / "file").write_text("precious")
    for place in ("file", "file/below"):
        with (
            pytest.raises(InputError, match="is in the way, expected a folder"),
            LocalStorage(tmp_path / place).hold(),
        ):
            pass
    with pytest.raises(InputError):
        evaluate(Mine(), "face_localization", empty(), out=tmp_path / "file")
    assert (tmp_path / "file").read_text() == "precious"


@pytest.mark.parametrize("arguments", [["run", "attributes"], ["bias-bounty", "score"], ["uccs", "evaluate-detector"]])
def test_an_empty_name_is_not_the_folder_that_the_user_is_in(arguments, capsys):
    assert run_command([*arguments, "--out", ""]) == 2
    assert "--out is empty" in capsys.readouterr().err
    assert run_command(["verify", ""]) == 2
    assert "an empty name where a run should be" in capsys.readouterr().err


def manifest(task: str, model: str, content: str = "") -> Manifest:
    data = DatasetRecord(card=ct.DatasetCard(name="d"))
    return Manifest(suite="fhibe", task=task, model=ct.ModelCard(name=model, content=content), dataset=data)


def test_only_an_earlier_run_of_the_same_model_and_task_is_replaced(tmp_path):
    rows, out = [{"sample": "a.jpg", "attr.age": "young", "m.right": 1.0}], tmp_path / "run"
    record(out, manifest("one", "mine"), rows)
    record(out, manifest("one", "mine", "other weights"), rows, replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    record(out, manifest("two", "mine"), rows, replace=True)
    record(out, manifest("two", "yours"), rows, replace=True)
    (out / "run.json").write_text("damaged")
    record(out, manifest("two", "yours"), rows, replace=True)
    kept = [path for path in tmp_path.iterdir() if path.name != "run"]
    assert len(kept) == 3 and all((path / "scores.parquet").is_file() for path in kept)


class Unwilling:
    """Answers, but fails on every question about itself."""

    def __getattr__(self, name):
        raise RuntimeError(name)

    def __call__(self, images):
        return [ct.Boxes([[1, 2, 3, 4]], [0.5]) for _ in images]


def test_a_model_that_says_nothing_of_itself_has_a_card():
    assert choose_model(Unwilling(), NOTHING, load_task("face_localization"), empty()).card.name == "Unwilling"
    assert needs_pixels(Unwilling()) and not takes_ids(Unwilling())


def test_the_name_of_a_model_is_one_short_line():
    class Named(Unwilling):
        name = "mine\nverdict  none larger than 0.05\x1b[31m" + "n" * 1000

    shown = choose_model(Named(), NOTHING, load_task("face_localization"), empty()).card.name
    assert shown.startswith("mine verdict none larger than 0.05\\x1b[31m") and len(shown) < 210


def test_tensors_with_gradients_are_numbers_and_masked_ones_are_not():
    class Tensor(np.ndarray):  # as torch has it: no array before it is detached
        detached = False

        def detach(self):
            self.detached = True
            return self

        def cpu(self):
            assert self.detached
            return np.asarray(self)

    assert ct.Boxes(np.array([[1, 2, 3, 4.0]]).view(Tensor), [0.5]).xyxy.tolist() == [[1, 2, 3, 4]]
    with pytest.raises(ValueError, match="masked numbers"):
        ct.Boxes(np.ma.array([[1, 2, 3, 4.0]], mask=[[True, False, False, False]]), [0.5])


def test_a_list_of_withdrawn_people_is_refused_where_nobody_was_withdrawn(tmp_path: Path) -> None:
    data = small_dataset(8)
    with pytest.raises(InputError, match="a new run, from which nobody was withdrawn"):
        ct.evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run", withdrawn=["somebody"])
    ct.evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run")
    with pytest.raises(InputError, match="nobody was withdrawn from this run yet"):
        ct.evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run", withdrawn=["somebody"])
