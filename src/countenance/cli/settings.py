"""Options made from settings: a parameter of a command that is a `SettingsModel` group becomes one option per field.

A command names the groups it takes; types, defaults and help come from the groups, and nowhere else is an option of a
setting written.
"""

import inspect
import re
import types
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from countenance.cli.lines import note
from countenance.errors import InputError, OptionError
from countenance.settings import (
    AuditFields,
    DataSettings,
    EngineSettings,
    ModelSettings,
    ReportSettings,
    RunSettings,
    SettingsModel,
    default_of,
)

GROUPS: tuple[type[SettingsModel], ...] = (
    ModelSettings,
    DataSettings,
    RunSettings,
    EngineSettings,
    AuditFields,
    ReportSettings,
)
PLAIN = (bool, int, float, str, Path)


def with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """The function with its settings spelled out as options, for typer.

    >>> from countenance.settings import setting
    >>> class Work(SettingsModel):
    ...     "How the work is done"
    ...     workers: int = setting(1, "Worker processes.")
    >>> def go(work: Work) -> None: print(work.workers)
    >>> with_settings(go)(workers=3)
    3
    """
    hints = get_type_hints(function, include_extras=True)
    hints.pop("return", None)
    parameters, groups = [], {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints[parameter.name]
        if isinstance(hint, type) and issubclass(hint, SettingsModel):
            groups[parameter.name] = hint
        else:
            parameters.append(parameter.replace(annotation=hint, kind=inspect.Parameter.KEYWORD_ONLY))
    offered: dict[str, list[str]] = {}
    for name, group in groups.items():
        options = [option for field in group.model_fields if (option := option_of(group, field)) is not None]
        offered[name] = [option.name for option in options]
        parameters += options

    @wraps(function)
    def command(**values: Any) -> None:
        own: dict[str, Any] = {}
        for name, group in groups.items():
            own[name] = _settings(group, {field: values.pop(field) for field in offered[name] if field in values})
        function(**values, **own)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _settings(group: type[SettingsModel], values: dict[str, Any]) -> SettingsModel:
    """The settings that options were given for; a word of earlier versions is read with a note."""
    settings = group(**{name: value for name, value in values.items() if value is not None})
    for name, value in values.items():
        read = getattr(settings, name)
        if isinstance(value, str) and isinstance(read, str) and read != value:
            note(f"{flag_of(group, name)} {value} is now called {read}; both are read")
    return settings


def option_of(group: type[SettingsModel], name: str) -> inspect.Parameter | None:
    """The option of one setting; None for one that only Python offers."""
    field = group.model_fields[name]
    shown = _shown(group, name)
    if shown.get("python_only"):
        return None
    default, plain = default_of(group, name), _plain(field.annotation)
    kind: Any = list[str] if shown.get("repeated") else plain
    if default is None or shown.get("repeated") or not isinstance(default, PLAIN):
        kind, default = kind | None, None
    usual = shown.get("flag") or f"--{name.replace('_', '-')}"
    flags = [flag for flag in (usual, shown.get("short"), shown.get("old")) if flag]
    if kind is bool and not shown.get("flag"):
        flags[0] = f"{flags[0]}/--no-{name.replace('_', '-')}"
    option = typer.Option(*flags, help=_help(field), rich_help_panel=title(group))
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def title(group: type[SettingsModel]) -> str:
    """The title of a group's help panel.

    >>> class Work(SettingsModel):
    ...     "How the work is done."
    >>> title(Work)
    'How the work is done'
    """
    return (group.__doc__ or group.__name__).strip().splitlines()[0].rstrip(".")


def flag_of(group: type[SettingsModel], name: str) -> str:
    """The flag of a setting, as messages show it."""
    return str(_shown(group, name).get("flag") or f"--{name.replace('_', '-')}")


def described(group: type[SettingsModel], name: str) -> Any:
    """The option of one setting, for a command that does not take the whole group: its flags, meaning and limits.

    The command writes type and default; a test compares them with the setting.
    """
    field, shown = group.model_fields[name], _shown(group, name)
    flags = [flag for flag in (flag_of(group, name), shown.get("short"), shown.get("old")) if flag]
    least = next((limit.ge for limit in field.metadata if hasattr(limit, "ge")), None)
    most = next((limit.le for limit in field.metadata if hasattr(limit, "le")), None)
    return typer.Option(*flags, help=_help(field), min=least, max=most)


def _shown(group: type[SettingsModel], name: str) -> dict[str, Any]:
    """How the command line shows a setting."""
    extra = group.model_fields[name].json_schema_extra
    shown = extra.get("command") if isinstance(extra, dict) else None
    return shown if isinstance(shown, dict) else {}


def in_flags(error: InputError) -> str:
    """What an error says, with flags in place of the arguments that it names; settings of Python alone stay.

    Names of settings with an underscore are no words of a sentence, so they are replaced wherever they stand; others
    only where the error says that it names them.

    >>> from countenance.errors import OptionError
    >>> in_flags(OptionError("address", "address and gpus_per_worker are for engine ray"))
    '--address and --gpus-per-worker are for engine ray'
    """
    if not isinstance(error, OptionError):
        return str(error)
    names = {*(name for name in _flags() if "_" in name), *error.arguments} - {""}
    if not names:
        return str(error)
    alternatives = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.sub(rf"(?<![-\w./\\'\"]){'(' + alternatives + ')'}(?![-\w/\\'\"]|\.\w)", _flag, str(error))


def _flag(match: re.Match[str]) -> str:
    name = match.group(1)
    return _flags().get(name, f"--{name.replace('_', '-')}")


@cache
def _flags() -> dict[str, str]:
    """The flag of every setting; the name itself of one that only Python offers."""
    return {
        name: name if _shown(group, name).get("python_only") else flag_of(group, name)
        for group in reversed(GROUPS)
        for name in group.names()
    }


def _plain(annotation: Any) -> Any:
    """The type that the command line reads a setting as: text, unless it is a plain type."""
    kinds = [kind for kind in _alternatives(annotation) if kind is not type(None)]
    return next((kind for kind in PLAIN if kinds == [kind]), str)


def _alternatives(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [kind for part in get_args(annotation) for kind in _alternatives(part)]
    return [annotation]


def _help(field: Any) -> str:
    """The meaning of a setting, with its choices where it has some."""
    words = [word for kind in _alternatives(field.annotation) if get_origin(kind) is Literal for word in get_args(kind)]
    meaning = str(field.description or "")
    return f"{meaning} One of {', '.join(map(str, words))}." if words else meaning
