"""A CSV as columns of text: what it holds, and what is said of a cell that is wrong."""

import numpy as np
import pytest

from countenance.data.reading.columns import TextTable, check_ages, literal, read_columns
from countenance.errors import InputError


def table(tmp_path, **columns) -> TextTable:
    rows = len(next(iter(columns.values())))
    return TextTable(tmp_path / "a.csv", tmp_path, columns, list(range(1, rows + 1)))


def test_only_the_columns_asked_for_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('﻿ name ,age,"text"\na,007,"x, y"\nb,,"two\nlines"\n', encoding="utf-8")
    assert read_columns(path, ["name"]) == {"name": ["a", "b"]}
    assert read_columns(path, ["age", "text"]) == {"age": ["007", ""], "text": ["x, y", "two\nlines"]}


def test_a_table_without_rows_has_empty_columns(tmp_path):
    (tmp_path / "a.csv").write_text("name,age\n")
    assert read_columns(tmp_path / "a.csv", ["age"]) == {"age": []}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty, expected a header line"),
        (b"\xff\xfe,a\n1,2\n", "line 1: not UTF-8 text"),
        (b"nam,age\na,1\n", r"column 'name' is missing \(did you mean nam\?\); found nam, age"),
        (b"name,name\na,b\n", "line 1: column 'name' appears twice"),
        (b"name,age\na\n", "Expected 2 columns"),
    ],
)
def test_a_table_that_cannot_be_read_is_named(tmp_path, content, words):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_columns(path, ["name"])
    assert str(caught.value).startswith(str(path))


def test_a_table_that_is_not_there_is_told_with_what_should_be(tmp_path):
    with pytest.raises(InputError, match="no such file; expected the list of people there"):
        read_columns(tmp_path / "a.csv", ["name"], "the list of people")
    with pytest.raises(InputError, match="cannot be read"):
        read_columns(tmp_path, ["name"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("[1, 2.5]", [1, 2.5]), ("{'a': (1, None)}", {"a": (1, None)}), ('"it\'s"', "it's"), ("'a\\\\b'", "a\\b")],
)
def test_a_cell_is_the_value_that_it_writes(text, value):
    assert literal(text, "here") == value


@pytest.mark.parametrize("text", ["f()", "[1", "[NaN]", "[" * 5000, "a"])
def test_what_is_no_plain_value_is_refused(text):
    with pytest.raises(InputError, match=r"^here: .* is not a plain value"):
        literal(text, "here")


def test_numbers_and_boxes_of_a_column(tmp_path):
    data = table(tmp_path, n=["1.5", "", "2"], box=["[1, 2, 3, 4]", "(0, 0, 0, 0)", "[1, 1, 2, 0]"])
    assert np.array_equal(data.numbers("n"), [1.5, np.nan, 2], equal_nan=True)
    assert data.boxes("box").tolist() == [[1, 2, 4, 6], [0, 0, 0, 0], [1, 1, 3, 1]]
    assert len(data) == 3


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("[1, 2, 3]", r"row 1: box: \[1, 2, 3\] is not a box, expected \[x, y, width, height\]"),
        ("[1, 2, 3, True]", "is not a box"),
        ("[1, 2, 3, 1e301]", "is not a box"),
        ("[1, 2, -1, 4]", "has a negative width or height"),
        ("[1, 2, 3, -0.5]", "has a negative width or height"),
    ],
)
def test_a_box_that_is_none_is_named_with_its_row(tmp_path, cell, words):
    with pytest.raises(InputError, match=words):
        table(tmp_path, box=[cell]).boxes("box")
    with pytest.raises(InputError, match=r"row 1: box: .* is not a number"):
        table(tmp_path, box=[cell]).numbers("box")


def test_some_rows_keep_their_numbers(tmp_path):
    some = table(tmp_path, name=["a", "b", "c"]).take([2, 0])
    assert (some.text("name"), some.line) == (["c", "a"], [3, 1])
    assert some.place(0, "name") == f"{tmp_path / 'a.csv'} row 3: name"


def test_a_file_stays_below_the_root(tmp_path):
    data = table(tmp_path, file=["a/b.png", "../b.png"])
    assert data.file(0, "file") == tmp_path / "a" / "b.png"
    with pytest.raises(InputError, match="row 2: file"):
        data.file(1, "file")


def test_one_id_is_one_person(tmp_path):
    data = table(tmp_path, subject_id=["a", "b", "a", "a"], age=["30", "70", "35", ""])
    check_ages(data)
    assert data.problems == [f"{data.path}: subject a is 30 in row 1 and 35 in row 3"]
    older = table(tmp_path, subject_id=["a", "b", "a"], age=["30", "70", "35.5"])
    with pytest.raises(InputError, match=r"subject a is 30 in row 1 and 35.5 in row 3; one id must be one person"):
        check_ages(older)
    check_ages(older, strict=True)
    assert len(older.problems) == 1
    for age in ("-1", "131"):
        with pytest.raises(InputError, match=f"row 1: age: {age}, expected 0 to 130 years"):
            check_ages(table(tmp_path, subject_id=["a"], age=[age]))
    check_ages(table(tmp_path, subject_id=["a", "b"], age=["0", "130"]))
