"""Do the levels of `compare` hold? A seeded part of `benchmarks/compare_calibration.py`."""

import importlib
import math
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def calibration():
    """The benchmark as a module."""
    folder = str(Path(__file__).resolve().parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("compare_calibration")
    finally:
        sys.path.remove(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("one row a person, 10 % change", 60),
        ("one row a person, 2 % change", 60),
        ("overlap, ten rows a person", 60),
        ("ten rows a person, changing together", 40),
        ("a gap of .05", 60),
    ],
)
def test_levels_hold(calibration, name: str, tables: int) -> None:
    design = calibration.DESIGNS[name]
    found = calibration.measure(design, tables, seed=12)
    slack = 3 * math.sqrt(0.05 * 0.95 / tables)
    if not design.gap:
        assert found.alarms / tables <= 0.05 + slack
    assert found.gaps_covered / found.gaps >= 0.95 - slack
    assert found.changes_covered / found.changes >= 0.95 - slack
    assert found.overall_covered / tables >= 0.95 - slack
    if found.at_delta:
        assert found.smaller / found.at_delta <= 0.05 + slack
