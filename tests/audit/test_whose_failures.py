"""Sentences beside a group that does better: whose failures a ratio counts, and whether nobody does worse."""

from typing import Any

import pytest

import countenance as ct
from countenance.auditing.headline import headline


def rows(rates: dict[str, float], each: int) -> dict[str, list[Any]]:
    right = {group: round(each * rate) for group, rate in rates.items()}
    return {
        "group": [group for group in rates for _ in range(each)],
        "correct": [int(i < right[group]) for group in rates for i in range(each)],
    }


def audit(rates: dict[str, float], each: int) -> ct.Audit:
    return ct.audit(rows(rates, each), ["group"], ["correct"], cluster=None, adjust="holm")


@pytest.fixture(scope="module")
def chain() -> ct.Audit:
    return audit({"a": 0.9, "b": 0.936, "c": 0.936, "d": 0.936, "e": 0.969}, 12_000)


def test_a_ratio_says_whose_failures_it_counts(chain: ct.Audit) -> None:
    reasons = {finding.group: finding.reason for finding in chain.findings}
    assert "2.35 times as many failures for the rest [" in reasons["e"]
    assert "times as many failures [" in reasons["a"] and "for the rest" not in reasons["a"]
    assert "2.35 times as many failures for everyone else [" in headline(chain)
    two = audit({"good": 0.998, "poor": 0.956}, 1000)
    assert "22 times as many failures for poor [" in two.findings[0].reason
    assert headline(two).startswith("group = poor does worse than group = good")
    assert "for poor" not in headline(two).split(":")[1]


def test_two_groups_too_far_apart_are_named_beside_one_that_does_better(chain: ct.Audit) -> None:
    assert chain.verdict == "disparity" and chain.widest[0].beyond
    assert headline(chain).startswith("group = e does better than everyone else")
    assert "nobody is shown to do worse" not in headline(chain)
    assert "the largest difference between two groups of group is 0.069 in correct (e 0.969, a 0.900;" in headline(
        chain
    )


def test_a_real_but_small_loss_is_not_nobody() -> None:
    small = audit({"a": 0.932, "b": 0.94, "c": 0.94, "d": 0.94, "e": 0.976}, 12_000)
    assert not small.widest[0].beyond
    assert any("a real difference, smaller than" in f.reason and f.direction == "worse" for f in small.findings)
    assert headline(small).endswith("nobody is shown to do worse by 0.05 or more.")
