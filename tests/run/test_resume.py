import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from countenance.run import Run, evaluate
from countenance.run.verify import verify
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


@pytest.mark.parametrize("name", ["shards/00000.json", "answers/00000.parquet", "scores.parquet", ".lock"])
def test_a_folder_in_place_of_a_file_is_healed_and_what_a_user_put_there_stays(tmp_path: Path, name: str) -> None:
    data = write_small_dataset(tmp_path / "set", n=12, size=16)
    first = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run", shard=6)
    scores, folder = first.scores(), first.path
    (folder / name).unlink()
    (folder / name).mkdir()
    (folder / name / "mine.txt").write_text("mine")
    for place in ("shards", "work", "answers"):
        (folder / place).mkdir(exist_ok=True)
        (folder / place / "notes.txt").write_text("mine too")
    again = evaluate(DiscDetector(), "face_localization", data, out=tmp_path / "run", shard=6)
    assert again.scores().equals(scores) and verify(again.store).problems == []
    assert (folder / name).is_file()
    assert [path.read_text() for path in folder.rglob("mine.txt")] == ["mine"]
    assert len(list(folder.rglob("notes.txt"))) == 3
