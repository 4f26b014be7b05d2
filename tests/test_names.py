"""Names in `src`: variables, parameters, functions and modules are nouns of the domain (design, style)."""

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "countenance"
FILES = sorted(path for path in SRC.rglob("*.py"))
BANNED = frozenset(("found", "made", "told", "said", "asked", "one", "given", "wanted", "kept"))
BANNED_MODULES = frozenset(
    (
        *("once", "around", "given", "asked", "again", "remembered", "work", "whole", "spine", "why"),
        *(
            "align",
            "ask",
            "assess",
            "attach",
            "augment",
            "build",
            "compare",
            "detect",
            "evaluate",
            "judge",
            "make_data",
        ),
        *("recognize", "resize", "verify", "write"),
    )
)
"""Modules are nouns: these words, most of them verbs, named some."""
PUBLIC_GIVEN = {
    "api.py": ("audit",),
    "auditing/result.py": ("Audit",),
    "auditing/given_finding.py": ("GivenFinding",),
    "gating/kinds.py": ("GapRule", "VerdictRule"),
    "settings/audit.py": ("AuditFields",),
    "view/question.py": ("Question",),
}
"""Where `given` is public: the option `ct.audit(…, given=…)` and `--given`, what an audit holds, what a rule says."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def bindings(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, str, int]]:
    """Every name that a module binds: its scope (functions and classes, with dots), the name and the line."""
    for node in ast.iter_child_nodes(tree):
        inner = scope
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield scope, node.name, node.lineno
            inner = f"{scope}.{node.name}".strip(".")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield scope, node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield scope, node.attr, node.lineno
        elif isinstance(node, ast.arg):
            yield scope, node.arg, node.lineno
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            yield scope, node.name, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield scope, node.asname, node.lineno
        yield from bindings(node, inner)


def banned_in(text: str, public: tuple[str, ...] = ()) -> list[str]:
    """The banned names that a module binds, with their lines; `given` is allowed in the scopes named.

    An underscore in front or behind makes no other name. Examples in docstrings count as well.
    """
    tree = ast.parse(text)
    bound = [(scope, name, line) for scope, name, line in bindings(tree)]
    bound += [("an example", name, line) for line, example in examples(tree) for _, name, _ in bindings(example)]
    return [
        f"{line}: {name} in {scope or 'the module'}"
        for scope, name, line in bound
        if name.strip("_").lower() in BANNED and not (name == "given" and scope in public)
    ]


def examples(tree: ast.AST) -> Iterator[tuple[int, ast.AST]]:
    """The statements of the examples in docstrings, with the lines of their functions."""
    for node in ast.walk(tree):
        text = ast.get_docstring(node) if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)) else None
        for example in doctest.DocTestParser().get_examples(text or ""):
            yield getattr(node, "lineno", 1), ast.parse(example.source)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("found = 1", 1),
        ("def f(told, *, said=1, **asked): pass", 3),
        ("def kept(): pass", 1),
        ("class A:\n    wanted: int = 0\n    def f(self):\n        self.made = 1", 2),
        ("[one for one in ()]\nlambda one: one", 2),
        ("with open('x') as found: pass", 1),
        ("try: pass\nexcept ValueError as said: pass", 1),
        ("import json as told", 1),
        ("(found := 1)", 1),
        ("def _told(): pass\nclass Wanted: pass\none_ = 1", 3),
        ('def f():\n    """An example.\n\n    >>> found = 1\n    >>> [one for one in ()]\n    """', 2),
        ("f(found=1)\nx.found\nd['found']\nfounded = 1", 0),
    ],
)
def test_a_banned_name_is_seen_wherever_it_is_bound(text: str, count: int) -> None:
    assert len(banned_in(text)) == count


def test_the_public_option_is_allowed_in_its_function_alone() -> None:
    text = "def audit(given): pass\ndef other(given): pass\ndef audit2(found): pass"
    assert banned_in(text, ("audit",)) == ["2: given in other", "3: found in audit2"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SRC).as_posix())
def test_no_name_is_a_bare_participle(path: Path) -> None:
    public = PUBLIC_GIVEN.get(path.relative_to(SRC).as_posix(), ())
    assert banned_in(path.read_text(encoding="utf-8"), public) == []


@pytest.mark.parametrize(
    "path",
    sorted(path for kind in ("*.j2", "*.js") for path in SRC.rglob(kind)),
    ids=lambda path: path.relative_to(SRC).as_posix(),
)
def test_no_name_in_a_page_is_a_bare_participle(path: Path) -> None:
    """Templates bind names with `for` and `set`; scripts with `var`, `=` and as parameters."""
    names = "|".join(BANNED)
    bound = rf"(?:for|set) (?:\w+, *)*(?:{names})\b|function \w*\([^)]*\b(?:{names})\b|(?<![\w.\"-])(?:{names}) = "
    assert re.findall(bound, path.read_text(encoding="utf-8")) == []


def test_the_list_of_public_places_names_places_that_exist() -> None:
    for name, scopes in PUBLIC_GIVEN.items():
        places = {scope for scope, bound, _ in bindings(ast.parse((SRC / name).read_text("utf-8"))) if bound == "given"}
        assert set(scopes) <= places, name


def test_modules_are_nouns() -> None:
    assert [path.relative_to(SRC).as_posix() for path in FILES if path.stem in BANNED | BANNED_MODULES] == []
