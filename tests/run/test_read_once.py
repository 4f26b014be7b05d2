"""Every picture of a run is read once, and only if it is evaluated; so are the files of truth."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from countenance.testing import write_small_dataset

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
