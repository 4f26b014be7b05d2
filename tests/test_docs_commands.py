"""Every `countenance` command in a console block of the documentation exists, with its flags and values."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from countenance.cli.app import app
from countenance.cli.former_flags import DOCUMENTED

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def commands(text: str) -> list[str]:
    """The lines of console blocks that call `countenance`, without what stands for further arguments."""
    blocks = "".join(CONSOLE.findall(text)).replace("\\\n", " ")
    return [line[2:] for line in blocks.splitlines() if line.startswith("$ countenance ") and "…" not in line]


def problem(line: str) -> str:
    """Why a line cannot be typed; empty if it can. Nothing is run."""
    words = shlex.split(line, comments=True)[1:]
    words = words[: next((place for place, word in enumerate(words) if word in ("|", ">", "&&", "||", ";")), None)]
    command: Any = typer.main.get_command(app)
    name, path = "countenance", []
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        name = words.pop(0)
        if name not in command.commands:
            return f"no command {name}"
        command = command.commands[name]
        path.append(name)
    documented = DOCUMENTED.get(" ".join(path), {})
    words = [documented.get(word, word) for word in words]
    try:
        command.make_context(name, words)
    except Exception as error:
        if hasattr(error, "format_message"):  # a usage error, of click or of typer's copy of it
            return str(error.format_message())
        if not hasattr(error, "exit_code"):  # --help and --version
            raise
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_of_a_page_can_be_typed(page: Path) -> None:
    lines = commands(page.read_text(encoding="utf-8"))
    assert {line: why for line in lines if (why := problem(line))} == {}


def test_a_command_that_cannot_be_typed_is_seen() -> None:
    assert problem("countenance audit runs/v1 --by tone") == ""
    assert "No such option" in problem("countenance audit runs/v1 --group tone")
    assert problem("countenance judge runs/v1") == "no command judge"
    assert "seed" in problem("countenance audit runs/v1 --seed many")


def test_the_pages_have_commands() -> None:
    assert sum(len(commands(page.read_text(encoding="utf-8"))) for page in PAGES) > 150
