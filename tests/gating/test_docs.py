"""What the page on the gate shows is run as it is printed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gate.md"
EXAMPLES = ROOT / "docs" / "examples"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The steps of the GitHub Actions example, run one after the other as GitHub does; installing is done already."""
    place = tmp_path_factory.mktemp("job")
    (place / "docs").mkdir()
    (place / "docs" / "examples").symlink_to(EXAMPLES)
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text(encoding="utf-8"))
    summary = place / "summary.md"
    folder = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    for step in workflow["jobs"]["gate"]["steps"]:
        if "run" in step and step["name"] != "Install":
            done = subprocess.run(
                ["bash", "-e", "-c", step["run"]], cwd=place, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{step['name']}: {done.stdout}{done.stderr}"
    return place


def test_the_steps_of_the_workflow_run_and_leave_their_files(job: Path) -> None:
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text(encoding="utf-8"))
    (upload,) = [s for s in workflow["jobs"]["gate"]["steps"] if "upload-artifact" in s.get("uses", "")]
    for name in upload["with"]["path"].split("\n"):
        assert (job / name).is_file(), name
    assert json.loads((job / "gate.json").read_text())["passed"]
    passed = (job / "summary.md").read_text().count("## ✅ Gate passed: MTCNN on people")
    assert passed == 2, "after run, and after gate"


def test_the_pytest_of_the_page_works(job: Path, monkeypatch) -> None:
    (code,) = [block for block in blocks("python") if "def test_" in block]
    monkeypatch.chdir(job)
    names: dict[str, object] = {}
    exec(compile(code, "gate.md", "exec"), names)
    tests = [function for name, function in names.items() if name.startswith("test_")]
    assert tests and "assert" in code
    for function in tests:
        function()  # type: ignore[operator]


def test_the_policies_of_the_page_are_valid() -> None:
    from countenance.gating import read_policy

    shown = blocks("yaml")
    assert shown
    for text in shown:
        assert read_policy(yaml.safe_load(text))
    kinds = {rule.kind for text in shown for rule in read_policy(yaml.safe_load(text)).rules}
    from countenance.gating.kinds import KINDS

    assert kinds == set(KINDS), "every kind of rule is shown"
