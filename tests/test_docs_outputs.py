"""The blocks of docs/compare.md and docs/gate.md that a line `<!-- run -->` marks, run as they stand."""

import contextlib
import io
import re
from pathlib import Path

import pytest
from tests.test_how_to import DOCS, Step, assert_shown, commands, examples, folder, outcome

__all__ = ["examples", "folder"]
MARKED = re.compile(r"<!-- run -->\n+```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def marked(page: str) -> list[Step]:
    """The marked blocks of a page; those of Python come first, because they make the files."""
    blocks = MARKED.findall((DOCS / f"{page}.md").read_text(encoding="utf-8"))
    scripts = [Step("python", body) for kind, body in blocks if kind == "python"]
    return scripts + [step for kind, body in blocks if kind == "console" for step in commands(body)]


@pytest.mark.parametrize("page", ["compare", "gate"])
def test_the_page_shows_what_its_commands_print(page: str, folder: Path) -> None:
    steps, code = marked(page), 0
    assert sum(bool(step.shown) for step in steps) >= 2
    for step in steps:
        if step.text == "echo $?":
            assert step.shown == (str(code),)
            continue
        words, _, target = step.text.partition(" > ")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            code = outcome(Step(step.kind, words if step.kind == "console" else step.text), {}, folder)
        if step.kind == "console" and target:
            (folder / target.split()[0]).write_text(printed.getvalue(), encoding="utf-8")
        assert_shown(step.shown, printed.getvalue(), f"{page}: {step.text.splitlines()[0]}")
