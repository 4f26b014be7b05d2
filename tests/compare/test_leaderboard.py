"""Many models: ranks with ties, every pair, groups as columns."""

import numpy as np
import pytest

from countenance.comparing import compare, leaderboard
from countenance.errors import InputError
from countenance.report.comparison import csv_of
from countenance.report.leaderboard import board_badge, cliques, ties_words, write_leaderboard


def tables(rates: list[float], n: int = 800, seed: int = 0, jitter: float = 0.02):
    """Models that find the same faces hard."""
    rng = np.random.default_rng(seed)
    hard = rng.random(n)
    rows = {"sample": list(range(n)), "g": rng.choice(["a", "b"], n).tolist()}
    return [
        rows
        | {
            "correct": (hard + jitter * rng.normal(size=n) < rate).astype(int).tolist(),
            "ms": (100 * rate + rng.normal(size=n)).tolist(),
        }
        for rate in rates
    ]


def test_models_that_cannot_be_split_share_a_rank() -> None:
    found = leaderboard(tables([0.7, 0.9, 0.705]), by=["g"], metrics="correct", names=["x", "y", "z"])
    ranks = {one.model: (one.rank, one.tied) for one in found.ranking}
    assert ranks == {"y": (1, False), "x": (2, True), "z": (2, True)}
    assert found.decision.startswith("y is better than all others (ahead of ")
    ties = cliques(found.ranking, found.overall)
    assert ties == [(1, 2)]
    assert ties_words(found.ranking, ties) in ("x, z cannot be told apart", "z, x cannot be told apart")


def test_nobody_is_first_alone_without_evidence() -> None:
    found = leaderboard(tables([0.8, 0.8, 0.8], n=60), metrics="correct", names=["x", "y", "z"])
    assert {one.rank for one in found.ranking} == {1} and all(one.tied for one in found.ranking)
    assert "all share first place: 60 rows cannot tell them apart" in found.decision


def test_pairs_are_later_minus_earlier_whatever_their_names() -> None:
    found = leaderboard(tables([0.7, 0.9]), metrics="correct", names=["zebra", "ant"])
    [pair] = found.overall
    assert (pair.a, pair.b) == ("zebra", "ant") and pair.difference > 0 and pair.verdict == "better"


def test_lower_is_better_ranks_the_fastest_first() -> None:
    found = leaderboard(tables([0.7, 0.9, 0.8]), metrics=["ms"], better="ms=lower", names=["x", "y", "z"])
    assert [one.model for one in found.standings("ms")] == ["x", "z", "y"]
    assert found.pair("ms", "y", "x").verdict == "worse"


def test_without_a_direction_nobody_is_called_better() -> None:
    found = leaderboard(tables([0.7, 0.9]), metrics=["ms"], names=["x", "y"])
    assert found.decision.startswith("y is higher than all others (ahead of x by ")
    assert found.decision.endswith("(which way is better was not said: the setting better says it).")


def test_models_shown_to_be_alike_are_not_called_undecided() -> None:
    one, two = tables([0.8, 0.9])
    found = leaderboard([two, one, dict(two)], metrics="correct", names=["x", "old", "y"])
    assert found.decision == "x and y share first place: they do not differ by 5 points or more."


def test_each_further_model_is_told_against_the_first() -> None:
    made = tables([0.7, 0.9, 0.71], n=1500)
    made[1]["correct"] = [ok if g == "b" else 0 for ok, g in zip(made[1]["correct"], made[1]["g"], strict=True)]
    found = leaderboard(made, by=["g"], metrics="correct", names=["old", "x", "y"], against_first=True)
    assert len(found.decisions) == 3
    assert found.decisions[1].startswith("Against old: x is worse overall") and "worse for g = a" in found.decisions[1]
    assert (
        found.decisions[2].startswith("Against old: ")
        and "worse for nobody by more than 5 points" in found.decisions[2]
    )


def test_the_page_warns_of_a_first_model_that_fails_a_group(tmp_path) -> None:
    old, new = tables([0.7, 0.9], n=1500)
    kept = [g == "b" or i % 3 > 0 for i, g in enumerate(new["g"])]
    new["correct"] = [
        ok if g == "b" else before * kept[i]
        for i, (ok, g, before) in enumerate(zip(new["correct"], new["g"], old["correct"], strict=True))
    ]
    found = leaderboard([old, new], by=["g"], metrics="correct", names=["old", "new"], against_first=True)
    assert board_badge(found)[0] == "severe" and [g.group for g in found.groups if g.verdict == "worse"] == ["a"]
    page = write_leaderboard(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'class="verdict-box severe slim"' in page
    unsure = leaderboard(tables([0.8, 0.81], n=60), metrics="correct")
    assert board_badge(unsure) == ("unsure", "who is first cannot be told")


def test_groups_are_columns_over_the_rows_that_all_have() -> None:
    made = tables([0.7, 0.9])
    made[1] = {name: column[10:] for name, column in made[1].items()}
    found = leaderboard(made, by=["g"], metrics="correct", names=["x", "y"])
    for one in found.ranking:
        assert one.n == 790 and sum(each.n for each in one.groups) == 790
    x = np.array(made[0]["correct"][10:])[np.array(made[0]["g"][10:]) == "a"].mean()
    first = next(one for one in found.ranking if one.model == "x")
    assert first.group("g", "a").estimate == pytest.approx(x)


def test_pairs_are_adjusted_together() -> None:
    many = leaderboard(tables([0.7, 0.72, 0.74, 0.76, 0.78]), metrics="correct", names=list("abcde"))
    raw = sorted(pair.p for pair in many.overall)
    assert sorted(pair.p_adjusted for pair in many.overall)[0] == pytest.approx(min(1.0, 10 * raw[0]))


def test_all_pairs_and_metrics_are_one_family() -> None:
    found = leaderboard(tables([0.7, 0.72, 0.74]), metrics=["correct", "ms"], names=list("abc"))
    assert len(found.overall) == 6
    raw = sorted(pair.p for pair in found.overall)
    adjusted = sorted(pair.p_adjusted for pair in found.overall)
    assert adjusted == pytest.approx(np.minimum(np.maximum.accumulate(raw * np.arange(6, 0, -1)), 1.0).tolist())
    apart = leaderboard(tables([0.7, 0.72, 0.74]), metrics=["correct", "ms"], names=list("abc"), families="metric")
    for metric in ("correct", "ms"):
        own = [pair for pair in apart.overall if pair.metric == metric]
        assert min(pair.p_adjusted for pair in own) == pytest.approx(3 * min(pair.p for pair in own))


def test_groups_and_gaps_of_all_models_are_one_family() -> None:
    made = tables([0.7, 0.72, 0.74, 0.76])
    found = leaderboard(made, by=["g"], metrics="correct", names=list("abcd"), against_first=True, adjust="holm")
    assert [(one.a, one.b) for one in found.groups if one.group == "a"] == [("a", "b"), ("a", "c"), ("a", "d")]
    first = min(found.groups, key=lambda one: one.p)
    assert first.p_adjusted == pytest.approx(min(1.0, 6 * first.p))
    gaps = [gap for gap in found.gaps if not gap.mirrors]
    assert len(gaps) == 3 and {gap.metric for gap in gaps} == {"correct"}
    first = min(gaps, key=lambda one: one.p)
    assert first.p_adjusted == pytest.approx(min(1.0, 3 * first.p))


def test_two_models_give_the_same_numbers_as_a_comparison() -> None:
    made = tables([0.7, 0.75])
    board = leaderboard(made, by=["g"], metrics="correct", names=["x", "y"], against_first=True)
    alone = compare(*made, by=["g"], metrics="correct", names=["x", "y"])
    assert (board.overall, board.groups, board.gaps) == (alone.overall, alone.groups, alone.gaps)


def test_a_value_that_one_model_lacks_is_left_out_for_all() -> None:
    made = tables([0.7, 0.75, 0.8])
    made[2]["correct"] = [None, None, *made[2]["correct"][2:]]
    found = leaderboard(made, metrics="correct", names=list("abc"))
    own = [pair for pair in found.overall if pair.metric == "correct"]
    assert {pair.n for pair in own} == {798} == {one.n for one in found.ranking}
    assert "correct: 2 rows have a value in some models and none in others; left out" in found.notes
    made[1]["correct"] = [0, 0] + [None] * 798
    with pytest.raises(InputError, match="correct: no row has a value in all 3 models"):
        leaderboard(made, metrics="correct", names=list("abc"))


@pytest.mark.slow
def test_equal_models_are_seldom_told_apart() -> None:
    split = 0
    for seed in range(60):
        found = leaderboard(
            tables([0.9] * 4, n=300, seed=seed, jitter=0.05), metrics="correct", by=[], names=list("abcd")
        )
        split += any(one.rank > 1 for one in found.ranking)
    assert split <= 7, "5 % of 60 is 3; more than 7 has a chance below .02"


def test_the_page_escapes_names_and_the_csv_is_safe_for_spreadsheets(tmp_path) -> None:
    evil = "<script>window.pwned=1</script>"
    found = leaderboard(tables([0.7, 0.9]), by=["g"], metrics="correct", names=[evil, "=HYPERLINK(1)"])
    page = write_leaderboard(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert evil not in page and "&lt;script&gt;window.pwned" in page
    assert "'=HYPERLINK(1)" in csv_of(found)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(InputError, match="no setting 'colour'"):
        leaderboard(tables([0.7, 0.9]), metrics="correct", colour="red")
