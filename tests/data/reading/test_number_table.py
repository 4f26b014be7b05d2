"""Large tables of numbers: fast and slow parsing agree, blocks may end anywhere, every error has its line."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countenance.data.reading import lines, text_blocks
from countenance.data.reading.lines import all_rows, cut, data_blocks
from countenance.data.reading.number_table import LineLayout, NumberColumn, header_of, integer, places_in, read_table
from countenance.data.reading.text_blocks import blocks, first_line
from countenance.errors import InputError

NUMBERS = (NumberColumn("X", 1), NumberColumn("SIDE", 2, positive="draw it larger"), NumberColumn("ID", 3, whole=True))
PAIRED = LineLayout(("FILE", "X", "SIDE", "ID"), 0, NUMBERS, 4, "nothing in it", pairs=("WHO", "HOW"))
EXACT = LineLayout(("FILE", "X", "SIDE", "ID"), 0, NUMBERS, 4, "nothing in it", exact=True, header_line=1)


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_names_numbers_and_pairs_become_arrays(tmp_path):
    found = read_table(write(tmp_path, "b,1,2,3\na,-1.5,.5,4,7,0.25,8,-1\nb,0,1,-1\n"), PAIRED)
    assert found.names == ("b", "a") and found.image.tolist() == [0, 1, 0] and found.line.tolist() == [1, 2, 3]
    assert found.numbers.tolist() == [[1, 2, 3], [-1.5, 0.5, 4], [0, 1, -1]]
    assert found.listed.tolist() == [0, 2, 0] and found.pairs.tolist() == [[7, 0.25], [8, -1]]


def test_large_whole_numbers_are_read_by_both_ways(tmp_path):
    for text in (f"a,1,2,{2**53 - 1},107,1\n", f'"a",1,2,{2**53 - 1},107,1\n'):
        found = read_table(write(tmp_path, text), PAIRED)
        assert found.numbers[0, 2] == 2**53 - 1 and found.pairs.tolist() == [[107, 1]]


def test_the_largest_listed_numbers_of_a_line_become_pairs(tmp_path):
    listed = (*NUMBERS[:1], NumberColumn("A", 2), NumberColumn("B", 3), NumberColumn("C", 4))
    layout = LineLayout(("FILE",), 0, listed, 5, "", exact=True, listed=np.array([10, 20, 30]), top=2)
    found = read_table(write(tmp_path, "a,1,.1,.3,.2\nb,2,.5,.5,.4\n"), layout)
    assert found.numbers.tolist() == [[1], [2]] and found.listed.tolist() == [2, 2]
    assert found.pairs.tolist() == [[20, 0.3], [30, 0.2], [10, 0.5], [20, 0.5]]


def test_words_are_kept_and_may_be_missing_at_the_end_of_a_line(tmp_path):
    layout = LineLayout(("FILE", "X"), 0, NUMBERS[:1], 2, "", words=(2, 4))
    found = read_table(write(tmp_path, "a,1, w ,x,v\nb,2\n"), layout)
    assert found.words == [["w", ""], ["v", ""]]
    whole = read_table(write(tmp_path, "a,1,w,x,v\nb,2,w,,u\n"), layout)
    assert whole.words == [["w", "w"], ["v", "u"]]


@pytest.mark.parametrize(
    ("layout", "text", "expected"),
    [
        (PAIRED, "a,1,2,3\na,1,2\n", "line 2: 3 fields, expected at least 4 (FILE,X,SIDE,ID)"),
        (PAIRED, "a,1,2,3,4\n", "line 1: 5 fields; after the first 4 come pairs WHO,HOW, and the last pair is not"),
        (PAIRED, "a,1,2,3,4.5,1\n", "line 1: WHO_1 is '4.5', expected a whole number"),
        (PAIRED, "a,1,2,3,4,1,5,x\n", "line 1: HOW_2 is 'x', expected a number"),
        (PAIRED, "file,x,side,id\n", "line 1: a header line without '#'"),
        (PAIRED, "FILE\n", "line 1: a header line without '#'"),
        (PAIRED, "a,1,0,3\n", "line 1: SIDE is 0, expected more than 0; draw it larger"),
        (PAIRED, "a,nan,1,3\n", "line 1: X is 'nan', expected a finite number"),
        (PAIRED, "a,1_0,1,3\n", "line 1: X is '1_0', expected a number"),
        (PAIRED, "a,1,1,3.5\n", "line 1: ID is '3.5', expected a whole number"),
        (PAIRED, f"a,1,1,{2**53}\n", "expected a whole number"),
        (PAIRED, " ,1,2,3\n", "line 1: FILE is empty, expected an image's name"),
        (PAIRED, '"a,1,2,3\n', "line 1: unexpected end of data; check the quotes"),
        (PAIRED, "# only\n\n", "nothing in it"),
        (EXACT, "head\na,1,2\n", "line 2: 3 fields, expected 4 as in the header; some are missing"),
        (EXACT, "head\na,1,2,3,4\n", "line 2: 5 fields, expected 4 as in the header; there are too many"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, layout, text, expected):
    with pytest.raises(InputError) as error:
        read_table(write(tmp_path, text), layout)
    assert expected in str(error.value) and "\n" not in str(error.value)


WORDS = st.sampled_from(["1", "2.50", "-3", "0", "1e1", " 4", "+5", "nan", "inf", "x", "", "1_0", "1e400", ".5"])
NAMES = st.sampled_from(["a", "b", "ü", '"c,d"', "", "# e", " # e", "f g", "FILE"])
LINES = st.lists(st.tuples(NAMES, st.lists(WORDS, min_size=2, max_size=6)), min_size=1, max_size=6)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(LINES, st.sampled_from([PAIRED, EXACT]))
def test_fast_and_slow_parsing_agree(tmp_path_factory, rows, layout):
    path = write(
        tmp_path_factory.getbasetemp(),
        "head\n" * layout.header_line + "".join(",".join([name, *words]) + "\n" for name, words in rows),
    )

    def outcome():
        try:
            return [part.tolist() if isinstance(part, np.ndarray) else part for part in read_table(path, layout)]
        except InputError as error:
            return str(error)

    fast = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "cut", lambda block, line: None)
        assert outcome() == fast


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_blocks_of_any_size_have_whole_lines_and_their_numbers(tmp_path, ends):
    text = ends.join(["# c", "", "a,1", "b,22", '"c,d",333'])
    for content in (text, text + ends, "\ufeff" + text):
        path = write(tmp_path, content)
        for size in range(4, 24):  # a byte-order mark has three
            found = list(blocks(path, size))
            assert b"".join(block for _, block in found) == b'# c\n\na,1\nb,22\n"c,d",333\n'
            line = 1
            for start, block in found:
                assert start == line and block.endswith(b"\n")
                line += block.count(b"\n")


def test_a_byte_order_mark_is_dropped_at_the_very_beginning_alone(tmp_path):
    path = write(tmp_path, "\ufeffa\n\ufeffb\n")
    for size in (5, 100):  # a block of five ends before the second mark
        assert b"".join(block for _, block in blocks(path, size)) == "a\n\ufeffb\n".encode()


def test_what_lies_above_the_header_line_is_left_out(tmp_path, monkeypatch):
    path = write(tmp_path, "# c\nhead\na,1\nb,2\n")
    for size in (1, 5, 9, 100):
        monkeypatch.setattr(text_blocks.blocks, "__defaults__", (size, None))
        assert list(all_rows(path, 2)) == [(3, ["a", "1"]), (4, ["b", "2"])]
        assert next(start for start, _ in data_blocks(path, 2)) == 3
    assert list(all_rows(path)) == [(2, ["head"]), (3, ["a", "1"]), (4, ["b", "2"])]


def test_a_block_is_cut_where_it_is_ordinary():
    found = cut(b"# c\n\na,1.5\n#x\nb,2,3\n", 4)
    assert found.line.tolist() == [6, 8] and found.count.tolist() == [2, 3] and found.first.tolist() == [0, 2]
    assert found.fields.to_pylist() == ["a", "1.5", "b", "2", "3"] and found.texts(1).to_pylist() == ["1.5", "2"]
    assert found.numbers(np.array([False, True, False, True, True]))[[1, 3, 4]].tolist() == [1.5, 2, 3]
    assert found.numbers(np.ones(5, bool)) is None
    assert cut(b'"a",1\n', 1) is None and cut(b"a,1\n  # x\n", 1) is None
    assert cut(b"a b+c\td,1\n", 1).fields.to_pylist() == ["a b+c\td", "1"]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a,1\nb\xff,2\n", "line 2: not UTF-8 text"),
        (b"a,1\nb\x00,2\n", "line 2: a zero byte"),
        (gzip.compress(b"a,1\n" * 999, mtime=0)[:-20], "damaged gzip file"),
    ],
)
def test_what_is_no_text_is_named_with_its_line(tmp_path, content, expected):
    with pytest.raises(InputError, match=expected):
        list(blocks(write(tmp_path, content)))


def test_places_that_are_no_files_and_lines_without_end_are_refused(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="no such file"):
        list(blocks(tmp_path / "none"))
    with pytest.raises(InputError, match="a folder, expected a file"):
        list(blocks(tmp_path))
    monkeypatch.setattr(text_blocks, "LONGEST_LINE", 10)
    with pytest.raises(InputError, match="line 2: longer than 10 bytes"):
        list(blocks(write(tmp_path, "a\n" + "b" * 40), 4))
    assert list(blocks(write(tmp_path, "a\n" + "b" * 10), 4)) == [(1, b"a\n"), (2, b"b" * 10 + b"\n")]


def test_the_first_line_and_the_header(tmp_path):
    path = write(tmp_path, gzip.compress(b'# c\n\n A ,"B",C\n1,2,3\n'))
    assert first_line(path) == (3, ' A ,"B",C')
    assert header_of(path, ["A"]) == (3, ["A", "B", "C"])
    assert places_in(["A", "B", "C"], ["C", "A"], "here", "") == [2, 0]
    with pytest.raises(InputError, match=r"here: no column Bb.*; put it in"):
        places_in(["A", "B"], ["A", "Bb"], "here", "put it in")
    assert first_line(write(tmp_path, "# c\n")) is None
    with pytest.raises(InputError, match="the file is empty, expected a header line A,B"):
        header_of(path, ["A", "B"])


def test_whole_numbers_are_those_that_a_double_holds():
    assert integer("2.0", "N", "here") == 2 and integer(str(2**53 - 1), "N", "here") == 2**53 - 1
    for wrong in ("2.5", str(2**53), "-9007199254740992"):
        with pytest.raises(InputError, match="expected a whole number"):
            integer(wrong, "N", "here")
