"""The documentation as a site: it builds without a warning, and its generated pages say what the code has."""

import functools
import http.server
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser import CHROMIUM

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


def test_the_page_of_a_task_has_each_option_and_what_it_means(site: Path) -> None:
    from countenance.tasks import load_task, task_names

    listed = {name: task.options for name in task_names() if (task := load_task(name)).options is not None}
    assert len(listed) > 5
    for name, options in listed.items():
        text = (site / "tasks" / f"{name}.html").read_text(encoding="utf-8")
        rows = re.findall(r"<tr>\s*<td><code>(\w+)</code></td>\s*<td>.*?</td>\s*<td>(.*?)</td>", text)
        meanings = dict(rows)
        assert [option for option in type(options).model_fields if len(meanings[option].split()) < 3] == [], name


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not here: apt-get install chromium")
def test_the_copy_button_takes_commands_without_prompts_and_output(site: Path, chromium: Any) -> None:
    page = chromium.new_page()
    page.goto((site / "how-to" / "compare-versions.html").as_uri())
    # The theme sets this attribute, reads the text, and removes it.
    copied = page.evaluate("""() => {
        const block = document.querySelector(".highlight code")
        block.setAttribute("data-md-copying", "")
        return block.innerText
    }""")
    commands = [line for line in copied.splitlines() if line.strip()]
    assert len(commands) == 3 and all(line.startswith("countenance ") for line in commands), copied


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not here: apt-get install chromium")
@pytest.mark.parametrize("width", [390, 1440])
def test_names_of_options_and_metrics_stay_whole(site: Path, chromium: Any, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    page.goto((site / "tasks" / "face_verification.html").as_uri())
    lines = page.evaluate("""() => Object.fromEntries([...document.querySelectorAll("td:first-child code")].map(
        name => [name.innerText, name.getClientRects().length]))""")
    assert {"threshold_from", "genuine_accepted"} <= set(lines) and set(lines.values()) == {1}
    assert page.evaluate("document.documentElement.scrollWidth") == width


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *parts: object) -> None:
        """Print no request."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """The site, served: a browser searches no site that it reads from a disk."""
    handler = functools.partial(QuietHandler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="chromium is not here: apt-get install chromium")
def test_a_search_for_an_option_leads_to_its_place(address: str, chromium: Any) -> None:
    page = chromium.new_page()
    page.goto(f"{address}/index.html")
    results = ".md-search-result__item:first-child a.md-search-result__link[href*='#']"
    for option in ("--min-n", "--by", "--near", "--box-format"):  # two words, a stop word, no setting, a former option
        page.fill(".md-search__input", "")
        page.click(".md-search__input")
        page.keyboard.type(option)
        page.wait_for_selector(f"{results}[href*='reference/options.html']:has-text('{option}')", timeout=60_000)
        first = page.locator(results).first.get_attribute("href")
        assert first.rpartition("#")[2] == option.strip("-"), first
    page.fill(".md-search__input", "")
    page.keyboard.type("withdraw consent")
    page.wait_for_selector(".md-search-result__item:first-child [href*='how-to/withdraw-consent.html']")


def test_every_option_has_its_place(site: Path) -> None:
    text = (site / "reference" / "options.html").read_text(encoding="utf-8")
    listed = set(re.findall(r'<h2 id="([\w-]+)"', text))
    commands = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    assert len(listed) > 150 and set(re.findall(r"<td><code>--([\w-]+)</code>", commands)) <= listed


def test_every_fence_is_a_block_of_code(site: Path) -> None:
    """A fence that the site does not understand turns the text up to the next one into code."""
    pages = [page.relative_to(site).as_posix() for page in site.rglob("*.html")]
    assert [page for page in pages if "```" in (site / page).read_text(encoding="utf-8")] == []


def test_no_page_fetches_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'src="http' not in text and 'rel="stylesheet" href="http' not in text, page.name
