"""Numbers of a score and of a leaderboard against scipy, numpy and hand: intervals, words, tables, bars, failures."""

import base64
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError
from scipy import stats
from tests.suites.bias_bounty.drawn_tables import tables

from countenance.auditing.ranking import Pair, Ranking, numerical_bootstrap
from countenance.comparing.result import Change
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, ClassTable, Truth
from countenance.suites.bias_bounty import board as boards
from countenance.suites.bias_bounty import page, pairing, printing
from countenance.suites.bias_bounty import rules as bounty
from countenance.suites.bias_bounty.board import Board, BoardEntry, Rules
from countenance.suites.bias_bounty.scoring import Draws, Score, _notes, score_files, score_tables
from countenance.suites.bias_bounty.submissions import Handed
from countenance.tasks.results import Number


def scored(n: int = 120, right: float = 0.7, **given: Any) -> Score:
    truth, said = tables(n, right)
    return score_tables(Truth(truth, **given), said, Draws(replicates=200))


def test_draws_have_their_documented_defaults_and_limits() -> None:
    assert Draws().model_dump() == {"replicates": 2000, "seed": 0}
    assert Draws(replicates=100, seed=0).replicates == 100
    for wrong in ({"replicates": 99}, {"seed": -1}):
        with pytest.raises(ValidationError):
            Draws(**wrong)
    assert (Rules().strict_rubric, Rules().time, Rules().passes) == (False, False, 5)
    assert boards.GROUPS == {
        "all": ("supervised", "semi-supervised", "unsupervised"),
        "supervised": ("supervised", "semi-supervised"),
        "unsupervised": ("unsupervised",),
    }


def test_intervals_are_students_on_the_spread_of_the_draws() -> None:
    truth, said = tables(160)
    found = score_tables(Truth(truth), said, Draws(replicates=300, seed=3))
    sums = bounty.class_sums(truth.codes, said.codes, np.arange(160))
    values, drawn = numerical_bootstrap(sums, bounty.scores_from_sums, draws=300, seed=3)
    half = stats.t.ppf(0.975, 159) * drawn.std(axis=0, ddof=1)
    numbers = [*(one.disparity for one in found.attributes.values()), found.first]
    for number, k in zip(numbers, range(3, 7), strict=True):
        assert number.value == pytest.approx(values[k])
        most = 16.0 if k == 6 else 1.0
        assert (number.low, number.high) == pytest.approx((max(0, values[k] - half[k]), min(most, values[k] + half[k])))
    assert found.first.meaning == "accuracy and equality of three attributes, at most 16"
    age = found.attributes["age"].accuracy
    z, p, n = stats.norm.ppf(0.975), age.value, 160
    middle, width = (
        (p + z * z / 2 / n) / (1 + z * z / n),
        z * np.sqrt(p * (1 - p) / n + (z / 2 / n) ** 2) / (1 + z * z / n),
    )
    assert (age.low, age.high) == pytest.approx((middle - width, middle + width), abs=2e-3), "Wilson, 95 %"


def test_a_perfect_and_a_hopeless_entry_stay_within_the_scale() -> None:
    """One wrong row: the upper ends reach 1 and 16; all wrong: everything is 0."""
    truth, said = tables(40, 1.0)
    said.codes["age"][0] = (said.codes["age"][0] + 1) % 4
    found = score_tables(Truth(truth), said, Draws(replicates=200))
    assert found.first.high == 16 and found.attributes["gender"].disparity.high == 0
    uneven, named = tables(60, 1.0)
    for name, codes in uneven.codes.items():  # the first class nearly always right, the others never
        named.codes[name][:] = np.where(codes == 0, 0, (codes + 1) % len(CLASSES[name]))
        named.codes[name][np.flatnonzero(codes == 0)[0]] = 1
    wide = score_tables(Truth(uneven), named, Draws(replicates=200))
    assert [one.disparity.high for one in wide.attributes.values()] == [1, 1, 1]
    none = scored(40, 0.0)
    assert (
        none.score1 == 0 and none.first.low == 0 and all(one.disparity.value == 0 for one in none.attributes.values())
    )


def test_the_default_files_are_scored_with_2000_draws_and_seed_0(tmp_path: Path) -> None:
    rows = "".join(f"{k},monk_{k % 10 + 1},male,0_17\n" for k in range(12))
    (tmp_path / "labels.csv").write_text(f"name,skin_tone,gender,age\n{rows}")
    found = score_files(tmp_path / "labels.csv", tmp_path / "labels.csv")
    assert found.draws == Draws(replicates=2000, seed=0) and found.to_json()["intervals"]["level"] == 0.95
    assert found.attributes["age"].left_out == ["18_30", "31_60", "61_100"]


def test_differences_rest_on_the_people_with_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, good = tables(60, 0.8)
    _, poor = tables(60, 0.4, seed=0)
    some = {name: np.where(np.arange(60) < 10, -1, codes) for name, codes in truth.codes.items()}
    known = Truth(ClassTable(truth.names, some), tuple(f"p{k // 2:02}" for k in range(60)))
    ranking = pairing.rank_predictions(known, {"good": good, "poor": poor}, Draws(replicates=200), {"poor": 3.0})
    alone = [score_tables(known, said, Draws(replicates=200)).score1 for said in (good, poor)]
    by_name = dict(zip(ranking.names, ranking.estimates, strict=True))
    assert by_name == pytest.approx({"good": alone[0], "poor": 3 * alone[1]}), "no factor is a factor of 1"
    one = [bounty.class_sums(some, said.codes, known.clusters) for said in (good, poor)]
    sums = np.stack(one, axis=1)[5:]  # the first five people have no labels

    def both(summed: np.ndarray) -> np.ndarray:
        return np.stack([bounty.scores_from_sums(summed[:, i])[:, -1] for i in (0, 1)], axis=1)

    values, drawn = numerical_bootstrap(sums, both, draws=200, seed=0)
    change = pairing.score_difference(known, {"good": good, "poor": poor}, Draws(replicates=200))
    half = stats.t.ppf(0.975, 24) * (drawn[:, 0] - drawn[:, 1]).std(ddof=1)
    assert (change.low, change.high) == pytest.approx((values[0] - values[1] - half, values[0] - values[1] + half))
    assert (change.n, change.clusters) == (60, 30)


def test_a_comparison_is_asked_about_every_labelled_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr(pairing, "compare", lambda before, after, **how: asked.update(how, before=before, after=after))
    names = ("a", "b", "c")
    codes = {"skin_tone": np.array([0, 0, -1]), "age": np.array([0, 3, 3]), "gender": np.array([-1, -1, -1])}
    said = {"skin_tone": np.array([0, 1, 2]), "age": np.array([1, 3, 3]), "gender": np.array([0, 0, 0])}
    old = ClassTable(names, {name: np.zeros(3, np.int64) for name in ATTRIBUTES})
    truth = Truth(ClassTable(names, codes), ("x", None, "x"))
    pairing.compare_predictions(truth, {"new": ClassTable(names, said), "old": old})
    assert asked["by"] == ["age"], "one tone alone is no group, and gender has no label"
    assert asked["metrics"] == ["correct_skin_tone", "correct_age"] and asked["names"] == ["old", "new"]
    assert (asked["seed"], asked["cluster"], asked["pair"]) == (0, "identity", "sample")
    after = asked["after"]
    assert after["skin_tone"] == ["monk_1", "monk_1", None] and after["age"] == ["0_17", "61_100", "61_100"]
    np.testing.assert_equal(after["m.correct_skin_tone"], [1.0, 0.0, np.nan])
    np.testing.assert_equal(asked["before"]["m.correct_age"], [1.0, 0.0, 0.0])
    assert after["identity"].tolist() == [0, 1, 0]


def test_non_faces_without_labels_are_not_noted() -> None:
    truth, _ = tables(4)
    for codes in truth.codes.values():
        codes[0] = -1
    assert _notes(Truth(truth, nonfaces=("0.png", "other.png"))) == ()
    assert _notes(Truth(truth, nonfaces=("0.png", "1.png")))[0].startswith(
        "1 of 2 non-faces have labels (such as 1.png)"
    )


def number(name: str, value: float, low: float, high: float, n: int = 200) -> Number:
    return Number(name=name, value=value, low=low, high=high, n=n)


def test_a_score_in_words() -> None:
    """The lines that the documentation shows, from its numbers."""
    base = scored(200, nonfaces=tuple(f"{k}.png" for k in range(40)))
    tone, age, gender = base.attributes.values()
    test = tone.randomness
    made = {
        "skin_tone": replace(
            tone,
            fair=(0.533, 0.75),
            accuracy=number("a", 0.545, 0.434, 0.652),
            disparity=number("d", 0.4895, 0.155, 0.824),
            randomness=test._replace(p=0.61894, passed=True, too_even=False, method="Monte Carlo", multiplier=1.3),
        ),
        "age": replace(age, accuracy=number("a", 0.54, 0.4451, 0.632), disparity=number("d", 0.393, 0.211, 0.575)),
        "gender": replace(
            gender,
            accuracy=number("a", 0.785, 0.7, 0.851, 7),
            disparity=number("d", float("nan"), 0.0, 0.1),
            randomness=test._replace(p=0.9995, passed=False, too_even=True, method="chi-squared", multiplier=1.0),
        ),
    }
    first = number("Score₁", 8.664, 7.165, 10.1634)
    lines = printing.score_lines(
        replace(base, first=first, attributes=made, faces_alone=9.86031, clusters=50, clustered=True)
    )
    assert lines[0] == "Score₁     8.6640 of 16   [7.165, 10.163]   200 rows, 95 % intervals over 50 identities"
    assert lines[1] == " " * 29 + "accuracy" + " " * 20 + "disparity   by chance, if fair (mean, 95 %)"
    assert lines[2] == "skin tone  0.5450 [0.434, 0.652] n=200      0.4895 [0.155, 0.824]      0.533, 0.750"
    assert lines[4].startswith("gender     0.7850 [0.700, 0.851] n=7      no units [0.000, 0.100]      ")
    assert "faces alone, without the 40 non-faces: Score₁ 9.8603" in lines
    assert "  skin tone  passed, p 0.6189 (Monte Carlo), ×1.3" in lines
    assert "  gender     failed, p 0.9995 (chi-squared), ×1; too even to be random (p > .999)" in lines
    change = Change(
        metric="m",
        a="b.csv",
        b="a.csv",
        n=1,
        clusters=1,
        estimate_a=4.8129,
        estimate_b=8.664,
        difference=3.8511,
        low=1.277,
        high=6.4251,
        p=0.00424,
        verdict="better",
    )
    assert printing.against_lines(change, None) == [
        "difference +3.8511 [+1.277, +6.425], p 0.0042, paired, against 4.8129 of b.csv: Score₁ is better"
    ]


def whole_board(*standings: BoardEntry, ranks: tuple[int, ...] = (1, 2), tied: bool = False) -> Board:
    names = tuple(one.name for one in standings)
    pair = Pair(names[0], names[-1], 0.51234, 0.1, 0.9, 0.01, 0.03, True)
    ranking = Ranking(names, (9.0, 8.0)[: len(names)], ranks if not tied else (1, 1), (pair,), 0.05)
    rankings = {(which, "supervised"): ranking for which in ("public", "private")}
    truth = Truth(tables(120)[0])
    return Board(
        standings,
        {"bad": "holdout.csv: x", "worse": "test.csv: y"},
        ("n",),
        rankings,
        (),
        False,
        {"public": truth, "private": truth},
    )


def standing(name: str, **given: Any) -> BoardEntry:
    score = scored()
    said = tables(120)[1]
    return BoardEntry(
        name, Handed(kind="supervised", **given), score, score, {"public": said, "private": said}, efficiency=1.1
    )


def test_a_board_in_words_and_as_json() -> None:
    one, two = standing("one"), replace(standing("two", labels_used="8 of each"), history=(Handed(kind="supervised"),))
    board = whole_board(one, two)
    lines, first = printing.table_lines(board), one.public.first
    span = f"[{first.low:.3f}, {first.high:.3f}]"
    assert lines[0] == "public: Score₁ on the test, supervised"
    assert lines[1] == f"    1  {'one':24} {first.value:8.4f} {span}"
    behind = "   one − two +0.512 [+0.100, +0.900], adjusted p 0.030"
    assert (
        lines[2] == f"    2  {'two':24} {first.value:8.4f} {span}{behind}" and lines[3] == f"{'':31} labels: 8 of each"
    )
    second = f"[{1.1 * first.low:.3f}, {1.1 * first.high:.3f}]   randomness ×1, efficiency ×1.1"
    assert lines[5] == f"    1  {'one':24} {1.1 * first.value:8.4f} {second}"
    assert "    1= " in "\n".join(printing.table_lines(whole_board(one, two, tied=True)))
    told = board.to_json()
    assert told["entries"]["two"]["submissions"] == 2 and told["entries"]["one"]["submissions"] == 1
    assert told["entries"]["one"]["score2"] == pytest.approx(1.1 * first.value) and told["strict_rubric"] is False
    assert told["entries"]["one"]["score2_interval"] == pytest.approx([1.1 * first.low, 1.1 * first.high])
    assert told["tables"]["public"]["supervised"][1]["rank"] == 2
    assert [len(told["tables"][f"{which}_pairs"]["supervised"]) for which in ("public", "private")] == [1, 1]
    bare = BoardEntry("bare", one.handed, one.public)
    assert (bare.factor, bare.efficiency, bare.to_json()["score2"], bare.to_json()["private"]) == (1.0, 1.0, None, None)


def test_the_public_part_has_nothing_of_the_holdout() -> None:
    board = whole_board(standing("one"), replace(standing("two"), private=None))
    public, private = board.part("public"), board.part("private")
    assert set(public.rankings) == {("public", "supervised")} and set(private.rankings) == {("private", "supervised")}
    assert [(one.private, one.efficiency) for one in public.standings] == [(None, 1.0)] * 2
    assert public.rejected == {"bad": boards.HIDDEN, "worse": "test.csv: y"} and public.notes == ()
    assert [one.name for one in private.standings] == ["one"] and private.notes == ("n",)


def test_the_bar_of_a_class_ends_at_its_accuracy() -> None:
    score = scored().attributes["gender"]
    share = score.per_class["male"]
    drawn = page._bar(score, "male")
    assert f'x="0" width="{round(100 * share, 2)}%" y="22%" height="56%"/>' in drawn
    assert re.findall(r'class="grid" x1="([\d.]+)%', drawn) == ["0.0", "25.0", "50.0", "75.0", "100.0"]
    low, high = score.class_interval("male")
    assert f'x1="{round(100 * low, 2)}%" x2="{round(100 * high, 2)}%"' in drawn
    assert drawn.count("<svg") == drawn.count("</svg>") and drawn.startswith("<svg")
    empty = replace(score, confusion=score.confusion.model_copy(update={"values": [[float("nan")] * 2] * 2}))
    assert "<rect" not in page._bar(empty, "male")


def test_the_worst_two_dozen_are_shown_with_most_wrong_and_farthest_tone_first(tmp_path: Path) -> None:
    n = 30
    names = tuple(f"{k:02}.png" for k in range(n))
    truth = {"skin_tone": np.zeros(n, np.int64), "age": np.zeros(n, np.int64), "gender": np.zeros(n, np.int64)}
    tone = np.array([1, 9, 5, 0, 1, *[1] * 25])
    said = {"skin_tone": tone, "age": np.array([1, 0, 0, 1, 0, *[0] * 25]), "gender": np.zeros(n, np.int64)}
    Image.fromarray(np.zeros((300, 500, 3), np.uint8)).save(tmp_path / "00.png")
    known = Truth(ClassTable(names, truth), nonfaces=("04.png",))
    found = page._failures(known, ClassTable(names, said), tmp_path)
    assert [row["name"] for row in found["rows"]][:5] == ["00.png", "01.png", "02.png", "05.png", "06.png"]
    assert len(found["rows"]) == 24 and found["total"] == 29
    content = base64.b64decode(str(found["rows"][0]["picture"]).split(",", 1)[1])
    with Image.open(io.BytesIO(content)) as picture:
        assert picture.size == (200, 120)
    assert found["rows"][1]["picture"] == "", "a file that is gone leaves its caption"
    assert page._failures(known, ClassTable(names, said), None)["rows"][0]["picture"] == ""
    assert page._slug("Ärger & Co.", 3) == "03-rger-co" and page._slug("面", 12) == "12"


def test_a_table_s_axis_holds_every_score_from_0(tmp_path: Path) -> None:
    board = whole_board(standing("one"), standing("two"))
    board = replace(board, rankings=board.rankings | {("public", "all"): board.rankings["public", "supervised"]})
    made = page._table(board, "public")
    high = board.places("public")[0].score.high
    assert made["scale"].low == 0 and made["scale"].high >= high
    low = Number(name="x", value=0.01, low=0.0, high=0.02, n=1)
    small = replace(
        board, standings=tuple(replace(one, public=replace(one.public, first=low)) for one in board.standings)
    )
    scale = page._table(small, "public")["scale"]
    assert (scale.low, scale.high) == (0.0, 1.0), "at least 1 wide, between round ticks"
