"""Run commands in one process on files that are well formed and say something absurd.

    python tools/fuzz_content.py [--seed 0] [--cases 2000] [--kind run]
    python tools/fuzz_content.py --case 1234 --seed 0      # one case again, with what it prints
    python tools/fuzz_content.py --case 1234 --seed 0 --keep NAME   # its file becomes an item of the hostile corpus

`tools/fuzz.py` damages bytes, which a run's hashes notice at once. Here the content of a file is changed by its own
grammar (a value of JSON, the type of a column, the member of an archive, a word of YAML) and the list of hashes is
written again, as somebody does who means harm. A finding is exit 3, a traceback, exit 2 without a sentence, a control
character, a case that computes for more than 30 s or lasts for more than 300 s, code that ran, or a file outside that
was touched.
"""

import argparse
import base64
import contextlib
import faulthandler
import io
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "src"), str(ROOT)]

from fuzz_grammar import CHANGES, change_archive, change_policy  # noqa: E402
from tests.hostile.items import COMMANDS, Item  # noqa: E402
from tests.hostile.making import make_good, resealed  # noqa: E402
from tests.hostile.sweep import judged, untouched, world  # noqa: E402

KEPT = ROOT / "tests" / "hostile" / "kept"
SECONDS = 30
TOGETHER = 20
"""Cases of one process; it starts as a copy of one that has imported the package."""
FILES = {
    "run": (
        "run/run.json",
        "run/audit.json",
        "run/results.json",
        "run/shards/00000.json",
        "run/scores.parquet",
        "run/failures.parquet",
        "run/findings.parquet",
        "run/answers/00000.parquet",
        "run/local.json",
        "run/files.json",
        "run/questions.json",
        "run/views.json",
        "run/pages.json",
        "run/purge.json",
    ),
    "data": ("set/labels.csv", "set/card.json", "set/images/s00002.png", "set/annotations.json", "set.tar"),
    "predictions": ("boxes.csv", "boxes.parquet", "boxes.json"),
    "policy": ("gate.yaml",),
}
ADDED = {
    "run/questions.json": '{"questions": []}',
    "run/views.json": '{"views": [{"name": "a", "address": "/runs/run"}]}',
    "run/pages.json": '{"report.html": {"gallery": "off"}}',
    "run/purge.json": '{"samples": ["images/s00003.png"], "files": ["report.html"], "people": 1, "rows": 1}',
    "set/annotations.json": json.dumps(
        {
            "images": [{"id": 1, "file_name": "images/s00002.png", "width": 32, "height": 32}],
            "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 9, 9], "area": 81, "iscrowd": 0}],
            "categories": [{"id": 1, "name": "face"}],
        }
    ),
}
"""Files that the good input does not have."""


def drawn(number: int, seed: int, kind: str | None) -> tuple[str, str, str, Callable[[Path], str]]:
    """A case: its kind, the name of its command, the file that is changed, and what changes it and says how."""
    draw = random.Random(f"{seed}:{number}")
    chosen = kind or draw.choices(("run", "data", "predictions", "policy"), (60, 20, 12, 8))[0]
    file = draw.choice(FILES[chosen])
    names = list(COMMANDS[chosen])
    if file == "set.tar":
        names = ["archive"]
    elif chosen == "data":
        names = [name for name in names if name != "archive"]
    elif chosen == "predictions":
        names = [Path(file).suffix[1:]]
    name = draw.choice(names)

    def change(folder: Path) -> str:
        path = folder / file
        if file == "set.tar":
            return change_archive(path, folder / "set", draw)
        if file == "gate.yaml":
            return change_policy(path, draw)
        if file in ADDED and not path.exists():
            path.write_text(ADDED[file])
        if file == "set/annotations.json":
            (folder / "set" / "labels.csv").unlink()
        notes = [CHANGES[path.suffix](path, draw) for _ in range(draw.choice((1, 1, 1, 2, 4)))]
        if chosen == "run" and file != "run/files.json":
            resealed(folder / "run")
        return f"{file}: {'; '.join(notes)}"

    return chosen, name, file, change


def one_case(number: int, options: argparse.Namespace, good: Path, place: Path) -> list[str]:
    """Run a case in this process; what is wrong with how it ended."""
    from countenance.cli.app import run

    chosen, name, file, change = drawn(number, options.seed, options.kind)
    words = COMMANDS[chosen][name]
    place.mkdir()
    canary = place / "canary"
    os.environ["CANARY"] = str(canary)
    note, text = "", io.StringIO()
    with world(good, Item(str(number), chosen, lambda folder: None), place) as folder:
        note = change(folder)
        if options.keep:
            keep(folder / file, file, chosen, name, options.keep)
        (folder / "out").mkdir(exist_ok=True)
        os.chdir(folder)
        before, start = untouched(folder), time.process_time()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = run(words)
        seconds = time.process_time() - start  # a machine may be busy with other things
        problems = judged(code, text.getvalue(), canary, before, untouched(folder))
        problems += [f"took {seconds:.0f} s"] if seconds > SECONDS else []
        os.chdir(place)
    if options.case is not None:
        print(f"{' '.join(words)}\n{note}\n{text.getvalue()}exit {code} after {seconds:.1f} s")
    shutil.rmtree(place, ignore_errors=True)
    tail = re.sub(r"\s+", " ", text.getvalue()[-700:])
    return [f"{number} {name}: {problem}: {note!r:.300}\n    {tail}" for problem in problems]


def keep(path: Path, file: str, kind: str, command: str, name: str) -> None:
    """Put the file of a case into the hostile corpus, where the sweep and the quick tests run commands on it."""
    content = base64.b64encode(path.read_bytes()).decode()
    about = {"file": file, "kind": kind, "commands": [command], "seal": file != "run/files.json", "content": content}
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{name}.json").write_text(json.dumps(about, indent=1) + "\n")


def _work(numbers: list[int], options: argparse.Namespace, root: Path, report: Path) -> int:
    """Some cases in this process, which ends when one hangs."""
    with report.open("a") as stream:
        for number in numbers:
            faulthandler.dump_traceback_later(10 * SECONDS, exit=True, file=stream)
            (root / "at").write_text(str(number))
            for finding in one_case(number, options, root / "good", root / f"case-{number}"):
                stream.write(finding + "\n")
                stream.flush()
            faulthandler.cancel_dump_traceback_later()
    return 0


def _forked(work: Callable[[], int]) -> int:
    """Do something in a copy of this process and return how that ended."""
    pid = os.fork()
    if pid == 0:
        code = 70
        try:
            code = work()
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def sweep(options: argparse.Namespace) -> list[str]:
    """Draw and run the cases; the findings."""
    root = Path(tempfile.mkdtemp(prefix="fuzz-content-"))
    os.environ["COUNTENANCE_STATE"] = str(root / "state")
    report = root / "findings"
    try:
        if _forked(lambda: make_good(root / "good") or 0):
            raise SystemExit("the good input could not be made")
        import countenance.cli.app
        import countenance.report.page
        import countenance.run
        import countenance.view  # noqa: F401 - imported once, so that each case need not

        numbers = [options.case] if options.case is not None else list(range(options.cases))
        while numbers:
            part, rest = numbers[:TOGETHER], numbers[TOGETHER:]
            if code := _forked(lambda part=part: _work(part, options, root, report)):  # type: ignore[misc]
                last = int((root / "at").read_text())
                with report.open("a") as stream:
                    stream.write(f"{last} {drawn(last, options.seed, options.kind)[1]}: process ended with {code}\n")
                rest = [number for number in part if number > last] + rest
            numbers = rest
        return report.read_text().splitlines() if report.exists() else []
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main() -> int:
    """Sweep and print findings; exit 1 when there are some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--kind", choices=sorted(FILES))
    parser.add_argument("--case", type=int, help="one case again")
    parser.add_argument("--keep", metavar="NAME", help="with --case: put the changed file into the hostile corpus")
    options = parser.parse_args()
    if options.keep and options.case is None:
        parser.error("--keep needs --case, the finding whose file is put into the corpus")
    start = time.monotonic()
    findings = sweep(options)
    print("\n".join(findings))
    count = 1 if options.case is not None else options.cases
    kinds = Counter(drawn(number, options.seed, options.kind)[0] for number in range(count))
    shown = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    heads = [line for line in findings if re.match(r"\d+ ", line)]
    print(f"{count} cases ({shown}), seed {options.seed}, {time.monotonic() - start:.0f} s: {len(heads)} findings")
    return int(bool(heads))


if __name__ == "__main__":
    sys.exit(main())
