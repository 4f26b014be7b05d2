import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from countenance.run import Run, audit_run, evaluate, store_audit
from countenance.run.file_names import COMPLETED, OWN_FILES, thumbnails_of
from countenance.run.hashes import FILES
from countenance.run.verification import verify
from countenance.testing import DiscDetector, write_small_dataset

SCRIPT = """
import sys
from countenance.run import evaluate
evaluate("fakes:Slow", "face_localization", sys.argv[1], out=sys.argv[2], workers=2, threads=1, batch=4)
"""


@pytest.mark.parametrize(
    ("seed", "expected", "images"),
    [(100, 3, 600), *(pytest.param(seed, 20, 3000, marks=pytest.mark.slow) for seed in range(10))],  # 200 kills in all
)
def test_killed_at_random_moments_and_resumed_the_scores_are_byte_identical(
    tmp_path, seed: int, expected: int, images: int
) -> None:
    data = write_small_dataset(tmp_path / "set", n=images, size=16)
    whole = evaluate("fakes:Slow", "face_localization", data, out=tmp_path / "whole", batch=4)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    command = [sys.executable, "-c", SCRIPT, str(data), str(tmp_path / "killed")]
    moments = random.Random(seed)
    kills = 0
    while kills < expected:
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.2, 1.5))
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    subprocess.run(command, env=environment, check=True)
    resumed = Run(tmp_path / "killed")
    assert kills == expected and resumed.complete
    assert (whole.path / "scores.parquet").read_bytes() == (resumed.path / "scores.parquet").read_bytes()
    assert not (resumed.path / "work").exists()


EVERY_FILE = [*OWN_FILES, "shards/00000.json", "answers/00000.parquet", thumbnails_of("a.png") + "-x.jpg", ".lock"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished and audited run of the current user, with its dataset beside it."""
    folder = tmp_path_factory.mktemp("finished")
    data = write_small_dataset(folder / "set", n=12, size=16)
    run = evaluate(DiscDetector(), "face_localization", data, out=folder / "run", shard=6)
    store_audit(run, audit_run(run, by=["gender"], adjust="holm"))
    return folder


@pytest.mark.parametrize("name", EVERY_FILE)
@pytest.mark.parametrize(
    ("is_finished", "is_filled"),
    [(True, True), (False, True), (False, False)],
    ids=["finished", "unfinished", "unfinished-empty"],
)
def test_a_folder_in_place_of_a_file_is_healed_and_what_a_user_put_there_stays(
    finished: Path, tmp_path: Path, name: str, is_finished: bool, is_filled: bool
) -> None:
    for part in ("run", "set"):
        shutil.copytree(finished / part, tmp_path / part)
    folder, scores = tmp_path / "run", Run(finished / "run").scores()
    if not is_finished:
        manifest = json.loads((folder / "run.json").read_text()) | {"status": "running"}
        (folder / "run.json").write_text(json.dumps(manifest))
        for file in (*COMPLETED, FILES):
            (folder / file).unlink(missing_ok=True)
    (folder / name).unlink(missing_ok=True)
    (folder / name).mkdir(parents=True)
    if is_filled:
        (folder / name / "mine.txt").write_text("mine")
    for place in ("shards", "work", "answers"):
        (folder / place).mkdir(exist_ok=True)
        (folder / place / "notes.txt").write_text("mine too")
    again = evaluate(DiscDetector(), "face_localization", tmp_path / "set", out=folder, shard=6)
    assert again.scores().equals(scores) and verify(again.store).problems == []
    assert not (folder / name).is_dir()
    assert [path.read_text() for path in tmp_path.rglob("mine.txt")] == ["mine"] * is_filled
    assert len(list(tmp_path.rglob("notes.txt"))) == 3
    assert bool(list(folder.rglob("*.in-the-way-*"))) == (is_filled and name != "run.json")


def test_a_run_gains_no_trust_by_being_healed(finished: Path, tmp_path: Path) -> None:
    for part in ("run", "set"):
        shutil.copytree(finished / part, tmp_path / part)
    place = tmp_path / "run" / "local.json"
    assert Run(tmp_path / "run").made_here
    place.unlink()
    place.mkdir()
    lines: list[str] = []
    again = evaluate(
        DiscDetector(), "face_localization", tmp_path / "set", out=tmp_path / "run", shard=6, say=lines.append
    )
    assert place.is_file() and not again.made_here and again.store.salt() == ""
    assert "folders were in place of local.json; moved out of the way" in lines[0]
