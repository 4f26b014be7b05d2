"""The plug-in for pytest, found by its entry point, in a pytest of its own."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import yaml

from countenance.run import evaluate
from countenance.testing import DiscDetector, small_dataset

TESTS = """
import pytest

@pytest.mark.countenance(run="run", policy="good.yaml")
def test_good(): ...

@pytest.mark.countenance("run", "bad.yaml")
def test_bad(): ...

@pytest.mark.countenance(run="run", policy="unsure.yaml")
def test_unsure(): ...

@pytest.mark.countenance(run="run", policy="good.yaml")
def test_its_own_body_counts_too():
    assert False, "the body"

@pytest.mark.countenance(run="no run", policy="good.yaml")
def test_no_run(): ...

def test_by_fixture(countenance_gate):
    assert countenance_gate("run", "good.yaml").passed
    with pytest.raises(pytest.fail.Exception, match="the gate failed"):
        countenance_gate("run", "bad.yaml")
"""


def rule(limit: float, insufficient: str = "fail") -> str:
    kind = {"metric": "recall@0.5", "at_least": limit}
    return yaml.safe_dump({"rules": [{"name": "finds faces", "estimate": kind, "insufficient": insufficient}]})


def run_pytest(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n", "0", "-rA", "--strict-markers"]
    return subprocess.run([*command, "--junitxml=out.xml"], cwd=folder, capture_output=True, text=True, check=False)


def test_a_gate_is_a_test(tmp_path: Path) -> None:
    assert entry_points(group="pytest11", name="countenance"), "`make .venv/dev` installs the entry point"
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = default\n")  # not those of this repository
    evaluate(DiscDetector(), "face_localization", small_dataset(40), out=tmp_path / "run")
    for name, text in {"good": rule(0.5), "bad": rule(1.1), "unsure": rule(0.99, "warn")}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    (tmp_path / "test_ship.py").write_text(TESTS)
    done = run_pytest(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    cases = {case.get("name"): case for case in ElementTree.parse(tmp_path / "out.xml").iter("testcase")}
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"test_bad", "test_its_own_body_counts_too", "test_no_run"} and len(cases) == 6
    assert "gate     FAILED: of 1 rule, 1 failed" in done.stdout
    assert "Traceback" not in str(cases["test_bad"].find("failure").text)
    assert "GateWarning: finds faces: insufficient evidence" in done.stdout
    assert cases["test_good"].find("properties/property").get("value") == "passed 1 rule"
    (tmp_path / "test_ship.py").write_text(TESTS.replace('policy="unsure.yaml"', 'polcy="unsure.yaml"'))
    wrong = run_pytest(tmp_path)
    assert (
        wrong.returncode == 4
        and "marker countenance: no argument 'polcy'; it is countenance(run, policy" in wrong.stderr
    )
