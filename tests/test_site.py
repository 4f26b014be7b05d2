"""The documentation as a site: it builds without a warning, and its generated pages say what the code has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A broken link or anchor, a page that is missing or not listed ends the build."""
    pytest.importorskip("mkdocs")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(out)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    outcome = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    return out


def test_every_public_name_has_its_place_in_the_reference(site: Path) -> None:
    import countenance

    text = (site / "reference" / "python.html").read_text(encoding="utf-8")
    assert [name for name in countenance.__all__ if f">ct.{name}<" not in text.replace("&para;", "")] == []


def test_every_command_and_task_has_its_place(site: Path) -> None:
    import typer

    from countenance.cli.app import app
    from countenance.tasks import task_names

    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    names = [name for name, command in typer.main.get_command(app).commands.items() if not command.hidden]
    assert [name for name in names if f'id="{name}"' not in text] == []
    assert [name for name in task_names() if not (site / "tasks" / f"{name}.html").exists()] == []


def test_every_fence_is_a_block_of_code(site: Path) -> None:
    """A fence that the site does not understand turns the text up to the next one into code."""
    pages = [page.relative_to(site).as_posix() for page in site.rglob("*.html")]
    assert [page for page in pages if "```" in (site / page).read_text(encoding="utf-8")] == []


def test_no_page_fetches_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'src="http' not in text and 'rel="stylesheet" href="http' not in text, page.name
