"""The pages on libraries, results and measures: what runs without other libraries is run, the rest is read."""

import re
import shlex
from pathlib import Path

import pytest

from countenance import pytest_plugin
from countenance.answers.libraries import LIBRARIES
from countenance.cli.app import run as command
from countenance.models.onnx import OnnxSpec

DOCS = Path(__file__).parents[1] / "docs"
ADAPTERS = Path(__file__).parents[1] / "src" / "countenance" / "models" / "adapters"


def blocks(page: str, language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(4))
def test_the_measures_of_the_page_run(number: int, tmp_path: Path, monkeypatch, capsys) -> None:
    examples = blocks("measures.md")
    assert len(examples) == 4
    monkeypatch.chdir(tmp_path)
    exec(compile(examples[number], "measures.md", "exec"), {})
    printed = capsys.readouterr().out
    wanted = ["log_average_miss_rate (height below 300) everyone 1.000", "True", "f 0.66", "True"][number]
    assert wanted in printed


def test_the_examples_of_libraries_are_python_and_every_library_is_named() -> None:
    page = (DOCS / "libraries.md").read_text(encoding="utf-8")
    for example in blocks("libraries.md"):
        compile(example, "libraries.md", "exec")
    assert all(library.lower() in page.lower() for library in LIBRARIES)
    (declaration,) = blocks("libraries.md", "json")
    assert OnnxSpec.model_validate_json(declaration).output.finds == "face"


def test_adapters_are_short() -> None:
    for library in LIBRARIES:
        lines = (ADAPTERS / f"{library}.py").read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 60, f"{library}: {len(lines)} lines"


def test_the_results_of_the_page_are_what_there_is(tmp_path: Path, monkeypatch) -> None:
    logging, gate = blocks("results-out.md")
    lines = [line for line in logging.splitlines() if not line.startswith("log_run(")]  # TensorBoard need not be here
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile("\n".join(lines), "results-out.md", "exec"), names)
    assert (tmp_path / "runs" / "discs" / "run.json").exists() and callable(names["log_run"])
    exports = [line for block in blocks("results-out.md", "console") for line in block.splitlines() if "export" in line]
    for line in exports:
        arguments = shlex.split(line.replace("runs/v2", "runs/discs"), comments=True)[2:]
        assert command(arguments) == 0 and Path(arguments[-1]).is_file(), line
    assert len(exports) == 4
    tests: dict[str, object] = {}
    exec(compile(gate, "results-out.md", "exec"), tests)  # tests/test_pytest_plugin.py runs such tests
    (marker,) = tests["test_the_detector_may_ship"].pytestmark  # type: ignore[attr-defined]
    assert marker.name == "countenance" and set(marker.kwargs) <= set(pytest_plugin.TAKES)
    assert "countenance_gate" in vars(pytest_plugin)


def test_the_exports_of_the_page_are_those_of_the_command() -> None:
    from countenance.report.exports import WRITERS

    page = (DOCS / "results-out.md").read_text(encoding="utf-8")
    assert set(re.findall(r"--what ([\w-]+)", page)) == set(WRITERS)


def test_the_table_of_the_page_is_audited(tmp_path: Path, monkeypatch, capsys) -> None:
    (example,) = blocks("tables.md")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "tables.md", "exec"), {})
    assert (tmp_path / "audit.html").is_file() and capsys.readouterr().out.strip()
    rows = [f"{'ab'[i % 2]},{('yes', 'no')[i % 3 > 0]},{('yes', 'no')[i % 5 > 1]},{i % 10 / 10}" for i in range(200)]
    Path("table.csv").write_text("group,hired,advice,score\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (line,) = [line for block in blocks("tables.md", "console") for line in block.splitlines()]
    assert command(shlex.split(line)[2:]) == 0
