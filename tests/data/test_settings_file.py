"""Settings files: values of the kind of their defaults, keys that lead to keys, one line for what is wrong."""

from pathlib import Path

import pytest

from countenance.data.settings_file import SettingsFile, parse_overrides
from countenance.errors import InputError


class Mine(SettingsFile):
    defaults = {  # noqa: RUF012
        "folder": "here",
        "which": "one",
        "workers": 2,
        "file": "{folder}/{which}.txt",
        "gpu": -1,
        "eval": {"iou": 0.5, "linear": False, "limits": [0.2, 0.3], "files": ["{file}"], "labels": [], "rank": 1},
    }
    least = {"gpu": -1, "eval.rank": 1}  # noqa: RUF012
    choices = {"which": ("one", "two")}  # noqa: RUF012


def read(tmp_path: Path, text: str, *overrides: str) -> Mine:
    (tmp_path / "c.yaml").write_text(text)
    return Mine.read(tmp_path / "c.yaml", overrides)


def test_the_command_line_comes_before_the_file_and_the_file_before_the_defaults(tmp_path):
    made = read(tmp_path, "folder: there\neval: {iou: 0.4, linear: true}\n", "--eval.iou", "1", "--which=two")
    assert made.path("file") == Path("there/two.txt") and made["eval.files"] == ["there/two.txt"]
    assert (made["eval.iou"], made["eval.linear"], made["eval.rank"], made["gpu"]) == (1, True, 1, -1)
    assert Mine.from_values({"workers": 0}, {})["workers"] == 0 and Mine.read(None)["workers"] == 2
    assert Mine.read(None)["file"] == "here/one.txt" and read(tmp_path, "")["file"] == "here/one.txt"


def test_a_key_that_is_not_known_is_noticed_with_what_is_below_it(tmp_path):
    made = read(tmp_path, "foldr: x\nother: {a: 1}\n")
    assert [notice.removeprefix(f"{tmp_path}/c.yaml: ") for notice in made.notices] == [
        "'foldr' is not used here (did you mean folder?)",
        "'other' is not used here",
    ]


def test_lists_may_be_given_as_one_value_and_words_as_numbers():
    made = Mine.from_values(
        {"eval": {"files": "a.txt", "labels": None, "limits": [1]}, "folder": 7}, {"eval.labels": [1, "b"]}
    )
    assert (made["eval.files"], made["eval.labels"], made["eval.limits"]) == (["a.txt"], ["1", "b"], [1])
    assert made["file"] == "7/one.txt" and made["folder"] == "7"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gpu": -2}, "gpu is -2, expected a whole number, at least -1"),
        ({"workers": -1}, "workers is -1, expected a whole number, at least 0"),
        ({"gpu": True}, "gpu is True, expected a whole number"),
        ({"gpu": 0.5}, "gpu is 0.5, expected a whole number"),
        ({"eval": {"rank": 0}}, "eval.rank is 0, expected a whole number, at least 1"),
        ({"eval": {"iou": "much"}}, "eval.iou is 'much', expected a number"),
        ({"eval": {"iou": False}}, "eval.iou is False, expected a number"),
        ({"eval": {"linear": 1}}, "eval.linear is 1, expected true or false"),
        ({"eval": {"limits": 0.2}}, "eval.limits is 0.2, expected a list of numbers"),
        ({"eval": {"limits": ["a"]}}, "expected a list of numbers"),
        ({"eval": {"files": []}}, "eval.files is [], expected a name or a list of names"),
        ({"eval": {"labels": [[1]]}}, "expected a name or a list of names"),
        ({"which": "three"}, "which is 'three', expected one of one, two"),
        ({"folder": None}, "{folder} stands for no word or number"),
        ({"folder": "{folder}/x"}, "refers to itself"),
        ({"folder": "{lost}"}, "{lost} stands for no word or number"),
        ({"eval": 3}, "eval is 3, expected keys below it"),
    ],
)
def test_a_wrong_value_is_one_line_that_names_it(given, message):
    with pytest.raises(InputError) as error:
        Mine.from_values(given, {})
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["- a\n- b\n", "a: [1", "eval: 3\n", "a: &x [*x]\n", "\t: :"])
def test_a_file_that_holds_no_settings_is_refused(tmp_path, text):
    with pytest.raises(InputError):
        read(tmp_path, text)


def test_values_are_read_as_yaml_reads_them():
    assert parse_overrides(["--a", "true", "--b", "[1, 2]", "--c", "x.txt"]) == {"a": True, "b": [1, 2], "c": "x.txt"}
    assert parse_overrides(["--a", "{b}/x", "--c=", "--d", "1", "2"]) == {"a": "{b}/x", "c": None, "d": [1, 2]}
    for words, message in (
        (["a"], "expected --key value"),
        (["--a"], "--a: no value after it"),
        (["--a", "[1"], "YAML"),
    ):
        with pytest.raises(InputError, match=message):
            parse_overrides(words)
