"""Every picture of a run is read once, and only if it is evaluated; so are the files of truth."""

import csv
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

import countenance as ct
from countenance.auditing.audit import audited
from countenance.cli.app import run as command
from countenance.data import paths
from countenance.data.adapters.happyfaces_layout import SETS
from countenance.run.pictures import is_dataset_of
from countenance.storage.local import LocalStorage
from countenance.testing import face_picture, write_small_dataset


def centre(images: list[Any]) -> list[Any]:
    """A detector that always answers with the same box."""
    return [np.array([[2.0, 2.0, 12.0, 12.0, 0.9]]) for _ in images]


HOOK = """
import os, sys
_log = os.open(os.environ["OPENED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(lambda event, args: event == "open" and os.write(_log, f"{args[0]}\\n".encode("utf-8", "replace")))
"""
"""What every Python process does first, workers too: it notes each file that it opens."""


def opened(folder: Path, code: str, *arguments: object) -> Counter[str]:
    """How often each file below a folder is opened by a program and its worker processes."""
    with tempfile.TemporaryDirectory() as here:
        (Path(here) / "sitecustomize.py").write_text(HOOK)
        paths = os.pathsep.join([here, *sys.path])
        environment = os.environ | {"PYTHONPATH": paths, "OPENED": f"{here}/log"}
        words = [sys.executable, "-c", code, *map(str, arguments)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=here)
        assert done.returncode == 0, done.stderr
        lines = (Path(here) / "log").read_text().splitlines()
    below = (os.path.relpath(line, folder) for line in lines if line.startswith(f"{folder}/"))
    return Counter(name for name in below if not Path(folder / name).is_dir())


EVALUATED = """
import json, sys
import countenance as ct
import numpy as np

def model(images):
    return [{"gender": "female"} if task == "attributes" else np.array([[2.0, 2.0, 12.0, 12.0, 0.9]]) for _ in images]

for task, source, out, limit in json.loads(sys.argv[1]):
    ct.evaluate(model, task, source, out=out, limit=limit)
"""
COMMAND = "import sys; from countenance.cli.app import run; sys.exit(run(sys.argv[1:]))"


def reads(folder: Path, out: Path, limit: int | None, times: int = 1) -> Counter[str]:
    """How often each file of a dataset is opened while it is evaluated."""
    return opened(folder, EVALUATED, json.dumps([("face_localization", str(folder), str(out), limit)] * times))


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


OPTIONS = ("--model", "countenance.testing:DiscDetector", "--quiet")


SUITE = """
import countenance as ct

DISCS = ct.Suite("discs", "Is every disc found?", tasks=(ct.SuiteTask("face_localization"),))
"""


@pytest.mark.parametrize("words", [["run", "face_localization"], ["suite", "run", "{folder}/discs.py:DISCS"]])
def test_a_command_reads_labels_and_pictures_once_and_those_that_its_page_shows_again(
    tmp_path: Path, words: list[str]
) -> None:
    folder = write_small_dataset(tmp_path / "set", n=40, size=16)
    (tmp_path / "discs.py").write_text(SUITE)
    arguments = [word.format(folder=tmp_path) for word in words]
    arguments += ["--data", str(folder), "--out", str(tmp_path / "run"), *OPTIONS]
    counts = opened(folder, COMMAND, *arguments)
    assert {name: n for name, n in counts.items() if not name.endswith(".png")} == {"card.json": 1, "labels.csv": 1}
    times = sorted(shown(counts).values())
    assert times[:30] == [1] * 30 and len(times) == 40 and times[-1] <= 2
    assert (tmp_path / "run" / "report.html").is_file()


def test_a_picture_that_was_written_after_its_run_is_compared_again(tmp_path: Path) -> None:
    folder = write_small_dataset(tmp_path / "set", n=20, size=16)
    time.sleep(0.02)  # older than the run by more than a step of the clock of files
    run = ct.evaluate(centre, "face_localization", ct.load_dataset(folder), out=tmp_path / "run")
    assert is_dataset_of(run, run.dataset())
    next(folder.glob("images/*.png")).write_bytes(b"another picture")
    assert not is_dataset_of(run, run.dataset())


def test_a_command_that_is_repeated_takes_the_stored_audit_and_reads_what_says_so_once(
    tmp_path: Path, monkeypatch
) -> None:
    folder = write_small_dataset(tmp_path / "set", n=40, size=16)
    arguments = ["run", "face_localization", "--data", str(folder), "--out", str(tmp_path / "run"), *OPTIONS, "--by"]
    counts, each = count_reads(monkeypatch), []
    for by in ("gender", "gender", "skin_tone"):
        counts.clear()
        assert command([*arguments, by]) == 0
        each.append(counts.copy())
    assert [reads["audits"] for reads in each] == [1, 0, 1]
    assert each[1]["run.json"] <= 3 and each[1]["files.json"] <= 2 and each[1]["scores.parquet"] <= 2


def test_an_audit_is_computed_again_when_anything_that_it_says_may_be_different(tmp_path: Path, monkeypatch) -> None:
    folder = write_small_dataset(tmp_path / "set", n=40, size=16)
    run = ct.evaluate(centre, "face_localization", str(folder), out=tmp_path / "run")
    counts = count_reads(monkeypatch)
    first = run.audit(["gender"])
    for again in (run, ct.Run(tmp_path / "run")):
        assert again.audit(["gender"]).to_dict(groups=True) == first.to_dict(groups=True) and counts["audits"] == 1
    assert ct.Run(tmp_path / "run", verified=False).audit(["gender"]) and counts["audits"] == 2
    run.audit(["gender"], alpha=0.01)
    run.audit(["gender"])
    assert counts["audits"] == 4  # of two questions, the last one is stored
    (tmp_path / "run" / "findings.parquet").write_bytes(b"edited")
    run.audit(["gender"])
    assert counts["audits"] == 5 and ct.Run(tmp_path / "run").findings().num_rows
    monkeypatch.setattr("countenance.__version__", "another")
    run.audit(["gender"])
    assert counts["audits"] == 6


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


def pictures(folder: Path, names: Sequence[str]) -> list[list[float]]:
    """Small pictures in the formats that their names say, and the box in each."""
    boxes = []
    for seed, name in enumerate(names):
        pixels, box = face_picture(seed, 16)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(pixels).save(folder / name)
        boxes.append(box.tolist())
    return boxes


def write_csv(path: Path, rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)


def own_table(root: Path, count: int) -> str:
    """WebP pictures with the package's own table, which states no size."""
    names = [f"{i:03d}.webp" for i in range(count)]
    boxes = pictures(root, names)
    about = zip(names, boxes, strict=True)
    write_csv(root / "labels.csv", [("file", "subject", "face_box"), *((n, 0, json.dumps(box)) for n, box in about)])
    return str(root)


def any_table(root: Path, count: int) -> str:
    """Pictures in the folders of their people, as in LFW, with a table of somebody else."""
    names = [f"p{i // 2}/{i:03d}.webp" for i in range(count)]
    pictures(root, names)
    write_csv(root / "people.csv", [("image", "gender"), *((n, "female") for n in names)])
    return str(root)


def coco(root: Path, count: int) -> str:
    """A COCO file without widths and heights."""
    names = [f"{i:03d}.webp" for i in range(count)]
    rows = [
        {"id": i, "image_id": i, "category_id": 1, "bbox": [x0, y0, x1 - x0, y1 - y0]}
        for i, (x0, y0, x1, y1) in enumerate(pictures(root, names))
    ]
    images = [{"id": i, "file_name": name} for i, name in enumerate(names)]
    content = {"images": images, "annotations": rows, "categories": [{"id": 1, "name": "face"}]}
    (root / "annotations.json").write_text(json.dumps(content))
    return str(root)


def fairface(root: Path, count: int) -> str:
    names = [f"val/{i}.jpg" for i in range(count)]
    pictures(root, names)
    table = [("file", "age", "gender", "race"), *((n, "20-29", "Female", "Indian") for n in names)]
    write_csv(root / "fairface_label_val.csv", table)
    return f"fairface:{root}"


def uccs(root: Path, count: int) -> str:
    names = [f"{i:03d}.jpg" for i in range(count)]
    boxes = pictures(root / "validation", names)
    (root / "protocol").mkdir()
    faces = (
        (i, name, 5, x0, y0, x1 - x0, y1 - y0)
        for i, (name, (x0, y0, x1, y1)) in enumerate(zip(names, boxes, strict=True))
    )
    header = ("FACE_ID", "FILE", "SUBJECT_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")
    write_csv(root / "protocol" / "validation.csv", [header, *faces])
    return f"uccs:{root}?set=validation&version=2"


def bias_bounty(root: Path, count: int) -> str:
    names = [f"{i:03d}.png" for i in range(count)]
    pictures(root / "test", names)
    header = ("name", "skin_tone", "age", "gender")
    write_csv(root / "test" / "labels.csv", [header, *((n, "monk_5", "18_30", "female") for n in names)])
    return f"bias_bounty:{root}?split=test"


def shown(counts: Mapping[str, int]) -> dict[str, int]:
    """The pictures among the files that were opened."""
    return {name: n for name, n in counts.items() if Path(name).suffix in (".webp", ".jpg", ".png")}


IN_WORKER = """
import sys
import countenance as ct

model, (folder, out, decoders) = "countenance.testing:DiscDetector", sys.argv[1:]
ct.evaluate(model, "face_localization", folder, out=out, limit=20, decoders=int(decoders))
"""
READERS = {
    own_table: "face_localization",
    coco: "face_localization",
    uccs: "face_localization",
    any_table: "attributes",
    fairface: "attributes",
    bias_bounty: "attributes",
}


def test_where_no_file_states_sizes_only_the_drawn_pictures_are_opened(tmp_path: Path) -> None:
    plan = []
    for write, task in READERS.items():
        (tmp_path / write.__name__).mkdir()
        plan.append((task, write(tmp_path / write.__name__, 30), str(tmp_path / f"run-{write.__name__}"), 10))
    seen = shown(opened(tmp_path, EVALUATED, json.dumps(plan)))
    times = {write.__name__: sorted(n for name, n in seen.items() if write.__name__ in name) for write in READERS}
    assert times == {write.__name__: [1] * 10 for write in READERS}


@pytest.mark.parametrize("decoders", [0, 1])
def test_a_worker_and_its_decode_process_open_each_drawn_picture_once(tmp_path: Path, decoders: int) -> None:
    source = own_table(tmp_path / "set", 60)
    seen = opened(tmp_path / "set", IN_WORKER, source, tmp_path / "run", decoders)
    assert sorted(shown(seen).values()) == [1] * 20


COUNTED = """
import json, sys
from collections import Counter
import countenance.run.auditing as auditing
from countenance.cli.app import run
from countenance.run.pictures import is_dataset_of
from countenance.storage.local import LocalStorage

counts, computed = Counter(), auditing.audited

def counted(actual):
    def read(storage, name):
        counts[name] += 1
        return actual(storage, name)
    return read

def audited(*rows, **settings):
    counts["audits"] += 1
    return computed(*rows, **settings)

LocalStorage.read, LocalStorage.open, auditing.audited = counted(LocalStorage.read), counted(LocalStorage.open), audited
code = run(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    json.dump(counts, file)
sys.exit(code)
"""
METHOD = """
class FirstPixels:
    notes = {}
    def fit(self, labelled, labels, unlabelled):
        return self
    def predict(self, photos):
        return photos[:, :2, 0, 0] / 255.0
"""
MODEL = """
class Same:
    def __call__(self, images):
        return [{"skin_tone": "monk_5", "age": "18_30", "gender": "female"} for _ in images]
"""


def test_a_run_of_the_bias_bounty_reads_everything_once(tmp_path: Path) -> None:
    root = tmp_path / "set"
    source = bias_bounty(root, 30)
    (tmp_path / "model.py").write_text(MODEL)
    arguments = ("--data", source, "--model", f"{tmp_path}/model.py:Same", "--out", tmp_path / "run", "--limit", 20)
    seen = opened(root, COUNTED, tmp_path / "counts", "suite", "run", "bias_bounty", *arguments, "--quiet")
    assert sorted(shown(seen).values()) == [1] * 20 and seen["test/labels.csv"] == 1
    counts = json.loads((tmp_path / "counts").read_text())
    assert counts["scores.parquet"] <= 2 and counts["audits"] == 1


def test_a_score_of_the_bias_bounty_with_its_run_reads_the_labels_once(tmp_path: Path) -> None:
    bias_bounty(tmp_path, 30)
    labels = tmp_path / "test" / "labels.csv"
    (tmp_path / "mine.csv").write_text(labels.read_text())
    arguments = ("--labels", labels, "--predictions", tmp_path / "mine.csv", "--out", tmp_path / "run")
    seen = opened(tmp_path, COUNTED, tmp_path / "counts", "bias-bounty", "score", *arguments)
    assert shown(seen) == {} and seen["test/labels.csv"] == 1
    assert seen["mine.csv"] == 2  # once to read it, once to hash it
    assert json.loads((tmp_path / "counts").read_text())["scores.parquet"] == 1


def test_a_run_of_happyfaces_reads_everything_once(tmp_path: Path) -> None:
    root = tmp_path / "set"
    for folders, tags in SETS.values():
        for tag in tags:
            pictures(root, [f"{folders[0]}/{tag}/{i}.png" for i in range(4)])
    (tmp_path / "method.py").write_text(METHOD)
    arguments = ("-d", root, "--method", f"{tmp_path}/method.py:FirstPixels", "--out", tmp_path / "run")
    seen = opened(root, COUNTED, tmp_path / "counts", "happyfaces", "run", *arguments)
    assert set(seen.values()) == {1} and len(seen) == 4 * sum(len(tags) for _, tags in SETS.values())
    counts = json.loads((tmp_path / "counts").read_text())
    assert counts["scores.parquet"] <= 2 and counts.get("audits", 0) <= 1
