"""YAML from strangers: small files that would grow, and every error as one line."""

import pytest

from countenance.data.yaml_text import parse_yaml
from countenance.errors import InputError


def bomb(levels: int, width: int = 9, form: str = "[{}]") -> str:
    lines = (f"a{k}: &a{k} " + form.format(", ".join([f"*a{k - 1}"] * width)) for k in range(1, levels))
    return "\n".join(["a0: &a0 [lol, lol]", *lines])


def test_aliases_are_read_as_long_as_they_are_few() -> None:
    assert parse_yaml("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}", "f") == {
        "a": {"x": 1},
        "b": {"x": 1},
        "c": {"x": 1, "y": 2},
    }
    assert parse_yaml(bomb(4), "f")["a3"][8][8][8] == ["lol", "lol"]


@pytest.mark.parametrize("text", [bomb(9), bomb(60), bomb(9, form="{{k: [{}]}}"), bomb(3000, 1)])
def test_a_bomb_of_aliases_is_refused_at_once(text: str) -> None:
    with pytest.raises(InputError, match=r"more than 100,000 values once its aliases|nested too deeply|characters"):
        parse_yaml(text, "policy.yaml")


def test_merged_keys_cannot_grow_either() -> None:
    lines = ["a0: &a0 {x: 1}"] + [f"a{k}: &a{k} {{<<: [{', '.join([f'*a{k - 1}'] * 9)}]}}" for k in range(1, 9)]
    with pytest.raises(InputError, match="once its aliases"):
        parse_yaml("\n".join(lines), "policy.yaml")


WRONG = (
    "a: &a [*a]",
    "[" * 5000,
    "{" * 5000,
    "a: 2024-99-99",
    "a: " + "1" * 5000,
    "!!python/object:os.system x",
    "\0",
    "a: !!binary é",
    "? [a]\n: b",
    "a: b: c",
    "*nobody",
    "%YAML 9.9\n---\na",
    "a: 1\na: 2",
    "a: !!float x",
    "--- a\n--- b",
    "a: !!timestamp x",
    "\ud800",
    "a: 1:99:99",
    "- &a\n- *b",
    "x" * (1 << 21),
)


@pytest.mark.parametrize("text", ['a:\n- "\\ud800"', '"\\udfff": 1', 'a: {b: "x\\uD83D\\uDE00"}'])
def test_half_a_character_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^policy\.yaml line \d: not YAML \(half a character"):
        parse_yaml(text, "policy.yaml")


@pytest.mark.parametrize("text", WRONG)
def test_whatever_is_wrong_is_one_line(text: str) -> None:
    try:
        parse_yaml(text, "policy.yaml")
    except InputError as error:
        assert str(error).startswith("policy.yaml") and "\n" not in str(error)
