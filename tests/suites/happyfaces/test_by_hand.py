"""Numbers that can be checked by hand: draws, tables, stored records, windows and the regions made of them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from countenance.data.adapters.happyfaces import attributes_of, identity_of, overlap, person_of
from countenance.data.adapters.happyfaces_layout import TAGS, HappyFaces, make_photos
from countenance.errors import InputError
from countenance.suites.happyfaces.draws import draw, method_input
from countenance.suites.happyfaces.people import FEATURES, PersonPicture, assign
from countenance.suites.happyfaces.protocol import MixTask, run
from countenance.suites.happyfaces.questions import means
from countenance.suites.happyfaces.report import _seed_words, _seeds, heat_map
from countenance.suites.happyfaces.runs import record_of
from countenance.suites.happyfaces.scores import MIX_RATES, auc, lowest_mix_rate_above, part_of, score_parts, summary
from countenance.suites.happyfaces.spatial.assumption import separation
from countenance.suites.happyfaces.spatial.regions import (
    Region,
    RegionGroups,
    regions,
    residuals,
    two_groups,
    weigh_again,
)
from countenance.suites.happyfaces.spatial.windows import Windows


def photos(tags: list[str], start: int = 0):
    pixels = [np.full((4, 4, 3), start + k, np.uint8) for k in range(len(tags))]
    return make_photos(pixels, tags, [f"Ann_Lee_{start + k:04d}.jpg" for k in range(len(tags))], "here")


@pytest.fixture
def tiny() -> HappyFaces:
    """Two labelled photos, one unlabelled of each type and two more, one for validation of each type."""
    return HappyFaces(photos(["FHWH", "FSWS"]), photos([*TAGS, "FHWH", "FSWH"], 10), photos(list(TAGS), 20))


def test_a_draw_takes_as_many_of_each_type_as_the_rate_says():
    tags = tuple(tag for tag, n in zip(TAGS, (10, 11, 12, 13), strict=True) for _ in range(n))
    for rate, crossed in ((0.0, 0), (0.25, 2), (0.5, 5), (1.0, 10)):
        built = draw(tags, rate, 1)
        counts = [sum(tags[i] == tag for i in built.drawn) for tag in TAGS]
        assert counts == [10 - crossed, crossed, crossed, 10 - crossed]
        assert sorted([*built.drawn, *built.not_drawn]) == list(range(46))
    assert draw(tags, 0.5, 1).drawn.tolist() != draw(tags, 0.5, 2).drawn.tolist()
    for rate in (-0.01, 1.01):
        with pytest.raises(InputError, match="outside 0 … 1"):
            draw(tags, rate, 0)
    assert MIX_RATES == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def test_labels_go_with_their_photos(tiny):
    for seed in range(4):
        labelled, labels, unlabelled = method_input(tiny, np.array([3, 0]), seed)
        assert {(int(p[0, 0, 0]), int(label)) for p, label in zip(labelled, labels, strict=True)} == {
            (int(tiny.labelled.pixels[i, 0, 0, 0]), int(tag[1] == "H")) for i, tag in enumerate(tiny.labelled.tags)
        }
        assert (unlabelled == tiny.unlabelled.pixels[[3, 0]]).all()


def test_both_heads_are_scored_by_type_and_named_by_validation(tiny):
    right = tiny.validation.truth().astype(float)
    swapped = right[:, ::-1].copy()
    swapped[0, 1] = 1 - swapped[0, 1]  # FHWH: the head of the face, which comes second, is wrong
    built = score_parts({"validation": (tiny.validation, swapped)}, ("face", "writing"))
    assert built["ways"] == [1, 0] and built["validation"]["worst_head"] == 0.75 and built["validation"]["photos"] == 4
    assert built["validation"]["heads"] == {
        "face": {"accuracy": 0.75, "by_type": {"FHWH": 0.0, "FHWS": 1.0, "FSWH": 1.0, "FSWS": 1.0}},
        "writing": {"accuracy": 1.0, "by_type": dict.fromkeys(TAGS, 1.0)},
    }
    half = score_parts({"validation": (tiny.validation, np.full((4, 2), 0.5))}, ("face", "writing"))
    assert half["validation"]["heads"]["face"]["by_type"] == {"FHWH": 0.0, "FHWS": 0.0, "FSWH": 1.0, "FSWS": 1.0}
    assert part_of(np.zeros((0, 2), bool), [], ["face", "writing"]) is None


def test_the_area_needs_both_ends_and_is_a_mean_over_the_rates():
    whole = {0.0: 0.5, 0.1: 0.9, 0.2: 0.8, 0.3: 0.7}
    assert auc(whole) == pytest.approx((0.25 + 0.9 + 0.8 + 0.35) / 3)
    assert auc(whole | {0.05: 0.0, 0.4: 0.0}) == auc(whole)  # other rates do not count
    for rate in whole:
        assert auc({other: value for other, value in whole.items() if other != rate}) is None
    assert lowest_mix_rate_above({0.2: 0.95, 0.1: 0.9, 0.3: 0.99}) == 0.2


def record(rate: float, seed: int, worst: float, *, answered: bool = True, estimate: float | None = None):
    heads = {"face": {"accuracy": worst, "by_type": {"FHWH": worst, "FSWS": 1.0}}}
    part = {"photos": 4, "worst_head": worst, "heads": heads}
    notes = {} if estimate is None else {"estimated_mix_rate": estimate}
    built = {
        "method": "m",
        "options": {"k": 1},
        "mix_rate": rate,
        "seed": seed,
        "cpu_seconds": 2.0,
        "answered": answered,
    }
    if not answered:
        return built | {"reason": "no two places"}
    return built | {"notes": notes, "validation": part, "not_drawn": part if seed else None, "held_back": None}


def test_a_table_has_means_and_deviations_over_seeds():
    runs = [record(0.1, 0, 0.9, estimate=0.2), record(0.1, 1, 0.7, estimate=0.1), record(0.3, 0, 0.95)]
    table = summary([*runs, record(0.3, 1, 0, answered=False), record(0.0, 0, 0.5)])
    assert (table["method"], table["options"], table["seeds"], table["cpu_seconds"]) == ("m", {"k": 1}, [0, 1], 10.0)
    zero, first, second = table["mix_rates"]
    assert (first["runs"], first["answered"], second["runs"], second["answered"]) == (2, 2, 2, 1)
    assert first["worst_head_mean"] == pytest.approx(0.8) and first["worst_head_std"] == pytest.approx(0.2 / 2**0.5)
    assert (first["not_drawn_mean"], first["not_drawn_std"], second["not_drawn_mean"]) == (0.7, None, None)
    assert first["worst_head_by_seed"] == {"0": 0.9, "1": 0.7} and "held_back_mean" not in first
    assert first["estimated_mix_rate_mean"] == pytest.approx(0.15) and second["estimated_mix_rate_mean"] is None
    assert first["validation_heads"] == {
        "face": {"accuracy_mean": pytest.approx(0.8), "by_type": {"FHWH": pytest.approx(0.8), "FSWS": 1.0}}
    }
    assert table["not_answered"] == ["no two places"] and table["accuracy_at_10"] == pytest.approx(0.8)
    assert zero["mix_rate"] == 0.0 and table["declined"] == {"0.3": 1}
    assert table["auc_0_30"] is None and table["auc_needs"] == [0.0, 0.2]  # seed 1 was not run at 0, nobody at 0.2
    assert table["lowest_mix_rate_above_90"] is None and table["lowest_needs"][:2] == [0.0, 0.2]
    assert (
        _seeds(table) == [1, 2] and _seed_words(table) == "1 to 2 seeds" and _seed_words(summary(runs[:2])) == "2 seeds"
    )


def test_what_was_declined_counts_as_a_guess():
    answers = {
        (0.0, 0): 0.7,
        (0.0, 1): 0.9,
        (0.1, 0): 0.96,
        (0.1, 1): None,
        (0.2, 0): 0.95,
        (0.2, 1): 0.97,
        (0.3, 0): 0.9,
        (0.3, 1): 0.9,
    }
    runs = [record(rate, seed, value or 0, answered=value is not None) for (rate, seed), value in answers.items()]
    table = summary(runs)
    assert table["accuracy_at_10"] == pytest.approx((0.96 + 0.5) / 2) and table["declined"] == {"0.1": 1}
    assert table["auc_0_30"] == pytest.approx((0.8 / 2 + 0.73 + 0.96 + 0.9 / 2) / 3) and table["auc_needs"] == []
    assert table["lowest_mix_rate_above_90"] == 0.2 and table["lowest_needs"] == []


def test_the_lowest_rate_is_not_the_lowest_of_those_that_were_run():
    table = summary([record(0.3, 0, 0.95), record(0.4, 0, 0.97)])
    assert table["lowest_mix_rate_above_90"] is None and table["lowest_needs"] == [0.0, 0.1, 0.2]
    none = summary([record(rate, 0, 0.6) for rate in MIX_RATES])
    assert none["lowest_mix_rate_above_90"] is None and none["lowest_needs"] == []


def person(k: int, first: bool) -> PersonPicture:
    return PersonPicture(None, f"p{k}", first, None)


def test_each_set_needs_five_pictures_of_a_type_and_people_are_in_one_set_only():
    smallest, refused = [], []
    for n in range(60, 160, 4):
        try:
            sets = assign([person(k, k % 2 == 0) for k in range(n)], 1)
        except InputError as error:
            refused.append(int(str(error).split("only ")[1].split()[0]))
            continue
        counts = {name: Counter(tag for _, tag in some) for name, some in sets.items()}
        assert all(len(set(item.values())) == 1 for item in counts.values()), "as many of every type"
        smallest.append(min(min(item.values()) for item in counts.values()))
        labelled, unlabelled, validation = ({picture.identity for picture, _ in some} for some in sets.values())
        assert not labelled & unlabelled and not unlabelled & validation and not labelled & validation
    assert min(smallest) == 5 and max(refused) == 4


def test_tones_in_the_middle_say_neither_yes_nor_no():
    attribute, yes, no = FEATURES["tone"]
    assert attribute == "skin_tone" and list(yes) == ["monk_1", "monk_2", "monk_3", "monk_4"]
    assert list(no) == ["monk_7", "monk_8", "monk_9", "monk_10"]


def test_answers_are_averaged_question_by_question():
    def point(n, worst, rest):
        return {"questions": n, "validation": {"worst_head": worst}, "not_drawn": rest and {"worst_head": rest}}

    runs = [
        {"order": "random", "method": "m", "mix_rate": 0.1, "curve": curve}
        for curve in ([point(0, 0.8, 0.6), point(5, 0.9, None)], [point(0, 0.6, None)])
    ]
    assert means(runs)["mean"] == [
        {"questions": 0, "runs": 2, "worst_head": pytest.approx(0.7), "not_drawn": 0.6},
        {"questions": 5, "runs": 1, "worst_head": 0.9, "not_drawn": None},
    ]


@pytest.mark.parametrize(
    ("file", "who"),
    [
        ("Ann_Lee_0002.jpg", "Ann_Lee"),
        ("Ann_Lee_0002_FHWH.jpg", "Ann_Lee"),
        ("0001_FHWH.png", "0001_FHWH"),
        ("Ann_Lee_002.jpg", "Ann_Lee_002"),
        ("Ann_Lee_0002.jpg.gz", "Ann_Lee"),
    ],
)
def test_a_person_is_known_by_the_file_of_lfw(file, who):
    assert identity_of(file) == who


def test_attributes_say_what_a_tag_means():
    assert attributes_of("FSWH", ("face", "writing")) == {
        "type": "FSWH",
        "agree": "disagree",
        "face": "sad",
        "writing": "happy",
    }
    assert attributes_of("FSWS", ("smile", "tone")) == {"type": "FSWS", "agree": "agree", "smile": "no", "tone": "no"}


class Table:
    """A method that answers from a table: the first pixel of a photo is its number."""

    name = "table"

    def __init__(self, answers: dict[int, tuple[float, float]]) -> None:
        self.answers = answers

    def fit(self, labelled, labels, unlabelled):
        return self

    def predict(self, pictures):
        return np.array([self.answers.get(int(picture[0, 0, 0]), (1.0, 0.0)) for picture in pictures])

    notes = {"estimated_mix_rate": 0.25}  # noqa: RUF012


def answered(data: HappyFaces, place: Path, probabilities: list[tuple[float, float]]):
    numbers = data.validation.pixels[:, 0, 0, 0].tolist()
    return run(data, MixTask(Table(dict(zip(numbers, probabilities, strict=True))), 0.0, 0), place)


def test_a_record_is_read_back_from_its_run(tiny, tmp_path):
    record, stored = answered(tiny, tmp_path / "run", [(0.51, 1), (1, 1), (0.5, 0), (0, 0.49)])
    assert record == record_of(stored) and record["notes"] == {"estimated_mix_rate": 0.25}
    assert record["data"] == tiny.fingerprint() and record["real_people"] is True and record["ways"] == [0, 1]
    rows = {row["sample"]: row for row in stored.scores().to_pylist()}
    assert {row["attr.part"] for row in rows.values()} == {"validation", "not_drawn"}
    ids = tiny.validation.ids("validation")
    assert [(rows[name]["m.face_correct"], rows[name]["m.writing_correct"]) for name in ids] == [
        (1, 1),
        (1, 0),
        (1, 0),
        (1, 1),
    ]


def test_results_name_the_worse_head_and_both_by_type(tiny, tmp_path):
    record, stored = answered(tiny, tmp_path / "run", [(1, 1), (1, 1), (0, 0), (0, 0)])
    worst, rest, table, heads, batch = stored.results()
    assert (worst.name, worst.value, worst.n) == ("worst head, validation", 0.5, 4) and batch.value == 0
    assert rest.name == "worst head, photos not drawn" and rest.n == len(stored.scores()) - 4
    assert table.rows[:2] == [["validation", "face", "all", 1.0], ["validation", "face", "FHWH", 1.0]]
    assert heads.rows == [["face", "head 1"], ["writing", "head 2"]]
    assert record["validation"]["heads"]["writing"] == {
        "accuracy": 0.5,
        "by_type": {"FHWH": 1.0, "FHWS": 0.0, "FSWH": 0.0, "FSWS": 1.0},
    }


def test_people_in_several_sets_are_counted_by_the_names_of_files(tiny):
    assert person_of("Ann_Lee_0002_FHWH.jpg.gz") == "Ann_Lee" and person_of("0001_FHWH.png") is None
    (sentence,) = overlap(tiny)
    assert sentence.startswith("of 4 validation photos 4 show people who are in labelled photos too and 4 show")
    strangers = make_photos(list(tiny.labelled.pixels), list(tiny.labelled.tags), ["1.png", "2.png"], "here")
    assert overlap(replace(tiny, labelled=strangers, unlabelled=strangers)) == []


def windows(accuracy, scale=None, scores=None) -> Windows:
    n = len(accuracy)
    scale = np.zeros(n, np.int64) if scale is None else np.array(scale)
    scores = np.zeros((n, 100)) if scores is None else scores
    return Windows(scale, np.arange(n), np.arange(n), scores, np.array(accuracy), 100)


def test_a_window_tells_something_when_it_beats_chance_by_three_standard_errors():
    assert windows([0.65, 0.6501, 0.2, 0.9]).telling().tolist() == [False, True, False, True]
    saved = windows([0.6, 0.7, 0.8]).only(np.array([True, False, True]))
    assert saved.accuracy.tolist() == [0.6, 0.8] and saved.row.tolist() == [0, 2] and saved.photos == 100


def test_windows_paint_the_blocks_that_they_hold():
    two = windows([0.75, 1.0, 0.9], scale=[0, 0, 1])
    painted = two.paint(0, (6, 6), 2.0, np.ones(3, bool))
    expected = np.zeros((6, 6))
    expected[0:4, 0:4] += 0.25**2
    expected[1:5, 1:5] += 0.5**2
    assert painted == pytest.approx(expected)
    coarse = two.paint(1, (6, 6), 1.0, np.ones(3, bool))
    assert coarse[2:5, 2:5] == pytest.approx(np.full((3, 3), 0.4)) and coarse.sum() == pytest.approx(3.6)
    assert two.paint(0, (6, 6), 0.0, np.array([True, False, True])).sum() == 16


def test_each_block_belongs_to_the_group_with_more_weight_and_regions_are_symmetric():
    built = Windows(*(np.array(v) for v in ([0, 0], [0, 2], [0, 0])), np.zeros((2, 100)), np.array([0.9, 0.8]), 100)
    first, second = regions(RegionGroups(built, np.array([0, 1]), 0.1), ((7, 6),), 1.0)
    (item,), (two,) = first.weights, second.weights
    assert item.sum() == pytest.approx(1) and two.sum() == pytest.approx(1) and not ((item > 0) & (two > 0)).any()
    assert (item == item[:, ::-1]).all() and (item[:4] > 0).all() and (item[4:] == 0).all() and (two[4:6] > 0).all()
    assert item[0] == pytest.approx(np.array([1, 1, 2, 2, 1, 1]) / 32)
    assert first.box(0) == (0, 4, 0, 6) and second.box(0) == (4, 6, 0, 6)
    assert first.root(0).shape == (4, 6, 1) and first.root(0)[0, 2, 0] == pytest.approx((2 / 32) ** 0.5)
    nothing = Region((np.zeros((3, 5)),))
    assert nothing.box(0) == (0, 1, 0, 5)


def test_a_region_is_weighed_again_inside_its_own_blocks_only():
    old = np.zeros((6, 6))
    old[0:2] = 1 / 12
    built = weigh_again(Region((old,)), windows([0.9, 0.6]), 1.0)
    (again,) = built.weights
    assert (again[2:] == 0).all() and again.sum() == pytest.approx(1)
    assert again[0] == pytest.approx(np.array([1, 1, 2, 2, 1, 1]) / 16), "the second window tells nothing"
    same = weigh_again(Region((old,)), windows([0.5, 0.6]), 1.0)
    assert (same.weights[0] == old).all(), "where no window tells anything the weights stay"


def test_the_group_of_the_most_accurate_window_comes_first():
    """Windows 0 and 1 err on the same photos, 2 and 3 on others; the best of all is the third."""
    rng = np.random.default_rng(0)
    target = np.where(np.arange(200) % 2, 1.0, -1.0)
    errors = rng.normal(size=(2, 200))[[0, 0, 1, 1]] + 0.1 * rng.normal(size=(4, 200))
    built = Windows(*(np.arange(4),) * 3, target + errors, np.array([0.9, 0.89, 0.95, 0.7]), 200)
    assert two_groups(built, target).group.tolist() == [1, 1, 0, 0]
    better = Windows(*(np.arange(4),) * 3, target + errors, np.array([0.96, 0.7, 0.95, 0.94]), 200)
    assert two_groups(better, target).group.tolist() == [0, 0, 1, 1], "the best window decides, not the mean"
    with pytest.raises(ValueError, match="windows that do better than chance: 1; two are needed"):
        two_groups(Windows(*(np.arange(4),) * 3, target + errors, np.array([0.9, 0.5, 0.5, 0.5]), 200), target)


def test_residuals_are_what_the_class_means_leave():
    target = np.array([1.0, 1, -1, -1])
    left = residuals(np.array([[3.0, 1, 0, 4]]), target)
    assert left.tolist() == [[1, -1, -2, 2]]


def test_separation_measures_residuals_and_overlap():
    rng = np.random.default_rng(0)
    target = np.where(np.arange(100) % 2, 1.0, -1.0)
    scores = target + rng.normal(size=(2, 100))
    built = Windows(*(np.array(v) for v in ([0, 0], [0, 2], [0, 0])), scores, np.array([0.9, 0.8]), 100)
    result = separation(RegionGroups(built, np.array([0, 1]), 0.1), target, [(7, 6)], 0.9, 0.3)
    left = residuals(scores, target)
    assert result.correlation == pytest.approx(np.corrcoef(left)[0, 1]) and result.cut == 0.1
    assert result.overlap == 0.5, "two of the four rows of each"
    assert (
        "chance reaches 0.65"
        in separation(RegionGroups(built, np.array([0, 1]), 0.1), target, [(7, 6)], 0.65, 0.3).problem
    )


def test_a_heat_map_is_centred_and_its_hottest_place_is_one():
    fine = np.zeros((2, 2))
    fine[0, 1] = 3.0
    built = heat_map([fine, [[0.0]]], (26, 28))
    assert built.shape == (26, 28) and built.max() == 1.0 and built.sum() == 256
    assert built[1:17, 10:26].all(), "16 px from the second block on, the grid of 24 px in the middle"
    both = heat_map([fine, [[3.0]]], (24, 24))
    assert both[0, 8] == 1.0 and both[23, 23] == pytest.approx((3 / 576) / (3 / 256 + 3 / 576))
    assert heat_map([fine, [[0.0]]]).shape == (24, 24) and not heat_map([np.zeros((2, 2)), [[0.0]]]).any()
