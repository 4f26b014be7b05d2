"""From columns to groups, units and rows: each step against a plain loop, and every limit at its edge."""

import math
import types
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.auditing import attributes, audit, groups, layout, rows
from countenance.auditing.attributes import Choice, bin_labels, choose, coded, quantile_cuts, split_names
from countenance.auditing.codes import combined, firsts_of, rounded_up, size_of
from countenance.auditing.conditions import kept_rows
from countenance.auditing.groups import Grouping, Members, group, label, membership, subsets
from countenance.auditing.layout import Column, Layout, pattern_of, powers
from countenance.auditing.rows import _within, depth_of, pair_codes, row_marks
from countenance.auditing.settings import AuditSettings, judged, parse_better, parse_delta, parse_families, parse_where
from countenance.auditing.source import Source
from countenance.auditing.table import Attribute, attribute, metric, numbers_of
from countenance.auditing.units import Units, codes_of, together, units
from countenance.errors import InputError

few = settings(max_examples=40, deadline=None)


# settings


@pytest.mark.parametrize(
    "given",
    [
        {"alpha": 0.0},
        {"alpha": 0.5},
        {"h0": 0.0},
        {"h0": 4.0},
        {"power": 0.0},
        {"power": 1.0},
        {"depth": 0},
        {"replicates": 99},
        {"min_n": 0},
        {"comparison": "all"},
        {"adjust": "none"},
        {"comparison": "paired"},
    ],
)
def test_settings_beyond_their_limits_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        AuditSettings(**given)


def test_settings_at_their_limits_are_taken_and_defaults_are_those_of_the_docs() -> None:
    AuditSettings(alpha=0.499, h0=3.99, power=0.999, depth=1, replicates=100, min_n=1)
    usual = AuditSettings()
    assert (usual.alpha, usual.h0, usual.r0, usual.power, usual.min_n) == (0.05, 0.2, 0.2, 0.8, 20)
    assert (usual.replicates, usual.seed, usual.max_groups, usual.depth) == (2000, 0, 1000, None)
    assert (attributes.MOST_VALUES, groups.DENSE, layout.UNEQUAL, rows.MOST_ORDERED) == (30, 4_000_000, 4, 500_000)


def test_texts_of_the_command_line() -> None:
    assert parse_where({"a": 2.0, "b": [True, 1.5, "x"], "c": "y"}) == {
        "a": ["2"],
        "b": ["True", "1.5", "x"],
        "c": ["y"],
    }
    assert parse_where("a= x , y") == {"a": ["x", "y"]} and parse_where(None) == {} and parse_where([]) == {}
    for wrong in ("a", "=x", "a=", "a= , "):
        with pytest.raises(InputError, match="expected ATTRIBUTE=VALUE"):
            parse_where(wrong)
    assert parse_delta(None) == (None, {}) and parse_delta("a=b=.5, .1") == (0.1, {"a=b": 0.5})
    for wrong in (0, -1, "x", math.inf, math.nan, {"a": 0}, [1]):
        with pytest.raises(InputError, match="expected a number above 0"):
            parse_delta(wrong)
    assert parse_better({"a": "lower"}) == {"a": "lower"} and parse_better(None) == {}
    for wrong in ("a=up", "=lower", "a"):
        with pytest.raises(InputError, match="expected higher, lower or none"):
            parse_better(wrong)
    assert parse_families("metric, attribute") == ["metric", "attribute"] and parse_families(" ") is None
    assert parse_families(None) is None and parse_families("a=x;b=y, z;") == {"a": ["x"], "b": ["y", "z"]}
    for wrong in ("a=", "=x", "a=x;b"):
        with pytest.raises(InputError, match="NAME=METRIC"):
            parse_families(wrong)


def test_each_metric_has_its_delta_and_direction() -> None:
    found = judged(AuditSettings(delta={"ms": 5.0}, better="ms=lower"), ["correct", "ms", "db"], [True, False, False])
    assert [(one.delta, one.better) for one in found.values()] == [(0.05, "higher"), (5.0, "lower"), (None, None)]
    assert [one.inferred for one in found.values()] == [True, False, False]
    assert not judged(AuditSettings(better={"correct": None}), ["correct"], [True])["correct"].better
    assert judged(AuditSettings(delta=0.1), ["ok", "ms"], [True, False])["ms"].delta is None
    for wrong in (AuditSettings(delta={"x": 1}), AuditSettings(better={"x": "lower"})):
        with pytest.raises(InputError, match="'x' is not one of the metrics"):
            judged(wrong, ["ok"], [True])


@pytest.mark.parametrize(
    ("given", "by", "crosses", "depth"),
    [
        ({"comparison": "paired", "pair": "p", "depth": 3}, ["a"], [], 1),
        ({}, None, [], 1),
        ({}, ["a"], [], 2),
        ({}, ["a"], [(0, 1)], 1),
        ({"depth": 3}, None, [(0, 1)], 3),
        ({"depth": 1}, ["a"], [], 1),
    ],
)
def test_how_many_attributes_are_crossed(given: Any, by: Any, crosses: Any, depth: int) -> None:
    assert depth_of(AuditSettings(**given), by, attributes.Chosen([], [], crosses, [])) == depth


# codes


@few
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 4)), max_size=12))
def test_two_columns_of_codes_become_one(pairs: list[tuple[int, int]]) -> None:
    one, other = np.array(pairs, int).reshape(-1, 2).T
    found = combined(one, other).tolist()
    names = sorted(set(pairs))
    assert found == [names.index(pair) for pair in pairs]
    assert firsts_of(np.array(found, int)).tolist() == [pairs.index(name) for name in names]
    assert size_of(one) == max((a + 1 for a, _ in pairs), default=0)


def test_whole_numbers_stay_whole() -> None:
    assert [rounded_up(x) for x in (3.0, 3 + 1e-10, 3 + 1e-8, 2.5, 0.0)] == [3, 3, 4, 3, 0]


# attributes


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,5", ["a", "5"]),
        ("a:1,2,b", ["a:1,2", "b"]),
        ("b*a:1,2", ["b*a:1,2"]),
        ("a:1*b,2", ["a:1*b", "2"]),
        (" a , ,b ", ["a", "b"]),
        ("a:quantiles4,3", ["a:quantiles4,3"]),
        ("", []),
        ("a:1,inf", ["a:1", "inf"]),
    ],
)
def test_lists_with_commas(text: str, names: list[str]) -> None:
    assert split_names(text) == names


@few
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), max_size=12), st.integers(2, 6))
def test_quantiles_are_a_loop_over_places(pairs: list[tuple[int, int]], count: int) -> None:
    pairs = list(dict(pairs).items())
    values, times = np.array([p[0] for p in pairs], float), np.array([p[1] for p in pairs], int)
    every = sorted(value for value, n in pairs for _ in range(n))
    last = len(every) - 1
    places = [min(math.ceil(k * len(every) / count), last) for k in range(1, count)]
    wanted = sorted({every[place] for place in places} - {every[0]}) if every else []
    assert list(quantile_cuts(np.repeat(values, times), count)) == wanted
    assert list(quantile_cuts(values, count, times)) == wanted


def test_bins_have_names_and_hold_their_lower_end() -> None:
    assert bin_labels((18, 19, 40), True) == ["<18", "18", "19–39", "40+"] and bin_labels((), True) == ["all"]
    assert bin_labels((1.5, 2.5), False) == ["<1.5", "1.5–2.5", "2.5+"]
    one = coded(Choice("x", "x", cuts=(2.0, 4.0)), pa.array([1.9, 2.0, 3.99, 4.0, None]), 100)
    assert one.codes.tolist() == [0, 1, 1, 2, -1] and one.levels == ["<2", "2–4", "4+"] and one.cuts == (2.0, 4.0)
    whole = coded(Choice("x", "x", cuts=(2.5, 4.0)), pa.array([1, 3]), 100)
    assert whole.levels == ["<2.5", "2.5–4", "4+"]
    with pytest.raises(InputError, match="its values are not numbers"):
        coded(Choice("x", "x", cuts=(2.0,)), pa.array(["a"]), 100)


def table_with(distinct: int) -> Source:
    return Source(
        {
            "a": [f"v{i % distinct}" for i in range(62)],
            "n": list(range(62)),
            "split": ["x", "y"] * 31,
            "one": ["z"] * 62,
            "m": [1.0] * 62,
        }
    )


def test_columns_are_compared_unasked_up_to_thirty_values() -> None:
    found = choose(None, table_with(30), ["m"])
    assert [one.name for one in found.attributes] == ["a"] and found.single == [0]
    assert {entry["attribute"]: entry["why"].split(";")[0] for entry in found.not_compared} == {
        "n": "numbers",
        "split": "says how the data was divided",
        "one": "no variation",
    }
    with pytest.raises(
        attributes.NothingToCompare, match=r"a: too many values \(31, at most 30 are compared unasked\)"
    ):
        choose(None, table_with(31), ["m"])


def test_named_attributes() -> None:
    source = table_with(3)
    found = choose(["a", "n:quantiles2", "a*one", "a", "n:quantiles30"], source, ["m"])
    assert [one.name for one in found.attributes] == ["a", "n:quantiles2", "one", "n:quantiles30"]
    assert found.single == [0, 1, 3] and found.crosses == [(0, 2)]
    assert [entry["attribute"] for entry in found.not_compared] == ["split"]
    for wrong, said in (
        ("n:quantiles1", "quantiles2 to quantiles30"),
        ("n:quantiles31", "quantiles2 to quantiles30"),
        ("n:3,3", "must rise"),
        ("n:4,3", "must rise"),
        ("n:x", "expected cut points"),
        ("a*a", "names one attribute twice"),
        ("b", "no attribute"),
    ):
        with pytest.raises(InputError, match=said):
            choose([wrong], source, ["m"])
    with pytest.raises(InputError, match="nothing named"):
        choose([], source, [])


# tables


@pytest.mark.parametrize(("numbers", "fine"), [(20, True), (21, False)])
def test_numbers_are_groups_up_to_twenty(numbers: int, fine: bool) -> None:
    column = pa.array([float(k) for k in range(numbers)] + [None])
    if fine:
        assert attribute("n", column, 100).levels == [str(k) for k in range(20)]  # in their order, 10 after 9
    else:
        with pytest.raises(InputError, match="21 different numbers, at most 20"):
            attribute("n", column, 100)
    words = pa.array([f"w{k}" for k in range(numbers)])
    assert len(attribute("w", words, numbers).levels) == numbers
    with pytest.raises(InputError, match=f"more than max_groups={numbers - 1}"):
        attribute("w", words, numbers - 1)


def test_lists_are_memberships() -> None:
    column = pa.array([["a", "b", "a"], [], None, ["c", "", None], ["b"]])
    one = attribute("l", column, 100)
    assert one.levels == ["a", "b", "c"] and one.rows is not None
    assert list(zip(one.rows.tolist(), one.codes.tolist(), strict=True)) == [(0, 0), (0, 1), (3, 2), (4, 1)]


def test_metrics_name_the_row_that_is_wrong() -> None:
    with pytest.raises(InputError, match="found the text 'x' in row 3"):
        metric("m", pa.array(["1", "", "x"]))
    with pytest.raises(InputError, match="infinite in row 2"):
        metric("m", pa.array([1.0, math.inf]))
    values, kind = metric("m", pa.array(["1", "", "0"]))
    assert kind == "rate" and values[0] == 1 and np.isnan(values[1])
    assert metric("m", pa.array([0.0, 0.5]))[1] == "mean" and metric("m", pa.array([1.0, 2.0]))[1] == "mean"
    assert numbers_of(pa.array(["a"])) is None and numbers_of(pa.array([True])) is None


# units


def naive_filled(persons: list[Any], images: list[Any]) -> list[Any]:
    """Who each row belongs to: its person, the only person of its image, its image, or itself."""
    found = []
    for i, (person, image) in enumerate(zip(persons, images, strict=True)):
        if person is not None:
            found.append(("p", person))
            continue
        others = {p for p, other in zip(persons, images, strict=True) if other == image and p is not None}
        if image is None:
            found.append(("row", i))
        else:
            found.append(("p", next(iter(others))) if len(others) == 1 else ("image", image))
    return found


def partition(labels: Any) -> list[int]:
    """Labels as the place where each first occurs."""
    first: dict[Any, int] = {}
    return [first.setdefault(one, i) for i, one in enumerate(labels)]


maybe = st.one_of(st.none(), st.sampled_from("pqr"))


@few
@given(st.lists(st.tuples(maybe, st.one_of(st.none(), st.sampled_from("ijk"))), min_size=1, max_size=14))
def test_rows_without_a_person_take_the_one_of_their_image(pairs: list[tuple[Any, Any]]) -> None:
    persons, images = [p[0] for p in pairs], [p[1] for p in pairs]
    columns = [("identity", pa.array(persons, pa.string())), ("sample", pa.array(images, pa.string()))]
    found = units(columns, "auto")
    person = partition(naive_filled(persons, images))
    image = partition(("i", one) if one is not None else ("row", i) for i, one in enumerate(images))
    inside = {
        way: all(b == b0 for a0, b0 in zip(x, y, strict=True) for a, b in zip(x, y, strict=True) if a == a0)
        for way, (x, y) in {"person": (person, image), "image": (image, person)}.items()
    }
    wanted = {"identity": person, "sample": image}
    if inside["person"]:
        wanted.pop("identity")
    elif inside["image"]:
        wanted.pop("sample")
    assert list(found.ways) == list(wanted)
    alone = all(len(set(labels)) == len(labels) for labels in wanted.values())
    assert (found.codes == ()) == alone
    for codes, labels in zip(found.codes, wanted.values(), strict=True) if not alone else ():
        assert partition(codes.tolist()) == labels and sorted(set(codes.tolist())) == list(range(codes.max() + 1))


@few
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=10))
def test_together_is_a_loop(pairs: list[tuple[int, int]]) -> None:
    fine, coarse = np.array(pairs).T
    _, fine = np.unique(fine, return_inverse=True)
    assert together(fine, coarse) == all(len(set(coarse[fine == f])) == 1 for f in set(fine))


def test_what_was_taken_as_independent_in_words() -> None:
    code = np.array([0, 0, 1])
    assert Units((code,), ("identity",)).sentence(1) == "person (column identity): 1 row of 2 people"
    assert Units((np.zeros(3, int),), ("sample",)).sentence(1234) == "image (column sample): 1,234 rows of 1 image"
    both = Units((code, np.array([0, 1, 1])), ("identity", "sample")).sentence(3)
    assert both == "person and image (columns identity and sample, crossed): 3 rows of 2 people and 2 images"
    assert Units((), ("sample",)).sentence(2) == "row: each of the 2 rows has another sample"
    assert Units((), (), None).sentence(1) == "row: the 1 row was taken as independent, as asked (cluster none)"
    assert "the 2 rows were taken as independent" in Units((), (), None).sentence(2)
    third = [("a", pa.array([0, 0, 1, 1])), ("b", pa.array([0, 1, 0, 1])), ("c", pa.array([0, 1, 1, 0]))]
    with pytest.raises(InputError, match="a, b, c all cross each other"):
        units(third, ["a", "b", "c"])
    assert codes_of(pa.array([1.5, math.nan, 2.0, 1.5])).tolist() == [0, -1, 1, 0]
    assert codes_of(pa.array(["", "x", None, "y", "x"])).tolist() == [-1, 0, -1, 1, 0]


# groups


@pytest.mark.parametrize("dense", [0, 4_000_000])
@pytest.mark.parametrize("lists", [False, True])
def test_cells_are_a_loop_over_rows(monkeypatch: pytest.MonkeyPatch, dense: int, lists: bool) -> None:
    monkeypatch.setattr(groups, "DENSE", dense)
    rng = np.random.default_rng(2)
    a = Attribute("a", list("xyz"), rng.integers(-1, 3, 40).astype(np.int32))
    b = Attribute("b", ["u", "v"], rng.integers(-1, 2, 40).astype(np.int32))
    if lists:
        where = np.nonzero(rng.random((40, 3)) < 0.4)
        b = Attribute("b", list("pqr"), where[1].astype(np.int32), where[0])
    of_b = (
        [[b.levels[b.codes[i]]] if b.codes[i] >= 0 else [] for i in range(40)]
        if not lists
        else [[b.levels[c] for r, c in zip(b.rows, b.codes, strict=True) if r == i] for i in range(40)]
    )
    of_a = [[a.levels[c]] if c >= 0 else [] for c in a.codes]
    expected = {
        (0,): of_a,
        (1,): of_b,
        (0, 1): [[f"{x} × {y}" for x in one for y in two] for one, two in zip(of_a, of_b, strict=True)],
    }
    for grouping in group([a, b], subsets([0, 1], 2), {(0,)}, 40, 100):
        truth = expected[grouping.attributes]
        assert set(grouping.cells) == {cell for cells in truth for cell in cells}
        members = grouping.members([a, b], 40)
        rows_of = np.arange(40) if members.rows is None else members.rows
        found: list[list[str]] = [[] for _ in range(40)]
        for row, cell in zip(rows_of, members.cells, strict=True):
            if cell >= 0:
                found[row].append(grouping.cells[cell])
        assert [sorted(one) for one in found] == [sorted(one) for one in truth]
        assert members.known(40).tolist() == [bool(one) for one in truth]
        assert grouping.named == (grouping.attributes == (0,)) and grouping.depth == len(grouping.attributes)


def test_too_many_cells_and_attributes_with_one_value() -> None:
    a, b = Attribute("a", ["x", "y"], np.array([0, 1, 1])), Attribute("b", ["u"], np.array([0, 0, 0]))
    assert [one.name for one in group([a, b], [(0,), (1,), (0, 1)], set(), 3, 2)] == ["a", "b"]
    with pytest.raises(InputError, match="a: 2 groups occur, more than 1"):
        group([a], [(0,)], set(), 3, 1)
    assert Grouping((0,), "a", [], np.array([], int)).members([a], 3).cells.tolist() == [-1, -1, -1]
    assert subsets([0, 1, 2], 9)[-1] == (0, 1, 2) and subsets([], 2) == [] and Members(np.array([0])).overlap is False
    many = [Attribute(str(k), [str(i) for i in range(3000)], np.array([2999])) for k in range(3)]
    assert membership(many, [0, 1, 2], 1)[1].tolist() == [3000**3 - 1]  # more than 32 bits hold
    assert label(many, [0, 1, 2], 3000**3 - 1) == "2999 × 2999 × 2999"


# layouts


def test_unequal_and_mostly_alone_at_their_edges() -> None:
    def of(*sizes: int) -> Layout:
        return Layout(np.repeat(np.arange(len(sizes)), sizes), sum(sizes))

    assert not of(4, 1, 1, 1, 1, 1, 1, 1).unequal and not Layout(None, 5).unequal
    assert not of(8, *[1] * 6).unequal and of(9, *[1] * 6).unequal  # exactly four times the mean is not above it
    assert of(2, 1, 1, 1, 1, 1, 1).mostly_alone and of(2, *[1] * 6).total == 8  # a quarter of the rows
    assert not of(2, *[1] * 5).mostly_alone and not Layout(None, 5).mostly_alone
    assert Layout(None, 3, np.array([2.0, 3.0])).count == 5 and Layout(np.array([], int), 0).count == 0


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_layout_is_a_loop_over_clusters(shuffled: bool) -> None:
    rng = np.random.default_rng(4)
    codes = np.repeat(np.arange(9), [1, 2, 1, 3, 1, 1, 4, 1, 2])
    codes = rng.permutation(codes) if shuffled else codes
    n = len(codes)
    one = Layout(codes, n)
    values = rng.normal(size=n)
    values[3] = np.nan
    for kind in ("mean", "rate"):
        column = Column(f"x{kind}", kind, np.where(values > 0, 1.0, 0.0) if kind == "rate" else values)
        count, total, squares = one.cluster_sums(column)
        for c in range(9):
            own = column.values[codes == c]
            own = own[~np.isnan(own)]
            assert (count[c], total[c]) == pytest.approx((len(own), own.sum()))
            assert squares[c] == pytest.approx((own**2).sum() if kind == "mean" else own.sum())
        assert one.cluster_sums(column)[1] is total
    first = [int(np.flatnonzero(codes == c)[0]) for c in range(9)]
    assert one.firsts(np.arange(n)).tolist() == first
    rows_of, homes, starts = one.several
    expected = [(c, r) for k, c in enumerate([1, 3, 6, 8]) for r in np.flatnonzero(codes == c)]
    assert [(int([1, 3, 6, 8][h]), int(r)) for h, r in zip(homes, rows_of, strict=True)] == expected
    assert starts.tolist() == [first[c] for c in (1, 3, 6, 8)]
    whole = Attribute("w", list("ab"), (codes % 2).astype(np.int32))
    split = whole.codes.copy()
    split[np.flatnonzero(codes == 8)[-1]] = 1
    assert not one.varies(whole) and one.varies(Attribute("s", list("ab"), split))
    assert not Layout(None, n).varies(Attribute("s", list("ab"), split))


def test_powers_and_patterns() -> None:
    n, y = np.array([2.0, 0.0]), np.array([3.0, 0.0])
    assert [part[0] for part in powers(n, y, True)] == [2, 3, 1, 4, 6, 9, 8, 12, 18]
    assert [part[1] for part in powers(n, y, True)] == [0] * 9 and len(powers(n, y, False)) == 6
    lists = Attribute("l", list("abc"), np.array([0, 1, 1, 0, 2]), np.array([0, 0, 1, 3, 3]))
    found = pattern_of(lists, 5)
    assert len(set(found.tolist())) == 4 and found[2] == found[4] and found[0] != found[1] != found[3]
    assert Column.of("x", "mean", np.array([1.0, np.nan, 3.0])).centre == 2.0
    assert Column.of("x", "mean", np.array([np.nan])).centre == 0.0 and Column.of("x", "rate", np.ones(2)).centre == 0.0


# rows


@few
@given(st.lists(st.tuples(maybe, maybe), min_size=1, max_size=12))
def test_pairs_are_combinations_of_values(found: list[tuple[Any, Any]]) -> None:
    one, two = ([p[k] for p in found] for k in (0, 1))
    codes = pair_codes([pa.array(one, pa.string()), pa.array(two, pa.string())]).tolist()
    known = [None not in pair for pair in found]
    assert [code >= 0 for code in codes] == known
    for i, a in enumerate(found):
        for j, b in enumerate(found):
            if known[i] and known[j]:
                assert (codes[i] == codes[j]) == (a == b)


def test_marks_tell_rows_apart_and_not_their_order() -> None:
    rng = np.random.default_rng(0)
    groups_of = [rng.integers(-1, 3, 200), rng.integers(0, 2, 200)]
    values = [rng.integers(0, 2, 200).astype(float), np.where(rng.random(200) < 0.3, np.nan, rng.normal(size=200))]
    marks = row_marks(groups_of, values)
    same = [tuple(str(part[i] + 0.0) for part in (*groups_of, *values)) for i in range(200)]
    assert partition(marks.tolist()) == partition(same)
    assert row_marks([g[::-1] for g in groups_of], [v[::-1] for v in values]).tolist() == marks[::-1].tolist()
    assert (
        row_marks([], [np.array([0.0, -0.0, 1e-13, 1e-11])])[[0, 1, 2]].tolist()
        == [int(row_marks([], [np.zeros(1)])[0])] * 3
    )
    assert len(set(row_marks([], [np.array([0.0, 1e-11])]).tolist())) == 2 and len(row_marks([], [])) == 0
    bits = np.unpackbits(row_marks([np.arange(4000)], []).view(np.uint8)).mean()
    assert bits == pytest.approx(0.5, abs=0.01)  # mixed well


@pytest.mark.parametrize(
    ("values", "inside"),
    [
        ([0.0, 1.0], True),
        ([-1e-13, 1 + 1e-13], True),
        ([-1e-6, 0.5], False),
        ([0.5, 1 + 1e-6], False),
        ([np.nan], False),
    ],
)
def test_values_between_0_and_1(values: list[float], inside: bool) -> None:
    assert _within(Column("x", "mean", np.array(values))) is inside
    if not np.isnan(values).any():
        shape = layout.Shape(min(values), max(values), 3.0, 0.0)
        assert _within(Column("x", "mean", np.zeros(1), 0.0, np.ones(1), np.zeros(1), shape)) is inside
    assert _within(Column("x", "mean", np.array([-0.5, 0.5]), centre=0.5))


def test_rows_are_kept_by_their_values() -> None:
    source = Source(
        {"a": [f"v{k:02d}" for k in range(14)], "l": [["x", "y"], ["y"]] * 7, "n": [float(k) for k in range(14)]}
    )
    assert kept_rows(source, {}) is None
    assert np.flatnonzero(kept_rows(source, {"a": ["v03", "v05"]})).tolist() == [3, 5]
    assert np.flatnonzero(kept_rows(source, {"l": ["x"], "n": ["2", "3"]})).tolist() == [2]
    with pytest.raises(InputError, match=r"no row has a = w; there are v00, .*, v11 …$"):
        kept_rows(source, {"a": ["w"]})
    with pytest.raises(InputError, match=r"no row has l = z; there are x, y$"):
        kept_rows(source, {"l": ["z"]})
    with pytest.raises(InputError, match="no row has l = x and a = v01 or v03"):
        kept_rows(source, {"l": ["x"], "a": ["v01", "v03"]})


# sources


def test_what_is_a_table_and_what_is_not(tmp_path: Path) -> None:
    for wrong in (7, types.SimpleNamespace(columns=["a"]), types.SimpleNamespace(dtypes=["a"])):
        with pytest.raises(InputError, match="expected a path"):
            Source(wrong)
    with pytest.raises(InputError, match="columns differ in length"):
        Source({"a": [1], "b": [1, 2]})
    many = Source({f"c{k}": [0] for k in range(14)})
    with pytest.raises(InputError, match=r"no column 'zzz'; the columns are 'c0', .* 'c11' and 2 more"):
        many.resolve("zzz")
    with pytest.raises(InputError, match=r"the columns are 'c0', .* 'c11'$"):
        Source({f"c{k}": [0] for k in range(12)}).resolve("zzz")
    with pytest.raises(InputError, match="did you mean 'gender'"):
        Source({"attr.gender": ["f"]}).resolve("Gander", "attr.", "attribute")
    twice = Source(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]))
    for use in (twice.resolve, lambda name: twice.read([], [name])):
        with pytest.raises(InputError, match="2 columns are named 'a'"):
            use("a")
    for name, text, said in (
        ("empty.csv", "", "empty file"),
        ("semi.csv", "a;b\n", "separated by semicolons"),
        ("tab.csv", "a\tb\n", "by tabs"),
        ("x.json", "{}", r"\.json, expected \.parquet or \.csv"),
        ("none", "", "no extension, expected"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError, match=said):
            Source(tmp_path / name)
    (tmp_path / "one.csv").write_text("a\n1\n")
    assert Source(tmp_path / "one.csv").names == ["a"]


def test_the_kinds_of_columns() -> None:
    from decimal import Decimal

    table = pa.table(
        {
            "t": ["x"],
            "b": [True],
            "n": [1],
            "f": [0.5],
            "d": pa.array([Decimal("1.5")]),
            "l": pa.array([["x"]]),
            "i": pa.array([[1]]),
            "z": pa.nulls(1),
            "s": pa.array([{"a": 1}]),
            "c": pa.array(["x"]).dictionary_encode(),
            "big": pa.array(["x"], pa.large_string()),
            "day": pa.array([0], pa.date32()),
        }
    )
    assert [Source(table).kind(name) for name in table.column_names] == [
        "text",
        "boolean",
        "number",
        "number",
        "number",
        "list",
        "other",
        "text",
        "other",
        "text",
        "text",
        "other",
    ]
    assert (
        numbers_of(table["d"].combine_chunks()).tolist() == [1.5]
        and np.isnan(numbers_of(table["z"].combine_chunks()))[0]
    )
    assert Source({"a": ["x", "y", "", None, "x"], "l": [["p"], ["q", "p"], [], None, [""]]}).distinct("a") == 2
    assert Source({"l": [["p"], ["q", "p"], [], None, [""]]}).distinct("l") == 2
    assert Source({"a": [1, "x"]}).kind("a") == "other"


@pytest.mark.parametrize(
    ("kind", "ends", "column"), [("mean", None, "mean"), ("bounded", (-1, 1), "mean"), ("change", (-1, 1), "change")]
)
def test_what_a_difference_of_scores_is_told_to_be(kind: str, ends: tuple[int, int] | None, column: str) -> None:
    made = rows.Rows({"g": ["a", "b"] * 9, "x": [0.0, -1.0, 1.0] * 6}, ["g"], ["x"], AuditSettings(kinds={"x": kind}))
    assert made.ends == [ends] and made.columns[0].kind == column
    assert rows.Rows({"g": ["a", "b"], "x": [0.5, 1.5]}, ["g"], ["x"], AuditSettings()).ends == [None]
    assert rows.Rows({"g": ["a", "b"], "x": [0.5, 0.7]}, ["g"], ["x"], AuditSettings()).ends == [(0, 1)]


def test_groups_that_may_be_one_are_compared_and_said() -> None:
    names = ["Female", "female ", "male", "nan", "  "]
    result = audit({"g": names * 30, "correct": [0, 1, 1] * 50}, ["g"], ["correct"])
    assert {e.group for e in result.groups} == {"Female", "female ", "male", "nan", "(unknown)"}
    about = [note for note in result.notes if note.startswith("g:")]
    assert [("'Female' and 'female '" in note, "'nan'" in note) for note in about] == [(True, False), (False, True)]
    plain = audit({"g": ["none", "glasses"] * 60, "correct": [0, 1, 1] * 40}, ["g"], ["correct"])
    assert not any(note.startswith("g:") for note in plain.notes)
