"""Version 3's configuration: one YAML file, any key overridable as `--a.b.c value`, `{key}` substituted."""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.data.tables import near, read_text
from countenance.errors import InputError
from countenance.suites.uccs.protocol import SETS

_DETECTIONS = "{result_directory}/UCCS-detection-baseline-{which_set}.txt"
_SCORES = "{result_directory}/UCCS-scoring-baseline-{which_set}.txt"
_EMBEDDINGS = "{result_directory}/{which_set}_embeddings"
DEFAULTS: Mapping[str, Any] = {
    "data_directory": "data",
    "result_directory": "results",
    "image_directory": "{data_directory}/{which_set}_images",
    "which_set": "validation",
    "gpu": -1,
    "detection": {"thresholds": [0.2, 0.2, 0.2], "results": _DETECTIONS, "max_detections": 50, "parallel": 0},
    "recognition": {
        "detection_file": _DETECTIONS, "result_dir": _EMBEDDINGS, "workers": 1, "batch_size_perImg": 1,
        "embedding_size": None, "arch": "dlib",
    },
    "scoring": {"gallery": "{result_directory}/gallery_embeddings", "probe": _EMBEDDINGS, "results": _SCORES},
    "eval": {
        "exclude_gallery": "{data_directory}/exclude_gallery_{which_set}.txt", "iou": 0.5, "linear": False,
        "detection": {
            "files": [_DETECTIONS], "labels": None, "froc": "{result_directory}/UCCS-FROC-{which_set}.pdf",
            "plot_numbers": False,
        },
        "recognition": {
            "files": [_SCORES], "rank": 1, "labels": None, "oroc": "{result_directory}/UCCS-OROC-{which_set}.pdf",
            "plot_numbers": False,
        },
    },
}  # fmt: skip
"""The original's keys and defaults; `arch` names our embedding, since the original's network is not shipped."""
MOST_ROUNDS = 10
"""So often may a `{key}` lead to another."""


class Config:
    """A configuration with every `{key}` filled in, read by dotted names.

    >>> Config.made({"data_directory": "uccs"}, {"which_set": "test"})["image_directory"]
    'uccs/test_images'
    """

    def __init__(self, values: Mapping[str, Any], place: str, notices: Sequence[str] = ()) -> None:
        self.values, self.place, self.notices = values, place, tuple(notices)

    @classmethod
    def read(cls, path: Path | None, overrides: Sequence[str] = ()) -> "Config":
        """The configuration of a file (the defaults where none is given) with what the command line says instead."""
        return cls.made({} if path is None else _yaml(path), parse_overrides(overrides), str(path or "command line"))

    @classmethod
    def made(cls, given: Mapping[str, Any], overrides: Mapping[str, Any], place: str = "configuration") -> "Config":
        values = copy.deepcopy(dict(DEFAULTS))
        known = set(_names(DEFAULTS))
        strange = _merge(values, given, "", known)
        notices = [f"{place}: {name!r} is not used here{near(name, sorted(known))}" for name in strange]
        for name, value in overrides.items():
            if name not in known:
                raise InputError(f"--{name}: no such key{near(name, sorted(known))}; there are {', '.join(known)}")
            _set(values, name, value)
        return cls(_filled(values, values, place), place, notices)

    def __getitem__(self, name: str) -> Any:
        found: Any = self.values
        for part in name.split("."):
            found = found[part]
        return found

    def path(self, name: str) -> Path:
        return Path(self.text(name))

    def text(self, name: str) -> str:
        return str(self._of(name, (str, int, float), "a word"))

    def paths(self, name: str) -> list[Path]:
        """One path or a list of them."""
        value = self[name]
        listed = value if isinstance(value, list) else [value]
        if not listed or not all(isinstance(one, str) for one in listed):
            raise InputError(f"{self.place}: {name} is {value!r:.60}, expected a file or a list of files")
        return [Path(one) for one in listed]

    def words(self, name: str) -> list[str] | None:
        """A list of words; None where nothing is given."""
        value = self[name]
        return None if value is None else [str(one) for one in (value if isinstance(value, list) else [value])]

    def whole(self, name: str, least: int) -> int:
        value = self._of(name, (int,), f"a whole number, at least {least}")
        if value < least:
            raise InputError(f"{self.place}: {name} is {value}, expected a whole number, at least {least}")
        return int(value)

    def number(self, name: str) -> float:
        return float(self._of(name, (int, float), "a number"))

    def numbers(self, name: str) -> tuple[float, ...]:
        value = self._of(name, (list,), "a list of numbers")
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in value):
            raise InputError(f"{self.place}: {name} is {value!r:.60}, expected a list of numbers")
        return tuple(float(one) for one in value)

    def flag(self, name: str) -> bool:
        return bool(self._of(name, (bool,), "true or false"))

    def which(self) -> str:
        which = self.text("which_set")
        if which not in SETS:
            raise InputError(f"{self.place}: which_set is {which!r}, expected one of {', '.join(SETS)}")
        return which

    def _of(self, name: str, kinds: tuple[type, ...], expected: str) -> Any:
        value = self[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise InputError(f"{self.place}: {name} is {value!r:.60}, expected {expected}")
        return value


def parse_overrides(words: Sequence[str]) -> dict[str, Any]:
    """`--a.b.c value` pairs; several values make a list.

    >>> parse_overrides(["--eval.iou", "0.4", "--eval.detection.labels", "A", "B", "--gpu=-1"])
    {'eval.iou': 0.4, 'eval.detection.labels': ['A', 'B'], 'gpu': -1}
    """
    found: dict[str, list[str]] = {}
    name = None
    for word in words:
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            found[name] = [value] if equals else []
        elif name is None:
            raise InputError(f"{word!r}: expected --key value; a configuration file comes first")
        else:
            found[name].append(word)
    for name, values in found.items():
        if not values:
            raise InputError(f"--{name}: no value after it")
    made = {name: [_scalar(value, f"--{name}") for value in values] for name, values in found.items()}
    return {name: values[0] if len(values) == 1 else values for name, values in made.items()}


def _scalar(text: str, place: str) -> Any:
    """A value as YAML reads it; a word that begins with `{key}` is a word."""
    import yaml

    if text.startswith("{"):
        return text

    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{place}: {text!r:.60} is not a YAML value ({str(error).splitlines()[0]})") from None


def _yaml(path: Path) -> Mapping[str, Any]:
    import yaml

    text = read_text(path)
    if any(isinstance(token, yaml.AliasToken) for token in _tokens(text, path)):
        raise InputError(f"{path}: aliases (*name) are not read; write the value out")
    try:
        found = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{path}: not YAML ({' '.join(str(error).split())[:200]})") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InputError(f"{path}: a {type(found).__name__}, expected keys such as data_directory and eval")
    return found


def _tokens(text: str, path: Path) -> Iterator[Any]:
    import yaml

    try:
        yield from yaml.scan(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        raise InputError(f"{path}: not YAML ({' '.join(str(error).split())[:200]})") from None


def _names(values: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield from _names(value, f"{before}{name}.") if isinstance(value, Mapping) else (f"{before}{name}",)


def _merge(values: dict[str, Any], given: Mapping[Any, Any], before: str, known: set[str]) -> list[str]:
    """Put what is given over the defaults; the names of keys that nothing here uses are returned."""
    strange = []
    for key, value in given.items():
        name = f"{before}{key}"
        if isinstance(values.get(key), dict) and isinstance(value, Mapping):
            strange += _merge(values[key], value, f"{name}.", known)
        elif isinstance(values.get(key), dict):
            raise InputError(f"{name} is {value!r:.40}, expected keys below it")
        else:
            values[key] = value
            strange += [] if name in known else [name]
    return strange


def _set(values: dict[str, Any], name: str, value: Any) -> None:
    *folders, last = name.split(".")
    for part in folders:
        values = values[part]
    values[last] = value


def _filled(value: Any, values: Mapping[str, Any], place: str) -> Any:
    """The same with every `{key}` replaced by the value of that key."""
    if isinstance(value, Mapping):
        return {name: _filled(one, values, place) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, values, place) for one in value]
    if not isinstance(value, str):
        return value
    for _ in range(MOST_ROUNDS):
        fresh = re.sub(r"\{([A-Za-z_][\w.]*)\}", lambda match: _looked_up(match[1], values, place), value)
        if fresh == value:
            return value
        value = fresh
    raise InputError(f"{place}: {value!r:.60} refers to itself")


def _looked_up(name: str, values: Mapping[str, Any], place: str) -> str:
    found: Any = values
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if not isinstance(found, str | int | float):
        raise InputError(f"{place}: {{{name}}} stands for no word or number; name a key such as {{data_directory}}")
    return str(found)
