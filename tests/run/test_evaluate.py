import importlib
import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import countenance as ct
from countenance.data import load_dataset
from countenance.data.conditions import COLUMNS
from countenance.errors import InputError
from countenance.report.source import ReportSource
from countenance.run import Run, audit_run, evaluate, read_audit, store_audit
from countenance.run.shard import predictions
from countenance.storage.local import LocalStorage
from countenance.tasks import load_task
from countenance.testing import DiscDetector, small_dataset, write_small_dataset

TASK = "face_localization"


def test_a_detector_is_scored_face_by_face(discs, tmp_path) -> None:
    run = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run")
    scores = run.scores()
    assert scores.column_names[:3] == ["sample", "subject", "identity"]
    assert {"attr.skin_tone", "attr.gender", "m.recall@0.5", "m.best_iou", "m.false_positives"} <= set(
        scores.column_names
    )
    faces = scores.filter(scores["subject"].is_valid())
    assert faces.num_rows == 120
    assert min(faces["m.best_iou"].to_pylist()) == 1.0
    assert run.complete and run.manifest["failed"] == 0
    assert run.results()[0].name == "average_precision@0.5" and run.results()[0].value == 1.0


def test_workers_give_the_same_bytes_as_one_process(discs, tmp_path) -> None:
    one = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "a")
    two = evaluate("countenance.testing:DiscDetector", TASK, discs, out=tmp_path / "b", workers=2)
    assert (one.path / "scores.parquet").read_bytes() == (two.path / "scores.parquet").read_bytes()


def test_a_finished_run_is_not_done_again(discs, tmp_path) -> None:
    lines: list[str] = []
    evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run")
    calls = []

    class Counted(DiscDetector):
        def __call__(self, images):
            calls.append(len(images))
            return super().__call__(images)

    evaluate(Counted(), TASK, discs, out=tmp_path / "counted")
    before = len(calls)
    evaluate(Counted(), TASK, discs, out=tmp_path / "counted", say=lines.append)
    assert set(calls[before:]) == {1} and 8 <= len(calls[before:]) <= 12  # a few show that it is the same model
    assert "already complete" in lines[0]


def test_a_changed_model_starts_a_new_run_and_keeps_the_old(discs, tmp_path) -> None:
    lines: list[str] = []
    first = evaluate("haar", TASK, discs, out=tmp_path / "run", limit=4)
    evaluate("countenance.testing:DiscDetector", TASK, discs, out=tmp_path / "run", limit=4, say=lines.append)
    kept = tmp_path / f"run-{first.manifest['key'][:8]}"
    assert Run(kept).model_name == "haar" and Run(tmp_path / "run").model_name == "disc-detector"
    assert "held another run" in lines[0]


def test_a_changed_picture_is_another_dataset(tmp_path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=6)
    first = evaluate(DiscDetector(), TASK, folder, out=tmp_path / "a")
    shutil.copyfile(folder / "images" / "s00001.png", folder / "images" / "s00000.png")
    second = evaluate(DiscDetector(), TASK, folder, out=tmp_path / "b")
    assert first.manifest.dataset.pictures != second.manifest.dataset.pictures
    with pytest.raises(InputError, match="not comparable"):
        ct.compare(first, second)
    third = evaluate(DiscDetector(), TASK, folder, out=tmp_path / "a")
    assert third.manifest.dataset.pictures == second.manifest.dataset.pictures
    assert len(list(tmp_path.glob("a-*"))) == 1  # the run of the old picture is kept


def test_a_picture_that_is_repaired_is_evaluated(tmp_path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=6)
    picture = folder / "images" / "s00000.png"
    whole = picture.read_bytes()
    picture.write_bytes(whole[:40])
    assert evaluate(DiscDetector(), TASK, folder, out=tmp_path / "a").manifest.failed == 1
    picture.write_bytes(whole)
    assert evaluate(DiscDetector(), TASK, folder, out=tmp_path / "a").manifest.failed == 0


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("fakes:nan_boxes", "not finite"),
        ("fakes:turned_boxes", "x1 < x0 or y1 < y0"),
        ("fakes:large_scores", "a score of 1.5, expected 0 to 1"),
        ("fakes:raises", "RuntimeError: out of luck"),
        ("fakes:wrong_number", "the model returned 0 answers for 1 images"),
        ("fakes:hangs", "no answer within 3 s"),
        ("fakes:dies", "the worker process ended with code 9"),
    ],
)
def test_what_a_model_does_wrong_is_recorded_and_the_rest_goes_on(tmp_path, model: str, reason: str) -> None:
    folder = write_small_dataset(tmp_path / "set", n=24)
    run = evaluate(model, TASK, folder, out=tmp_path / "run", time_limit=3, batch=4, max_failures=1)
    failures = run.failures().to_pylist()
    assert failures and all(reason in row["reason"] for row in failures)
    answered = len(run.answers()) if len(failures) < 24 else 0
    assert answered + len(failures) == 24
    assert run.manifest["failed"] == len(failures)


def test_only_the_troublesome_images_fail(tmp_path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=40)
    troubled = {s.id for s in load_dataset(folder) if int(s.load()[0, 0].sum()) % 10 == 0}
    run = evaluate("fakes:raises", TASK, folder, out=tmp_path / "run")
    assert {row["sample"] for row in run.failures().to_pylist()} == troubled
    assert 0 < len(troubled) < 40


def test_strict_stops_at_the_first_failure(tmp_path, discs) -> None:
    with pytest.raises(InputError, match=r"stopped at the first failure \(strict\): .*out of luck"):
        evaluate("fakes:raises", TASK, discs, out=tmp_path / "run", strict=True)


def test_too_many_failures_are_said_in_the_verdict(tmp_path) -> None:
    dataset = small_dataset(120)
    run = evaluate(DiscDetector(), TASK, dataset, out=tmp_path / "ok")
    assert "have no answer" not in audit_run(run, by=["gender"]).reason

    def picky(images):
        return [
            [[0, 0, 1, float("nan")]] if int(image[0, 0, 0]) % 4 == 0 else DiscDetector()([image])[0]
            for image in images
        ]

    bad = evaluate(picky, TASK, dataset, out=tmp_path / "bad")
    found = audit_run(bad, by=["gender"])
    assert "have no answer, more than the limit of 5.0%" in found.reason
    assert found.verdict in ("insufficient evidence", "disparity")


def test_an_unreadable_image_is_a_failure_of_that_image(tmp_path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=10)
    (folder / "images" / "s00003.png").write_bytes(b"")
    run = evaluate(DiscDetector(), TASK, folder, out=tmp_path / "run")
    (row,) = run.failures().to_pylist()
    assert row["sample"] == "s00003" and row["kind"] == "image" and "the file is empty" in row["reason"]
    assert row["attr.skin_tone"] == ["monk_2"]  # who is left out is said


def test_a_model_that_prints_does_no_harm(tmp_path, discs) -> None:
    assert evaluate("fakes:prints", TASK, discs, out=tmp_path / "run", limit=8).manifest["failed"] == 0


def test_answers_may_come_from_a_generator(tmp_path, discs) -> None:
    assert evaluate("fakes:batched", TASK, discs, out=tmp_path / "run", limit=8).manifest["failed"] == 0


def test_saved_answers_give_the_same_scores(tmp_path, discs) -> None:
    first = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "a")
    second = evaluate(f"answers:{first.path}", TASK, discs, out=tmp_path / "b")
    kept = second.scores().column_names
    assert [name for name in first.scores().column_names if name not in kept] == sorted(COLUMNS)
    assert first.scores().select(kept).equals(second.scores())
    shorter = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "c", limit=100)
    third = evaluate(f"answers:{shorter.path}", TASK, discs, out=tmp_path / "d")
    assert third.manifest["failed"] == 20
    assert "no saved answer" in third.failures()["reason"][0].as_py()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "hair"}, r"no model 'hair' \(did you mean haar"),
        ({"model": "fakes:missing"}, r"fakes has no 'missing'"),
        ({"model": "no_such_module:x"}, r"no module 'no_such_module'"),
        ({"model": "net.onnx"}, r"net\.onnx: no such file"),
        ({"model": "yunet"}, r'needs its weights: add weights="PATH"'),
        ({"model": "yunet", "weights": "nowhere.onnx"}, r"nowhere\.onnx: no such file"),
        ({"model": 5}, r"model is a int"),
        ({"task": "face_localisation"}, r"did you mean face_localization"),
        ({"data": "peeple"}, r"did you mean people"),
        ({"workers": 0}, r"workers is 0"),
        ({"batch": 0}, r"batch is 0, expected at least 1"),
        ({"limit": 0}, r"limit is 0, expected at least 1"),
    ],
)
def test_wrong_options_are_refused_by_name(tmp_path, discs, options: dict, message: str) -> None:
    asked = {"model": "haar", "task": TASK, "data": discs, "out": tmp_path / "run"} | options
    with pytest.raises(InputError, match=message):
        evaluate(**asked)
    assert not (tmp_path / "run" / "scores.parquet").exists()


def test_an_empty_dataset_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="holds no image"):
        evaluate(DiscDetector(), TASK, small_dataset(0), out=tmp_path / "run")


def test_a_second_writer_is_refused(tmp_path, discs) -> None:
    with LocalStorage(tmp_path / "run").hold(), pytest.raises(InputError, match="another run is writing here"):
        evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run")


def test_a_folder_with_other_things_is_left_alone(tmp_path, discs) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(InputError, match="holds no run"):
        evaluate(DiscDetector(), TASK, discs, out=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "x"


def test_a_full_disk_is_said_and_nothing_is_half_written(tmp_path, discs, monkeypatch) -> None:
    def full(self, name, content):
        raise OSError(28, "No space left on device", name)

    monkeypatch.setattr(LocalStorage, "write", full)
    with pytest.raises(OSError, match="No space left"):
        evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run")
    assert not list((tmp_path / "run").rglob("*.part"))
    monkeypatch.undo()
    monkeypatch.syspath_prepend(os.fspath(tmp_path))
    assert evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run").complete


def test_the_audit_is_stored_and_read_back(tmp_path, discs) -> None:
    run = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run")
    found = audit_run(run, by=["skin_tone", "gender"])
    store_audit(run, found)
    assert read_audit(run).verdict == found.verdict
    identification = {"metric", "attribute", "group", "versus", "comparison", "n", "clusters", "n_versus"}
    numbers = {"estimate", "low", "high", "estimate_versus", "difference", "diff_low", "diff_high"}
    evidence = {"test", "statistic", "p", "p_adjusted", "effect", "effect_name", "mde"}
    contract = identification | numbers | evidence | {"verdict", "severity", "reason"}
    assert contract <= set(pq.read_table(run.path / "findings.parquet").column_names)
    with pytest.raises(InputError, match=r"no attribute 'skintone' \(did you mean skin_tone"):
        audit_run(run, by=["skintone"])


def test_the_manifest_says_what_was_asked(tmp_path, discs) -> None:
    run = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run", seed=3, limit=10)
    manifest = json.loads((run.path / "run.json").read_text())
    assert manifest["seed"] == 3 and manifest["limit"] == 10 and manifest["dataset"]["images"] == 10
    assert manifest["versions"]["numpy"] == np.__version__
    again = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "again", seed=3, limit=10)
    assert again.scores().equals(run.scores())


def test_a_model_must_answer_each_image() -> None:
    with pytest.raises(ValueError, match="2 answers for 1 images"):
        predictions(lambda images: [1, 2], [(small_dataset(1)[0], np.zeros((2, 2, 3), np.uint8))])


def test_twins_are_compared_with_their_base(tmp_path) -> None:
    run = evaluate("haar", TASK, "people:twins", out=tmp_path / "run", limit=120)
    only = {"change": ["none", "mask"]}
    found = audit_run(run, by=["mask"], metrics=["recall@0.5"], where=only, comparison="paired", pair="base")
    assert found.findings and all(f.test.startswith("McNemar") or f.verdict == "untestable" for f in found.findings)
    with pytest.raises(InputError, match=r"where: no attribute 'chnge' \(did you mean change"):
        audit_run(run, by=["mask"], where={"chnge": ["none"]})
    with pytest.raises(InputError, match="where: no row has change = hat"):
        audit_run(run, by=["mask"], where={"change": ["hat"]})


def test_a_model_that_writes_on_its_images_harms_nobody(tmp_path) -> None:
    import fakes

    dataset = small_dataset(6)
    before = dataset.fingerprint()
    evaluate(fakes.writes_on_images, TASK, dataset, out=tmp_path / "run")
    assert dataset.fingerprint() == before


@pytest.mark.parametrize(("model", "reason"), [("fakes:rude", "rude"), ("fakes:endless", "answers for 1 images")])
def test_an_answer_that_bites_is_a_failure_of_its_image(tmp_path, discs, model: str, reason: str) -> None:
    run = evaluate(model, TASK, discs, out=tmp_path / "run", limit=4, max_failures=1)
    assert run.manifest["failed"] == 4 and reason in run.failures()["reason"][0].as_py()


def test_a_model_that_cannot_be_made_is_one_line(tmp_path, discs) -> None:
    with pytest.raises(InputError, match=r"model 'fakes:NoArguments' cannot be made \(TypeError: ") as caught:
        evaluate("fakes:NoArguments", TASK, discs, out=tmp_path / "run")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["[]", "{}", "[" * 100_000, '{"task": "x", "model": 5}'])
def test_a_damaged_manifest_is_refused(tmp_path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json: not"):
        Run(tmp_path)


@pytest.mark.parametrize("as_name", [True, False])
def test_a_task_of_ones_own_runs_with_a_named_model_and_is_audited_later(tmp_path, discs, as_name: bool) -> None:
    import fakes

    task = "fakes:OWN_TASK" if as_name else fakes.own_task()
    run = evaluate("countenance.testing:DiscDetector", task, discs, out=tmp_path / "run")
    assert run.scores().num_rows == 120 and run.manifest["failed"] == 0
    again = Run(tmp_path / "run")  # as `countenance audit RUN` opens it, without the task at hand
    store_audit(again, audit_run(again, ["gender"]))
    source = ReportSource.of(again)
    assert source.better == {"boxes": "lower"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fakes:NOBODY", "fakes has no 'NOBODY'"),
        ("nothere:TASK", "no module 'nothere'"),
        ("fakes:raises", "that is a function, expected a Task"),
    ],
)
def test_a_task_that_is_none_is_refused(tmp_path, discs, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(DiscDetector(), name, discs, out=tmp_path / "run")


def test_an_unknown_metric_is_refused_by_name(tmp_path, discs) -> None:
    run = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run")
    with pytest.raises(InputError, match=r"no metric 'recall@0.6' \(did you mean recall@0.5"):
        audit_run(run, ["gender"], ["recall@0.6"])


def test_a_run_that_does_not_say_its_metrics_is_audited_the_right_way_round(tmp_path, discs) -> None:
    run = evaluate(DiscDetector(), TASK, discs, out=tmp_path / "run")
    manifest = json.loads((run.path / "run.json").read_text())
    for key in ("metrics", "task_source"):
        del manifest[key]
    (run.path / "run.json").write_text(json.dumps(manifest))
    again = Run(run.path, verified=False)
    assert "recall@0.5" in audit_run(again, ["gender"]).settings["metrics"]
    store_audit(again, audit_run(again, ["gender"], ["false_positives"]))
    assert ReportSource.of(again).better == {"false_positives": "lower"}


def test_an_edited_task_of_ones_own_is_another_run(tmp_path, discs, monkeypatch) -> None:
    text = (Path(__file__).parent / "fakes.py").read_text()
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for name, answer in (("first", "float(len(answer))"), ("second", "7.0")):
        (tmp_path / "edited.py").write_text(text.replace("float(len(answer))", answer))
        sys.modules.pop("edited", None)
        importlib.invalidate_caches()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        run = evaluate(DiscDetector(), "edited:OWN_TASK", discs, out=tmp_path / "run")
        found.append((name, set(run.scores()["m.boxes"].to_pylist())))
    sys.modules.pop("edited", None)
    assert found == [("first", {1.0}), ("second", {7.0})]


def test_a_changed_copy_of_a_named_task_is_scored_as_changed(tmp_path, discs) -> None:
    import fakes

    changed = replace(load_task("fakes:OWN_TASK"), score=fakes.seven)
    lines: list[str] = []
    run = evaluate("countenance.testing:DiscDetector", changed, discs, out=tmp_path / "run", say=lines.append)
    assert set(run.scores()["m.boxes"].to_pylist()) == {7.0}
    assert "exists in this program alone" in lines[0]
