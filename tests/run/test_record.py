"""Scores computed elsewhere become a run that everything else opens."""

from pathlib import Path
from typing import Any

import pytest

from countenance.answers import Labels
from countenance.data.card import DatasetCard
from countenance.errors import InputError
from countenance.models import ModelCard
from countenance.report import write_report
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord
from countenance.run.record import record
from countenance.run.store import RunStore
from countenance.run.verify import verify
from countenance.tasks import Number


def manifest(content: str = "one") -> Manifest:
    return Manifest(
        task="mine",
        metrics=[MetricRecord(name="right", headline=True)],
        model=ModelCard(name="m", content=content),
        dataset=DatasetRecord(card=DatasetCard(name="d", real_people=False), source="/home/me/labels.csv"),
    )


def rows(n: int = 80) -> list[dict[str, Any]]:
    return [
        {"sample": f"{i}.jpg", "identity": f"p{i // 2}", "attr.age": "old" if i % 2 else "young", "m.right": i % 3 > 0}
        for i in range(n)
    ]


def test_a_recorded_run_is_audited_reported_and_verified(tmp_path: Path) -> None:
    answers = [(f"{i}.jpg", Labels({"age": "old"})) for i in range(80)]
    failed = [{"sample": "x.jpg", "kind": "answer", "reason": "no row", "people": ["p9"], "attributes": {}}]
    run = record(
        tmp_path / "run", manifest(), rows(), results=[Number(name="Score", value=0.5)], answers=answers,
        failures=failed, notes=["from a file"],
    )  # fmt: skip
    assert run.complete and run.manifest.failed == 1 and run.manifest.dataset.images == 81
    assert run.manifest.dataset.source == "labels.csv"  # no folder of this machine in what is published
    assert run.notes == ["from a file"]
    assert run.answers()["3.jpg"] == Labels({"age": "old"})
    assert [result.name for result in run.results()] == ["Score"]
    run.audit(by=["age"], adjust="holm")
    assert "from a file" in write_report(run).read_text()
    assert verify(run.store).problems == []


def test_damage_is_seen(tmp_path: Path) -> None:
    record(tmp_path / "run", manifest(), rows())
    (tmp_path / "run" / "results.json").write_text("[] ")
    assert verify(RunStore(tmp_path / "run")).problems == ["results.json: its content is not what was written"]


def test_another_run_is_replaced_where_that_is_asked_for(tmp_path: Path) -> None:
    record(tmp_path / "run", manifest(), rows()).audit(by=["age"], adjust="holm")
    again = record(tmp_path / "run", manifest("two"), rows(10), replace=True)
    assert again.manifest.model.content == "two" and again.scores().num_rows == 10
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert not (tmp_path / "run" / "audit.json").exists() and verify(again.store).problems == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and holds no run"):
        record(tmp_path / "other", manifest(), rows(), replace=True)


def test_the_same_run_is_written_again_and_another_is_kept(tmp_path: Path) -> None:
    record(tmp_path / "run", manifest(), rows()).audit(by=["age"], adjust="holm")
    again = record(tmp_path / "run", manifest(), rows())
    assert not (again.path / "audit.json").exists()  # it rested on the scores that were replaced
    record(tmp_path / "run", manifest("two"), rows())
    assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 2
    assert all(verify(RunStore(path)).problems == [] for path in tmp_path.iterdir() if path.is_dir())


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds no run"):
        record(tmp_path, manifest(), rows())


def test_rows_without_a_sample_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no row was scored"):
        record(tmp_path / "run", manifest(), [])


def test_predictions_of_an_earlier_record_are_gone(tmp_path: Path) -> None:
    for label in ("young", "old"):
        answers = [("0.jpg", Labels({"age": label}))]
        found = record(tmp_path / "run", manifest(), rows(), answers=answers)
    assert [answer.values for answer in found.answers().values()] == [{"age": "old"}]
    assert found.store.answer_files() == ["answers/00000.parquet"]
