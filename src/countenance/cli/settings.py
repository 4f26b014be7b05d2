"""Options made from settings: a parameter of a command that is a `SettingsModel` group becomes one option per field.

A command names the groups it takes; types, defaults and help come from the groups, and nowhere else is an option of a
setting written.
"""

import inspect
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

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
Function = TypeVar("Function", bound=Callable[..., None])


class Only(NamedTuple):
    """Some settings of a group, for a command that does not take all of them."""

    names: tuple[str, ...]
    defaults: Mapping[str, Any]


def only(*names: str, **defaults: Any) -> Only:
    """Some settings of a group by name; keywords set the command's own defaults.

    `Annotated[AuditFields, only("depth", adjust="holm")]` gives a command two options. A default of None means that the
    command leaves the setting to what it calls.
    """
    return Only((*names, *defaults), defaults)


class SingleSetting(NamedTuple):
    """One setting, which a command takes as a parameter of its own."""

    group: type[SettingsModel]
    name: str
    flags: tuple[str, ...] = ()


def single(group: type[SettingsModel], name: str, *flags: str) -> SingleSetting:
    """One setting as a parameter: `Seed = Annotated[int, single(RunSettings, "seed")]`.

    Type, default and help are the setting's; `flags` are spellings that a command has documented. A command with its
    own default has it in its signature.
    """
    return SingleSetting(group, name, flags)


class Commands(typer.Typer):
    """A group of commands whose parameters may be settings (`with_settings`)."""

    def __init__(self, help: str = "", **more: Any) -> None:
        super().__init__(no_args_is_help=True, rich_markup_mode=None, help=help, **more)

    def command(self, *names: Any, **more: Any) -> Callable[[Function], Function]:
        """A decorator that adds a command."""
        add = super().command(*names, **more)

        def added(function: Function) -> Function:
            add(with_settings(function))
            return function

        return added


def with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """The function with its settings spelled out as options, for typer.

    A parameter that is a group becomes an option for each of its settings, or for those that `only` names; a parameter
    that is a `single` setting becomes the option of that setting.

    >>> from countenance.settings import setting
    >>> class Work(SettingsModel):
    ...     "How the work is done"
    ...     workers: int = setting(1, "Worker processes.")
    >>> def go(work: Work) -> None: print(work.workers)
    >>> with_settings(go)(workers=3)
    3
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[type[SettingsModel], list[str]]] = {}
    singles: dict[str, SingleSetting] = {}
    for parameter in inspect.signature(function).parameters.values():
        hint, chosen = _hint(parameter.annotation)
        if isinstance(chosen, SingleSetting):
            singles[parameter.name] = chosen
            parameters.append(_single_option(parameter, hint, chosen))
        elif isinstance(hint, type) and issubclass(hint, SettingsModel):
            options = _group_options(hint, chosen)
            groups[parameter.name] = (hint, [option.name for option in options])
            parameters += options
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    if not groups and not singles:
        return function
    defaults = {parameter.name: parameter.default for parameter in parameters}

    @wraps(function)
    def command(**values: Any) -> None:
        for name, (group, names) in groups.items():
            values[name] = _settings(group, {field: values.pop(field) for field in names if field in values})
        for name, setting in singles.items():
            value = values.setdefault(name, defaults[name])
            if value is not None:
                read = _settings(setting.group, {setting.name: value}, setting.flags)
                values[name] = getattr(read, setting.name)
        function(**values)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _hint(annotation: Any) -> tuple[Any, Any]:
    """A parameter's type, and which settings it stands for."""
    if get_origin(annotation) is not Annotated:
        return annotation, None
    hint, *extra = get_args(annotation)
    return hint, next((part for part in extra if isinstance(part, Only | SingleSetting)), None)


def _group_options(group: type[SettingsModel], chosen: Only | None) -> list[inspect.Parameter]:
    if chosen is None:
        return [option for name in group.model_fields if (option := option_of(group, name)) is not None]
    options = [option_of(group, name) for name in chosen.names]
    return [
        option.replace(default=chosen.defaults[option.name]) if option.name in chosen.defaults else option
        for option in options
        if option is not None
    ]


def _single_option(parameter: inspect.Parameter, hint: Any, chosen: SingleSetting) -> inspect.Parameter:
    """The option of a single setting; the type in the signature must be the setting's."""
    option = option_of(chosen.group, chosen.name, chosen.flags)
    if option is None or _plain(get_args(option.annotation)[0]) != _plain(hint):
        raise TypeError(f"{parameter.name}: {hint} is not the type of {chosen.group.__name__}.{chosen.name}")
    default = option.default if parameter.default is parameter.empty else parameter.default
    if default is None and type(None) not in _alternatives(hint):
        raise TypeError(f"{parameter.name}: {chosen.group.__name__}.{chosen.name} may be None")
    return option.replace(name=parameter.name, default=default)


def _settings(group: type[SettingsModel], values: dict[str, Any], flags: Sequence[str] = ()) -> SettingsModel:
    """The settings for the options that were given; a former word is read with a note."""
    try:
        settings = group(**{name: value for name, value in values.items() if value is not None})
    except OptionError as error:
        if not flags:
            raise
        raise InputError(str(error).replace(error.argument, flags[0])) from None
    for name, value in values.items():
        read = getattr(settings, name)
        if isinstance(value, str) and isinstance(read, str) and read != value:
            note(f"{flags[0] if flags else flag_of(group, name)} {value} is now called {read}; both are read")
    return settings


def option_of(group: type[SettingsModel], name: str, spellings: Sequence[str] = ()) -> inspect.Parameter | None:
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
    flags = list(spellings) or [flag for flag in (usual, shown.get("short")) if flag]
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


def _shown(group: type[SettingsModel], name: str) -> dict[str, Any]:
    """How the command line shows a setting."""
    extra = group.model_fields[name].json_schema_extra
    shown = extra.get("command") if isinstance(extra, dict) else None
    return shown if isinstance(shown, dict) else {}


FLAGS = {
    "metrics": "--metric",
    "data": "--data",
    "verified": "--unverified",
    "options": "--option",
    "which": "--which-set",
    "version": "--protocol-version",
    "directory": "--data-directory",
}
"""Arguments outside the settings whose flags have other names."""
PLAIN_ARGUMENTS = (
    *("by", "truth", "pred", "score", "positive", "classes", "baseline", "out", "site", "trust_code", "save_attribute"),
    *("features", "people", "result_files", "overlap_threshold", "rank", "debug", "parallel", "gpus"),
    *("code", "board", "replace", "kind", "prediction_units", "time"),
)
"""Arguments outside the settings whose flags have the same names."""


def in_flags(message: InputError | str) -> str:
    """An error's message or a note, with flags in place of the arguments that it names, except those of Python alone.

    Messages name arguments as in Python: `columns=`, `depth=1`, `labels="my.csv"`, `options={"known": "0.5"}`. Names of
    settings with an underscore are not words of a sentence, so those of an `OptionError` are replaced wherever they
    stand; others only where the error says that it names them.

    >>> from countenance.errors import InputError, OptionError
    >>> in_flags(OptionError("address", "address and gpus_per_worker are for engine ray"))
    '--address and --gpus-per-worker are for engine ray'
    >>> in_flags(InputError('a.csv: columns= names no column; say columns="file=img" or only_present=True'))
    'a.csv: --columns names no column; say --columns file=img or --only-present'
    >>> in_flags("rows of one nr are alike; cluster=None refuses it")
    'rows of one nr are alike; --cluster none refuses it'
    >>> in_flags("ok: which way is better is not known (the setting better says it)")
    'ok: which way is better is not known (--better says it)'
    """
    text = str(message)
    if isinstance(message, OptionError):
        names = {*(name for name in _flags() if "_" in name), *message.arguments} - {""}
        text = re.sub(rf"(?<![-\w./\\'\"])({_alternatives_of(names)})(?![-\w/\\'\"=]|\.\w)", _flag, text)
    shown = {name for name, flag in _flags().items() if flag.startswith("--")} | {*FLAGS, *PLAIN_ARGUMENTS}
    text = re.sub(rf"\bthe setting ({_alternatives_of(shown)})\b", _assigned_flag, text)
    return re.sub(rf"(?<![-\w./\\'\"?&]){ASSIGNED.format(_alternatives_of(shown))}", _assigned, text)


ASSIGNED = (
    r"({0})=(?:\[?\"(?P<text>[^\"\n]*)\"\]?|(?P<quoted>'[^'\n]*')|(?P<number>True|False|None|\d+(?:\.\d+)?\b)"
    r"|\{{\"(?P<key>[^\"\n]*)\": \"(?P<value>[^\"\n]*)\"\}}|(?=[\s),;:]|$))"
    r"(?:,(?= (?:{0})=[\"']))?"
)
"""An argument as messages write it; its value is text, a `repr` of text, a number, true or false, a name with a value,
or none. Between two of them there is a comma, which flags do not have."""


def _assigned_flag(match: re.Match[str]) -> str:
    """The flag of an argument."""
    name = match[1]
    return f"--{name.replace('_', '-')}" if name in PLAIN_ARGUMENTS else FLAGS.get(name) or _flags()[name]


def _assigned(match: re.Match[str]) -> str:
    """The flag of an argument, with its value as typed in a shell."""
    name, flag = match[1], _assigned_flag(match)
    number = {"True": "", "False": "", "None": "none"}.get(match["number"], match["number"])
    value = match["quoted"] or number or match["text"] or ""
    if match["text"] is not None and " " in match["text"]:
        value = f"'{match['text']}'"
    if match["key"] is not None:
        flag = {"data": "--data-at"}.get(name, flag)
        value = f"{match['key']}={match['value']}"
    return f"{flag} {value}".rstrip()


def _alternatives_of(names: Collection[str]) -> str:
    return "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))


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
