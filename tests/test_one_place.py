"""One atomic writer and one process pool: everything else uses them."""

import ast
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "countenance"
WRITERS = {"files.py", "storage/local.py"}
POOLS = {"processes.py"}
FORBIDDEN = {
    "renaming": ({("os", "replace"), ("os", "rename"), ("os", "renames"), ("os", "link"), ("os", "fsync")}, WRITERS),
    "pools": ({("concurrent.futures", "ProcessPoolExecutor"), ("multiprocessing", "*"), ("os", "fork")}, POOLS),
}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def names(tree: ast.AST) -> set[tuple[str, str]]:
    """Modules with what is taken from them, whichever way it is imported."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {(node.module, name.name) for name in node.names} | {(node.module.partition(".")[0], "*")}
        elif isinstance(node, ast.Import):
            found |= {(name.name.partition(".")[0], "*") for name in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add((node.value.id, node.attr))
    return found


@pytest.mark.parametrize("what", FORBIDDEN)
def test_it_is_done_in_one_place(what):
    wanted, allowed = FORBIDDEN[what]
    stray = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if place not in allowed and (here := names(parsed(path)) & wanted):
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
