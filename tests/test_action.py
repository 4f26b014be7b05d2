"""The GitHub Action: its steps are run one after the other, as GitHub does it; also from a built wheel."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from countenance.testing import write_small_dataset

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "docs" / "examples"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


@dataclass
class Job:
    """The steps of the action with some inputs, in a folder."""

    folder: Path
    inputs: dict[str, str]
    python: Path = Path(sys.executable)
    done: dict[str, int] = field(default_factory=dict)
    said: str = ""

    def run(self, skip: tuple[str, ...] = ()) -> "Job":
        failed = False
        for step in ACTION["runs"]["steps"]:
            always = step.get("if") == "always()"
            if "run" not in step or step["name"] in skip or (failed and not always) or not self.wanted(step):
                continue
            self.done[step["name"]] = self.step(step)
            failed = failed or self.done[step["name"]] != 0
        return self

    def wanted(self, step: dict[str, Any]) -> bool:
        name = re.fullmatch(r"inputs\.([\w-]+) != ''", step.get("if", ""))
        return name is None or self.inputs[name[1]] != ""

    def step(self, step: dict[str, Any]) -> int:
        values = {name: self.filled(text) for name, text in step.get("env", {}).items()}
        bare = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        paths = {"GITHUB_OUTPUT": str(self.folder / "output"), "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md")}
        environment = bare | paths | {"PATH": f"{self.python.parent}{os.pathsep}{os.environ['PATH']}"} | values
        script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(script, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        self.said += done.stdout + done.stderr
        return done.returncode

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: self.inputs[found[1]], text)


def job(folder: Path, **inputs: str) -> Job:
    """A job in a folder that has the repository's examples."""
    (folder / "docs").mkdir()
    (folder / "docs" / "examples").symlink_to(EXAMPLES)
    usual = {name: one.get("default", "") for name, one in ACTION["inputs"].items()}
    return Job(folder, usual | inputs)


def example() -> dict[str, str]:
    """The inputs of the documentation's example."""
    workflow = yaml.safe_load((EXAMPLES / "github-action-short.yml").read_text(encoding="utf-8"))
    (step,) = [step for step in workflow["jobs"]["gate"]["steps"] if step["uses"] == "./"]
    return dict(step["with"])


def test_no_input_is_written_into_a_script() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", ""), f"{step['name']}: inputs are handed over in variables"
        named = re.findall(r"inputs\.([\w-]+)", json.dumps(step))
        assert set(named) <= set(ACTION["inputs"])
    assert set(example()) <= set(ACTION["inputs"])
    assert {name for name, one in ACTION["inputs"].items() if one.get("required")} <= set(example())


def test_the_steps_leave_a_verdict_a_picture_and_junit(tmp_path: Path) -> None:
    write_small_dataset(tmp_path / "discs", 40)
    limits = {"easy": 0.5, "hard": 1.1}
    for name, limit in limits.items():
        rule = {"estimate": {"metric": "recall@0.5", "at_least": limit}, "insufficient": "fail"}
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump({"rules": [rule]}))
    inputs = {"task": "face_localization", "model": "countenance.testing:DiscDetector", "data": "discs", "by": "gender"}
    done = job(tmp_path, **inputs, policy="easy.yaml").run(skip=("Install",))
    assert set(done.done.values()) == {0}, done.said
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "by gender" in summary and "●" in summary and "## ✅ Gate passed" in summary
    cases = list(ElementTree.parse(tmp_path / "countenance-run-gate.xml").iter("testcase"))
    assert cases and not any(case.find("failure") is not None for case in cases)
    verdict = json.loads((tmp_path / "countenance-run" / "audit.json").read_text())["verdict"]
    assert (tmp_path / "output").read_text() == f"verdict={verdict}\n"
    again = Job(tmp_path, done.inputs | {"policy": "hard.yaml"}).run(skip=("Install",))
    assert "already complete, nothing to do" in again.said  # what the cache brings back is used
    assert again.done["Gate"] == 1 and "gate failed" in again.said
    wrong = Job(tmp_path, done.inputs | {"by": "gender; touch hacked"}).run(skip=("Install",))
    assert wrong.done == {"Evaluate": 2} and not (tmp_path / "hacked").exists()


@pytest.mark.slow
def test_the_steps_run_from_the_wheel(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    own = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    # What the wheel needs is here already; the package itself is installed, and its metadata found, in the new place.
    (own / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    folder = tmp_path / "job"
    folder.mkdir()
    made = job(folder, **(example() | {"package": str(wheel)}))
    made.python = tmp_path / "venv" / "bin" / "python"
    made.run()
    assert set(made.done.values()) == {0} and "Install" in made.done, made.said
    assert "## ✅ Gate passed: mtcnn on people" in (folder / "summary.md").read_text(encoding="utf-8")
    where = subprocess.run(
        [made.python, "-c", "import countenance; print(countenance.__file__)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert where.stdout.startswith(str(tmp_path / "venv"))
