"""Temporary files: private, gone with their process, and after a kill gone with the next start."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from countenance import scratch

WRITER = """
import sys, time
from pathlib import Path
from countenance.files import staged, write_atomically
from countenance.scratch import scratch_folder

folder = scratch_folder("people")
(folder / "truth.json").write_text("who is who")

def write(part):
    part.write_text("half a page")
    with staged(Path(sys.argv[1]) / "export") as made:
        (made / "face.png").write_text("a face")
        print(folder, flush=True)
        time.sleep(600)

write_atomically(Path(sys.argv[1]) / "page.html", write)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files that only this test uses."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(scratch, "_own", None)
    return place


def started(out: Path) -> "tuple[subprocess.Popen[str], Path]":
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(out)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_goes_with_the_next_start(temporary: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    first, one = started(out)
    second, two = started(tmp_path)
    assert one.parent != two.parent and one.parent.parent == scratch.root()
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    hidden = sorted(path.name[:8] for path in out.iterdir())
    assert len(hidden) == 2 and (one / "truth.json").exists()
    found = scratch.sweep()
    assert (found.removed, found.files, found.at_work) == (1, 2, 1)
    assert not one.parent.exists() and list(out.iterdir()) == []
    assert (two / "truth.json").exists(), "a process at work keeps its folder"
    second.terminate()
    second.communicate()
    scratch.sweep()
    assert list(scratch.root().iterdir()) == []


def test_a_command_sweeps_when_it_starts(temporary: Path, tmp_path: Path) -> None:
    process, folder = started(tmp_path)
    process.kill()
    process.communicate()
    assert folder.exists()
    code = "import sys; from countenance.cli.app import run; sys.exit(run(['--version']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not folder.exists() and list(scratch.root().iterdir()) == []


def test_the_folder_can_be_read_by_its_owner_alone(temporary: Path) -> None:
    made = scratch.scratch_folder("people")
    for place in (made, made.parent, scratch.root()):
        assert place.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("how", ["open to others", "a link"])
def test_a_folder_that_somebody_else_prepared_is_not_used(temporary: Path, tmp_path: Path, how: str) -> None:
    if how == "a link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        scratch.root().symlink_to(tmp_path / "theirs")
    else:
        scratch.root().mkdir()
        scratch.root().chmod(0o777)
    made = scratch.scratch_folder("people")
    assert not made.resolve().is_relative_to(scratch.root().resolve())
    assert made.parent.parent.stat().st_mode & 0o077 == 0 and scratch.sweep().removed == 0


def test_a_forked_process_has_its_own_folder_and_leaves_that_of_its_parent(temporary: Path) -> None:
    made = scratch.scratch_folder("people")
    code = "import os, sys; from countenance import scratch as s; a = s.scratch_folder('a'); p = os.fork(); "
    code += "p and os.waitpid(p, 0); b = s.scratch_folder('b'); print(b.parent, a.exists(), flush=True)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2, (lines, done.stderr)
    (child, one), (parent, two) = (line.split() for line in lines)
    assert child != parent and one == two == "True" and made.exists()
    assert not Path(child).exists() and not Path(parent).exists()


def test_only_names_that_are_unfinished_are_removed(temporary: Path, tmp_path: Path) -> None:
    """A note is a path; a damaged one must not name a file of the user."""
    (tmp_path / "mine.txt").write_text("mine")
    left = scratch.root() / "1-dead"
    (left / scratch.UNFINISHED).mkdir(parents=True)
    scratch.root().chmod(0o700)
    left.with_name("1-dead.lock").touch()
    (left / scratch.UNFINISHED / "a").write_text(str(tmp_path / "mine.txt"))
    (left / scratch.UNFINISHED / "b").write_bytes(b"\xff\x00")
    assert scratch.sweep().removed == 1
    assert (tmp_path / "mine.txt").exists() and not left.exists()


def test_a_full_temporary_folder_keeps_nobody_from_writing_elsewhere(
    temporary: Path, tmp_path: Path, monkeypatch
) -> None:
    from countenance.files import write_text

    monkeypatch.setattr(scratch, "_make", lambda: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    write_text(tmp_path / "page.html", "whole")
    assert (tmp_path / "page.html").read_text() == "whole"
