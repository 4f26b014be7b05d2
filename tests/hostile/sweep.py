"""Every command over every item of the hostile corpus, each in a process with limits of time and memory.

    python tests/hostile/sweep.py [--only NAME] [--jobs 2]

A finding is: exit 3 or a signal, a traceback, exit 2 without a sentence or with one of more than 5,000 characters, more
than 60 s, memory beyond the limit, code of a stranger that ran, or anything outside the item that was touched.
"""

import argparse
import contextlib
import hashlib
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
if __name__ == "__main__":
    sys.path[:0] = [str(HERE.parents[1] / "src"), str(HERE.parents[1])]

from tests.hostile.items import COMMANDS, Item, corpus  # noqa: E402
from tests.hostile.making import make_good  # noqa: E402

SECONDS, MEMORY = 60, 6 << 30
LONGEST_LINE = 5000
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@contextlib.contextmanager
def world(good: Path, item: Item, place: Path) -> Iterator[Path]:
    """A copy of the good input with the item in it, and an outside that nothing may touch."""
    folder = place / "in"
    shutil.copytree(good, folder, symlinks=True)
    outside = folder / "outside"
    outside.mkdir()
    (outside / "victim.txt").write_text("not yours")
    shutil.copy(folder / "boxes.parquet", outside / "victim.parquet")
    (folder / "notes.txt").write_text("mine")
    item.make(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def untouched(folder: Path) -> dict[str, str]:
    """What no command on a run or a dataset may change: hashes of the files outside of it."""
    found = {}
    for path in (*(folder / "outside").rglob("*"), folder / "notes.txt", folder / "pwn.py", folder / "gone.txt"):
        if path.is_file() and not path.is_symlink():
            found[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def judged(code: int | None, text: str, canary: Path, before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What is wrong with how a command ended."""
    found = []
    if code not in (0, 1, 2):
        found.append(f"exit {code}")
    if "Traceback (most recent call last)" in text:
        found.append("traceback")
    if code == 2 and not text.strip():
        found.append("exit 2 without a sentence")
    if code == 2 and any(len(line) > LONGEST_LINE for line in text.splitlines()):
        found.append("a very long line")
    if CONTROL.search(text):
        found.append("control character on the terminal")
    if canary.exists():
        found.append("code of a stranger ran")
    if before != after:
        changed = [name for name in {*before, *after} if before.get(name) != after.get(name)]
        found.append(f"touched {', '.join(sorted(changed))}")
    return found


def _child(folder: Path, words: list[str], log: Path) -> None:
    """Run a command with its output in a file and leave with its exit code; never returns."""
    code = 70
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, target in ((null, 0), (handle, 1), (handle, 2)):
            os.dup2(number, target)
        os.chdir(folder)
        (folder / "out").mkdir(exist_ok=True)
        from countenance.cli.app import run

        code = run(words)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def ended(good: Path, item: Item, words: list[str], place: Path) -> list[str]:
    """Run one command over one item in a process of its own and say what is wrong."""
    canary, log = place / "canary", place / "log"
    os.environ["CANARY"] = str(canary)
    with world(good, item, place) as folder:
        before, start = untouched(folder), time.monotonic()
        pid = os.fork()
        if pid == 0:
            _child(folder, words, log)
        code: int | None = None
        while time.monotonic() - start < SECONDS:
            done, status, _ = os.wait4(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                break
            time.sleep(0.01)
        else:
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return [f"took more than {SECONDS} s"]
        text = log.read_text(errors="replace") if log.exists() else ""
        found = judged(code, text, canary, before, untouched(folder))
        return [f"{one}: {text[-600:]}" for one in found]


def main() -> int:
    """Sweep, print findings, and say how many cases there were; exit 1 when something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="items whose name contains this")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="hostile-"))
    os.environ["COUNTENANCE_STATE"] = str(root / "state")
    try:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                make_good(root / "good")
                code = 0
            finally:
                os._exit(code)
        if os.waitpid(pid, 0)[1]:
            return 3
        import countenance.cli.app  # once, so that each case need not
        import countenance.report.page
        import countenance.run  # noqa: F401

        cases = [
            (item, name, words)
            for item in corpus()
            if options.only in item.name
            for name, words in COMMANDS[item.kind].items()
        ]
        children = []
        for job in range(options.jobs):
            pid = os.fork()
            if pid == 0:
                os._exit(_work(cases[job :: options.jobs], root, job))
            children.append(pid)
        bad = sum(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0 for pid in children)
        print(f"{len(cases)} cases, {len({item.name for item, _, _ in cases})} items")
        return int(bad > 0)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _work(cases: list[tuple[Item, str, list[str]]], root: Path, job: int) -> int:
    bad = 0
    for number, (item, name, words) in enumerate(cases):
        place = root / f"{job}-{number}"
        place.mkdir()
        for finding in ended(root / "good", item, words, place):
            bad += 1
            print(f"{item.name} {name}: {finding}", flush=True)
        shutil.rmtree(place, ignore_errors=True)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
