"""Reading labels and predictions, and the submission check."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countenance.data.adapters.bias_bounty_files import (
    ATTRIBUTES,
    CLASSES,
    Truth,
    predictions_text,
    read_identities,
    read_labels,
    read_names,
    read_predictions,
)
from countenance.errors import InputError

HEADER = "name,skin_tone,gender,age\n"


def write(path: Path, rows: str, header: str = HEADER) -> Path:
    path.write_text(header + rows, encoding="utf-8")
    return path


def test_classes_keep_their_natural_order() -> None:
    assert CLASSES["skin_tone"][1] == "monk_2"
    assert CLASSES["skin_tone"][9] == "monk_10"


def test_an_empty_label_is_unlabelled(tmp_path: Path) -> None:
    table = read_labels(write(tmp_path / "labels.csv", "a,monk_10,,0_17\nb,,male,\n"))
    assert [int(table.codes["skin_tone"][i]) for i in (0, 1)] == [9, -1]
    assert [int(table.codes["gender"][i]) for i in (0, 1)] == [-1, 1]


def test_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    table = read_labels(write(tmp_path / "labels.csv", "0_17,a,male,monk_2\n", "age,name,gender,skin_tone\n"))
    assert {name: int(table.codes[name][0]) for name in ATTRIBUTES} == {"skin_tone": 1, "age": 0, "gender": 1}


def test_an_unknown_label_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown classes of gender: 1 \('femal' at a line 2 \(did you mean"):
        read_labels(write(tmp_path / "labels.csv", "a,monk_1,femal,0_17\n"))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'gender'"):
        read_labels(write(tmp_path / "labels.csv", "a,monk_1,0_17\n", "name,skin_tone,age\n"))


def test_no_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows below the header"):
        read_labels(write(tmp_path / "labels.csv", ""))


def test_every_problem_of_a_submission_is_listed_once_with_examples(tmp_path: Path) -> None:
    rows = "a,monk_11,male,0_17\na,monk_1,male,0_17\nb,monk_1,NaN,0_17\nx,monk_1,male,\n,monk_1,male,0_17\n"
    with pytest.raises(InputError) as caught:
        read_predictions(write(tmp_path / "p.csv", rows), ["a", "b", *(f"m{i}" for i in range(9))])
    message = str(caught.value)
    for expected in (
        "unknown classes of skin_tone: 1 ('monk_11' at a line 2",
        "duplicate names: 1 (a line 3)",
        "gender empty or not a class (NaN): 1 (b line 4)",
        "age empty or not a class (NaN): 1 (x line 5)",
        "rows without a name: 1 (line 6)",
        "missing names: 9 (m0, m1, m2, …)",
        "extra names: 1 (x)",
        "wrong count of rows: 1 (5 rows, expected 11)",
    ):
        assert message.count(expected) == 1, expected
    assert "\n" not in message


def test_a_whole_submission_passes(tmp_path: Path) -> None:
    table = read_predictions(write(tmp_path / "p.csv", "b,monk_1,male,0_17\na,monk_3,female,18_30\n"), ["a", "b"])
    np.testing.assert_array_equal(table.rows(["a", "b"])["skin_tone"], [2, 0])


def test_a_name_twice_among_non_faces_is_refused(tmp_path: Path) -> None:
    (tmp_path / "n.txt").write_text("a\nb\na\n")
    with pytest.raises(InputError, match="duplicate names: 1"):
        read_names(tmp_path / "n.txt")


def test_an_image_without_identity_stands_for_itself(tmp_path: Path) -> None:
    (tmp_path / "identities.csv").write_text("name,identity\na,z\nb,z\n")
    found = read_identities(tmp_path / "identities.csv", ["a", "b", "z"])
    assert found == ("z", "z", None)
    labels = read_labels(write(tmp_path / "labels.csv", "a,monk_1,,\nb,monk_1,,\nz,monk_1,,\n"))
    assert Truth(labels, found).clusters.tolist() == [0, 0, 1], "a picture may be named like a person"


words = st.fixed_dictionaries({name: st.sampled_from(CLASSES[name]) for name in ATTRIBUTES})
names = st.lists(
    st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Z")), min_size=1, max_size=12), unique=True, min_size=1
)


@given(names, st.data())
def test_written_predictions_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, who: list[str], data: st.DataObject
) -> None:
    labels = [data.draw(words) for _ in who]
    path = tmp_path_factory.mktemp("p") / "p.csv"
    path.write_text(predictions_text(who, labels), encoding="utf-8", newline="")
    table = read_predictions(path, who)
    for i, row in enumerate(labels):
        assert {name: CLASSES[name][table.codes[name][i]] for name in ATTRIBUTES} == row
