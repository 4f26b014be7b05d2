"""Groups that are intervals are joined at cut points, as numbers are cut."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

import countenance as ct
from countenance.auditing.interval_groups import intervals_of, lows_of
from countenance.auditing.source import Source
from countenance.data.adapters.bias_bounty_files import CLASSES
from countenance.data.adapters.fairface import AGES
from countenance.data.adapters.fhibe.words import AGE_BINS
from countenance.errors import InputError

DATASETS = {"fairface": (AGES, "20,40"), "fhibe": (AGE_BINS, "18,40"), "bounty": (CLASSES["age"], "18,31")}


@pytest.mark.parametrize("name", DATASETS)
def test_each_published_age_group_is_an_interval_and_their_ends_are_cut_points(name):
    groups, cuts = DATASETS[name]
    intervals = intervals_of(groups)
    assert all(first.high == second.low for first, second in itertools.pairwise(intervals[group] for group in groups))
    rng = np.random.default_rng(3)
    ages = rng.choice(groups, 400)
    table = {"age": list(ages), "person": list(range(400)), "tp": list(rng.integers(0, 2, 400))}
    joined = ct.audit(table, [f"age:{cuts}"], ["tp"], cluster="person")
    low, high = map(float, cuts.split(","))
    years = [intervals[age].low for age in ages]
    expected = {
        f"<{low:g}": sum(year < low for year in years),
        f"{low:g}–{high - 1:g}": sum(low <= year < high for year in years),
        f"{high:g}+": sum(year >= high for year in years),
    }
    sizes = {group.group: group.n for group in joined.groups if group.attribute == "age"}
    assert sizes == {group: n for group, n in expected.items() if n}
    assert joined.settings["bins"] == {"age": [low, high]}


def test_a_cut_point_inside_a_group_is_refused_with_those_that_are_possible():
    table = {"age": [*AGES, "(unknown)"], "tp": [0, 1] * 5}
    with pytest.raises(ct.InputError, match="18 lies inside 10-19, 45 lies inside 40-49; cut points at 0, 3, 10, 20"):
        ct.audit(table, ["age:18,45"], ["tp"])
    with pytest.raises(ct.InputError, match="not numbers, and not intervals of numbers"):
        ct.audit({"age": ["young", "old"], "tp": [0, 1]}, ["age:18"], ["tp"])


def test_quantiles_of_groups_are_whole_groups():
    table = {"age": ["0-2"] * 10 + ["3-9"] * 10 + ["10-19"] * 20, "person": range(40), "tp": [0, 1] * 20}
    halves = ct.audit({name: list(values) for name, values in table.items()}, ["age:quantiles2"], ["tp"])
    assert {group.group: group.n for group in halves.groups if group.attribute == "age"} == {"<10": 20, "10+": 20}


def test_a_condition_held_equal_may_be_groups_of_ages():
    rng = np.random.default_rng(5)
    table = {
        "age": list(rng.choice(AGES, 600)),
        "sex": list(rng.choice(["f", "m"], 600)),
        "person": list(range(600)),
        "tp": list(rng.integers(0, 2, 600)),
    }
    finding = ct.audit(table, ["sex"], ["tp"], cluster="person", given=["age:20,40"]).given[0]
    assert finding.overlap > 0.9 and set(finding.explained) == {"age"}


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("18–29", 18, 30),
        ("18 to 29 years", 18, 30),
        ("(30, 40]", 31, 41),
        ("<= 17", -np.inf, 18),
        ("17 or younger", -np.inf, 18),
        ("65+", 65, np.inf),
        ("65 and over", 65, np.inf),
        ("> 65", 65, np.inf),
        ("0.5..1.5", 0.5, 1.5),
        ("12", 12, 13),
    ],
)
def test_intervals_as_people_write_them(text, low, high):
    assert intervals_of([text])[text] == (low, high)


def test_what_is_no_interval_or_overlaps_is_none():
    assert intervals_of(["30-20"]) is None and intervals_of(["18-30", "25-40"]) is None and intervals_of([]) is None
    assert lows_of("age", pa.array([1.0]), [1]) is None and lows_of("age", pa.array(["adult"]), [1]) is None
    shared = pa.array(["18-30", "30-40", None]).dictionary_encode()
    np.testing.assert_array_equal(lows_of("age", shared, [30]), [18, 30, np.nan])


def test_age_means_groups_of_ages_where_a_run_has_no_number():
    rng = np.random.default_rng(5)
    rows = {"attr.age_group": list(rng.choice(AGES, 400)), "person": list(range(400)), "m.tp": [0, 1] * 200}
    settings = {"metrics": ["tp"], "cluster": "person", "replicates": 200}
    asked, named = (ct.audit(rows, [name], **settings) for name in ("age", "age_group"))
    assert [(g.attribute, g.group, g.n) for g in asked.groups] == [(g.attribute, g.group, g.n) for g in named.groups]
    note = "age is read as age_group: this data has groups of age and no numbers"
    assert note in asked.notes and note not in named.notes and asked.settings["by"] == ["age_group"]
    assert ct.audit(rows, ["age:20,40"], **settings).settings["bins"] == {"age_group": [20.0, 40.0]}
    both = rows | {"attr.age": [31.0] * 200 + [62.0] * 200}
    assert ct.audit(both, ["age:40"], **settings).settings["bins"] == {"age": [40.0]}
    with pytest.raises(InputError, match="no attribute 'age'"):
        ct.audit({"attr.sex": ["f", "m"] * 20, "m.tp": [0, 1] * 20}, ["age"], ["tp"])
    with pytest.raises(InputError, match="no column 'age'"):
        Source({"None": [1], "age_group": ["0-2"]}).resolve("age")
