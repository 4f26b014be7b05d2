"""Large JSON objects, entry by entry: what is read, what is refused, and a program that was stopped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.data.reading.entries import field, read_entries, write_entries
from countenance.errors import InputError

values = st.recursive(st.none() | st.integers() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=3))


@given(st.dictionaries(st.text(max_size=6), values, max_size=5), st.sampled_from([None, 1, "\t"]))
def test_entries_are_those_of_the_whole_object(tmp_path_factory, content, indent):
    path = tmp_path_factory.mktemp("entries") / "a.json"
    path.write_text(json.dumps(content, indent=indent))
    assert dict(read_entries(path)) == content
    write_entries(path, content.items())
    assert json.loads(path.read_text()) == content
    assert len(path.read_text().splitlines()) == len(content) + 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1]", "expected one JSON object"),
        ('{"a": 1', "line 1 column 8: expected a comma or the end"),
        ('{"a" 1}', "expected a name and a colon"),
        ("{3: 1}", "expected a name and a colon"),
        ('{"a": 1,}', "line 1 column"),
        ('{"a": }', "line 1 column 7"),
        ('{"a": ' + "[" * 200000, "nested too deeply|line 1"),
    ],
)
def test_anything_but_one_object_is_refused_with_its_place(tmp_path, text, words):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        list(read_entries(path))
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_not_there_is_told_with_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"a.json: no such file; make it first"):
        list(read_entries(tmp_path / "a.json", "make it first"))


def test_a_field_of_an_entry():
    assert field({"a": None}, "a", "here") is None
    with pytest.raises(InputError, match="here: expected an object with 'b', found fields a, c"):
        field({"a": 1, "c": 2}, "b", "here")
    with pytest.raises(InputError, match="here: expected an object with 'b', found list"):
        field(["b"], "b", "here")
