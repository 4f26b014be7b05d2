"""Settings from one YAML file: any key overridable as `--a.b.c value`, `{key}` substituted, every value checked."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from countenance.data.tables import near
from countenance.data.yaml_text import parse_yaml, read_yaml
from countenance.errors import InputError

MOST_ROUNDS = 10
"""How many `{key}` may refer to one another in a chain."""


@dataclass(frozen=True)
class SettingsFile:
    """Settings with every `{key}` filled in and every value checked, read by dotted names.

    A subclass says which keys there are. A value must be of the kind that its default is: a truth value, a whole
    number, a number, a word, a list of numbers or a list of words.

    >>> class Mine(SettingsFile):
    ...     defaults = {"data": "here", "images": "{data}/images", "eval": {"iou": 0.5}}
    >>> Mine.from_values({"data": "there"}, {"eval.iou": 0.4})["images"]
    'there/images'
    """

    values: Mapping[str, Any]
    notices: Sequence[str] = ()
    defaults: ClassVar[Mapping[str, Any]] = {}
    least: ClassVar[Mapping[str, int]] = {}
    """Whole numbers are at least 0, except these."""
    choices: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Settings that take a word, with the words that each may be."""

    @classmethod
    def flat(cls) -> list[tuple[str, Any]]:
        """Every key by its dotted name, with its default.

        >>> class Mine(SettingsFile):
        ...     defaults = {"data": "here", "eval": {"iou": 0.5}}
        >>> Mine.flat()
        [('data', 'here'), ('eval.iou', 0.5)]
        """
        return list(_flat(cls.defaults, cls.defaults))

    @classmethod
    def read(cls, path: Path | None, overrides: Sequence[str] = ()) -> Self:
        """The settings of a file (the defaults where none is given) with what the command line says instead."""
        flags = [name for name, default in cls.flat() if isinstance(default, bool)]
        words = parse_overrides(overrides, flags)
        return cls.from_values({} if path is None else _yaml(path), words, str(path or "command line"))

    @classmethod
    def from_values(cls, stated: Mapping[str, Any], overrides: Mapping[str, Any], place: str = "configuration") -> Self:
        """The defaults, overridden by `stated` and then by `overrides`; an error is one line that names the key.

        An unknown key is a notice in `stated` and an error in `overrides`.
        """
        known, own = dict(cls.flat()), dict(_flat(stated, cls.defaults))
        notices = [f"{place}: {name!r} is not used here{near(name, list(known))}" for name in own if name not in known]
        for name in overrides:
            if name not in known:
                raise InputError(f"--{name}: no such key{near(name, list(known))}; there are {', '.join(known)}")
        chosen = known | own | dict(overrides)
        filled = {name: _filled(chosen[name], chosen, place) for name in known}
        return cls({name: cls._checked(name, filled[name], known[name], place) for name in known}, notices)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def path(self, name: str) -> Path:
        return Path(self[name])

    @classmethod
    def _checked(cls, name: str, value: Any, default: Any, place: str) -> Any:
        """A value of the kind that its default is."""
        least, choices = cls.least.get(name, 0), cls.choices.get(name)
        if isinstance(default, bool):
            good, expected = isinstance(value, bool), "true or false"
        elif isinstance(default, int):
            good, expected = _number(value, int) and value >= least, f"a whole number, at least {least}"
        elif isinstance(default, float):
            good, expected = _number(value, int, float), "a number"
        elif isinstance(default, list) and default and all(_number(item, int, float) for item in default):
            good = isinstance(value, list) and all(_number(item, int, float) for item in value)
            expected = "a list of numbers"
        elif isinstance(default, list):
            value = [] if value is None else value if isinstance(value, list) else [value]
            good = bool(value or not default) and all(_word(item) for item in value)
            expected, value = "a name or a list of names", [str(item) for item in value]
        elif choices is not None:
            good, expected = value in choices, f"one of {', '.join(choices)}"
        else:
            good, expected, value = _word(value), "a word", str(value) if _word(value) else value
        if not good:
            raise InputError(f"{place}: {name} is {value!r:.60}, expected {expected}")
        return value


def _number(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _word(value: Any) -> bool:
    return isinstance(value, str) or _number(value, int, float)


def parse_overrides(words: Sequence[str], flags: Sequence[str] = ()) -> dict[str, Any]:
    """`--a.b.c value` pairs; several values make a list, and one of `flags` without a value is true.

    >>> parse_overrides(["--eval.iou", "0.4", "--eval.detection.labels", "A", "B", "--gpu=-1"])
    {'eval.iou': 0.4, 'eval.detection.labels': ['A', 'B'], 'gpu': -1}
    >>> parse_overrides(["--eval.linear", "--eval.iou", "0.4"], ["eval.linear"])
    {'eval.linear': True, 'eval.iou': 0.4}
    """
    result: dict[str, list[Any]] = {}
    name = None
    for word in words:
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            result[name] = [_scalar(value, f"--{name}")] if equals else []
        elif name is None:
            raise InputError(f"{word!r}: expected --key value; a configuration file comes first")
        else:
            result[name].append(_scalar(word, f"--{name}"))
    for name, values in result.items():
        if not values and name in flags:
            values.append(True)
        if not values:
            raise InputError(f"--{name}: no value after it")
    return {name: values[0] if len(values) == 1 else values for name, values in result.items()}


def _scalar(text: str, place: str) -> Any:
    """A value in YAML's interpretation; a word that begins with `{key}` stays a word."""
    return text if text.startswith("{") else parse_yaml(text, place)


def _yaml(path: Path) -> Mapping[str, Any]:
    result = read_yaml(path)
    if not isinstance(result, dict | None):
        raise InputError(f"{path}: a {type(result).__name__}, expected keys such as data_directory and eval")
    return result or {}


def _flat(values: Mapping[Any, Any], below: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Every value under its dotted name; an unknown key keeps its nested value."""
    for key, value in values.items():
        name, part = f"{before}{key}", below.get(key)
        if not isinstance(part, Mapping):
            yield name, value
        elif not isinstance(value, Mapping):
            raise InputError(f"{name} is {value!r:.40}, expected keys below it")
        else:
            yield from _flat(value, part, f"{name}.")


def _filled(value: Any, values: Mapping[str, Any], place: str) -> Any:
    """The value with every `{key}` replaced by the value of that key."""
    if isinstance(value, list):
        return [_filled(item, values, place) for item in value]
    if not isinstance(value, str):
        return value
    for _ in range(MOST_ROUNDS):
        fresh = re.sub(r"\{([A-Za-z_][\w.]*)\}", lambda match: _looked_up(match[1], values, place), value)
        if fresh == value:
            return value
        value = fresh
    raise InputError(f"{place}: {value!r:.60} refers to itself")


def _looked_up(name: str, values: Mapping[str, Any], place: str) -> str:
    if not _word(values.get(name)):
        raise InputError(f"{place}: {{{name}}} stands for no word or number; name a key such as {{data_directory}}")
    return str(values[name])
