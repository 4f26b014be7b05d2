"""The same predictions through `fhibe evaluate` and through `run` make runs that `compare` calls the same."""

import json

import pytest

from countenance import compare
from countenance.cli.app import run as command
from countenance.data import load_dataset
from countenance.run import Run, evaluate
from countenance.run.auditing import audit_run

from . import small

PEOPLE = 120


@pytest.fixture
def tree(tmp_path):
    """Two people in each picture; some are missed, some boxes hit nobody, and some pictures have no answer."""
    rows = small.body(tmp_path, people=PEOPLE, per_image=2)
    for task, column in (("person_localization", "person_bbox"), ("face_localization", "face_bbox")):
        entries = small.perfect_boxes(rows, column)
        for i, (name, entry) in enumerate(list(entries.items())):
            if i % 5 == 0:
                entry["detections"], entry["scores"] = entry["detections"][:1], entry["scores"][:1]
            if i % 7 == 0:
                entry["detections"].append([50, 50, 60, 60])
                entry["scores"].append(0.4)
            if i % 13 == 0:
                del entries[name]
        small.outputs(tmp_path, task, entries)
    return tmp_path


def both(root, task, *options):
    """The run of each way."""
    results = root / "results" / task / "fhibe_downsampled" / "m"
    arguments = ["fhibe", "evaluate", "--data", str(root), "--task", task, "--model-name", "m", "-q", "--no-report"]
    assert command(arguments) == 0
    data = f"fhibe:{root}?dataset=fhibe_downsampled&task={task}&attributes=pronoun,age,ancestry,apparent_skin_color"
    spine = root / f"spine-{task}"
    arguments = ["run", task, "--model", f"predictions:{results}/model_outputs.json", "--data", data]
    assert command([*arguments, "--out", str(spine), *options]) in (0, 1)
    return Run(results / "run"), Run(spine)


@pytest.mark.parametrize("task", ["person_localization", "face_localization"])
def test_the_same_predictions_make_the_same_run_either_way(tree, task, capsys):
    ours, spine = both(tree, task)
    assert ours.scores().column_names == spine.scores().column_names
    assert ours.scores().to_pylist() == spine.scores().to_pylist()
    assert [record.name for record in ours.manifest.metrics] == [record.name for record in spine.manifest.metrics]
    assert ours.manifest.dataset.fingerprint == spine.manifest.dataset.fingerprint
    numbers = [
        {r.name: r.value for r in run.results() if r.name.startswith("average") and not r.group}
        for run in (ours, spine)
    ]
    assert numbers[0] == numbers[1] and "average_precision@0.5" in numbers[0]
    actual = compare(ours, spine, names=["fhibe", "run"])
    assert {change.difference for change in actual.overall} == {0.0}
    capsys.readouterr()
    assert command(["compare", str(ours.path), str(spine.path), "--names", "fhibe,run"]) == 0
    assert "not comparable" not in capsys.readouterr().out


def test_a_bare_root_is_data_too(tree):
    results = tree / "results" / "person_localization" / "fhibe_downsampled" / "m"
    spine = tree / "bare"
    arguments = ["run", "person_localization", "--model", f"predictions:{results}/model_outputs.json"]
    assert command([*arguments, "--data", f"fhibe:{tree}", "--out", str(spine)]) in (0, 1)
    assert (
        command(
            [
                "fhibe",
                "evaluate",
                "--data",
                str(tree),
                "--task",
                "person_localization",
                "--model-name",
                "m",
                "-q",
                "--no-report",
            ]
        )
        == 0
    )
    assert Run(spine).scores().select(["sample", "subject", "m.average_recall"]).to_pylist() == (
        Run(results / "run").scores().select(["sample", "subject", "m.average_recall"]).to_pylist()
    )


@pytest.mark.parametrize("task", ["person_localization", "face_localization"])
def test_a_metric_is_known_under_its_published_name_too(tree, task, capsys):
    ours, spine = both(tree, task)
    for run in (ours, spine):
        assert audit_run(run, ["pronoun"], ["AR_IOU"]).settings["metrics"] == ["average_recall"]
        assert command(["audit", str(run.path), "--by", "pronoun", "--metric", "AR_IOU"]) in (0, 1)
    assert compare(ours, spine, names=["a", "b"], metrics=["AR_IOU"]).overall[0].metric == "average_recall"


def test_evaluate_is_the_only_writer(tree):
    """Nothing of FHIBE stores scores by itself: an interrupted, changed or purged run is everybody's."""
    from pathlib import Path

    import countenance.suites.fhibe as suite

    code = "\n".join(path.read_text() for path in Path(suite.__file__).parent.rglob("*.py"))
    for word in ("run.record import", "write_table(", "write_results(", "class FhibeRun"):
        assert word not in code, word


def test_outputs_that_were_damaged_are_named_and_nothing_is_written(tree):
    path = tree / "results/person_localization/fhibe_downsampled/m/model_outputs.json"
    outputs = json.loads(path.read_text())
    first = next(iter(outputs))
    path.write_text(json.dumps(outputs | {first: {"detections": [[1, 2, 3]]}}))
    arguments = ["fhibe", "evaluate", "--data", str(tree), "--task", "person_localization", "--model-name", "m", "-q"]
    assert command(arguments) == 2
    assert not (path.parent / "run").exists()


WRAPPER = """
import os
from pathlib import Path

class Wrapped:
    def data_preprocessor(self, img_filepaths, **keywords):
        return [img_filepaths]

    def __call__(self, batch):
        Path({log!r}).write_text(str(os.getpid()))
        return [{{"bboxes": [[4, 10, 19, 50]], "scores": [0.9], "labels": [0]}} for _ in batch]
"""


def test_a_wrapper_by_name_runs_in_a_process_of_its_own(tmp_path):
    import os

    small.body(tmp_path, people=6)
    log = tmp_path / "process"
    (tmp_path / "mine.py").write_text(WRAPPER.format(log=str(log)))
    arguments = ["fhibe", "evaluate", "--data", str(tmp_path), "--task", "person_localization", "--model-name", "w"]
    assert command([*arguments, "--model", f"{tmp_path}/mine.py:Wrapped", "-q", "--no-report"]) == 0
    folder = tmp_path / "results" / "person_localization" / "fhibe_downsampled" / "w"
    assert int(log.read_text()) != os.getpid()
    assert {row["m.average_recall"] for row in Run(folder / "run").scores().to_pylist() if row["subject"]} == {1.0}
    assert len(json.loads((folder / "model_outputs.json").read_text())) == 6


def test_the_data_are_read_for_the_task(tree):
    """The dataset and the truth that a task needs, unless the source names a task."""
    root = f"fhibe:{tree}"
    for task in ("person_localization", "face_localization"):
        assert load_dataset(root, task=task).read["task"] == task
    assert (
        load_dataset(f"{root}?task=person_localization", task="face_localization").read["task"] == "person_localization"
    )
    assert not load_dataset(root, task="age_estimation").read["task"]
    results = tree / "results" / "face_localization" / "fhibe_downsampled" / "m" / "model_outputs.json"
    run = evaluate(f"predictions:{results}", "face_localization", root, out=tree / "for-the-task")
    assert "task=face_localization" in str(run.local.source) and len(run.dataset()) == run.manifest.dataset.images
