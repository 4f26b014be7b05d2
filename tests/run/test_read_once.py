"""Every picture of a run is read once, and only if it is evaluated; so are the files of truth."""

import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.auditing.audit import audited
from countenance.cli.app import run as command
from countenance.data import paths
from countenance.storage.local import LocalStorage
from countenance.testing import write_small_dataset


def centre(images: list[Any]) -> list[Any]:
    """A detector that always answers with the same box."""
    return [np.array([[2.0, 2.0, 12.0, 12.0, 0.9]]) for _ in images]


COUNTED = """
import collections, json, sys
counts = collections.Counter()
sys.addaudithook(lambda event, args: counts.update([str(args[0])]) if event == "open" and args else None)
import countenance as ct
import numpy as np

def model(images):
    return [np.array([[2.0, 2.0, 12.0, 12.0, 0.9]]) for _ in images]

folder, out, limit = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
counts.clear()
for _ in range(int(sys.argv[4])):
    ct.evaluate(model, "face_localization", folder, out=out, limit=limit)
print(json.dumps({path: n for path, n in counts.items() if path.startswith(folder)}))
"""


def reads(folder: Path, out: Path, limit: int | None, times: int = 1) -> dict[str, int]:
    """How often each file of a dataset is opened while it is evaluated."""
    command = [sys.executable, "-c", COUNTED, str(folder), str(out), json.dumps(limit), str(times)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


@pytest.mark.parametrize("limit", [None, 20])
def test_each_picture_is_read_once_and_only_if_it_is_evaluated(tmp_path: Path, limit: int | None) -> None:
    folder = write_small_dataset(tmp_path / "set", n=200, size=16)
    counts = reads(folder, tmp_path / "run", limit)
    assert sum(path.endswith(".png") for path in counts) == (limit or 200)
    assert set(counts.values()) == {1}


def test_a_second_command_reads_pictures_once_more_to_see_that_they_are_the_same(tmp_path: Path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=200, size=16)
    counts = reads(folder, tmp_path / "run", None, times=2)
    again = [path for path, count in counts.items() if count > 2]
    assert set(counts.values()) <= {2, 3} and len(again) <= 20  # a few predictions are made again: the same model?


def count_reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file of a run is read from now on, and how many audits are computed ("audits")."""
    counts: Counter[str] = Counter()
    read, compute = LocalStorage.read, audited

    def counted_read(self: LocalStorage, name: str) -> bytes:
        counts[name] += 1
        return read(self, name)

    def counted_audit(work: Any, **settings: Any) -> Any:
        counts["audits"] += 1
        return compute(work, **settings)

    monkeypatch.setattr(LocalStorage, "read", counted_read)
    monkeypatch.setattr("countenance.run.auditing.audited", counted_audit)
    return counts


def test_a_run_its_audit_and_its_report_read_the_scores_twice(tmp_path: Path, monkeypatch) -> None:
    """Once to list its hash, once to audit and report it."""
    folder = write_small_dataset(tmp_path / "set", n=60, size=16)
    counts = count_reads(monkeypatch)
    run = ct.evaluate(centre, "face_localization", str(folder), out=tmp_path / "run")
    run.audit()
    run.report()
    assert counts["scores.parquet"] <= 2 and counts["audits"] == 1


def test_a_file_that_was_written_again_is_read_again(tmp_path: Path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=20, size=16)
    ct.evaluate(centre, "face_localization", str(folder), out=tmp_path / "run")
    run = ct.Run(tmp_path / "run", verified=False)
    before = run.scores()
    assert run.scores() is before
    run.store.write_table("scores.parquet", before.slice(0, 3))
    assert run.scores().num_rows == 3


def opened_by_command(folder: Path, *arguments: str) -> dict[str, int]:
    """How often each file below a folder is opened by a command."""
    code = (
        "import collections, json, sys\n"
        "counts = collections.Counter()\n"
        "hook = lambda event, args: counts.update([str(args[0])]) if event == 'open' and args else None\n"
        "sys.addaudithook(hook)\n"
        "from countenance.cli.app import run\n"
        "code = run(sys.argv[2:])\n"
        "print(json.dumps([code, {path: n for path, n in counts.items() if path.startswith(sys.argv[1])}]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder), *arguments], capture_output=True, text=True)
    exit_code, counts = json.loads(done.stdout.splitlines()[-1])
    assert exit_code == 0, done.stderr
    return dict(counts)


OPTIONS = ("--model", "countenance.testing:DiscDetector", "--quiet")


SUITE = """
import countenance as ct

DISCS = ct.Suite("discs", "Is every disc found?", tasks=(ct.SuiteTask("face_localization"),))
"""


@pytest.mark.parametrize("words", [["run", "face_localization"], ["suite", "run", "{folder}/discs.py:DISCS"]])
def test_a_command_reads_the_labels_once(tmp_path: Path, words: list[str]) -> None:
    folder = write_small_dataset(tmp_path / "set", n=40, size=16)
    (tmp_path / "discs.py").write_text(SUITE)
    arguments = [word.format(folder=tmp_path) for word in words]
    arguments += ["--data", str(folder), "--out", str(tmp_path / "run"), *OPTIONS]
    counts = opened_by_command(folder, *arguments)
    assert {Path(path).name: n for path, n in counts.items() if not path.endswith(".png")} == {
        "card.json": 1,
        "labels.csv": 1,
    }
    assert (tmp_path / "run" / "report.html").is_file()


def test_the_report_of_a_run_that_was_made_here_has_its_dataset(tmp_path: Path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=20, size=16)
    run = ct.evaluate(centre, "face_localization", folder, out=tmp_path / "run")
    assert run.dataset() is run.dataset()
    assert ct.Run(tmp_path / "run").dataset() is not run.dataset()


@pytest.fixture
def unpacked(monkeypatch) -> list[Path]:
    """The archives that are unpacked."""
    archives: list[Path] = []
    actual = paths.unpack

    def unpack(archive: Path, into: Path) -> None:
        archives.append(archive)
        actual(archive, into)

    monkeypatch.setattr(paths, "unpack", unpack)
    return archives


def archived(folder: Path, place: Path) -> Path:
    """A folder as a tar."""
    with tarfile.open(place, "w") as tar:
        tar.add(folder, arcname=".")
    return place


def test_a_run_of_an_archive_with_its_report_unpacks_it_once(tmp_path: Path, unpacked: list[Path]) -> None:
    place = archived(write_small_dataset(tmp_path / "set", n=40, size=16), tmp_path / "set.tar")
    assert command(["run", "face_localization", "--data", str(place), "--out", str(tmp_path / "run"), *OPTIONS]) == 0
    ct.evaluate(centre, "face_localization", place, out=tmp_path / "other").report()
    assert unpacked == [place]


def test_an_archive_that_was_written_again_is_unpacked_again(tmp_path: Path, unpacked: list[Path]) -> None:
    place = tmp_path / "set.tar"
    for images in (3, 5):
        archived(write_small_dataset(tmp_path / str(images), n=images, size=16), place)
        assert [len(ct.load_dataset(place)) for _ in range(2)] == [images, images]
    assert unpacked == [place, place]


def test_a_comparison_and_its_page_read_each_run_once(tmp_path: Path, monkeypatch) -> None:
    folder = write_small_dataset(tmp_path / "set", n=40, size=16)
    for name in ("old", "new"):
        ct.evaluate(centre, "face_localization", str(folder), out=tmp_path / name)
    counts = count_reads(monkeypatch)
    assert command(["compare", *(str(tmp_path / n) for n in ("old", "new")), "--report", str(tmp_path / "c.html")]) == 0
    assert (counts["scores.parquet"], counts["run.json"]) == (2, 2)
