"""The pages of docs/how-to, docs/extend, docs/concepts and two more, run as they stand on data that a reader can make.

The blocks of a page run in order, in a temporary folder. A block with a title is a file that is written. The lines
that a page shows below a command, or as a block `text` below Python, must be printed in that order; `…` stands for
anything.
"""

import contextlib
import importlib.util
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from countenance.cli.app import run as command
from countenance.testing import write_examples

DOCS = Path(__file__).resolve().parents[1] / "docs"
FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
JOBS = sorted(path.stem for path in (DOCS / "how-to").glob("*.md") if path.stem != "index")
EXTEND = [f"extend/{name}" for name in ("format", "metric", "reader", "suite")]  # tests/test_docs.py runs the others
CONCEPTS = [f"concepts/{path.stem}" for path in sorted((DOCS / "concepts").glob("*.md"))]
LIBRARY = re.compile(r"^from (ultralytics|transformers|torchvision)[. ]", re.MULTILINE)
"""Blocks that need weights of another library are compiled; tests/models/adapters runs the adapters."""


@dataclass(frozen=True)
class Step:
    """One block of a page, or one command of a console block, with the lines that the page shows below it."""

    kind: str
    text: str
    title: str = ""
    shown: tuple[str, ...] = ()


def steps(page: str) -> list[Step]:
    """What a page does, in order."""
    result: list[Step] = []
    for kind, title, body in FENCE.findall((DOCS / f"{page}.md").read_text(encoding="utf-8")):
        if kind == "console":
            result += commands(body)
        elif kind == "text" and not title:
            result[-1] = Step(result[-1].kind, result[-1].text, result[-1].title, tuple(body.splitlines()))
        else:
            result.append(Step(kind, body, title))
    return result


def commands(body: str) -> list[Step]:
    """The commands of a console block."""
    entries = re.split(r"^\$ ", body.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    lines = [entry.splitlines() for entry in entries]
    return [Step("console", first, shown=tuple(line for line in rest if line.strip())) for first, *rest in lines]


def assert_shown(shown: tuple[str, ...], printed: str, place: str) -> None:
    """Every line that a page shows is printed, in the page's order."""
    lines = iter([" ".join(line.split()) for line in printed.splitlines()])
    for line in shown:
        pattern = ".*".join(re.escape(part) for part in " ".join(line.split()).split("…"))
        assert any(re.fullmatch(pattern, candidate) for candidate in lines), (
            f"{place}: the page shows\n{line}\nwhich is not printed (in this order) in\n{printed}"
        )


def run_page(page: str, folder: Path) -> int:
    """Run the steps of a page in the current folder and return how many they are.

    A command ends with 0 unless `echo $?` shows something else.
    """
    names: dict[str, object] = {"__name__": "page"}
    code, every = 0, list(steps(page))
    for step in every:
        place, printed = f"{page}: {step.text.splitlines()[0]}", io.StringIO()
        if step.text == "echo $?":
            assert step.shown == (str(code),), place
            code = 0
            continue
        assert code == 0, f"{page}: the command before {place} ended with {code}"
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = outcome(step, names, folder)
        assert_shown(step.shown, printed.getvalue(), place)
    assert code == 0, f"{page}: the last command ended with {code}"
    return len(every)


def outcome(step: Step, names: dict[str, object], folder: Path) -> int:
    """Write a file, run a command or a block of Python; returns the exit code."""
    if step.title:
        (folder / step.title).write_text(step.text, encoding="utf-8")
    elif step.kind == "python":
        block = compile(step.text, "page.md", "exec")
        if not LIBRARY.search(step.text):
            exec(block, names)
    elif step.kind == "console":
        program, *arguments = shlex.split(step.text, comments=True)
        assert program == "countenance", step.text
        return command(arguments)
    return 0


@pytest.fixture(scope="session")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data that docs/how-to/index.md tells a reader to make."""
    assert 'write_examples(".")' in (DOCS / "how-to" / "index.md").read_text(encoding="utf-8")
    return write_examples(tmp_path_factory.mktemp("examples"))


@pytest.fixture
def folder(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with links to the data; modules that a page writes are forgotten afterwards."""
    for path in examples.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.usefixtures("fewer_to_train_on")
@pytest.mark.parametrize("page", JOBS)
def test_a_job_is_done_as_its_page_says(page: str, folder: Path) -> None:
    assert run_page(f"how-to/{page}", folder) > 0


@pytest.mark.parametrize("page", [*EXTEND, *CONCEPTS, "moving", "calibration"])
def test_the_examples_of_a_page_run(page: str, folder: Path) -> None:
    assert run_page(page, folder) > 0


def test_every_job_is_there_and_short() -> None:
    assert len(JOBS) == 15
    for page in JOBS:
        text = (DOCS / "how-to" / f"{page}.md").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 70 and "```" in text.split("\n\n", 2)[1] + text.split("\n\n", 3)[2], page


def test_the_pictures_of_the_concepts_are_what_their_pages_compute() -> None:
    spec = importlib.util.spec_from_file_location("concept_pictures", DOCS.parent / "tools" / "concept_pictures.py")
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    drawn = tool.pictures()
    assert len(drawn) == len(CONCEPTS)
    for path, text in drawn.items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python tools/concept_pictures.py"
