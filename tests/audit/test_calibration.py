"""Is the audit's word good? Small seeded simulations; `benchmarks/calibration.py` has the large ones."""

import importlib.util
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location(
    "calibration", Path(__file__).resolve().parents[2] / "benchmarks" / "calibration.py"
)
assert spec is not None and spec.loader is not None
calibration = importlib.util.module_from_spec(spec)
spec.loader.exec_module(calibration)


@pytest.mark.parametrize("settings", [{}, {"p": 0.97}, {"mean": True}], ids=["p .9", "p .97", "means"])
def test_sixty_comparisons_of_clustered_rows_raise_no_more_alarms_than_promised(settings):
    found = calibration.false_alarms(100, 1, **settings)
    assert found["comparisons"] > 59
    assert found["share"] <= found["limit"]


def test_intervals_cover_the_truth():
    found = calibration.coverage(600, 2)
    for name in ("estimate", "difference", "effect"):
        assert 0.93 <= found[name] <= 0.97, name


@pytest.mark.parametrize("settings", [{}, {"icc": 0.0}], ids=["clustered", "independent"])
def test_a_gap_of_the_printed_size_is_found_with_the_promised_power(settings):
    assert 0.75 <= calibration.power(700, 3, **settings)["power"] <= 0.85
