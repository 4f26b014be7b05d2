"""The figures of the docs that rest on the embedded people, written to docs/results/people.json.

    python tools/people_results.py [--out docs/results/people.json]

Runs the commands that the pages print (README, docs/verification.md) and keeps what they said and their results; a test
compares the pages with the file. Needs the extra `dlib`; about two minutes on 2 cores.
"""

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = {
    "demo": "countenance demo --out runs/demo --quiet",
    "verification": "countenance run face_verification --model dlib --data people:portraits --by skin_tone,masked "
    "--fmr 1e-2 --out runs/dlib --quiet",
}


def numbers(run: Path) -> list[dict[str, Any]]:
    """Every number of a run's results, with its interval."""
    found = json.loads((run / "results.json").read_text(encoding="utf-8"))
    results = found["results"] if isinstance(found, dict) else found
    return [one for one in results if "value" in one]


def main() -> None:
    """Run the commands and write what came out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "people.json")
    options = parser.parse_args()
    made: dict[str, Any] = {"date": datetime.datetime.now(tz=datetime.UTC).date().isoformat(), "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in COMMANDS.items():
            words = shlex.split(command)
            program = [sys.executable, "-c", "from countenance.cli.app import main; main()", *words[1:]]
            done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{command}: exit {done.returncode}\n{done.stderr}")
            lines = [line for line in done.stdout.splitlines() if not line.startswith(("report ", "pictures "))]
            place = Path(folder) / words[words.index("--out") + 1]
            made[name] = {"command": command.removesuffix(" --quiet"), "lines": lines, "results": numbers(place)}
            print(f"{command}\n  " + "\n  ".join(lines))
    options.out.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
