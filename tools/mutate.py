"""Change one operator or number of a package at random and see whether the package's own tests notice.

    python tools/mutate.py metrics [--n 20] [--seed 0] [--jobs 1] [--minutes 60] [--file PART] [--tests PATH ...]
                                   [--seconds 60] [--older] [--json OUT]

Works in a copy of the repository. Each mutation is one token of one file (`<` becomes `<=`, `+` becomes `-`, `and`
becomes `or`, 3 becomes 4, …). A first pass runs `tests/PACKAGE` and the doctests of `src/countenance/PACKAGE` once and
notes which lines each test runs and how long it takes; it is kept in `out/mutate` and repeated only for what changed.
A mutation is then tried on the tests that run its line, quickest first, up to `--seconds` of tests: in a copy of a
process that has collected all tests. For a line that runs at import the tests are collected again, and
those that run any line of its file, then all others, are tried. Survivors are printed with their
line; one whose tests did not end in time counts as caught and is named. `strict=True` of `zip` and the arguments of
`dataclass` are left alone: they guard against a mistake in the code and change no result.
"""

import argparse
import ast
import functools
import io
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import time
import tokenize
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import mutate_code  # noqa: E402
import mutate_tests  # noqa: E402

OTHERS = {
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "==": ("!=",),
    "!=": ("==",),
    "+": ("-",),
    "-": ("+",),
    "*": ("/",),
    "/": ("*",),
    "//": ("*",),
    "%": ("*",),
    "**": ("*",),
    "+=": ("-=",),
    "-=": ("+=",),
    "&": ("|",),
    "and": ("or",),
    "or": ("and",),
    "True": ("False",),
    "False": ("True",),
    "min": ("max",),
    "max": ("min",),
}
GUARDS = ("strict", "frozen", "slots", "kw_only", "eq")


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
    """Every mutation of a file."""
    source = path.read_text(encoding="utf-8")
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NUMBER and not token.string.lower().startswith(("0x", "0o", "0b")):
            new = _number(token.string.replace("_", ""))
        elif (
            token.string in OTHERS
            and token.type in (tokenize.OP, tokenize.NAME)
            and "*, " not in f"{token.line.strip()} "
        ):
            new = draw.choice(OTHERS[token.string])
        else:
            continue
        if token.line[: token.start[1]].endswith(tuple(f"{name}=" for name in GUARDS)):
            continue
        found.append(Mutation(str(path.relative_to(ROOT)), token.start[0], token.start[1], token.string, new))
    return found


def _compiles(what: Mutation) -> bool:
    """Whether the source is still Python: the star of `*names` is no product."""
    try:
        compile(mutated((ROOT / what.file).read_text(encoding="utf-8"), what), what.file, "exec")
    except SyntaxError:
        return False
    return True


def mutated(source: str, what: Mutation) -> str:
    """The source with one token exchanged.

    >>> mutated("x = 1 + 2", Mutation("a.py", 1, 6, "+", "-"))
    'x = 1 - 2'
    """
    lines = source.splitlines(keepends=True)
    line = lines[what.line - 1]
    lines[what.line - 1] = line[: what.column] + what.new + line[what.column + len(what.old) :]
    return "".join(lines)


@functools.cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def lines_around(source: str, line: int) -> set[int]:
    """The lines of the innermost statement at a line: its head where it has a body; empty where it runs at import.

    >>> sorted(lines_around("def f(x):\\n    return (\\n        x + 1)\\n", 3))
    [2, 3]
    >>> lines_around("LIMIT = 3\\n", 1)
    set()
    """
    found: set[int] = set()

    def visit(node: ast.AST, inside: bool) -> None:
        nonlocal found
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                body = getattr(child, "body", None)
                first = getattr(child, "lineno", None) or child.pattern.lineno
                last = (body[0].lineno - 1 if body else None) or getattr(child, "end_lineno", None) or first
                if first <= line <= max(first, last):
                    found = set(range(first, max(first, last) + 1)) if inside else set()
                function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                visit(child, inside or function)
            else:
                visit(child, inside)

    visit(_parsed(source), False)
    return found


@functools.cache
def called_at_import(source: str) -> set[int]:
    """The lines of a module's functions that it calls itself when it is imported, directly or through each other.

    >>> source = "def a():\\n    return b()\\ndef b():\\n    return 1\\ndef c():\\n    pass\\nA = a()\\n"
    >>> sorted(called_at_import(source))
    [1, 2, 3, 4]
    """
    body = _parsed(source).body
    functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
    waiting: list[ast.AST] = [node for node in body if not isinstance(node, ast.FunctionDef)]
    found: set[str] = set()
    while waiting:
        calls = [node.func for node in ast.walk(waiting.pop()) if isinstance(node, ast.Call)]
        names = {one.id for one in calls if isinstance(one, ast.Name) and one.id in functions} - found
        waiting += [functions[name] for name in names]
        found |= names
    return {line for name in found for line in range(functions[name].lineno, (functions[name].end_lineno or 0) + 1)}


def _try_all(
    some: list[Mutation], tests: mutate_tests.Map, copy: Path, end: float, seconds: float, write: Callable[[dict], None]
) -> None:
    """Write each mutation with what became of it."""
    left_out = {}

    def tell(what: Mutation, outcome: str, by: str) -> None:
        if outcome == "survived" and left_out.get(what):
            by += ", more left out for time"
        text = (copy / what.file).read_text(encoding="utf-8").splitlines()[what.line - 1].strip()
        write(asdict(what) | {"outcome": outcome, "by": by, "text": text})

    quick, slow = [], []
    for what in some:
        text = (copy / what.file).read_text(encoding="utf-8")
        around = lines_around(text, what.line)
        tests.called[what.file] = called_at_import(text)
        chosen, all_of_them = tests.those_that_run(what.file, around, seconds)
        left_out[what] = not all_of_them
        trial = (what, text, mutated(text, what), chosen)
        (slow if tests.at_import(what.file, around) else quick).append(trial)
    mutate_code.try_all(copy, quick, tell, end)
    for what, text, new, chosen in slow:
        if time.monotonic() > end:
            return
        path = copy / what.file
        mutate_tests.forget_compiled(path)
        path.write_text(new, encoding="utf-8")
        outcome, by = mutate_tests.run(copy, chosen)
        path.write_text(text, encoding="utf-8")
        mutate_tests.forget_compiled(path)
        tell(what, outcome, f"{len(chosen)} tests" if outcome == "survived" else by)


def _write(report: Path, terminal: int, row: dict) -> None:
    """Add a row to a report, and show it where the mutation was not caught."""
    with report.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(row) + "\n")
    if row["outcome"] != "caught":
        what = f"{row['file']}:{row['line']}: {row['old']} became {row['new']}"
        os.write(terminal, f"{row['outcome']}: {what}: {row['text']}   ({row['by']})\n".encode())


def main() -> int:
    """Draw, mutate, test, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", help="a folder of src/countenance, as suites/uccs")
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=60, help="of tests for one mutation")
    parser.add_argument("--file", default="", help="only files whose name contains one of these, with commas")
    parser.add_argument("--tests", nargs="+", help="default: tests/PACKAGE and the doctests of the package")
    parser.add_argument("--older", action="store_true", help="use what is known of tests whose sources changed since")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    source = ROOT / "src" / "countenance" / options.package
    draw = random.Random(f"{options.package}:{options.seed}")
    parts = options.file.split(",")
    drawn = [
        one
        for path in sorted(source.rglob("*.py"))
        for one in mutations(path, draw)
        if any(part in one.file for part in parts)
    ]
    draw.shuffle(drawn)
    paths = options.tests or [f"src/countenance/{options.package}", f"tests/{options.package}"]
    with tempfile.TemporaryDirectory(prefix="mutate-") as folder:
        copies = [Path(folder) / f"repository{k}" for k in range(options.jobs)]
        for copy in copies:
            ignored = shutil.ignore_patterns(".venv", ".git", "out", "__pycache__", ".*_cache", ".hypothesis")
            shutil.copytree(ROOT, copy, ignore=ignored)
        (Path(folder) / "shared").symlink_to(ROOT.parent / "shared")
        tests = mutate_tests.Map.made(copies[0], paths, ROOT / "out" / "mutate", options.older)
        if tests.failed:
            print(f"fail without any mutation: {', '.join(tests.failed)}", file=sys.stderr)
            return 2
        mutate_tests.load_libraries(tests.libraries)
        end = time.monotonic() + 60 * options.minutes
        chosen = list(itertools.islice(filter(_compiles, drawn), options.n))
        reports = [Path(folder) / f"rows{k}.jsonl" for k in range(options.jobs)]
        pids = []
        for k, report in enumerate(reports):
            pid = os.fork()
            if pid == 0:
                code = 1
                try:
                    write = functools.partial(_write, report, os.dup(1))
                    _try_all(chosen[k :: options.jobs], tests, copies[k], end, options.seconds, write)
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(code)
            pids.append(pid)
        ended = [os.waitpid(pid, 0)[1] for pid in pids]
        if any(ended):
            print("a process of the draw ended early", file=sys.stderr)
        rows = [json.loads(line) for report in reports if report.exists() for line in report.read_text().splitlines()]
    survived = sum(row["outcome"] == "survived" for row in rows)
    late = sum(row["outcome"] == "not in time" for row in rows)
    total = f"{len(rows) - survived} of {len(rows)} caught ({late} by the time limit), of {len(drawn)} mutations"
    print(f"{options.package}: {total}; seed {options.seed}")
    if options.json:
        options.json.write_text(
            json.dumps({"package": options.package, "seed": options.seed, "run": len(rows), "rows": rows}, indent=1)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
