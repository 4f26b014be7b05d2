"""A verdict never stands beside an interval that says something else."""

from typing import Any

import numpy as np
import pytest

from countenance.comparing import Change, compare, leaderboard

PEOPLE = 20


def small_tables(rows_per_person: int) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Two models on 20 people: a metric for every number of gained and lost people, each person changing as a whole
    or, with several rows, in some of them."""
    rng = np.random.default_rng(rows_per_person)
    person = np.repeat(np.arange(PEOPLE), rows_per_person)
    rows = {"sample": np.arange(len(person)).tolist(), "identity": [f"p{i}" for i in person]}
    old, new, names = dict(rows), dict(rows), []
    for gained in range(PEOPLE + 1):
        for lost in range(0, PEOPLE + 1 - gained):
            before = np.where(person < gained, 0.0, 1.0)
            after = np.where((person >= gained) & (person < gained + lost), 0.0, 1.0)
            still = rng.random(len(person)) < 0.4
            after = np.where(still & (rows_per_person > 1), before, after)
            name = f"gained{gained}lost{lost}"
            old[name], new[name] = before.tolist(), after.tolist()
            names.append(name)
    return old, new, names


def disagreement(change: Change, alone: bool) -> str:
    """What is wrong between verdict and interval; `alone`: the change is a family of its own."""
    apart = change.low > 0 or change.high < 0
    if change.shown and not apart:
        return f"{change.metric}: {change.verdict} beside {change.low} to {change.high}"
    if change.shown and (change.verdict == "better") != (change.low > 0):
        return f"{change.metric}: {change.verdict} and {change.low} to {change.high} differ in direction"
    if alone and change.tested and apart and not change.shown:
        return f"{change.metric}: {change.verdict} (p {change.p}) beside {change.low} to {change.high}"
    return ""


@pytest.mark.parametrize(
    "rows_per_person", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow)]
)
def test_better_and_worse_never_stand_beside_an_interval_that_holds_zero(rows_per_person: int) -> None:
    old, new, names = small_tables(rows_per_person)
    options: dict[str, Any] = {"by": [], "metrics": names, "better": "higher", "families": ["metric"]}
    changes = compare(old, new, **options).overall
    assert len(changes) == 231
    assert [text for change in changes if (text := disagreement(change, alone=True))] == []
    assert sum(change.shown for change in changes) > 40, "many of the tables show a change"
    # The test is exact and the interval is not: in some tables only one of the two rules out that nothing changed.
    one_sided = [c for c in changes if not c.shown and (c.p < 0.05 or 0.0 in (c.low, c.high)) and c.difference]
    assert one_sided, "without them this test could not fail"


def test_a_rank_is_lost_only_to_a_model_that_is_shown_to_be_better() -> None:
    old, new, names = small_tables(4)
    for name in names[::7]:
        rows = {part: old[part] for part in ("sample", "identity")}
        models = [rows | {"ok": scores[name]} for scores in (old, new)]
        board = leaderboard(models, metrics="ok", by=[], names=["a", "b"], better="higher")
        ranks = sorted(standing.rank for standing in board.ranking)
        assert (ranks == [1, 2]) == board.overall[0].shown, name
        assert disagreement(board.overall[0], alone=True) == ""
