"""Readers: whatever is in a file, the answer is data or one clear line; fast and slow parsing agree."""

import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countenance.answers.formats.uccs_scores import read_scores
from countenance.data.adapters.uccs_protocol import read_protocol
from countenance.data.reading import lines as reader
from countenance.errors import InputError
from countenance.suites.uccs import check_file
from countenance.suites.uccs.score_writer import write_v2

quick = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

number = st.sampled_from(
    ["1", "2.50", "-3", "0", "1e1", " 4", "+5", "nan", "inf", "x", "", "1_0", "0x1", "1e400", ".5"]
)
name = st.sampled_from(["a.jpg", "b.jpg", "ü.jpg", '"c,d.jpg"', "", "# e.jpg", " # e.jpg", "f g.jpg", "FILE"])
good = st.sampled_from(["1", "2.50", "0.25", "7", "12.5"])


def lines(words, least, most):
    fields = st.lists(words, min_size=least, max_size=most)
    return st.lists(st.tuples(name, fields).map(lambda row: ",".join([row[0], *row[1]])), min_size=1, max_size=6)


def outcome(read):
    try:
        scores = read()
    except InputError as error:
        assert "\n" not in str(error)
        return str(error)
    labels = [x.tolist() for x in vars(scores.labels).values()]
    columns = [getattr(scores, c).tolist() for c in ("image", "line", "box", "score")]
    return scores.images, columns, labels, scores.warnings


@quick
@given(st.one_of(lines(number, 3, 9), lines(good, 5, 5), lines(good, 7, 7)))
def test_version_two_fast_and_slow_agree(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "two.txt"
    path.write_text("\n".join(text) + "\n")
    fast = outcome(lambda: read_scores(path, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "cut", lambda block, line: None)
        slow = outcome(lambda: read_scores(path, 2))
    assert fast == slow


@quick
@given(st.one_of(lines(number, 5, 7), lines(good, 5, 5), lines(good, 7, 7)), st.sampled_from([0, 2]))
def test_version_three_fast_and_slow_agree(tmp_path_factory, text, subjects):
    path = tmp_path_factory.getbasetemp() / "three.txt"
    header = ["FILE", "DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT"]
    header += [f"S_{k}" for k in range(1, subjects + 1)]
    path.write_text("\n".join([",".join(header), *text]) + "\n")
    fast = outcome(lambda: read_scores(path, 3, top=subjects))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "cut", lambda block, line: None)
        slow = outcome(lambda: read_scores(path, 3, top=subjects))
    assert fast == slow


@quick
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)), st.booleans())
def test_any_bytes_give_data_or_one_clear_line(tmp_path_factory, content, zipped):
    folder = tmp_path_factory.getbasetemp() / "any"
    (folder / "protocol").mkdir(parents=True, exist_ok=True)
    path = folder / "any.txt"
    path.write_bytes(gzip.compress(content) if zipped else content)
    for read in (read_scores, check_file):
        try:
            read(path)
        except InputError as error:
            assert str(error).splitlines()[:1] == [str(error)]
    (folder / "protocol" / "validation.csv").write_bytes(content)
    (folder / "validation.csv").write_bytes(content)
    for version in (2, 3):
        try:
            read_protocol(folder, "validation", version)
        except InputError as error:
            assert str(error).splitlines()[:1] == [str(error)]


@quick
@given(st.lists(st.tuples(st.floats(-9e3, 9e3), st.floats(0.01, 9e3), st.floats(-1, 1)), min_size=1, max_size=9))
def test_what_is_written_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "written.txt"
    found = [("b,c.jpg", [((x, x, w, w), s, [(7, s), (-1, s)]) for x, w, s in rows]), ("a.jpg", [])]
    write_v2(path, found, recognition=True, command="test\nwith a line break")
    back = read_scores(path)
    assert back.images == ("b,c.jpg",)
    assert back.line[0] == 3
    np.testing.assert_allclose(back.box[:, 0], [x for x, _, _ in rows], atol=0.0051)
    np.testing.assert_allclose(back.labels.score[::2], [s for _, _, s in rows], atol=6e-7)
