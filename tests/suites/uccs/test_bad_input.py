"""Every wrong input gets one clear line with file, line and remedy, or a defined result; nothing is half-written."""

import gzip
import json

import pytest
from challenge_files import HEADER, write_truth

from countenance.answers.formats.uccs_scores import read_scores
from countenance.data.adapters.uccs_protocol import read_protocol
from countenance.data.reading.lines import cut
from countenance.errors import InputError
from countenance.suites.uccs import CurveSettings, evaluate_detector, evaluate_recognizer

V3 = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT"


def refused(small, tmp_path, text, evaluate=evaluate_detector, **more):
    path = tmp_path / "mine.txt"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(InputError) as error:
        evaluate(small, [path], **more)
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(tmp_path), "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.jpg,1,1,8,8", "line 5: 5 fields, expected at least 6 (FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE)"),
        ("a.jpg", "line 5: 1 fields, expected at least 6"),
        ("a.jpg,1,1,8,8,.5,3", "line 5: 7 fields; after the first 6 come pairs SUBJECT_ID,SCORE"),
        ("a.jpg,1,1,8,8,high", "line 5: DETECTION_SCORE is 'high', expected a number"),
        ("a.jpg,1,1,8,8,", "line 5: DETECTION_SCORE is '', expected a number"),
        ("a.jpg,1,1,8,8,nan", "line 5: DETECTION_SCORE is 'nan', expected a finite number"),
        ("a.jpg,1,1,8,8,-inf", "line 5: DETECTION_SCORE is '-inf', expected a finite number"),
        ("a.jpg,1,1,8,8,1e999", "line 5: DETECTION_SCORE is '1e999', expected a finite number"),
        ("a.jpg,1_0,1,8,8,.5", "line 5: BB_X is '1_0', expected a number"),
        ("a.jpg,1,1,0,8,.5", "line 5: BB_WIDTH is 0, expected more than 0"),
        ("a.jpg,1,1,8,-8,.5", "line 5: BB_HEIGHT is -8, expected more than 0"),
        (",1,1,8,8,.5", "line 5: FILE is empty, expected an image's name"),
        ("a.jpg;1;1;8;8;.5", "line 5: 1 fields, expected at least 6"),
        ('"a.jpg,1,1,8,8,.5', "line 5: unexpected end of data; check the quotes"),
    ],
)
def test_a_wrong_line_is_named(small, tmp_path, good_lines, line, expected):
    text = "\n".join([*good_lines[:4], line, *good_lines[4:]])
    assert f"/mine.txt {expected}" in refused(small, tmp_path, text)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a.jpg,1,1,8,8,.5,three,.5", "SUBJECT_ID_1 is 'three', expected a number"),
        ("a.jpg,1,1,8,8,.5,3.5,.5", "SUBJECT_ID_1 is '3.5', expected a whole number"),
        ("a.jpg,1,1,8,8,.5,3,.5,4,nan", "SCORE_2 is 'nan', expected a finite number"),
    ],
)
def test_a_wrong_label_is_named(small, tmp_path, good_lines, line, expected):
    text = "\n".join([*good_lines, line])
    assert f"/mine.txt line 7: {expected}" in refused(small, tmp_path, text, evaluate_recognizer)


def test_a_header_without_a_hash_is_named(small, tmp_path, good_lines):
    text = "\n".join([good_lines[1][2:], *good_lines[2:]])
    assert "line 1: a header line without '#'" in refused(small, tmp_path, text)


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n# here\n", "\ufeff"])
def test_an_empty_file_is_named(small, tmp_path, text):
    assert "no detection in it" in refused(small, tmp_path, text)


def test_a_missing_file_and_a_folder_are_named(small, tmp_path):
    with pytest.raises(InputError, match="no such file"):
        evaluate_detector(small, [tmp_path / "none.txt"])
    with pytest.raises(InputError, match="a folder, expected a file"):
        evaluate_detector(small, [tmp_path])


def test_a_detection_file_has_no_recognition_curve(small, tmp_path, good_lines):
    detections = "\n".join(line if line[0] == "#" else ",".join(line.split(",")[:6]) for line in good_lines)
    assert "detections only; a recognition curve needs" in refused(small, tmp_path, detections, evaluate_recognizer)
    v3 = f"{V3}\na.jpg,.5,1,1,8,8\n"
    assert "needs columns S_0001" in refused(small, tmp_path, v3, evaluate_recognizer)


def test_labels_and_files_must_be_as_many(small, tmp_path, good_lines):
    text = "\n".join(good_lines)
    assert "2 labels for 1 result files" in refused(small, tmp_path, text, labels=["one", "two"])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (CurveSettings(overlap=0), "overlap_threshold is 0"),
        (CurveSettings(overlap=1.5), "overlap_threshold is 1.5"),
        (CurveSettings(rank=0), "rank is 0, expected 1 or more"),
    ],
)
def test_settings_out_of_range_are_named(small, tmp_path, good_lines, settings, expected):
    assert expected in refused(small, tmp_path, "\n".join(good_lines), settings=settings)


def test_text_that_is_not_utf8_is_named(small, tmp_path):
    assert "line 2: not UTF-8 text" in refused(small, tmp_path, b"a.jpg,1,1,8,8,.5\nb\xff.jpg,1,1,8,8,.5\n")
    assert "not UTF-8 text" in refused(small, tmp_path, "a.jpg,1,1,8,8,.5\n".encode("utf-16"))


def test_a_damaged_gzip_is_named(small, tmp_path, good_lines):
    whole = gzip.compress("\n".join(good_lines * 99).encode())
    assert "damaged gzip file" in refused(small, tmp_path, whole[:-40])


def test_more_than_ten_labels_warn_once_and_count(small, tmp_path, good_lines):
    many = ",".join(f"{k},.1" for k in range(10, 22))
    path = tmp_path / "mine.txt"
    path.write_text("\n".join([*good_lines, f"a.jpg,90,90,5,5,.5,{many}", f"a.jpg,90,90,5,5,.5,{many}"]))
    found = evaluate_recognizer(small, [path])[0]
    assert [w for w in found.warnings if "12 labels" in w] == [
        f"{path} line 7: 12 labels, the challenge allows 10 a face (2 such lines); all of them are used"
    ]


@pytest.mark.parametrize("change", ["crlf", "cr", "bom", "gz", "blank", "spaces", "quotes", "comment", "no end"])
def test_harmless_differences_change_nothing(small, tmp_path, good_lines, change):
    plain = tmp_path / "plain.txt"
    plain.write_text("\n".join(good_lines) + "\n")
    text = "\n".join(good_lines) + "\n"
    content = {
        "crlf": text.replace("\n", "\r\n").encode(),
        "cr": text.replace("\n", "\r").encode(),
        "bom": text.encode("utf-8-sig"),
        "gz": gzip.compress(text.encode("utf-8-sig")),
        "blank": text.replace("\nb", "\n\n\nb").encode(),
        "spaces": text.replace("jpg,1", "jpg, 1").replace("0.90", " 0.90 ").encode(),
        "quotes": text.replace("a.jpg", '"a.jpg"').encode(),
        "comment": text.replace("\nb", "\n# half way\nb").encode(),
        "no end": text.rstrip("\n").encode(),
    }[change]
    other = tmp_path / "other.txt"
    other.write_bytes(content)
    for evaluate in (evaluate_detector, evaluate_recognizer):
        one, two = evaluate(small, [plain, other])
        assert one.curve.x.tolist() == two.curve.x.tolist()
        assert one.curve.y.tolist() == two.curve.y.tolist()


def test_a_file_larger_than_a_block_is_read_in_pieces(tmp_path, monkeypatch, good_lines):
    from countenance.data.reading import text_blocks as files

    path = tmp_path / "mine.txt"
    path.write_text("\n".join(good_lines) + "\n")
    expected = read_scores(path)
    for size in (1, 7, 50, 64):
        monkeypatch.setattr(files.blocks, "__defaults__", (size, None))
        pieces = read_scores(path)
        assert pieces.images == expected.images
        for name in ("image", "line", "box", "score"):
            assert getattr(pieces, name).tolist() == getattr(expected, name).tolist()
        assert pieces.labels.identity.tolist() == expected.labels.identity.tolist()


def test_windows_line_ends_survive_a_block_border(tmp_path, monkeypatch, good_lines):
    from countenance.data.reading import text_blocks as files

    path = tmp_path / "mine.txt"
    path.write_bytes("\r\n".join(good_lines).encode())
    for size in range(1, 90):
        monkeypatch.setattr(files.blocks, "__defaults__", (size, None))
        assert read_scores(path).line.tolist() == [3, 4, 5, 6]


def test_a_comment_line_is_no_detection():
    assert cut(b"a,1\n# x\n\nb,2\n", 7).line.tolist() == [7, 10]


# version 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{V3}\na.jpg,.5,1,1,8\n", "line 2: 5 fields, expected 6 as in the header; some are missing"),
        (f"{V3}\na.jpg,.5,1,1,8,8,9\n", "line 2: 7 fields, expected 6 as in the header; there are too many"),
        (f"{V3}\na.jpg,nan,1,1,8,8\n", "line 2: DETECTION_SCORE is 'nan'"),
        (f"{V3}\na.jpg,.5,1,1,8,0\n", "line 2: BB_HEIGHT is 0"),
        (f"{V3}\n", "no detection in it"),
        (f"{V3},S_0001,S_1\na,.5,1,1,8,8,.1,.2\n", "line 1: a gallery subject has two similarity columns"),
        (f"{V3},SIMILARITY\na,.5,1,1,8,8,.1\n", "line 1: column 'SIMILARITY' is not known"),
        (V3.replace("BB_Y", "BBY") + "\na,.5,1,1,8,8\n", "line 1: no column BB_Y (did you mean BBY"),
    ],
)
def test_a_wrong_version_three_file_is_named(small, tmp_path, text, expected):
    assert expected in refused(small, tmp_path, text)


def test_a_wrong_similarity_is_named(small, tmp_path):
    text = f"{V3},S_0001,S_0002\na,.5,1,1,8,8,.1,.2\na,.5,1,1,8,8,.1,inf\n"
    message = refused(small, tmp_path, text, evaluate_recognizer)
    assert "/mine.txt line 3: S_0002 is 'inf', expected a finite number" in message


# protocols


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the file is empty, expected a header line"),
        (HEADER, "no face below the header"),
        (HEADER + "1,a.jpg,3,0,0,10\n", "line 2: 6 fields, expected at least 7"),
        (HEADER + "1,a.jpg,three,0,0,10,10\n", "line 2: SUBJECT_ID is 'three', expected a number"),
        (HEADER + "1,a.jpg,3,0,0,nan,10\n", "line 2: FACE_WIDTH is 'nan', expected a finite number"),
        (HEADER + "1,,3,0,0,10,10\n", "line 2: FILE is empty"),
        ("FILE\na.jpg\nb.jpg\n", "names images only, so there is no truth"),
        ("1,a.jpg,3,0,0,10,10\n", "line 1: no header line"),
        ("NAME,FILE\n", "line 1: 2 columns, expected at least 7"),
    ],
)
def test_a_wrong_protocol_is_named(small, tmp_path, good_lines, text, expected):
    (small / "protocol" / "validation.csv").write_text(text)
    assert expected in refused(small, tmp_path, "\n".join(good_lines))


def test_a_missing_protocol_is_named(small, tmp_path, good_lines):
    (small / "protocol" / "validation.csv").unlink()
    assert "holds a version 3 protocol only" in refused(small, tmp_path, "\n".join(good_lines))
    (small / "validation.csv").unlink()
    assert "no protocol of the validation set" in refused(small, tmp_path, "\n".join(good_lines))


def test_further_protocol_columns_are_ignored(small, tmp_path, good_lines):
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(good_lines))
    before = evaluate_recognizer(small, [path])[0].curve
    protocol = small / "protocol" / "validation.csv"
    lines = protocol.read_text().splitlines()
    protocol.write_text("\n".join([lines[0] + ",MASK,AGE", *(f'{line},"no, none",33' for line in lines[1:])]))
    after = evaluate_recognizer(small, [path])[0].curve
    assert (before.x.tolist(), before.y.tolist()) == (after.x.tolist(), after.y.tolist())


def test_a_face_without_area_stays_in_the_count_and_is_reported(tmp_path, good_lines):
    data = write_truth(tmp_path / "data", [("a.jpg", 3, (0.0, 0.0, 10.0, 10.0)), ("a.jpg", 4, (3.0, 3.0, 0.0, 5.0))])
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(good_lines[:4]))
    found = evaluate_detector(data, [path])[0]
    assert (found.total, found.hits) == (2, 1)
    assert any("1 faces have no area" in warning for warning in found.warnings)


def test_a_set_without_known_subjects_has_no_recognition_rate(tmp_path, good_lines):
    data = write_truth(tmp_path / "data", [("a.jpg", -1, (0.0, 0.0, 10.0, 10.0))])
    assert "no face of a known subject" in refused(data, tmp_path, "\n".join(good_lines[:4]), evaluate_recognizer)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n1\n", "line 2: FACE_ID 1 is in line 1 already"),
        ("1\n99\n", "line 2: FACE_ID 99 is not in validation.csv"),
        ("one\n", "line 1: FACE_ID is 'one'"),
    ],
)
def test_a_wrong_exclusion_is_named(small, tmp_path, text, expected):
    (small / "exclude_gallery_validation.txt").write_text(text)
    assert expected in refused(small, tmp_path, f"{V3}\na.jpg,.5,1,1,8,8\n")


def test_json_numbers_are_plain(small, tmp_path, good_lines):
    path = tmp_path / "mine.txt"
    path.write_text("\n".join(good_lines))
    curve = evaluate_detector(small, [path])[0].to_dict()
    assert json.loads(json.dumps(curve, allow_nan=False)) == curve


class Runs:
    """Would leave a file if its pickle were executed."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_faces_excluded_by_a_pickled_list_are_read_without_executing_it(small, tmp_path):
    import pickle

    text = small / "exclude_gallery_validation.txt"
    ids = [int(line) for line in text.read_text().split()] or [1]
    text.write_text("".join(f"{face}\n" for face in ids))
    before = read_protocol(small, "validation", 3).excluded
    text.unlink()
    pickled = text.with_suffix(".pickle")
    pickled.write_bytes(pickle.dumps(ids))
    assert (read_protocol(small, "validation", 3).excluded == before).all()
    pickled = pickled.rename(text.with_suffix(".pkl"))
    for values in (ids, set(ids), tuple(ids), [str(face) for face in ids]):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            if isinstance(values, set) and protocol < 4:
                continue  # before version 4 a set needs a call
            pickled.write_bytes(pickle.dumps(values, protocol))
            assert (read_protocol(small, "validation", 3).excluded == before).all() and before.any()
    trap = tmp_path / "executed"
    pickled.write_bytes(pickle.dumps([Runs(str(trap))]))
    with pytest.raises(InputError, match="which is not read from a pickle"):
        read_protocol(small, "validation", 3)
    pickled.write_bytes(pickle.dumps(ids)[:-3])
    with pytest.raises(InputError, match="expected a pickled list"):
        read_protocol(small, "validation", 3)
    assert not trap.exists()
