"""Run every command on damaged input and report what a user must never see.

    python tools/fuzz.py [--seed 0] [--minutes 10] [--jobs 2] [--only NAME] [--json OUT] [--inputs DIR]
    python tools/fuzz.py --case NAME:NUMBER --seed 0    # one case again, with what it prints

Each case copies good input, damages one file or one option of the command line, and runs the command in a process of
its own. A case is a finding when it ends with exit 3, by a signal, after more than 60 s, with more than 2 GB of memory,
with exit 2 and no message, or with a traceback. The same seed gives the same cases.
"""

import argparse
import contextlib
import importlib
import json
import os
import pkgutil
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "src"), str(ROOT / "tests")]

import fuzz_damage  # noqa: E402
import fuzz_seeds  # noqa: E402

import s3_servers  # noqa: E402

SECONDS, BYTES = 60, 2 << 30


@dataclass(frozen=True)
class Finding:
    """A case that ended as no case may."""

    case: str
    what: str
    place: str
    damage: str
    arguments: list[str]


def _child(work: Callable[[], int], log: Path) -> None:
    """Do something with its output in a file and leave with its exit code; never returns."""
    code = 70
    try:
        os.setsid()
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        null = os.open(os.devnull, os.O_RDONLY)
        for number, target in ((null, 0), (out, 1), (out, 2)):
            os.dup2(number, target)
        code = work()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _finish(pid: int, limit: float) -> tuple[int | None, resource.struct_rusage | None]:
    """Wait for a process; None when it had to be ended."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            return status, used
        time.sleep(0.02)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None, None


def _last_place(text: str) -> str:
    """Where the last traceback ended, inside the package."""
    frames = re.findall(r'File "[^"]*?(countenance/[^"]+)", line (\d+), in (\S+)', text)
    error = [line for line in text.splitlines() if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    where = ":".join(frames[-1][:2]) if frames else ""
    return f"{where} {error[-1][:160] if error else ''}".strip()


def run_case(seed: "fuzz_seeds.Seed", base: Path, command: list[str], name: str, key: str, show: bool) -> list[Finding]:
    """One case: copy, damage, run, judge."""
    draw = random.Random(key)
    home = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        work, log = home / "in", home / "log"
        shutil.copytree(base, work, symlinks=True)
        if command == ["@arguments"]:
            command = json.loads((base / "arguments.json").read_text())
        arguments = [part.replace("{in}", str(work)).replace("{out}", str(home / "out")) for part in command]
        damage_options = draw.random() < 0.2
        note = ""
        if damage_options:
            arguments, note = fuzz_damage.damage_options(arguments, draw, work)

        bucket = f"fuzz/{home.name}"
        arguments = [part.replace("{s3}", f"s3://{s3_servers.BUCKET}/{bucket}") for part in arguments]

        def prepare() -> int:
            damage = note or fuzz_damage.damage_one_file(work, seed.targets, draw)
            if any("{s3}" in part for part in command):
                s3_servers.upload(work / "run", bucket)
            (home / "damage").write_text(damage, errors="replace")
            return 0

        def command_line() -> int:
            from countenance.cli.app import run

            os.chdir(home)
            sys.path.insert(0, str(work))
            return run(arguments)

        pid = os.fork()
        if pid == 0:
            _child(prepare, home / "prepared")
        if os.waitpid(pid, 0)[1]:
            raise RuntimeError((home / "prepared").read_text()[-2000:])
        before = time.monotonic()
        pid = os.fork()
        if pid == 0:
            _child(command_line, log)
        status, used = _finish(pid, SECONDS)
        text = log.read_text(errors="replace") if log.exists() else ""
        damage = (home / "damage").read_text() if (home / "damage").exists() else note
        if show:
            print(f"$ countenance {' '.join(arguments)}\n{damage}\n{text}")
        code = None if status is None else os.waitstatus_to_exitcode(status)
        if show:
            print(f"exit {code} after {time.monotonic() - before:.1f} s")
        whats = []
        if status is None:
            whats.append(f"hang over {SECONDS} s")
        elif code is not None and code < 0:
            whats.append(f"signal {-code}")
        elif code not in (0, 1, 2):
            whats.append(f"exit {code}")
        elif "Traceback (most recent call last)" in text:
            whats.append(f"traceback, exit {code}")
        if code == 2 and not text.strip():
            whats.append("silent exit 2")
        if code in (0, 1, 2) and re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", text):
            whats.append("control character on the terminal")
        if used is not None and used.ru_maxrss * 1024 > BYTES:
            whats.append(f"memory {used.ru_maxrss / 2**20:.1f} GB")
        return [Finding(name, what, _last_place(text), damage, command) for what in whats]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def cases(seeds: list["fuzz_seeds.Seed"], chosen: int) -> Iterator[tuple["fuzz_seeds.Seed", str, list[str], str, str]]:
    """Every command in turn, again and again, each time with other damage."""
    number = 0
    while True:
        for seed in seeds:
            for name, command in seed.commands.items():
                yield seed, name, command, f"{name}:{number}", f"{chosen}:{name}:{number}"
        number += 1


def _build(seeds: list["fuzz_seeds.Seed"], root: Path, jobs: int) -> list["fuzz_seeds.Seed"]:
    """Make the good input of every seed in processes of their own, and leave out what cannot be made."""
    pids = {}
    for seed in seeds:
        while len(pids) >= jobs:
            _reap(pids, root)
        (root / seed.name).mkdir()
        pid = os.fork()
        if pid == 0:
            code = 1
            with contextlib.suppress(BaseException):
                log = os.open(root / f"{seed.name}.log", os.O_WRONLY | os.O_CREAT)
                os.dup2(log, 1)
                os.dup2(log, 2)
                try:
                    seed.make(root / seed.name)
                    code = 0
                except BaseException:
                    import traceback

                    traceback.print_exc()
                    sys.stderr.flush()
            os._exit(code)
        pids[pid] = seed
    while pids:
        _reap(pids, root)
    good = []
    for seed in seeds:
        if (root / f"{seed.name}.failed").exists():
            print(f"no input for {seed.name}:\n{(root / f'{seed.name}.log').read_text()[-1500:]}", file=sys.stderr)
        else:
            good.append(seed)
    return good


def _reap(pids: dict[int, Any], root: Path) -> None:
    pid, status = os.wait()
    seed = pids.pop(pid)
    if status:
        (root / f"{seed.name}.failed").touch()


def _import_everything() -> None:
    """Import the package once, so that each case need not; nothing is called, so no thread is running at a fork."""
    import countenance

    for module in pkgutil.walk_packages(countenance.__path__, "countenance."):
        if not re.search(r"train|torch|ray|\.s3|render|dlib|__main__|network", module.name):
            with contextlib.suppress(Exception):
                importlib.import_module(module.name)


def _worker(number: int, jobs: int, seeds: list[Any], root: Path, options: Any, report: Path) -> None:
    """Every jobs-th case until the time is up; findings go to a file, a line each."""
    end = time.monotonic() + 60 * options.minutes
    ran: Counter[str] = Counter()
    with report.open("w") as stream:
        for i, (seed, command_name, command, name, key) in enumerate(cases(seeds, options.seed)):
            if time.monotonic() > end:
                break
            if i % jobs != number:
                continue
            ran[command_name] += 1
            for finding in run_case(seed, root / seed.name, command, name, key, False):
                stream.write(json.dumps(asdict(finding)) + "\n")
                stream.flush()
        stream.write(json.dumps({"ran": ran}) + "\n")


def main() -> int:
    """Run cases until the time is up; exit 1 when something was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="commands whose name contains this")
    parser.add_argument("--case", help="NAME:NUMBER, one case again")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inputs", type=Path, help="keep the good input here and use it again")
    options = parser.parse_args()
    _import_everything()

    wanted = options.case.rpartition(":")[0] if options.case else options.only
    seeds = [seed.only(wanted, exact=bool(options.case)) for seed in fuzz_seeds.seeds()]
    seeds = [seed for seed in seeds if seed.commands]
    kept = options.inputs
    with contextlib.ExitStack() as stack:
        if any("{s3}" in part for seed in seeds for command in seed.commands.values() for part in command):
            address = stack.enter_context(s3_servers.moto_server())
            os.environ.update({**s3_servers.CREDENTIALS, "AWS_ENDPOINT_URL": address})
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fuzz-inputs-"))
        root = kept or Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        _build([seed for seed in seeds if not (root / seed.name).exists()], root, options.jobs)
        seeds = [seed for seed in seeds if not (root / f"{seed.name}.failed").exists()]
        if options.case:
            for seed, _, command, name, key in cases(seeds, options.seed):
                if name == options.case:
                    return bool(run_case(seed, root / seed.name, command, name, key, True))
        reports = [root / f"report-{k}.jsonl" for k in range(options.jobs)]
        children = []
        for k, report in enumerate(reports):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    _worker(k, options.jobs, seeds, root, options, report)
                    code = 0
                finally:
                    os._exit(code)
            children.append(pid)
        for pid in children:
            os.waitpid(pid, 0)
        found, ran = [], Counter()
        for report in reports:
            for line in report.read_text().splitlines():
                row = json.loads(line)
                if "ran" in row:
                    ran.update(row["ran"])
                else:
                    found.append(Finding(**row))
    kinds: dict[tuple[str, str], list[Finding]] = {}
    for one in found:
        kinds.setdefault((one.what, re.sub(r"0x\w+|\d{3,}|'[^']*'", "…", one.place)), []).append(one)
    for (what, place), some in sorted(kinds.items()):
        print(f"{len(some):4} × {what}: {place}\n       {some[0].case}   {some[0].damage!r:.150}")
    total = f"{sum(ran.values())} cases over {len(ran)} commands, seed {options.seed}"
    print(f"{total}: {len(found)} findings of {len(kinds)} kinds")
    if options.json:
        options.json.write_text(
            json.dumps({"seed": options.seed, "ran": ran, "findings": [asdict(one) for one in found]}, indent=1)
        )
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
