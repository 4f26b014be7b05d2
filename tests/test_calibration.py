"""The table of simulated promises: its shape, what it covers, and a few lines drawn again."""

import ast
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import countenance as ct
from countenance.calibration_table import CalibrationLine, calibration_hash, calibration_lines
from countenance.cli import app

ROOT = Path(__file__).resolve().parents[1]
FIELDS = {"surface", "process", "n", "groups", "kind", "nominal", "value", "se", "tables", "seed", "code"}
NAMES = re.compile(
    "interval|wilson|clopper|mover|newcombe|tango|bootstrap|detectable|units_for|p_value|sample_size|any_time_lower"
)
TYPES = re.compile(
    r"Interval|Band|Finding|Audit\b|Comparison\b|Gate\b|Plan\b|Estimate|MissRate|MeasuredEquity|Discovered|"
    r"Ranking|Leaderboard|Change\b|Randomness"
)
"""Words in the name or in the return type of functions that state an interval, a p, a verdict, a size or a number."""


@pytest.fixture(scope="module")
def calibrate():
    sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "benchmarks")]
    try:
        import calibrate as module
    finally:
        del sys.path[:2]
    return module


def test_the_shipped_table_has_the_fields_of_its_contract() -> None:
    content = json.loads((ROOT / "src" / "countenance" / "calibration.json").read_text(encoding="utf-8"))
    assert set(content) == {"version", "lines"} and len(content["lines"]) > 100
    for line in content["lines"]:
        assert set(line) == FIELDS and line["kind"] in ("level", "coverage", "power")
        assert 0 <= line["value"] <= 1 and line["se"] >= 0 and line["tables"] >= 0


def test_every_function_that_returns_an_interval_or_a_size_has_a_simulation(calibrate) -> None:
    registered = {name for names in calibrate.SURFACES.values() for name in names}
    functions = set()
    for package in ("auditing", "comparing", "discovering", "gating", "metrics", "suites", "tasks"):
        for path in (ROOT / "src" / "countenance" / package).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.FunctionDef) or node.name.startswith("_") or node.returns is None:
                    continue
                if NAMES.search(node.name) or TYPES.search(ast.unparse(node.returns)):
                    functions.add(f"{module}.{node.name}")
    assert sorted(functions - registered - set(calibrate.WORDS)) == []
    assert sorted((registered | set(calibrate.WORDS)) - functions) == [], "registered and not there"


def test_every_surface_has_lines(calibrate) -> None:
    lines = {calibrate.surface_of(line) for line in calibrate.simulated.lines()}
    assert lines == set(calibrate.SURFACES)
    assert {line.surface for line in calibration_lines()} == lines


def test_the_hash_of_a_surface_is_that_of_what_it_imports(calibrate) -> None:
    reached = calibrate._reached({"countenance.metrics.intervals"})
    assert reached == {"countenance.metrics.intervals"}
    assert "countenance.auditing.estimates" in calibrate._reached({"countenance.auditing.audit"})
    assert len({calibrate.code_hash(surface) for surface in calibrate.SURFACES}) > 5


def test_lines_near_an_audit_are_of_its_size() -> None:
    rng = np.random.default_rng(0)
    rows = {"sex": ["f", "m"] * 300, "found": rng.random(600) < 0.9}
    lines = ct.calibration(ct.audit(rows, by="sex", metrics="found"))
    assert all(isinstance(line, CalibrationLine) for line in lines) and 3 <= len(lines) <= 12
    assert {line.kind for line in lines} == {"level", "coverage", "power"}
    sizes = [line.n for line in lines if line.n]
    assert sizes and np.median(sizes) < 3000
    assert len(ct.calibration()) == len(calibration_lines())


@pytest.mark.parametrize("comparison", ["rest", "pairs", "spread"])
def test_lines_near_an_audit_are_of_its_comparison(comparison: str) -> None:
    """An audit of groups was shown lines of paired tables and of gates, which say nothing about its verdicts."""
    rng = np.random.default_rng(0)
    rows = {"tone": ["a", "b", "c"] * 40, "found": rng.random(120) < 0.9}
    lines = ct.calibration(ct.audit(rows, by="tone", metrics="found", comparison=comparison))
    levels = [line.process for line in lines if line.kind == "level"]
    assert not any(word in process for process in levels for word in ("paired", "gate", "twins", "compare"))
    assert all((comparison in process) == (comparison != "rest") for process in levels[:1])
    assert all(line.n for line in lines)


def test_sizes_of_lines_are_people_or_rows(calibrate) -> None:
    assert all(line.n == 0 or line.n > line.groups for line in calibration_lines() if line.groups > 2)
    assert calibrate.sizes_in_words("rate 0.9, about 20 people a group") == (0, 0)


def test_lines_of_other_code_are_named(calibrate) -> None:
    line = {"surface": "gate", "code": calibrate.code_hash("gate")}
    assert calibrate.check([line]) is None
    assert "gate (2)" in calibrate.check([line, line | {"code": "0"}, line | {"code": "1"}])


def test_the_command_and_the_report_name_the_table(tmp_path: Path, capsys) -> None:
    assert app.run(["calibration", "--json", str(tmp_path / "lines.json")]) == 0
    assert calibration_hash() in capsys.readouterr().out
    assert len(json.loads((tmp_path / "lines.json").read_text())["lines"]) == len(calibration_lines())
    rows = {"sex": ["f", "m"] * 100, "found": [1, 0, 1, 1] * 50}
    page = ct.audit(rows, by="sex", metrics="found").report(tmp_path / "page.html")
    assert calibration_hash()[:16] in Path(page).read_text(encoding="utf-8")


def test_a_few_lines_drawn_with_a_new_seed_agree(calibrate) -> None:
    """Sequentially: a line is drawn in blocks until it is clear of the bound, or agrees within 4 standard errors."""
    simulated = calibrate.simulated
    rng = np.random.default_rng()
    stored = {line.process: line for line in calibration_lines()}
    quick = [
        line
        for line in simulated.lines()
        if "one row" in line.name and line.section == "coverage" and f"{line.section}: {line.name}" in stored
    ]
    for line in [quick[i] for i in rng.choice(len(quick), 2, replace=False)]:
        known = stored[f"{line.section}: {line.name}"]
        hits = tables = 0.0
        for _ in range(4):
            hits += line.share(25, rng) * 25
            tables += 25
            error = np.hypot(max(known.se, 0.02), np.sqrt(0.05 * 0.95 / tables))
            if abs(hits / tables - known.value) < 2 * error:
                break
        assert abs(hits / tables - known.value) < 4 * error, (known.process, hits / tables, known.value)
