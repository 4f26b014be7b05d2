"""The figures of the docs that rest on the embedded people, written to docs/results/people.json.

    python tools/people_results.py [--only uccs] [--out docs/results/people.json]

Runs the commands of the console blocks that a line `<!-- make results -->` marks, each page in a separate folder, and
keeps what they printed and the numbers of their runs; then the scripts behind the tables. A test compares the pages
with the file. Needs the extras `dlib` and `plots`; about half an hour on 2 cores.
"""

import argparse
import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")))
MARKED = re.compile(r"<!-- make results -->\n+```console\n(.*?)```", re.DOTALL)
FIELDS = ("name", "attribute", "group", "value", "low", "high", "n", "bound")
LEFT_OUT = ("report ", "pictures ")
"""Lines that name a place on the machine."""
PAIRS = ("mask+text", "smile+text", "smile+background", "smile+glasses", "smile+tone")


class Shown(NamedTuple):
    """A command of a page and the lines that the page shows below it."""

    command: str
    lines: list[str]


def shown_on(page: str) -> list[Shown]:
    """The commands of the marked blocks of a page, in their order.

    >>> shown_on("<!-- make results -->\\n```console\\n$ countenance demo  # one\\nverdict  disparity\\n```")
    [Shown(command='countenance demo', lines=['verdict  disparity'])]
    """
    found: list[Shown] = []
    for block in MARKED.findall(page):
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("$ "):
                found.append(Shown(shlex.join(shlex.split(line[2:], comments=True)), []))
            else:
                found[-1].lines.append(line)
    return found


def not_printed(lines: list[str], output: list[str]) -> list[str]:
    """The lines of a page that a command did not print in this order.

    `…` alone means any lines, at the end of a line any rest of it.

    >>> not_printed(["a  b", "…", "long …"], ["a b", "c", "long line"])
    []
    >>> not_printed(["a", "b"], ["b", "a"])
    ['b']
    """
    missing, rest = [], [" ".join(line.split()) for line in output]
    for line in lines:
        wanted = " ".join(line.replace("...", "…").split())
        if wanted in ("", "…"):
            continue
        start, ellipsis, _ = wanted.partition("…")
        at = next((k for k, one in enumerate(rest) if (one.startswith(start) if ellipsis else one == wanted)), None)
        if at is None:
            missing.append(line)
        else:
            del rest[: at + 1]
    return missing


def run(command: str, folder: Path) -> list[str]:
    """What a command prints; it must succeed."""
    program = [sys.executable, "-c", "from countenance.cli.app import main; main()", *shlex.split(command)[1:]]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stderr}")
    lines = done.stdout.replace(f"{folder}{os.sep}", "").splitlines()
    return [line for line in lines if not line.startswith(LEFT_OUT)]


def numbers(place: Path) -> list[dict[str, Any]]:
    """Every number of a run's results, with its interval."""
    if not (place / "results.json").is_file():
        return []
    found = json.loads((place / "results.json").read_text(encoding="utf-8"))
    return [{field: one.get(field) for field in FIELDS} for one in found if "value" in one]


def page_results(page: str, folder: Path) -> list[dict[str, Any]]:
    """What the marked commands of a page print and leave."""
    made = []
    for shown in shown_on((ROOT / page).read_text(encoding="utf-8")):
        print(f"{page}: {shown.command}", flush=True)
        lines, words = run(shown.command, folder), shlex.split(shown.command)
        for line in not_printed(shown.lines, lines):
            print(f"  the page says otherwise: {line}")
        place = folder / words[words.index("--out") + 1] if "--out" in words else None
        made.append({"command": shown.command, "lines": lines, "results": numbers(place) if place else []})
    return made


def networks(folder: Path) -> Any:
    """Whether real networks see the rendered people as people (docs/people.md)."""
    script = [sys.executable, str(ROOT / "benchmarks" / "people.py")]
    return json.loads(subprocess.run(script, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def bounty(folder: Path) -> Any:
    """The shipped entries on the public test and on the holdout (docs/suites/bias_bounty.md)."""
    run("countenance bias-bounty make-data --out bounty", folder)
    made: dict[str, Any] = {}
    for entry in ("baseline", "better", "unsupervised"):
        made[entry] = {}
        for part, hidden in (("test", "bounty/organiser/test"), ("holdout", "bounty/holdout")):
            run(f"countenance bias-bounty predict --entry {entry} --images bounty/{part} --out p.csv", folder)
            run(
                f"countenance bias-bounty score --labels bounty/{part}/labels.csv --predictions p.csv "
                f"--nonfaces {hidden}/nonfaces.txt --json s.json",
                folder,
            )
            score = json.loads((folder / "s.json").read_text(encoding="utf-8"))
            kept = ("score1", "score1_faces_alone", "accuracy", "disparity")
            made[entry][part] = {key: score[key] for key in kept}
            made[entry][part] |= {
                "interval": score["intervals"]["score1"],
                "multiplier": score["randomness"]["multiplier"],
            }
    return made


def pairs(folder: Path) -> Any:
    """Spatial discovery on pairs of features of rendered people (docs/suites/happyfaces.md)."""
    made: dict[str, Any] = {}
    for pair in PAIRS:
        run(f"countenance happyfaces build --people --pair {pair} --out {pair}", folder)
        made[pair] = {}
        for rate in ("0.1", "0.3"):
            run(f"countenance happyfaces run -d {pair} --method spatial --mix-rate {rate} --json r.json", folder)
            found = json.loads((folder / "r.json").read_text(encoding="utf-8"))
            parts = {name: found[name]["worst_head"] for name in ("validation", "not_drawn") if name in found}
            made[pair][rate] = {"answered": found["answered"], "reason": found.get("reason"), **parts}
    return made


SCRIPTS = {"networks": networks, "bounty": bounty, "pairs": pairs}


def main() -> None:
    """Run the commands and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "people.json")
    parser.add_argument(
        "--only", action="append", help="a part of a page's name, or the name of a script; the rest is kept"
    )
    asked = parser.parse_args()
    made: dict[str, Any] = json.loads(asked.out.read_text(encoding="utf-8")) if asked.only else {}
    made |= {"date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(), "cores": os.cpu_count()}
    marked = {page for page in PAGES if MARKED.search((ROOT / page).read_text(encoding="utf-8"))}
    for name in [*sorted(marked), *SCRIPTS]:
        if asked.only and not any(part in name for part in asked.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            work = SCRIPTS.get(name)
            made[name] = work(Path(folder)) if work else page_results(name, Path(folder))
        asked.out.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
