"""One atomic writer, one process pool, one temporary folder, one YAML reader; and no function without a caller."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "countenance"
WRITERS = {"files.py", "storage/local.py", "storage/descriptors.py"}
POOLS = {"run/engine/processes.py", "worker_process.py"}
FORBIDDEN = {
    "renaming": ({("os", "replace"), ("os", "rename"), ("os", "renames"), ("os", "link"), ("os", "fsync")}, WRITERS),
    "pools": ({("concurrent.futures", "ProcessPoolExecutor"), ("multiprocessing", "*"), ("os", "fork")}, POOLS),
    "temporary files": ({("tempfile", "*")}, {"scratch.py"}),
    "yaml": ({("yaml", "safe_load"), ("yaml", "load"), ("yaml", "SafeLoader")}, {"data/yaml_text.py"}),
    "locks": ({("fcntl", "*"), ("msvcrt", "*")}, {"locks.py"}),
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def trees() -> Iterator[None]:
    """The trees of all files are large; later tests do not carry them along."""
    yield
    parsed.cache_clear()


@cache
def names(path: Path) -> set[tuple[str, str]]:
    """Modules with what a file takes from them, whichever way it is imported."""
    taken = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ImportFrom) and node.module:
            taken |= {(node.module, name.name) for name in node.names} | {(node.module.partition(".")[0], "*")}
        elif isinstance(node, ast.Import):
            taken |= {(name.name.partition(".")[0], "*") for name in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            taken.add((node.value.id, node.attr))
    return taken


@pytest.mark.parametrize("what", FORBIDDEN)
def test_it_is_done_in_one_place(what):
    wanted, allowed = FORBIDDEN[what]
    stray = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place not in allowed and (here := names(path) & wanted):
            stray.append((place, sorted(here)))
    assert stray == []


def test_files_are_renamed_by_the_writers_alone():
    stray = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(parsed(path)):
            moved = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rename"
            if moved and place not in WRITERS:
                stray.append(f"{place}:{node.lineno}")
    assert stray == []


def test_no_two_classes_have_one_name():
    seen: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                seen.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    assert {name: places for name, places in seen.items() if len(places) > 1} == {}


def test_no_script_hides_a_module_of_python():
    """Scripts put these folders at the front of the search path."""
    root = Path(__file__).parents[1]
    names = {path.stem for folder in ("tests", "tools", "benchmarks") for path in (root / folder).glob("*.py")}
    assert not names & sys.stdlib_module_names


UNCALLED = {
    "scoring_rates": "share above the median of all, as New York City's Local Law 144 defines it",
    "calculate_disparity": "a name of FHIBE's original interface",
    "check_people": "the renderer's project checks its set with it",
    "held_out": "tools/happyfaces_gpu.py",
    "write_small_dataset": "tests of packages that extend this one",
    "write_examples": "readers of docs/how-to",
}
"""Functions without a caller in the package, each with who calls it."""
HOOKS = {"__getattr__", "__dir__", "pytest_configure", "pytest_collection_modifyitems"}


def test_every_function_has_a_caller() -> None:
    used, defined = set[str](), set[str]()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Name):
                used.add(node.id)
            elif isinstance(node, ast.Attribute):
                used.add(node.attr)
            elif isinstance(node, ast.alias) and (node.asname or path.name == "__init__.py"):
                used.add(node.name)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                used |= set(re.split(r"[.:]", node.value))  # what is loaded by its name
        if "original" in path.parts:  # names of FHIBE's original interface, which scripts import
            continue
        for node in parsed(path).body:
            if isinstance(node, ast.FunctionDef) and not node.decorator_list:
                defined.add(node.name)
    used |= {word for path in SOURCE.rglob("*.j2") for word in re.findall(r"\w+", path.read_text())}
    used |= set(re.findall(r"\w+", (SOURCE.parents[1] / "pyproject.toml").read_text()))
    assert defined - used - HOOKS - set(UNCALLED) == set()


def test_no_line_is_kept_from_the_formatter() -> None:
    """Where the formatter's result is ugly, the expression wants another shape."""
    root = SOURCE.parents[1]
    marks = ["fmt: " + word for word in ("skip", "off")]
    files = [path for folder in ("src", "tests", "tools", "benchmarks") for path in (root / folder).rglob("*.py")]
    assert [str(path) for path in files if any(mark in path.read_text("utf-8") for mark in marks)] == []
