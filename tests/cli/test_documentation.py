"""`countenance docs`: pages that errors name can be read without the repository."""

import ast
import re
from pathlib import Path

import pytest

import countenance
from countenance.cli.app import run
from countenance.cli.documentation import documentation_folder, pages

SOURCE = Path(countenance.__file__).parent


def test_a_page_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    folder = documentation_folder()
    assert folder is not None
    for name in ("extend/model", "extend/model.md", "docs/extend/model.md", "model"):
        assert run(["docs", name]) == 0
        assert capsys.readouterr().out == (folder / "extend" / "model.md").read_text(encoding="utf-8")


def test_pages_are_listed_with_their_titles(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["docs"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^data +Bring your own dataset$", shown, re.MULTILINE)
    assert re.search(r"^how-to/own-detector +Evaluate your own detector on a folder$", shown, re.MULTILINE)


def test_a_page_that_does_not_exist_is_refused_with_near_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["docs", "extend/modle"]) == 2
    assert "extend/model" in capsys.readouterr().err


def test_every_page_that_a_message_names_exists() -> None:
    folder = documentation_folder()
    assert folder is not None
    known, named = pages(folder), set()
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named |= set(re.findall(r"`?countenance docs ([a-z_/-]+)", node.value))
    assert len(named) >= 6 and named <= set(known)


def test_an_installed_package_has_its_own_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "countenance"
    (package / "documentation").mkdir(parents=True)
    (package / "documentation" / "index.md").write_text("# Countenance\n")
    monkeypatch.setattr(countenance, "__file__", str(package / "__init__.py"))
    assert documentation_folder() == package / "documentation"
    (package / "documentation" / "index.md").unlink()
    assert documentation_folder() is None and run(["docs"]) == 2


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The metadata of a package that was built with the project's addresses."""
    from email.message import Message

    record = Message()
    record["Project-URL"] = "Documentation, https://docs.example.org/c"
    record["Project-URL"] = "Issues, https://code.example.org/c/issues"
    monkeypatch.setattr("importlib.metadata.metadata", lambda name: record)


@pytest.mark.usefixtures("published")
def test_an_error_names_the_page_on_the_site(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "check", "nowhere"]) == 2
    assert "(`countenance docs data`, https://docs.example.org/c/data.html)\n" in capsys.readouterr().err
    assert run(["docs"]) == 0
    assert "site     https://docs.example.org/c\n" in capsys.readouterr().out


@pytest.mark.usefixtures("published")
def test_a_bug_names_the_place_for_reports(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("countenance.cli.documentation.documentation_folder", lambda: 1 / 0)
    assert run(["docs"]) == 3
    assert capsys.readouterr().err.endswith("the command that you typed: https://code.example.org/c/issues.\n")


def test_without_addresses_an_error_names_the_command_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "check", "nowhere"]) == 2
    shown = capsys.readouterr().err
    assert "(`countenance docs data`)\n" in shown and "http" not in shown
