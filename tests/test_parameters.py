"""How many parameters a function has: at most eight, except where a published signature spells out settings."""

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "countenance"
MOST = 8
SETTINGS = "spells out the fields of its settings, for help() and editors"
PUBLISHED = "the signature of the original, which its users' scripts call"
EXCEPTIONS = {
    "run/evaluator.py evaluate": SETTINGS,
    "api.py audit": SETTINGS,
    "api.py compare": SETTINGS,
    "api.py leaderboard": SETTINGS,
    "auditing/plan.py plan": SETTINGS,
    "data/registry.py load_dataset": SETTINGS,
    "suites/fhibe/evaluation.py evaluate_task": PUBLISHED,
    "suites/fhibe/original/published.py BiasReport.__init__": PUBLISHED,
    "suites/fhibe/original/helpers.py image_data_loader_from_paths": PUBLISHED,
}
"""Why a function may have more; commands of the command line, whose parameters are their options, are not listed."""


def functions(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function below a node, with the classes and functions that it is in."""
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{scope}.{node.name}".removeprefix(".")
            if not isinstance(node, ast.ClassDef):
                yield inner, node
        yield from functions(node, inner)


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many parameters a function has beside `self` and `cls`."""
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [argument.arg for argument in plain if argument.arg not in ("self", "cls")]
    return len(names) + (arguments.vararg is not None) + (arguments.kwarg is not None)


def long_functions(tree: ast.AST) -> list[str]:
    """The functions that have too many."""
    return [name for name, function in functions(tree) if parameters(function) > MOST]


def is_command(place: str, name: str) -> bool:
    """Whether it is a command of the command line."""
    return place.startswith("cli/") and not name.startswith("_") and "." not in name


def test_no_function_has_more_than_eight_parameters() -> None:
    there = {
        f"{place} {name}"
        for place, path in ((path.relative_to(SRC).as_posix(), path) for path in SRC.rglob("*.py"))
        for name in long_functions(ast.parse(path.read_text(encoding="utf-8")))
        if not is_command(place, name)
    }
    assert there - set(EXCEPTIONS) == set(), "too many parameters: which of them belong to the caller, or to one value?"
    assert set(EXCEPTIONS) - there == set(), "these no longer need an exception"


def test_the_count_sees_methods_and_inner_functions() -> None:
    nine = "a, b, c, d, e, *, f, g, h, i"
    text = f"""
class A:
    def short(self, a, b, c, d, e, f, g, h): ...
    def long(self, {nine}): ...
def outer():
    async def inner(a, b, c, d, e, f, g, *rest, **more): ...
def plain({nine}): ...
"""
    assert long_functions(ast.parse(text)) == ["A.long", "outer.inner", "plain"]
