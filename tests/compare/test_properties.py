"""What must not matter, and what must flip: the order of models, of rows, and names."""

import math
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.comparing import compare

SETTINGS = {"metrics": ["correct"], "by": ["g"], "names": ["one", "two"], "adjust": "holm", "min_n": 5}


@st.composite
def tables(draw, real: bool = False):
    """Two tables of a few people with several rows each."""
    people = draw(st.integers(12, 30))
    sizes = draw(st.lists(st.integers(1, 4), min_size=people, max_size=people))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    person = np.repeat(np.arange(people), sizes)
    group = np.array(["a", "b", "c"])[rng.integers(0, 3, people)][person]
    rate = draw(st.sampled_from([0.02, 0.3, 0.9]))
    rows = {"row": [f"r{i}" for i in range(len(person))], "identity": [f"p{i}" for i in person], "g": group.tolist()}
    pair = []
    for _ in range(2):
        values = rng.normal(size=len(person)) if real else (rng.random(len(person)) < rate).astype(int)
        pair.append(rows | {"correct": values.tolist()})
    return pair[0], pair[1]


def close(one: float, two: float) -> bool:
    return (math.isnan(one) and math.isnan(two)) or math.isclose(one, two, rel_tol=1e-7, abs_tol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.one_of(tables(), tables(real=True)))
def test_swapped_models_flip_every_sign(pair) -> None:
    there = compare(*pair, pair="row", **SETTINGS)
    back = compare(*pair[::-1], pair="row", **SETTINGS)
    for one, two in zip(
        [*there.overall, *there.groups, *there.gaps], [*back.overall, *back.groups, *back.gaps], strict=True
    ):
        assert close(one.difference, -two.difference)
        assert close(one.low, -two.high) and close(one.high, -two.low)
        assert close(one.p_adjusted, two.p_adjusted)
        flipped = {"better": "worse", "worse": "better", "higher": "lower", "lower": "higher"}
        assert two.verdict == flipped.get(one.verdict, one.verdict)


@settings(max_examples=20, deadline=None)
@given(tables(), st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(pair, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mixed = []
    for table in pair:
        order = rng.permutation(len(table["row"]))
        mixed.append({name: [column[i] for i in order] for name, column in table.items()})
    here, there = compare(*pair, pair="row", **SETTINGS), compare(*mixed, pair="row", **SETTINGS)
    assert here.decision == there.decision
    for one, two in zip(here.gaps, there.gaps, strict=True):
        assert close(one.difference, two.difference) and close(one.p_adjusted, two.p_adjusted)


@settings(max_examples=20, deadline=None)
@given(tables())
def test_names_of_groups_rows_and_people_do_not_matter(pair) -> None:
    other = []
    for table in pair:
        renamed = {name: [f"z{value}" for value in table[name]] for name in ("row", "identity", "g")}
        other.append(renamed | {"correct": table["correct"]})
    here, there = compare(*pair, pair="row", **SETTINGS), compare(*other, pair="row", **SETTINGS)
    for one, two in zip([*here.groups, *here.gaps], [*there.groups, *there.gaps], strict=True):
        assert two.group == f"z{one.group}"
        assert close(one.difference, two.difference) and close(one.low, two.low) and one.verdict == two.verdict


def test_the_same_seed_gives_the_same_result() -> None:
    rng = np.random.default_rng(0)
    rows = {"row": list(range(300)), "g": list("abc") * 100}
    pair = [rows | {"correct": (rng.random(300) < 0.8).astype(int).tolist()} for _ in range(2)]
    options = {"metrics": ["correct"], "by": ["g"], "pair": "row"}
    assert compare(*pair, **options).to_dict() == compare(*pair, **options).to_dict()


@settings(max_examples=25, deadline=None)
@given(st.one_of(tables(), tables(real=True)), st.sampled_from([None, "higher", "lower"]))
def test_a_sentence_of_the_decision_has_at_most_three_numbers(pair, better: str | None) -> None:
    """Names of groups and models count no numbers here; a reason in brackets is a sentence of its own."""
    chosen = SETTINGS | {"delta": {"correct": 0.05}} | ({"better": {"correct": better}} if better else {})
    for decision in compare(*pair, pair="row", **chosen).decisions:
        for sentence in re.split(r"(?<=\.) |; ", decision):
            assert len(re.findall(r"\d[\d.,]*", sentence)) <= 3, decision
