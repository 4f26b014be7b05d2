"""What a purge leaves is checked as before: pictures, tables, and the dataset with or without the removed people."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import countenance as ct
from countenance.run import Run, evaluate
from countenance.run.evaluation import Evaluation
from countenance.run.pictures import is_dataset_of
from countenance.run.purge import purge
from countenance.testing import DiscDetector, write_small_dataset

TASK = "face_localization"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_small_dataset(tmp_path / "set", n=40)  # two images of each person, in order


@pytest.fixture(autouse=True)
def hashed_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat the model like one whose hash covers all of it: no stored prediction is repeated before a run resumes."""
    monkeypatch.setattr(Evaluation, "_check_model", lambda *given: None)


def unfinished(data: Path, out: Path) -> Path:
    """A run of which two shards of eight images are stored."""
    images = 0

    class Stops(DiscDetector):
        def __call__(self, pictures):  # type: ignore[no-untyped-def]
            nonlocal images
            images += len(pictures)
            if images > 16:
                raise KeyboardInterrupt
            return super().__call__(pictures)

    with pytest.raises(KeyboardInterrupt):
        evaluate(Stops(), TASK, data, out=out, shard=8, batch=8)
    assert len(Run(out).store.committed()) == 2
    return out


def finish(data: Path, out: Path) -> Run:
    class Stops(DiscDetector):
        pass

    Stops.__qualname__ = f"{unfinished.__qualname__}.<locals>.Stops"
    return evaluate(Stops(), TASK, data, out=out, shard=8, batch=8)


def is_shown(run: Run) -> bool:
    """Whether report and viewer show pictures of a run's dataset."""
    return is_dataset_of(run, run.dataset())


def remove(data: Path, *samples: str) -> None:
    """Take images out of a dataset's folder, with their labels."""
    table = data / "labels.csv"
    lines = table.read_text("utf-8").splitlines(keepends=True)
    table.write_text("".join(line for line in lines if not any(f"/{name}." in line for name in samples)), "utf-8")
    for name in samples:
        (data / "images" / f"{name}.png").unlink()


def exchange(data: Path, sample: str, other: str) -> None:
    shutil.copyfile(data / "images" / f"{other}.png", data / "images" / f"{sample}.png")


def test_the_pictures_of_those_who_remain_are_shown_whether_or_not_the_dataset_still_has_the_others(
    tmp_path: Path, data: Path
) -> None:
    evaluate(DiscDetector(), TASK, data, out=tmp_path / "run", shard=8)
    for number, sample in ((3, 6), (5, 10)):  # each person leaves the run first, then the dataset
        purge(tmp_path / "run", [f"id{number:04d}"])
        assert is_shown(Run(tmp_path / "run"))
        remove(data, f"s{sample:05d}", f"s{sample + 1:05d}")
        assert is_shown(Run(tmp_path / "run"))
    exchange(data, "s00001", "s00000")
    assert not is_shown(Run(tmp_path / "run")), "another picture of somebody who remains is noticed"


def test_two_people_may_leave_the_run_before_the_dataset(tmp_path: Path, data: Path) -> None:
    evaluate(DiscDetector(), TASK, data, out=tmp_path / "run", shard=8)
    purge(tmp_path / "run", ["id0003"])
    purge(tmp_path / "run", ["id0005"])
    (tmp_path / "run" / "answers" / "00004.parquet").unlink()
    evaluate(DiscDetector(), TASK, data, out=tmp_path / "run", shard=8)  # a repair keeps what is known of the dataset
    remove(data, "s00006", "s00007", "s00010", "s00011")
    assert is_shown(Run(tmp_path / "run"))
    remove(data, "s00012")
    assert not is_shown(Run(tmp_path / "run"))


def test_runs_from_which_different_people_were_removed_are_compared(tmp_path: Path, data: Path) -> None:
    runs = []
    for name, person in (("a", "id0003"), ("b", "id0004")):
        evaluate(DiscDetector(), TASK, data, out=tmp_path / name, shard=8)
        purge(tmp_path / name, [person])
        runs.append(Run(tmp_path / name))
    assert ct.compare(*runs).settings["rows"] == 36, "two of the 40 images belong to each of the two people"


@pytest.mark.parametrize("sample", ["s00000", "s00012"])
def test_a_picture_that_changes_after_a_purge_is_noticed_on_resume(tmp_path: Path, data: Path, sample: str) -> None:
    purge(unfinished(data, tmp_path / "run"), ["id0003"])  # of the first shard, not of the second
    exchange(data, sample, "s00001")
    finish(data, tmp_path / "run")
    assert len(list(tmp_path.glob("run-*"))) == 1


def test_an_unfinished_run_goes_on_after_a_purge(tmp_path: Path, data: Path) -> None:
    purge(unfinished(data, tmp_path / "run"), ["id0003"])
    run = finish(data, tmp_path / "run")
    assert not list(tmp_path.glob("run-*")) and len(run.answers()) == 38
    assert is_shown(run)
    whole = evaluate(DiscDetector(), TASK, data, out=tmp_path / "whole", shard=8)
    purge(whole.path, ["id0003"])
    assert Run(whole.path).manifest.dataset.pictures == run.manifest.dataset.pictures != ""


def _without_boxes(run: Path, number: int) -> None:
    """Replace every prediction of a shard by the prediction for its first image."""
    import pyarrow.parquet as pq

    path = run / "answers" / f"{number:05d}.parquet"
    table = pq.read_table(path)
    first = table.take([0] * table.num_rows)
    place = table.column_names.index("sample")
    pq.write_table(first.set_column(place, "sample", table["sample"]), path)


@pytest.mark.parametrize("make", [unfinished, finish])
@pytest.mark.parametrize("number", [0, 1])
def test_an_edited_table_is_not_accepted_after_a_purge(
    tmp_path: Path, data: Path, make: Callable[[Path, Path], object], number: int
) -> None:
    make(data, tmp_path / "run")
    _without_boxes(tmp_path / "run", number)
    purge(tmp_path / "run", ["id0003"])
    run = finish(data, tmp_path / "run")
    expected = evaluate(DiscDetector(), TASK, data, out=tmp_path / "whole", shard=8)
    purge(expected.path, ["id0003"])
    whole = Run(expected.path)
    assert run.scores().equals(whole.scores())
    stored, predicted = ({name: boxes.xyxy.tolist() for name, boxes in each.answers().items()} for each in (run, whole))
    assert stored == predicted


def test_only_tables_that_changed_are_listed_as_made_again(tmp_path: Path, data: Path) -> None:
    run = finish(data, tmp_path / "run")
    done = purge(run.path, ["id0003"])
    assert [name for name in done.made_again if name.startswith("answers/")] == ["answers/00000.parquet"]
