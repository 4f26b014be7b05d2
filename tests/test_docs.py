"""What the documentation shows is run as it stands."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


def test_the_task_of_the_guide_works_and_so_does_its_test(monkeypatch) -> None:
    task, _, its_test, *_ = blocks("extend/task.md")  # tests/tasks/test_regression_example.py runs the others
    written = ModuleType("one_face")
    exec(compile(task, "task.md", "exec"), written.__dict__)
    monkeypatch.setitem(sys.modules, "one_face", written)
    names: dict[str, object] = {}
    exec(compile(its_test, "task.md", "exec"), names)
    names["test_one_disc_is_one_face"]()  # type: ignore[operator]
    first, *_ = (DOCS / "extend" / "task.md").read_text(encoding="utf-8").split("\n## ")
    assert len(first.splitlines()) < 60


def test_the_onnx_declaration_of_the_guide_is_valid() -> None:
    from countenance.models.onnx import OnnxSpec

    (declaration,) = re.findall(r"```json\n(.*?)```", (DOCS / "extend" / "model.md").read_text("utf-8"), re.DOTALL)
    assert OnnxSpec.model_validate_json(declaration).name == "rfb320"


def test_the_training_of_the_guide_leaves_a_network(tmp_path, monkeypatch) -> None:
    for package in ("torch", "onnxscript"):
        pytest.importorskip(package)
    from countenance.models.onnx import open_session

    (example,) = blocks("extend/model.md")
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "model.md", "exec"), {})
    assert [output.name for output in open_session(tmp_path / "net.onnx").get_outputs()] == ["smiles"]


def test_every_link_of_the_pages_outside_the_site_leads_somewhere() -> None:
    """Links between pages of docs/ are checked by the build of the site (test_site.py)."""
    root = DOCS.parent
    pages = [root / "README.md", root / "CONTRIBUTING.md", *(root / "people").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_model_of_the_readme_works(tmp_path, monkeypatch) -> None:
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    assert (tmp_path / "report.html").exists() and names["audit"].findings  # type: ignore[attr-defined]


def test_every_file_that_a_page_names_exists() -> None:
    parts = {path.name for path in (ROOT / "src" / "countenance").iterdir()}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("people/*.md")]
    missing = []
    for page in pages:
        for name in re.findall(r"`([\w.-]+(?:/[\w.*-]+)+/?)`", page.read_text(encoding="utf-8")):
            first = name.split("/")[0]
            if first in ("src", "tests", "docs", "tools", "benchmarks", "people", ".ci"):
                place = ROOT / name
            elif first in parts and name.endswith((".py", "/")):
                place = ROOT / "src" / "countenance" / name
            else:
                continue
            if not list(place.parent.glob(place.name)):
                missing.append(f"{page.relative_to(ROOT)}: {name}")
    assert missing == []
