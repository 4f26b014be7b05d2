"""The reader of YAML: safe types alone, and a limit on the number of values, with aliases expanded."""

import re
from pathlib import Path
from typing import Any

import yaml

from countenance.data.tables import read_text
from countenance.errors import InputError

MOST_NODES = 100_000
"""Values, keys and containers, each counted as often as it would stand there if every alias were written out."""
LONGEST = 1 << 20
"""Characters of a file; the parser reads about this many in 5 s."""
HALVES = re.compile("[\\ud800-\\udfff]")
"""Halves of a surrogate pair, as an escape in quotes can write them."""


class _OneKeyEach(yaml.SafeLoader):
    """Refuses a repeated key, of which YAML silently takes the last."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key.value, str):
                if key.value in seen:
                    raise yaml.MarkedYAMLError(problem=f"{key.value!r} is there twice", problem_mark=key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> Any:
    """The value of a YAML file."""
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, place: str) -> Any:
    """The value of a YAML text; `place` names it in messages.

    >>> parse_yaml("a: [1, two]", "policy.yaml")
    {'a': [1, 'two']}
    >>> parse_yaml("a: &a [x, x]\\nb: &b [*a, *a]\\nc: [*b, *b]\\na: 1", "policy.yaml")
    Traceback (most recent call last):
    countenance.errors.InputError: policy.yaml line 4: not YAML ('a' is there twice)
    """
    if len(text) > LONGEST:
        raise InputError(f"{place}: {len(text):,} characters, expected at most {LONGEST:,} in a file of settings")
    try:
        loader = _OneKeyEach(text)
        node = loader.get_single_node()
        if node is None:
            return None
        if _expanded(node, {}) > MOST_NODES:
            raise InputError(
                f"{place}: more than {MOST_NODES:,} values once its aliases (*name) are written out; write it without"
            )
        return loader.construct_document(node)
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"{place}: not YAML (nested too deeply)") from None
    except Exception as error:  # dates and numbers that Python refuses raise errors of their own
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        words = getattr(error, "problem", None) or (str(error) or type(error).__name__).partition("\n")[0]
        raise InputError(f"{place}{line}: not YAML ({words[:200]})") from None


def _expanded(node: Any, known: dict[int, int]) -> int:
    """How many nodes there are when every alias is written out; at most one more than allowed."""
    if id(node) in known:
        count = known[id(node)]
        if not count:
            raise yaml.YAMLError("an alias (*name) that holds itself")
        return count
    known[id(node)] = 0
    count = 1
    if isinstance(node, yaml.SequenceNode):
        count += sum(_expanded(part, known) for part in node.value)
    elif isinstance(node, yaml.MappingNode):
        count += sum(_expanded(key, known) + _expanded(value, known) for key, value in node.value)
    elif HALVES.search(node.value):
        raise yaml.MarkedYAMLError(problem="half a character, which cannot be stored", problem_mark=node.start_mark)
    known[id(node)] = min(count, MOST_NODES + 1)
    return known[id(node)]
