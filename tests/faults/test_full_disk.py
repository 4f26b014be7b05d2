"""The disk is full at every write of every command in turn: one line, exit 2, and the same command goes on."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from multiprocessing import Value
from pathlib import Path
from typing import Any

import pytest

from countenance import files
from countenance.cli.app import run as command
from countenance.testing import write_small_dataset

DETECTOR = """
import numpy as np
def model(images):
    return [np.array([[2.0, 2.0, 20.0, 20.0, 0.9]]) for _ in images]
"""
COMMANDS = {
    "run": ["run", "face_localization", "--model", "{in}/detector.py:model", "--data", "{in}/set", "--out", "{in}/run"],
    "audit": ["audit", "{in}/run", "--by", "gender"],
    "report": ["report", "{in}/run"],
    "card": ["card", "{in}/run", "--out", "{in}/card.md"],
    "export": ["export", "{in}/run", "--what", "groups", "--out", "{in}/groups.csv"],
    "purge": ["purge", "{in}/run", "--subjects", "{in}/left.txt"],
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "detector.py").write_text(DETECTOR)
    (tmp_path / "left.txt").write_text("id0003\n")
    write_small_dataset(tmp_path / "set", n=24, size=24)
    return tmp_path


class Disk:
    """Writes of this process and its children are counted; from a number on the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writes, self.limit = Value("i", 0), Value("i", 1 << 30)
        original = files._write

        def counted(path: Path, *how: Any, **more: Any) -> None:
            with self.writes.get_lock():
                self.writes.value += 1
                full = self.writes.value > self.limit.value
            if full:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
            original(path, *how, **more)

        monkeypatch.setattr(files, "_write", counted)

    def full_after(self, writes: int) -> None:
        self.writes.value, self.limit.value = 0, writes


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    yield Disk(monkeypatch)


def call(name: str, place: Path) -> int:
    return command([part.replace("{in}", str(place)) for part in COMMANDS[name]])


def scores(place: Path) -> bytes:
    return (place / "run" / "scores.parquet").read_bytes()


def filled_at(name: str, place: Path, disk: Disk, writes: int, capfd: pytest.CaptureFixture[str]) -> bool:
    """Run a command on a disk that takes some writes; False when that was enough for it."""
    disk.full_after(writes)
    capfd.readouterr()
    code = call(name, place)
    text = capfd.readouterr().err
    if disk.writes.value <= writes:
        assert code == 0, text
        return False
    assert code in (0, 2) and "Traceback" not in text, (name, writes, text)
    assert code == 0 or "No space left on device" in text, (name, writes, text)
    assert not list(place.rglob("*.part"))
    disk.full_after(1 << 30)
    assert call(name, place) == 0
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_the_disk_is_full_at_every_write(name: str, place: Path, disk: Disk, capfd: pytest.CaptureFixture[str]) -> None:
    before = list(COMMANDS)[: list(COMMANDS).index(name)]
    for earlier in before:
        assert call(earlier, place) == 0
    start = place.parent / f"{place.name}-start"
    shutil.copytree(place, start)
    writes, whole = 0, None
    while filled_at(name, place, disk, writes, capfd):
        whole = whole or scores(place)
        assert scores(place) == whole
        shutil.rmtree(place)
        shutil.copytree(start, place)
        writes += 1
    assert writes >= 1


@pytest.mark.parametrize("writes", [0, 3, 7])
def test_a_run_on_a_full_disk_says_so_and_goes_on(
    place: Path, disk: Disk, capfd: pytest.CaptureFixture[str], writes: int
) -> None:
    assert filled_at("run", place, disk, writes, capfd)
    assert len(scores(place)) > 0


def test_a_real_disk_that_is_full_is_named(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A file system of 48 kB in memory, where the machine lets us mount one."""
    small = place / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(small)], capture_output=True)
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        parts = [part.replace("{in}/run", str(small / "run")) for part in COMMANDS["run"]]
        arguments = [part.replace("{in}", str(place)) for part in parts]
        assert command(arguments) == 2
        text = capfd.readouterr().err
        assert "No space left on device" in text and str(small) in text and "Traceback" not in text
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False)
