"""Scalars: named real numbers of an image, from what a model returns to the stored form and back."""

import numpy as np
import pytest

import countenance as ct
from countenance.answers.formats.base import PredictionRequest
from countenance.answers.formats.table import read_table
from countenance.answers.store import answers_from_table, answers_table
from countenance.data.names import ImageNames
from countenance.errors import InputError


def test_they_are_stored_and_read_again_exactly():
    values = {"a": 1 / 3, "b": -1e300, "c": 0.0}
    table = answers_table(ct.Scalars, [("x.png", ct.Scalars(values))])
    assert answers_from_table(table, "here")["x.png"].values == values
    assert table.schema.names == ["sample", "names", "numbers"]


@pytest.mark.parametrize(
    ("raw", "values"),
    [(3, {"value": 3.0}), (np.float32(0.5), {"value": 0.5}), (np.array([2.0]), {"value": 2.0}), ({"a": 1}, {"a": 1.0})],
)
def test_numbers_and_dicts_of_numbers_are_read(raw, values):
    assert ct.Scalars.of(raw).values == values


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (None, "None, expected a number"),
        ([1, 2], r"value of shape \(2,\), expected one number"),
        ("tall", "could not convert"),
        ({"a": 1j * np.ones(1)}, "complex numbers"),
    ],
)
def test_what_is_no_number_is_refused(raw, words):
    with pytest.raises(ValueError, match=words):
        ct.Scalars.of(raw)


def test_numbers_that_are_not_finite_and_no_numbers_are_a_problem():
    assert ct.Scalars({"a": float("nan")}).problem(1, 1) == "a is nan, expected a finite number"
    assert ct.Scalars({"a": 1.0, "b": float("-inf")}).problem(1, 1) == "b is -inf, expected a finite number"
    assert ct.Scalars({}).problem(1, 1) == "no number at all" and ct.Scalars({"a": 5}).problem(1, 1) is None


def test_a_table_has_a_column_for_each_name(tmp_path):
    expected = PredictionRequest(ct.Scalars, ImageNames(["a.png", "b.png"], {}))
    (tmp_path / "p.csv").write_text("image,height,weight\na.png,1.5,70\nb.png,2,80.25\n")
    by_id = read_table(tmp_path / "p.csv", expected).by_id
    assert by_id["b.png"].values == {"height": 2.0, "weight": 80.25}
    for text, words in (
        ("image,h\na.png,tall\n", "line 2: h is 'tall'"),
        ("image,h\na.png,1\na.png,2\n", "second time"),
    ):
        (tmp_path / "p.csv").write_text(text)
        with pytest.raises(InputError, match=words):
            read_table(tmp_path / "p.csv", expected)
