"""Policies: what is wrong in one is named with its place and a remedy."""

from pathlib import Path
from typing import Any

import pytest

from countenance.errors import InputError
from countenance.gating import read_policy

GOOD = {"people": {"at_least": 10}, "insufficient": "fail"}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"rules": [{"people": {"at_least": 10}}]}, r"rule 1 \(people\): does not say .* 'insufficient: fail'"),
        ({"rule": [GOOD]}, r"unknown key 'rule' \(did you mean rules\?\)"),
        (
            {"rules": [{"estimat": {"metric": "ok"}, "insufficient": "fail"}]},
            r"unknown key 'estimat' \(did you mean est",
        ),
        (
            {"rules": [GOOD | {"insuficient": "warn"}]},
            r"rule 1: unknown key 'insuficient' \(did you mean insufficient\?",
        ),
        ({"rules": [{"people": {"atleast": 10}, "insufficient": "fail"}]}, r"'atleast' \(did you mean at_least\?\)"),
        (
            {"rules": [GOOD | {"insufficient": "warm"}]},
            r"insufficient is 'warm' \(did you mean warn\?\), expected fail",
        ),
        ({"rules": [GOOD | {"speed": {"at_least": 1}}]}, r"exactly one of .*, found people and speed"),
        ({"rules": [{"insufficient": "fail"}]}, r"exactly one of .*, found none"),
        ({"rules": [{"estimate": {"metric": "ok"}, "insufficient": "fail"}]}, r"say at_least or at_most"),
        ({"rules": [{"estimate": {"at_least": 0.9}, "insufficient": "fail"}]}, r"metric is missing"),
        ({"rules": [{"estimate": 0.9, "insufficient": "fail"}]}, r"expected settings: "),
        (
            {"rules": [{"estimate": {"metric": "m", "at_least": "much"}, "insufficient": "fail"}]},
            r"at_least is 'much'.*valid number",
        ),
        (
            {"rules": [{"equity": {"measure": "skewed_error_ratio", "by": "g", "at_most": 1}, "insufficient": "fail"}]},
            r"skewed_error_ratio needs a metric",
        ),
        (
            {
                "rules": [
                    {"equity": {"measure": "garb", "by": "g", "metric": "a", "at_most": 1}, "insufficient": "fail"}
                ]
            },
            r"measure is 'garb'",
        ),
        (
            {"rules": [{"gap": {"metric": "m", "by": "g", "at_most": 1, "given": 5}, "insufficient": "fail"}]},
            r"rule 1 \(gap\): given is 5",
        ),
        ({"rules": [GOOD, GOOD]}, r"two rules are called 'at least 10 people'"),
        ({"alpha": 1, "rules": [GOOD]}, r"alpha is 1, expected a number above 0 and below 0.5"),
        ({"licences": {"alow": ["MIT"]}}, r"licences: unknown key 'alow' \(did you mean allow\?\)"),
        ({"rules": {"people": 1}}, r"rules is .*, expected a list"),
        ({"rules": []}, r"no rules; `countenance gate --init RUN`"),
        ({"rules": ["people"]}, r"rule 1: 'people', expected one of"),
        ({"where": 3, "rules": [GOOD]}, r"where is 3, expected"),
    ],
)
def test_a_wrong_policy_is_refused_with_the_place_and_the_remedy(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_policy(policy)


def test_a_policy_may_say_once_what_insufficient_evidence_does() -> None:
    policy = read_policy({"insufficient": "warn", "rules": [{"people": {"at_least": 1}}, GOOD]})
    assert [rule.insufficient for rule in policy.rules] == ["warn", "fail"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rules: [", r"gate.yaml line \d+: not YAML"),
        ("", r"a policy has rules, found nothing"),
        ("- a", r"a policy has rules, found list"),
        ("!!python/object/apply:os.system ['echo']", r"not YAML"),
        ("\x00", r"not YAML"),
        ("rules:\n- people: {at_least: 3}\n  people: {at_least: 9}\n", r"line 3: not YAML .'people' is there twice"),
        ("a: &a [1, 1]\nb: &b [*a, *a]\nrules: [*b, *b]\n", r"unknown key 'a'"),
        ("? [a, b]\n: c\n", r"not YAML|unknown key"),
        ("rules: [{people: {at_least: true}, insufficient: fail}]", r"at_least is True"),
        ("rules: [{people: {at_least: 3}, insufficient: no}]", r"insufficient is False"),
    ],
)
def test_a_file_that_is_no_policy_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_policy(path)
    with pytest.raises(InputError, match="no such file"):
        read_policy(tmp_path / "none.yaml")
