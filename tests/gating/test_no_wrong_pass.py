"""What must not pass a gate: few people who happen to be perfect, and people for whom there is no answer."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import countenance as ct
from countenance.gating.bounds import Limits, Measurement
from countenance.gating.output import rule_line

Made = Callable[..., ct.Run]
ESTIMATE = {"estimate": {"metric": "correct", "by": "g", "at_least": 0.95}}
GAP = {"gap": {"metric": "correct", "by": "g", "at_most": 0.05}}
EQUITY = {"equity": {"measure": "impact_ratio", "metric": "correct", "by": "g", "at_least": 0.95}}
SPREAD = {"equity": {"measure": "accuracy_std", "metric": "correct", "by": "g", "at_most": 0.04}}


def outcome(run: ct.Run, rule: dict[str, Any]) -> Any:
    """The one outcome of one rule."""
    (decided,) = ct.gate(run, {"rules": [rule | {"insufficient": "warn"}]}).rules
    return decided


@pytest.mark.parametrize("rule", [ESTIMATE, GAP, EQUITY, SPREAD], ids=["estimate", "gap", "impact ratio", "spread"])
@pytest.mark.parametrize(("people", "evidence"), [(25, "insufficient"), (150, "pass")])
def test_perfect_people_pass_by_their_number(made: Made, rule: dict[str, Any], people: int, evidence: str) -> None:
    person = np.repeat(np.arange(people + 300), 8)
    columns = {
        "identity": [f"p{i}" for i in person],
        "attr.g": np.where(person < people, "a", "b").tolist(),
        "m.correct": [1.0] * len(person),
    }
    assert outcome(made(columns), rule).evidence == evidence


def test_equal_rates_of_single_rows_are_not_known_to_be_equal(made: Made) -> None:
    run = made({"attr.g": ["a"] * 25 + ["b"] * 300, "m.correct": [1.0] * 325})
    (check,) = outcome(run, EQUITY).checks
    assert check.evidence == "insufficient" and check.low < 0.9 and check.high == 1


def test_the_people_it_takes_are_enough(made: Made) -> None:
    def rows(people: int) -> dict[str, list[Any]]:
        person = np.repeat(np.arange(people), 8)
        return {"identity": [f"p{i}" for i in person], "m.correct": [1.0] * len(person)}

    rule = {"estimate": {"metric": "correct", "at_least": 0.95}}
    (check,) = outcome(made(rows(25)), rule).checks
    assert check.needed == 72
    assert outcome(made(rows(check.needed)), rule).evidence == "pass"
    assert outcome(made(rows(check.needed - 2)), rule).evidence == "insufficient"


@pytest.fixture(scope="module")
def unanswered(tmp_path_factory: pytest.TempPathFactory) -> ct.Run:
    """A run in which the model is always right, or fails: for a quarter of group a."""
    root = tmp_path_factory.mktemp("unanswered")
    (root / "set").mkdir()
    lines = ["file,identity,attr.g,face_box"]
    for i in range(200):
        group, dark = ("a", "b")[i % 2], i % 8 == 0
        Image.fromarray(np.full((32, 32, 3), 10 if dark else 150, np.uint8)).save(root / "set" / f"{i}.png")
        lines.append(f'{i}.png,p{i},{group},"[4, 4, 24, 24]"')
    (root / "set" / "labels.csv").write_text("\n".join(lines) + "\n")

    class Answers:
        name = "answers"

        def __call__(self, images: list[np.ndarray]) -> list[ct.Boxes]:
            if images[0].mean() < 50:
                raise ValueError("too dark")
            return [ct.Boxes([[4.0, 4, 24, 24]]) for _ in images]

    return ct.evaluate(
        Answers(), "face_localization", Path(root / "set"), out=root / "run", batch=1, max_failures=0.5, timed=True
    )


@pytest.mark.parametrize(
    "rule",
    [
        {"estimate": {"metric": "recall@0.5", "by": "g", "at_least": 0.9}},
        {"gap": {"metric": "recall@0.5", "by": "g", "at_most": 0.1}},
        {"equity": {"measure": "impact_ratio", "metric": "recall@0.5", "by": "g", "at_least": 0.9}},
        {"latency": {"quantile": 0.9, "at_most": 60_000}},
        {"verdict": {"forbid": "severe", "by": "g", "metric": "recall@0.5"}},
    ],
    ids=lambda rule: next(iter(rule)),
)
def test_a_model_that_gives_no_answer_does_not_pass(unanswered: ct.Run, rule: dict[str, Any]) -> None:
    decided = outcome(unanswered, rule)
    assert decided.evidence != "pass"
    reasons = " ".join(check.reason for check in decided.checks)
    assert "missing score" in reasons or "25 of 200 images have no answer" in reasons


def test_the_interval_that_counts_missing_scores_as_wrong_is_printed_and_stored(unanswered: ct.Run) -> None:
    rule = {"equity": {"measure": "impact_ratio", "metric": "recall@0.5", "by": "g", "at_least": 0.9}}
    (check,) = outcome(unanswered, rule).checks
    assert check.low < 0.8 and "with 25 missing scores as wrong" in check.reason


def test_where_missing_scores_decide_no_number_of_people_is_named(unanswered: ct.Run) -> None:
    rule = {"gap": {"metric": "recall@0.5", "by": "g", "at_most": 0.2}}
    decided = outcome(unanswered, rule)
    assert decided.worst.needed is None and decided.worst.reason.endswith("it would pass without the missing scores")
    assert rule_line(decided).endswith("it would pass without the missing scores")


def test_a_group_without_any_number_is_not_called_almost_decided() -> None:
    nothing = Measurement("found of g = a", *[math.nan] * 5).check(Limits(at_least=0.9), 0.05)
    assert (nothing.evidence, nothing.reason) == ("insufficient", "no number: 0 rows; wanted at least 0.9")
