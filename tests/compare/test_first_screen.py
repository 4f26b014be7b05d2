"""The first screen of a comparison: sentence, dumbbells, verdict words, notebook and terminal."""

import math
import re

import numpy as np
import pytest

from countenance.auditing.verdict import DISPARITY
from countenance.cli.comparing import comparison_lines, leaderboard_lines
from countenance.comparing import Comparison, compare, leaderboard
from countenance.report.comparison import dumbbells, write_comparison
from countenance.report.comparison_words import change_words, gap_words, kind_of, lead, matters, plain, told_side
from countenance.report.leaderboard import board_pages


def rows_of(right: dict[str, list[int]]) -> dict[str, list]:
    """A table of scores, group by group."""
    groups = [group for group, scores in right.items() for _ in scores]
    scores = [score for own in right.values() for score in own]
    return {"sample": list(range(len(groups))), "masked": groups, "correct": scores}


OLD = {"no": [1] * 290 + [0] * 10, "yes": [1] * 280 + [0] * 20}
NEW = {"no": [1] * 290 + [0] * 10, "yes": [1] * 180 + [0] * 120}


@pytest.fixture(scope="module")
def worse() -> Comparison:
    """The new model loses masked people."""
    return compare(rows_of(OLD), rows_of(NEW), by=["masked"], metrics="correct", names=["v1", "v2"], adjust="holm")


def test_the_sentence_counts_and_names_who_loses(worse: Comparison) -> None:
    sentences = lead(worse)
    assert sentences[0] == "v2 is worse than v1: 100 of 600 got worse, none got better."
    assert sentences[1].startswith("Worst: masked people, 93.3")
    assert sentences[2] == "Masked people fell 33.3 points further behind, compared to unmasked people."
    assert all(len(re.findall(r"\d[\d,.]*", re.sub(r"\bv\d", "", text))) <= 3 for text in sentences)


def test_good_news_is_no_disparity_and_told_from_who_caught_up() -> None:
    better = compare(rows_of(NEW), rows_of(OLD), by=["masked"], metrics="correct", names=["v1", "v2"], adjust="holm")
    gap = told_side(next(gap for gap in better.gaps if not gap.mirrors))
    assert gap.verdict == DISPARITY and gap.group == "yes"
    assert gap_words(gap, "higher", better.settings) == ("none", "caught up by 33.3 points")
    assert lead(better)[-1] == "Masked people caught up by 33.3 points, compared with unmasked people."


def test_a_widened_gap_is_red_and_told_from_the_losing_side(worse: Comparison) -> None:
    gap = told_side(next(gap for gap in worse.gaps if not gap.mirrors))
    mark, words = gap_words(gap, "higher", worse.settings)
    assert (gap.group, mark, words) == ("yes", "severe", "fell 33.3 points further behind")


def test_what_excludes_zero_is_never_undecided() -> None:
    old = rows_of({"no": [1] * 200, "yes": [1] * 17})
    new = rows_of({"no": [1] * 200, "yes": [0] * 12 + [1] * 5})
    few = compare(old, new, by=["masked"], metrics="correct", adjust="holm")
    change = few.change("correct", "masked", "yes")
    assert change.verdict == "cannot tell" and change.high < 0
    mark, words = change_words(change, few.settings)
    assert mark == "untested" and words == "looks much worse; 17 rows, 3 short of the 20 we ask for"
    for other in few.groups:
        undecided = "to tell" in change_words(other, few.settings)[1]
        assert not undecided or math.isnan(other.low) or other.low <= 0 <= other.high


def test_dumbbells_are_sorted_by_loss_and_old_comes_first(worse: Comparison, tmp_path) -> None:
    drawn = dumbbells(worse, "correct")
    assert [row.who for row in drawn.shown] == ["Masked", "Unmasked"] and drawn.everyone.who == "Everyone"
    assert (drawn.shown[0].old, drawn.shown[0].new) == ("93.3\u202f%", "60.0\u202f%")
    page = write_comparison(worse, [rows_of(OLD), rows_of(NEW)], tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.index("v2 is worse than v1") < page.index('class="dumbbell severe"') < page.index("<details")
    shown = re.sub(r"\"data:[^\"]*\"", "", page)  # files to download have the codes
    assert "v2 − v1" not in page and "v1</bdi> <span" in page and "disparity" not in shown


def test_only_what_is_printed_in_points_has_a_margin_in_points(tmp_path) -> None:
    """Two metrics may have the same smallest difference in different units."""
    rng = np.random.default_rng(0)
    overlap = rng.uniform(0.6, 0.8, 600)
    rows = rows_of({"no": [1] * 300, "yes": [1] * 300})
    old = rows | {"iou": overlap.tolist(), "genuine_accepted": [0.5, 1.0] * 300}
    new = old | {"iou": (overlap + 0.001).tolist()}
    names = ["correct", "iou", "genuine_accepted"]
    same = compare(old, new, by=["masked"], metrics=names, adjust="holm", names=["v1", "v2"])
    assert {change.delta for change in same.overall} == {0.05}
    rate, overlaps, shares = (plain(text, same) for text in same.decisions)
    assert "5 points" in rate and "5 points" in shares and "0.05" not in rate + shares
    assert "by 0.05 or more" in overlaps and "points" not in overlaps
    assert plain(same.decision, same) == " ".join([rate, overlaps, shares]) and overlaps in repr(same)
    page = write_comparison(same, [old, new], tmp_path / "c.html").read_text(encoding="utf-8")
    margins = re.findall(r"The smallest difference that matters is (.+?)\.?</p>", page)
    assert margins == ["5 points", "0.05", "5 points"]


def test_a_margin_is_printed_with_all_its_digits(worse: Comparison) -> None:
    (change,) = worse.overall
    words = [matters(change.model_copy(update={"delta": delta})) for delta in (0.01, 0.0025, 0.05)]
    assert words == ["1 point", "0.25 points", "5 points"]


def test_in_a_notebook(worse: Comparison) -> None:
    assert 1 <= len(repr(worse).splitlines()) <= 5 and repr(worse) == str(worse)
    assert " = " not in repr(worse), "groups are in words"
    text = worse._repr_html_()
    assert "v2 is worse than v1" in text and "dumbbell severe" in text and len(text) < 40_000


@pytest.mark.parametrize("columns", [70, 80, 120])
def test_the_terminal_is_as_wide_as_it_is(worse: Comparison, columns: int) -> None:
    assert all(len(line) <= columns for line in comparison_lines(worse, columns))
    models = [rows_of(OLD), rows_of(NEW), rows_of(OLD)]
    board = leaderboard(models, ["masked"], "correct", names=["v1", "v2", "v3"], against_first=True)
    assert all(len(line) <= columns for line in leaderboard_lines(board, columns))


def test_the_board_marks_groups_beyond_everyone_and_no_ties() -> None:
    perfect = rows_of({"no": [1] * 300, "yes": [1] * 300})
    board = leaderboard([perfect, rows_of(NEW)], ["masked"], "correct", names=["good", "bad"])
    (page,) = board_pages(board)
    assert page["cells"]["bad"]["masked", "yes"]["below"] and page["cells"]["bad"]["masked", "yes"]["worst"]
    assert not any(cell["worst"] or cell["below"] for cell in page["cells"]["good"].values())
    assert [row.label for row in page["pairs"].rows] == ["good → bad"] and page["pairs"].rows[0].old == "100.0\u202f%"


def test_groups_too_small_to_test_come_last_however_much_they_lose() -> None:
    rows = [["old"] * 6 + ["young"] * 200 + ["middle"] * 200, [1] * 406, [0] * 6 + [1] * 200 + [0, 1, 1, 1] * 50]
    old, new = ({"sample": list(range(406)), "age_group": rows[0], "correct": values} for values in rows[1:])
    drawn = dumbbells(compare(old, new, by=["age_group"], metrics="correct"), "correct")
    assert [row.size for row in drawn.shown][-1] == "6 rows" and drawn.shown[-1].mark == "untested"


def test_the_board_begins_with_the_attribute_in_which_a_model_serves_a_group_worst() -> None:
    rows = {
        "sample": list(range(480)),
        "background": ["room", "studio"] * 240,
        "quality": ["18"] * 4 + ["90"] * 476,
        "skin_tone": ["monk_2"] * 320 + ["monk_10"] * 160,
        "gender": ["female", "female", "male", "male"] * 120,
    }
    right = [0] * 4 + [1] * 316 + [0, 1, 1, 0, 1] * 32
    board = leaderboard(
        [rows | {"correct": right}, rows | {"correct": [1] * 480}],
        by=["background", "quality", "gender", "skin_tone"],
        metrics="correct",
        names=["x", "y"],
    )
    (page,) = board_pages(board)
    assert [name for name, _ in page["by_attribute"]] == ["skin_tone", "gender", "background", "quality"]
    assert page["cells"]["x"]["skin_tone", "monk_10"]["below"]
    assert not page["cells"]["x"]["quality", "18"]["below"], "four rows are too few"


def test_a_fit_between_0_and_1_is_no_percentage() -> None:
    old, new = ({"sample": list(range(100)), "fit": [value, value / 2] * 50} for value in (0.9, 0.5))
    fit = compare(old, new, metrics="fit")
    assert kind_of(fit.overall[0]) == "mean" and "points" not in fit.decision
    assert "0.675 → 0.375" in lead(fit)[0]
