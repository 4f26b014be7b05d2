"""Do the audit's levels hold? A seeded part of `benchmarks/calibration.py`, which has the large simulations."""

import importlib
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def lines():
    """Every line of the benchmark by name."""
    folder = str(Path(__file__).resolve().parents[2] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        calibration = importlib.import_module("calibration")
    finally:
        sys.path.remove(folder)
    return {f"{line.section}: {line.name}": line for line in calibration.lines()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tables"),
    [
        ("false alarms: rate 0.97, 600 people of ten rows: holm", 40),
        ("false alarms: rate .97, one row a person: holm", 40),
        ("false alarms: rate .97, Pareto sizes: holm", 60),
        ("false alarms: rate .9, about 20 people a group: minp", 100),
        ("false alarms: people and pictures cross, attribute of the scene: holm", 60),
        ("false alarms: the same, attribute of the scene, by people alone (must be more)", 60),
        ("false alarms: mean, 5% zeros, one row a person, 20 people against 400: holm", 200),
        ("false alarms: mean, 95% zeros, one row a person: holm", 100),
        ("false alarms: mean, lognormal, one row a person: minp", 100),
        ("false alarms: pairs, rates, 120 people, Pareto sizes", 100),
        ("false alarms: pairs, scores, Pareto sizes", 60),
        ("false alarms: spread, Pareto sizes", 80),
        ("false alarms: paired scores, 20 people of 1", 200),
        ("coverage: estimate: rate 0.9, 40 people, rows lognormal", 200),
        ("coverage: difference: rate 0.97, 20 people, rows 10", 200),
        ("coverage: h: rate 0.999, 100 people of one row", 200),
        ("coverage: difference: within 40 people", 200),
        ("power: rate 0.9, 100 against 100 people, rows 10: holm", 200),
        ("power: mean, normal, 60 against 240 people, rows 4: holm", 150),
        ("equivalence: independent rates, exact, largest over a grid", 1),
        ("equivalence: rates 0.92 and 0.97, 100 against 400 people, rows 10", 150),
        ("equivalence: paired rates that differ by δ, 20 people", 200),
        ("second: false alarms, twins of people with two bases each", 40),
        ("second: false matches at twice the others', cleared", 60),
        ("rule 19: power of a plan for a mean: normal, 2 groups", 100),
    ],
)
def test_a_promise_of_the_statistics_is_kept(lines, name, tables):
    line = lines[name]
    value, _, made = line.run(tables)
    assert line.verdict(value, made) == "yes", f"{value:.3f}, wanted {line.wanted}"


@pytest.mark.slow
def test_a_plan_for_means_keeps_its_promise_on_every_shape(lines):
    plans = [line for name, line in lines.items() if name.startswith("rule 19: power of a plan for a mean")]
    assert len(plans) == 8
    for line in plans:
        value, _, made = line.run(200)
        assert line.verdict(value, made) == "yes", f"{line.name}: {value:.3f}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["zeros", "more zeros", "shift", "ordinal", "lognormal 1", "lognormal 1.5", "latency"])
def test_skewed_metrics_are_seen_nearly_as_often_as_by_the_better_single_test(lines, kind):
    line = lines[f"rule 15: power, less the better single test's, plus 1: {kind}"]
    value, _, _ = line.run(160)
    assert value >= 0.9, kind
