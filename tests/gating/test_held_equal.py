"""Rules with `given`: a gap is judged between rows in which conditions are the same."""

from collections.abc import Callable

import pytest

import countenance as ct
from countenance.errors import InputError

Made = Callable[..., ct.Run]


def rows(effect: float = 0.0) -> dict[str, list]:
    """Two groups that differ in light; light decides who is found, and for b `effect` less are."""
    columns: dict[str, list] = {"attr.tone": [], "attr.light": [], "m.ok": []}
    for tone, light, n, share in (
        ("a", "dim", 100, 0.6),
        ("a", "bright", 400, 0.95),
        ("b", "dim", 400, 0.6),
        ("b", "bright", 100, 0.95),
    ):
        found = round(n * (share - effect * (tone == "b")))
        columns["attr.tone"] += [tone] * n
        columns["attr.light"] += [light] * n
        columns["m.ok"] += [1] * found + [0] * (n - found)
    return columns


def decided(run: ct.Run, kind: str, **wants: object) -> object:
    (outcome,) = ct.gate(run, {"rules": [{kind: wants, "insufficient": "warn"}]}).rules
    return outcome


def test_a_gap_that_is_the_light_fails_raw_and_passes_held_equal(made: Made) -> None:
    run = made(rows())
    assert decided(run, "gap", metric="ok", by="tone", at_most=0.1).evidence == "fail"
    outcome = decided(run, "gap", metric="ok", by="tone", at_most=0.1, given="light")
    (check,) = outcome.checks
    assert outcome.evidence == "pass" and "light held equal" in check.about and check.low < 0 < check.high
    assert decided(run, "verdict", forbid="disparity", by=["tone"], given=["light"]).evidence == "pass"


def test_a_gap_that_remains_fails(made: Made) -> None:
    run = made(rows(0.3))
    assert decided(run, "gap", metric="ok", by="tone", at_most=0.1, given=["light"]).evidence == "fail"
    outcome = decided(run, "verdict", forbid="disparity", by="tone", given="light")
    assert outcome.evidence == "fail" and "gap remains" in outcome.checks[0].reason


def test_without_overlap_the_evidence_is_insufficient(made: Made) -> None:
    run = made({"attr.tone": ["a"] * 100 + ["b"] * 100, "attr.light": ["x"] * 100 + ["y"] * 100, "m.ok": [1, 0] * 100})
    assert decided(run, "gap", metric="ok", by="tone", at_most=0.1, given=["light"]).evidence == "insufficient"


def test_wrong_rules_say_what_is_wrong(made: Made) -> None:
    with pytest.raises(InputError, match="no attribute 'ligth'"):
        decided(made(rows()), "gap", metric="ok", by="tone", at_most=0.1, given=["ligth"])
    with pytest.raises(InputError, match="leave comparison out"):
        decided(made(rows()), "gap", metric="ok", by="tone", at_most=0.1, given=["light"], comparison="pairs")
