"""Gates that look again and again: bounds that hold at every look, by `--any-time` and by the policy."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import countenance as ct
from countenance.cli.app import app
from countenance.errors import InputError
from countenance.gating.any_time_bounds import _bounds
from countenance.metrics.any_time import any_time_difference, any_time_lower_bound, any_time_upper_bound
from countenance.metrics.intervals import wilson
from countenance.run import Run

Made = Callable[..., Run]
RULE = {"estimate": {"metric": "found", "at_least": 0.9}, "insufficient": "fail"}


def test_a_lucky_look_passes_once_and_not_at_every_look(made: Made) -> None:
    run = made({"m.found": [1.0] * 60})
    once, always = ct.gate(run, {"rules": [RULE]}), ct.gate(run, {"rules": [RULE], "any_time": True})
    assert once.passed and not always.passed and always.any_time
    (check,) = always.rules[0].checks
    assert check.low == pytest.approx(any_time_lower_bound(np.ones(60), 0.025)) and check.evidence == "insufficient"
    assert "hold at every look" in always.notes[-1]
    assert ct.gate(run, {"rules": [RULE]}, any_time=True).passed is False


def test_a_good_model_passes_and_a_bad_one_fails_at_every_look(made: Made) -> None:
    good = made({"m.found": [1.0] * 600})
    bad = made({"m.found": [1.0, 0.0] * 300})
    assert ct.gate(good, {"rules": [RULE]}, any_time=True).passed
    outcome = ct.gate(bad, {"rules": [RULE]}, any_time=True)
    assert outcome.rules[0].evidence == "fail"


def test_rows_of_a_person_count_once(made: Made) -> None:
    people = [f"p{i // 10}" for i in range(600)]
    run = made({"m.found": [1.0] * 600, "identity": people})
    (check,) = ct.gate(run, {"rules": [RULE]}, any_time=True).rules[0].checks
    assert check.units == 60 and check.low == pytest.approx(any_time_lower_bound(np.ones(60), 0.025))


def test_gaps_by_group(made: Made) -> None:
    rows = {"attr.sex": ["f", "m"] * 400, "m.found": [1.0] * 800}
    run = made(rows)
    rule = {"gap": {"metric": "found", "by": "sex", "at_most": 0.1}, "insufficient": "fail"}
    outcome = ct.gate(run, {"rules": [rule]}, any_time=True)
    assert outcome.passed
    low, high = any_time_difference(np.ones(400), np.ones(400), 0.05)
    (check,) = outcome.rules[0].checks
    assert (check.low, check.high) == pytest.approx((low, high))
    each = {"estimate": {"metric": "found", "by": "sex", "at_least": 0.9}, "insufficient": "fail"}
    assert [c.about for c in ct.gate(run, {"rules": [each]}, any_time=True).rules[0].checks] == [
        "found of sex = f",
        "found of sex = m",
    ]


def test_the_command_and_the_policy(made: Made, tmp_path: Path) -> None:
    run = made({"m.found": [1.0] * 60})
    policy = tmp_path / "gate.yaml"
    policy.write_text("rules:\n- estimate: {metric: found, at_least: 0.9}\n  insufficient: fail\n")
    words = ["gate", run.place, "--policy", str(policy)]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert CliRunner().invoke(app, [*words, "--any-time"]).exit_code != 0
    policy.write_text("any_time: true\n" + policy.read_text())
    assert CliRunner().invoke(app, words).exit_code != 0
    policy.write_text("any_time: perhaps\nrules:\n- people: {at_least: 1}\n  insufficient: fail\n")
    assert "expected true or false" in str(CliRunner().invoke(app, words).exception)


def test_rules_for_a_single_look_are_refused(made: Made) -> None:
    run = made({"m.found": [1.0] * 60, "m.far": [2.0] * 60})
    with pytest.raises(InputError, match=r"any_time: the rule 'no disparity' \(verdict\) is for a single look"):
        ct.gate(run, {"rules": [{"verdict": {"forbid": "disparity"}, "insufficient": "fail"}]}, any_time=True)
    with pytest.raises(InputError, match="far is not between 0 and 1"):
        ct.gate(
            run, {"rules": [{"estimate": {"metric": "far", "at_most": 3.0}, "insufficient": "fail"}]}, any_time=True
        )


def test_fifty_looks_of_a_model_at_the_limit(seed: int = 3) -> None:
    """A model exactly at its limit passes in one of 50 looks far more often with intervals for a single look."""
    random, looks = np.random.default_rng(seed), np.arange(1, 51) * 20
    once = always = 0
    for _ in range(40):
        values = (random.random(1000) < 0.9).astype(float)
        once += any(float(wilson(values[:n].mean(), n, 1.96)[0]) >= 0.9 for n in looks)
        always += _bounds(values, 0.05)[0] >= 0.9  # later looks never take a bound back: the last look is the largest
    assert always <= 2 < once


def test_bounds_are_those_of_both_sides() -> None:
    values = np.array([1.0, 0.0] * 30)
    assert _bounds(values, 0.05) == (any_time_lower_bound(values, 0.025), any_time_upper_bound(values, 0.025))
