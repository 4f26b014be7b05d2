"""Change one operator or number of a package at random and see whether the package's own tests notice.

    python tools/mutate.py metrics [--n 20] [--seed 0] [--minutes 20] [--file PART] [--tests PATH ...] [--json OUT]

Works in a copy of the repository. Each mutation is one token of one file (`<` becomes `<=`, `+` becomes `-`, `and`
becomes `or`, 3 becomes 4, …); `tests/PACKAGE` and the doctests of `src/countenance/PACKAGE` run until the first
failure. Survivors are printed with their line. A mutation that makes the tests take three times as long, and 30 s more,
counts as caught.
"""

import argparse
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OTHERS = {
    "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",), "!=": ("==",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "//": ("*",), "%": ("*",), "**": ("*",), "+=": ("-=",),
    "-=": ("+=",), "&": ("|",), "and": ("or",), "or": ("and",), "True": ("False",), "False": ("True",),
    "min": ("max",), "max": ("min",),
}  # fmt: skip


@dataclass(frozen=True)
class Mutation:
    """One token of a file and what it becomes."""

    file: str
    line: int
    column: int
    old: str
    new: str


def _number(text: str) -> str:
    """Another number: one more, or a tenth more."""
    try:
        return str(int(text) + 1)
    except ValueError:
        return repr(float(text) * 1.1 + 0.01)


def mutations(path: Path, draw: random.Random) -> list[Mutation]:
    """Every mutation of a file that still compiles."""
    source = path.read_text(encoding="utf-8")
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NUMBER and not token.string.lower().startswith(("0x", "0o", "0b")):
            new = _number(token.string.replace("_", ""))
        elif token.string in OTHERS and token.type in (tokenize.OP, tokenize.NAME) and "*, " not in token.line:
            new = draw.choice(OTHERS[token.string])
        else:
            continue
        made = Mutation(str(path.relative_to(ROOT)), token.start[0], token.start[1], token.string, new)
        try:
            compile(mutated(source, made), str(path), "exec")
        except SyntaxError:
            continue
        found.append(made)
    return found


def mutated(source: str, what: Mutation) -> str:
    """The source with one token exchanged.

    >>> mutated("x = 1 + 2", Mutation("a.py", 1, 6, "+", "-"))
    'x = 1 - 2'
    """
    lines = source.splitlines(keepends=True)
    line = lines[what.line - 1]
    lines[what.line - 1] = line[: what.column] + what.new + line[what.column + len(what.old) :]
    return "".join(lines)


def run_tests(copy: Path, tests: list[str], limit: float) -> tuple[bool, float]:
    """Whether the tests pass, and how long they took."""
    before = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    process = subprocess.Popen(
        command, cwd=copy, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        passed = process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        passed = False
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return passed, time.monotonic() - before


def main() -> int:
    """Draw, mutate, test, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package")
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--file", default="", help="only files whose name contains this")
    parser.add_argument("--tests", nargs="+", help="default: tests/PACKAGE and the doctests of the package")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    source = ROOT / "src" / "countenance" / options.package
    draw = random.Random(f"{options.package}:{options.seed}")
    files = [path for path in sorted(source.rglob("*.py")) if options.file in str(path)]
    drawn = [one for path in files for one in mutations(path, draw)]
    draw.shuffle(drawn)
    tests = options.tests or [f"src/countenance/{options.package}", f"tests/{options.package}"]
    end, done, survivors = time.monotonic() + 60 * options.minutes, 0, []
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copy = Path(folder) / "repository"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".venv", ".git", "out", "__pycache__", ".*_cache"))
        passed, usual = run_tests(copy, tests, 3600)
        if not passed:
            print("the tests fail without any mutation", file=sys.stderr)
            return 2
        for what in drawn[: options.n]:
            if time.monotonic() > end:
                break
            path = copy / what.file
            text = path.read_text(encoding="utf-8")
            path.write_text(mutated(text, what), encoding="utf-8")
            survived, _ = run_tests(copy, tests, 3 * usual + 30)
            path.write_text(text, encoding="utf-8")
            done += 1
            if survived:
                survivors.append(what)
                line = text.splitlines()[what.line - 1].strip()
                print(f"survived: {what.file}:{what.line}: {what.old} became {what.new}: {line}", flush=True)
    print(
        f"{options.package}: {done - len(survivors)} of {done} caught, of {len(drawn)} mutations; seed {options.seed}"
    )
    if options.json:
        rows = [asdict(one) for one in survivors]
        options.json.write_text(json.dumps({"package": options.package, "run": done, "survivors": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
