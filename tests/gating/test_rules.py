"""Each kind of rule, each outcome, on rows made by hand."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import countenance as ct
from countenance.auditing import wilson
from countenance.errors import InputError
from countenance.tasks.results import Number

Made = Callable[..., ct.Run]


def rate(found: int, of: int) -> list[int]:
    """Rows of which so many are 1."""
    return [1] * found + [0] * (of - found)


def decided(run: ct.Run, kind: str, insufficient: str = "warn", baseline: Any = None, **wants: Any) -> Any:
    """The outcome of one rule."""
    policy = {"rules": [{kind: wants, "insufficient": insufficient}]}
    (outcome,) = ct.gate(run, policy, baseline=baseline).rules
    return outcome


@pytest.mark.parametrize(
    ("found", "evidence"), [(960, "pass"), (800, "fail"), (905, "insufficient"), (895, "insufficient")]
)
def test_an_estimate_is_decided_by_its_interval(made: Made, found: int, evidence: str) -> None:
    low, high = wilson(found, 1000)
    assert evidence == ("pass" if low >= 0.9 else "fail" if high < 0.9 else "insufficient")
    outcome = decided(made({"m.ok": rate(found, 1000)}), "estimate", metric="ok", at_least=0.9)
    (check,) = outcome.checks
    assert outcome.evidence == check.evidence == evidence
    assert (check.low, check.high) == pytest.approx((low, high)) and check.n == check.units == 1000


@pytest.mark.parametrize("insufficient", ["fail", "warn", "pass"])
def test_the_policy_says_what_insufficient_evidence_does(made: Made, insufficient: str) -> None:
    run = made({"m.ok": rate(905, 1000)})
    policy = {"rules": [{"estimate": {"metric": "ok", "at_least": 0.9}, "insufficient": insufficient}]}
    found = ct.gate(run, policy)
    assert found.rules[0].outcome == insufficient and found.passed == bool(found) == (insufficient != "fail")


def test_the_n_that_it_takes_decides_the_rule(made: Made) -> None:
    (check,) = decided(made({"m.ok": rate(184, 200)}), "estimate", metric="ok", at_least=0.9).checks
    assert check.evidence == "insufficient" and check.needed > 200
    rng = np.random.default_rng(0)
    passed = sum(wilson(rng.binomial(check.needed, 0.92), check.needed)[0] >= 0.9 for _ in range(2000))
    assert 0.77 <= passed / 2000 <= 0.85, "80 % of such data sets decide it"


def test_at_most_is_the_other_side(made: Made) -> None:
    run = made({"m.miss": rate(40, 1000)}, better={"miss": "lower"})
    assert decided(run, "estimate", metric="miss", at_most=0.06).evidence == "pass"
    assert decided(run, "estimate", metric="miss", at_most=0.02).evidence == "fail"
    assert decided(run, "estimate", metric="miss", at_most=0.04).evidence == "insufficient"
    assert decided(run, "estimate", metric="miss", at_most=0.06, at_least=0.01).evidence == "pass"


def test_each_group_is_checked_and_one_group_can_be_named(made: Made) -> None:
    run = made({"attr.tone": ["a"] * 500 + ["b"] * 500, "m.ok": rate(490, 500) + rate(400, 500)})
    outcome = decided(run, "estimate", metric="ok", by="tone", at_least=0.9)
    assert [check.evidence for check in outcome.checks] == ["pass", "fail"] and outcome.outcome == "fail"
    assert decided(run, "estimate", metric="ok", by="tone", group="a", at_least=0.9).outcome == "pass"
    with pytest.raises(InputError, match=r"tone has no group 'c'; there are a, b"):
        decided(run, "estimate", metric="ok", by="tone", group="c", at_least=0.9)


def test_many_groups_do_not_fail_a_good_model_by_chance() -> None:
    """A rule with ten groups at their limit fails falsely about as rarely as one with a single group."""
    from countenance.gating.bounds import Limits, Measurement

    rng = np.random.default_rng(1)
    failed = 0
    for _ in range(1500):
        counts = rng.binomial(400, 0.9, size=10)
        checks = [
            Measurement("m", k / 400, *wilson(k, 400), *wilson(k, 400, 0.05 / 10)).evidence(Limits(at_least=0.9))
            for k in counts
        ]
        failed += "fail" in checks
    assert failed / 1500 <= 0.045, "alpha / 2 and the skewness of Wilson's interval"


def test_numbers_of_the_whole_run_can_be_gated(made: Made) -> None:
    numbers = [Number(name="EER", value=0.02, low=0.01, high=0.03, n=500, unit="pairs")]
    run = made({"m.ok": rate(9, 10)}, results=numbers)
    assert decided(run, "estimate", metric="EER", at_most=0.05).evidence == "pass"
    assert decided(run, "estimate", metric="EER", at_most=0.005).evidence == "fail"
    assert decided(run, "estimate", metric="EER", at_most=0.02).evidence == "insufficient"
    with pytest.raises(InputError, match=r"no metric 'EOR' \(did you mean EER\?\)"):
        decided(run, "estimate", metric="EOR", at_most=0.02)


@pytest.mark.parametrize(("second", "evidence"), [(1880, "pass"), (1400, "fail"), (1800, "insufficient")])
def test_a_gap_is_decided_by_its_interval(made: Made, second: int, evidence: str) -> None:
    run = made({"attr.tone": ["a"] * 2000 + ["b"] * 2000, "m.ok": rate(1900, 2000) + rate(second, 2000)})
    outcome = decided(run, "gap", metric="ok", by="tone", at_most=0.05)
    assert outcome.evidence == evidence and len(outcome.checks) == 1
    assert outcome.checks[0].reason.count("to") and outcome.checks[0].n == 2000


def test_a_gap_of_too_few_people_is_insufficient(made: Made) -> None:
    run = made({"attr.tone": ["a"] * 500 + ["b"] * 8, "m.ok": rate(450, 500) + rate(0, 8)})
    (check,) = decided(run, "gap", metric="ok", by="tone", at_most=0.05).checks
    assert check.evidence == "insufficient" and "fewer than 20" in check.reason and check.needed >= 20


def test_the_verdict_is_the_audits(made: Made) -> None:
    worse = made({"attr.tone": ["a"] * 500 + ["b"] * 500, "m.ok": rate(480, 500) + rate(350, 500)})
    assert decided(worse, "verdict", forbid="disparity").evidence == "fail"
    assert decided(worse, "verdict", forbid="severe").evidence == "fail"
    minor = made({"attr.tone": ["a"] * 4000 + ["b"] * 4000, "m.ok": rate(3800, 4000) + rate(3620, 4000)})
    assert decided(minor, "verdict", forbid="disparity").evidence == "fail"
    assert decided(minor, "verdict", forbid="severe").evidence == "pass"
    equal = made({"attr.tone": ["a"] * 4000 + ["b"] * 4000, "m.ok": rate(3800, 4000) + rate(3800, 4000)})
    assert decided(equal, "verdict", forbid="disparity").evidence == "pass"
    small = made({"attr.tone": ["a"] * 60 + ["b"] * 60, "m.ok": rate(55, 60) + rate(53, 60)})
    outcome = decided(small, "verdict", forbid="disparity", by="tone", metric="ok")
    assert outcome.evidence == "insufficient" and outcome.checks[0].needed > 60


def test_the_verdict_of_the_report_is_the_verdict_of_the_gate(made: Made) -> None:
    run = made(
        {
            "attr.tone": ["a"] * 300 + ["b"] * 300,
            "attr.hat": ["y", "n"] * 300,
            "m.ok": rate(290, 300) + rate(200, 300),
        }
    )
    run.audit(by=["hat"])  # what was asked for is what counts
    assert decided(run, "verdict", forbid="disparity").evidence != "fail"
    assert decided(run, "verdict", forbid="disparity", by=["tone"]).evidence == "fail"


def test_equity_measures_are_the_audits(made: Made) -> None:
    run = made({"attr.tone": ["a"] * 2000 + ["b"] * 2000, "m.ok": rate(1900, 2000) + rate(1600, 2000)})
    about = {"metric": "ok", "by": "tone"}
    assert decided(run, "equity", measure="skewed_error_ratio", at_most=2, **about).evidence == "fail"
    assert decided(run, "equity", measure="skewed_error_ratio", at_most=6, **about).evidence == "pass"
    unsure = decided(run, "equity", measure="skewed_error_ratio", at_most=4, **about)
    (check,) = unsure.checks
    (told,) = [e for e in run.audit(["tone"], ["ok"], equity=True).equity if e.measure == "skewed_error_ratio"]
    assert unsure.evidence == "insufficient" and check.value == pytest.approx(4.0)
    assert (check.low, check.high) == pytest.approx((told.low, told.high)) and "a fair system" in check.reason
    assert decided(run, "equity", measure="impact_ratio", at_least=0.8, **about).evidence == "pass"
    assert decided(run, "equity", measure="impact_ratio", at_least=0.9, **about).evidence == "fail"
    for measure in ("accuracy_std", "max_geomean_ratio"):
        assert decided(run, "equity", measure=measure, at_most=99, **about).evidence == "pass"
    perfect = made({"attr.tone": ["a"] * 40 + ["b"] * 40, "m.ok": [1] * 80})
    unknown = decided(perfect, "equity", measure="skewed_error_ratio", at_most=2, **about)
    assert unknown.evidence == "insufficient" and "undefined" in unknown.checks[0].reason
    with pytest.raises(InputError, match="max_min_ratio is not given for ok; there are accuracy_std"):
        decided(run, "equity", measure="max_min_ratio", at_most=2, **about)


def test_equity_measures_of_verification(made: Made) -> None:
    columns = {
        "attr.tone": ["a"] * 2000 + ["b"] * 2000,
        "m.fmr": rate(20, 2000) + rate(80, 2000),
        "m.fnmr": rate(100, 2000) + rate(100, 2000),
    }
    run = made(columns, better={"fmr": "lower", "fnmr": "lower"})
    assert decided(run, "equity", measure="max_min_ratio", metric="FMR", by="tone", at_most=2).evidence == "fail"
    assert decided(run, "equity", measure="inequity_rate", by="tone", at_most=9).evidence == "pass"
    assert decided(run, "equity", measure="fairness_discrepancy_rate", by="tone", at_least=0.5).evidence == "pass"
    with pytest.raises(InputError, match="no FMR and FNMR"):
        decided(made({"attr.tone": ["a", "b"], "m.ok": [1, 0]}), "equity", measure="garbe", by="tone", at_most=1)


def test_people_are_counted_not_rows(made: Made) -> None:
    columns = {"identity": ["x", "x", "y", "z"], "attr.tone": ["a", "a", "a", "b"], "m.ok": [1, 1, 0, 1]}
    run = made(columns)
    assert decided(run, "people", at_least=3).evidence == "pass"
    assert decided(run, "people", at_least=4).evidence == "fail"
    outcome = decided(run, "people", at_least=2, by="tone")
    assert {check.about: check.evidence for check in outcome.checks} == {"tone = a": "pass", "tone = b": "fail"}
    crossed = made(columns | {"attr.age": [10, 20, 30, 40], "attr.hat": ["y", "n", "y", "n"]})
    counted = decided(crossed, "people", at_least=1, by="tone*hat").checks
    assert {c.about: c.n for c in counted} == {
        "tone*hat = a × n": 1,
        "tone*hat = a × y": 2,
        "tone*hat = b × n": 1,
        "tone*hat = b × y": 0,
    }
    assert [c.n for c in decided(crossed, "people", at_least=1, by="age:18").checks] == [1, 3]
    nobody = made(columns | {"identity": [None] * 3 + [""]})
    assert decided(nobody, "people", at_least=1).evidence == "insufficient"


def test_failed_images(made: Made) -> None:
    run = made({"m.ok": rate(90, 98)}, images=100, failed=2)
    assert decided(run, "failed_images", at_most=0.02).evidence == "pass"
    assert decided(run, "failed_images", at_most=0.01).evidence == "fail"
    assert decided(made({"m.ok": [1]}, images=0), "failed_images", at_most=0.01).evidence == "insufficient"


def test_speed_and_latency(made: Made) -> None:
    rng = np.random.default_rng(0)
    run = made({"m.latency_ms": rng.uniform(10, 20, 1000).tolist()}, images_per_second=60.0)
    assert decided(run, "speed", at_least=50).evidence == "pass"
    assert decided(run, "speed", at_least=70).evidence == "fail"
    assert decided(made({"m.ok": [1]}), "speed", at_least=1).evidence == "insufficient"
    assert decided(run, "latency", at_most=20).evidence == "pass"
    assert decided(run, "latency", at_most=15).evidence == "fail"
    near = decided(run, "latency", at_most=19.5).checks[0]
    assert near.evidence == "insufficient" and near.low < 19.5 < near.high
    assert decided(run, "latency", at_most=16, quantile=0.5, metric="latency_ms").evidence == "pass"
    assert decided(made({"m.ok": [1]}), "latency", at_most=1).evidence == "insufficient"
    few = made({"m.latency_ms": [1.0, 2.0]})
    assert math.isinf(decided(few, "latency", at_most=5).checks[0].high)


def test_regressions_are_paired(made: Made) -> None:
    rng = np.random.default_rng(0)
    old = (rng.uniform(size=3000) < 0.9).astype(int)
    worse, same = old.copy(), old.copy()
    worse[:300] = 0
    same[[5, 6]] = 1 - same[[5, 6]]
    tone = ["a"] * 1500 + ["b"] * 1500
    base, bad, fine = (made({"attr.tone": tone, "m.ok": m.tolist()}) for m in (old, worse, same))
    assert decided(fine, "regression", baseline=base, metric="ok", at_most=0.01).evidence == "pass"
    assert decided(bad, "regression", baseline=base, metric="ok", at_most=0.01).evidence == "fail"
    assert decided(bad, "regression", baseline=base, metric="ok", at_most=0.09).evidence == "insufficient"
    groups = decided(bad, "regression", baseline=base, metric="ok", at_most=0.01, by="tone")
    assert [check.evidence for check in groups.checks] == ["fail", "pass"]
    assert decided(base, "regression", baseline=bad, metric="ok", at_most=0).evidence == "pass", (
        "better is no regression"
    )
    with pytest.raises(InputError, match="baseline="):
        decided(fine, "regression", metric="ok", at_most=0.01)
    with pytest.raises(InputError, match="no rule of the kind regression"):
        decided(fine, "people", baseline=base, at_least=1)


def test_a_group_that_the_run_lost_is_no_pass(made: Made) -> None:
    old = rate(270, 300) + rate(216, 240) + rate(54, 60)
    tone = ["a"] * 300 + ["b"] * 240 + ["c"] * 60
    keys = {"sample": [f"s{i}" for i in range(600)], "identity": [f"p{i}" for i in range(600)]}
    base = made(keys | {"attr.tone": tone, "m.ok": old})
    rows = keys | {"attr.tone": tone, "m.ok": old}
    lost = made({name: column[:540] for name, column in rows.items()}, images=600, failed=60)
    outcome = decided(lost, "regression", baseline=base, metric="ok", by="tone", at_most=0.2)
    assert [check.evidence for check in outcome.checks] == ["pass", "pass", "insufficient"]
    assert outcome.checks[2].about == "ok of tone = c"
    assert outcome.checks[2].reason == "only the baseline has it (60 rows)"
    whole = decided(lost, "regression", baseline=base, metric="ok", at_most=0.2)
    assert "; without a partner: 60 rows of the baseline" in whole.checks[0].reason


def test_the_unknown_are_counted_beside_the_groups(made: Made) -> None:
    tone = ["a"] * 100 + ["b"] * 100 + [None] * 300
    run = made({"attr.tone": tone, "m.ok": [1] * 200 + [0] * 300})
    outcome = decided(run, "estimate", metric="ok", by="tone", at_least=0.5)
    assert outcome.evidence == "pass"
    assert outcome.checks[0].reason.endswith("; 300 rows with unknown tone not judged")
    gap = decided(run, "gap", metric="ok", by="tone", at_most=0.1)
    assert [check.evidence for check in gap.checks] == ["pass", "fail"] and "not recorded" in gap.checks[1].about
    few = made({"attr.tone": [*tone[:200], *[None] * 9], "m.ok": [1] * 209})
    assert "9 rows with unknown tone" in decided(few, "gap", metric="ok", by="tone", at_most=0.1).checks[0].reason
    regressed = decided(run, "regression", baseline=run, metric="ok", by="tone", at_most=0.1)
    assert [check.about for check in regressed.checks] == ["ok of tone = a, worse by", "ok of tone = b, worse by"]


def test_rows_that_are_all_alike_are_no_certainty(made: Made) -> None:
    few = made({"m.iou": [0.8] * 3, "m.ms": [5.0] * 3}, better={"ms": "lower"})
    check = decided(few, "estimate", metric="iou", at_least=0.7).checks[0]
    assert check.evidence == "insufficient" and (check.low, check.high) == (0.0, 1.0)
    assert decided(few, "estimate", metric="ms", at_most=6.0).evidence == "insufficient"
    assert decided(made({"m.iou": [0.8] * 100}), "estimate", metric="iou", at_least=0.7).evidence == "pass"


def test_lower_is_better_turns_a_regression_round(made: Made) -> None:
    old, new = (made({"m.miss": rate(k, 2000)}, better={"miss": "lower"}) for k in (100, 300))
    assert decided(new, "regression", baseline=old, metric="miss", at_most=0.02).evidence == "fail"
    assert decided(old, "regression", baseline=new, metric="miss", at_most=0.02).evidence == "pass"


def test_a_baseline_of_other_data_is_refused(made: Made) -> None:
    one, two = (made({"m.ok": rate(9, 10)}, decoder=name) for name in ("this", "that"))
    with pytest.raises(InputError, match=r"decoder this where .* has that: not comparable"):
        decided(one, "regression", baseline=two, metric="ok", at_most=0.1)


def test_where_keeps_the_rows_that_rules_are_about(made: Made) -> None:
    run = made({"attr.light": ["dim"] * 400 + ["day"] * 400, "m.ok": rate(200, 400) + rate(400, 400)})
    rule = {"estimate": {"metric": "ok", "at_least": 0.9}, "insufficient": "fail"}
    assert not ct.gate(run, {"rules": [rule]}).passed
    assert ct.gate(run, {"where": {"light": ["day"]}, "rules": [rule]}).passed
    with pytest.raises(InputError, match=r"no attribute 'ligth' \(did you mean light\?\)"):
        ct.gate(run, {"where": {"ligth": ["day"]}, "rules": [rule]})


def test_licences_of_data_and_model(made: Made) -> None:
    run = made({"m.ok": [1]}, licences=("CC-BY-4.0", "MIT"))
    assert ct.gate(run, {"licences": {"allow": ["CC-BY-*", "MIT"]}}).passed
    refused = ct.gate(run, {"licences": {"allow": ["MIT"]}})
    assert not refused.passed and "CC-BY-4.0 is not allowed" in refused.rules[0].checks[0].reason
    unsaid = made({"m.ok": [1]}, licences=("not stated", "MIT"))
    assert not ct.gate(unsaid, {"licences": {"allow": ["MIT"]}}).passed
    assert ct.gate(unsaid, {"licences": {"allow": ["MIT", "not stated"]}}).passed


def test_an_interval_at_a_shared_level_is_named_where_it_is_printed() -> None:
    from countenance.gating.bounds import Limits, Measurement
    from countenance.gating.output import check_line

    shared = Measurement("m", 0.85, 0.82, 0.88, 0.81, 0.89, attribute="g", group="a")
    assert check_line(shared.check(Limits(at_least=0.9), 0.05)).endswith(
        "0.850 [0.810, 0.890], at the level shared by all groups"
    )
    own = Measurement("m", 0.85, 0.82, 0.88, 0.82, 0.88, attribute="g", group="a")
    assert check_line(own.check(Limits(at_least=0.9), 0.05)).endswith("0.850 [0.820, 0.880]")
