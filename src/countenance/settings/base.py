"""The base of all settings."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from countenance.errors import OptionError


class SettingsModel(BaseModel):
    """A group of settings; the first line of the class's docstring is the title of its help panel.

    >>> class Work(SettingsModel):
    ...     "How the work is done"
    ...     workers: int = setting(1, "Worker processes.", ge=1)
    >>> Work(workers=2).workers
    2
    >>> Work(worker=2)
    Traceback (most recent call last):
    countenance.errors.OptionError: no setting 'worker' (did you mean workers?); there are workers
    >>> Work(workers=0)
    Traceback (most recent call last):
    countenance.errors.OptionError: workers is 0, expected at least 1
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)

    def __init__(self, **values: Any) -> None:
        refuse_unknown(values, type(self).model_fields)
        try:
            super().__init__(**{name: _plain(value) for name, value in values.items()})
        except ValidationError as error:
            raise option_error(error, values, type(self).model_fields) from None

    def changed(self, **values: Any) -> Self:
        """The same settings with other values, checked.

        >>> class Work(SettingsModel):
        ...     "How the work is done"
        ...     workers: int = setting(1, "Worker processes.")
        >>> Work(workers=2).changed(workers=3).workers
        3
        """
        return type(self)(**(dict(self) | values))

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The names of all settings of this group."""
        return tuple(cls.model_fields)

    def plain(self) -> dict[str, Any]:
        """The values that a manifest stores: everything but callables."""
        hidden = {name for name, value in self if callable(value)}
        return self.model_dump(mode="json", exclude=hidden)


def setting(
    default: Any,
    meaning: str,
    *,
    flag: str | None = None,
    short: str | None = None,
    repeated: bool = False,
    python_only: bool = False,
    **limits: Any,
) -> Any:
    """A field with its default and its meaning in one sentence.

    On the command line it is `--name`, or `flag` if another word is usual. `repeated` options may be given several
    times; `python_only` options exist only in Python (callables, objects). `limits` are pydantic's (`ge`, `le`, …).
    """
    shown: dict[str, Any] = {"flag": flag, "short": short, "repeated": repeated, "python_only": python_only}
    if isinstance(default, list | dict | set):
        limits["default_factory"] = lambda: default.copy()
    else:
        limits["default"] = default
    return Field(description=meaning, json_schema_extra={"command": shown}, **limits)


def _plain(value: Any) -> Any:
    """A numpy number as Python's own type, and values that can be read only once as a tuple."""
    if isinstance(value, Iterator):
        return tuple(value)
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def refuse_unknown(values: Mapping[str, Any], known: Iterable[str]) -> None:
    """Refuse unknown names, with a hint at the nearest known ones."""
    names = list(known)
    for name in values:
        if name not in names:
            likely = difflib.get_close_matches(name, names, 3)
            hint = f" (did you mean {' or '.join(likely)}?)" if likely else ""
            raise OptionError(name, f"no setting {name!r}{hint}; there are {', '.join(sorted(names))}")


def option_error(error: ValidationError, values: Mapping[str, Any], known: Iterable[str] = ()) -> OptionError:
    """The first problem of a validation as an error that names the setting and what was found.

    `known` are the settings that the message of a validator may name.
    """
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    problem = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "value_error":  # our validators raise complete messages
        stated = first.get("ctx", {}).get("error")
        if isinstance(stated, OptionError):
            return stated
        return OptionError(*([name, problem] if name else _named_in(problem, known)))
    expected = problem.removeprefix("Input should be ").removeprefix("a valid ")
    expected = expected.replace("greater than or equal to", "at least").replace("less than or equal to", "at most")
    return OptionError(name, f"{name} is {values.get(name)!r:.60}, expected {expected}")


def _named_in(problem: str, known: Iterable[str]) -> list[str]:
    """The parts of an error about several settings: the first setting named, the problem, the other settings named.

    >>> _named_in("pair needs min_n", ["min_n", "pair", "seed"])
    ['pair', 'pair needs min_n', 'min_n']
    """
    names = [word for word in dict.fromkeys(re.findall(r"\w+", problem)) if word in set(known)]
    return [*(names[:1] or [""]), problem, *names[1:]]


def split(values: Mapping[str, Any], *groups: type[SettingsModel]) -> tuple[list[SettingsModel], dict[str, Any]]:
    """The settings of each group that are among the values, and the values of no group.

    >>> class Work(SettingsModel):
    ...     "How the work is done"
    ...     workers: int = setting(1, "Worker processes.")
    >>> split({"workers": 2, "colour": "red"}, Work)
    ([Work(workers=2)], {'colour': 'red'})
    """
    own = [group(**{name: values[name] for name in group.model_fields if name in values}) for group in groups]
    known = {name for group in groups for name in group.model_fields}
    return own, {name: value for name, value in values.items() if name not in known}


def default_of(group: type[SettingsModel], name: str) -> Any:
    """The default of a setting."""
    return group.model_fields[name].get_default(call_default_factory=True, validated_data={})
