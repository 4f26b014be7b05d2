"""An option means one thing: what a setting is comes from its group, and its flag has that meaning in every command.

A flag that is no setting has one meaning in the commands of one group: the tool's own, and each published system's.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import typer

from countenance.cli.app import app
from countenance.cli.former_flags import DOCUMENTED, FORMER, in_flags_of_today
from countenance.cli.settings import GROUPS, flag_of, in_flags, option_of
from countenance.errors import OptionError
from countenance.settings import EngineSettings

SUITES = ("fhibe", "uccs", "mask-fairness", "bias-bounty", "happyfaces")
"""Commands of published systems, which keep the flags that these document."""
OWN_DEFAULTS: dict[str, tuple[str, ...]] = {"--threads": ("mask-fairness train", "bias-bounty time")}
"""Commands with a default of their own for a setting: the protocol's."""
SEVERAL_MEANINGS: dict[str, str] = {
    "--out": "what is written differs from command to command",
}
"""Flags that are no settings and whose value differs between commands of one group."""
LEFT = "None"
"""The default of an option that a command leaves to what it calls: a suite has its own settings of an audit."""


class Option(NamedTuple):
    """What a command says of an option."""

    kind: str
    default: str
    help: str


def commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every command with its name."""
    if hasattr(command, "commands"):
        for name, below in command.commands.items():
            yield from commands(below, f"{path} {name}".strip())
    else:
        yield path, command


def all_options() -> dict[str, dict[str, Option]]:
    """What each command says of each flag."""
    options: dict[str, dict[str, Option]] = defaultdict(dict)
    for name, command in commands(typer.main.get_command(app)):
        for parameter in command.params:
            if parameter.param_type_name == "option":
                annotation = parameter.type_descriptor.annotation
                kind = getattr(annotation, "__name__", str(annotation))
                option = Option(kind, repr(parameter.default), str(parameter.help))
                for flag in (flag for flag in parameter.opts if flag.startswith("--")):
                    options[flag][name] = option
    return options


OPTIONS = all_options()
SETTINGS = {
    flag_of(group, name): (group, name)
    for group in reversed(GROUPS)
    for name in group.names()
    if option_of(group, name) is not None
}


def kind_of(annotation: Any) -> str:
    """The name of an option's type, which may be left out."""
    kinds = [kind for kind in getattr(annotation, "__args__", ()) if kind is not type(None)] or [annotation]
    return "list" if annotation == list[str] | None else kinds[0].__name__


def group_of(command: str) -> str:
    """The published system that a command belongs to; empty for the tool's own."""
    first = command.partition(" ")[0]
    return first if first in SUITES else ""


@pytest.mark.parametrize("flag", sorted(set(OPTIONS) - set(SETTINGS) - set(SEVERAL_MEANINGS)))
def test_a_flag_has_one_type_and_help_in_a_group_of_commands(flag: str) -> None:
    meanings: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for command, option in OPTIONS[flag].items():
        meanings[group_of(command)].add((option.kind, option.help))
    assert {group: several for group, several in meanings.items() if len(several) > 1} == {}


@pytest.mark.parametrize("flag", sorted(set(SETTINGS) & set(OPTIONS)))
def test_an_option_of_a_setting_is_what_the_setting_says(flag: str) -> None:
    group, name = SETTINGS[flag]
    option = option_of(group, name)
    assert option is not None
    for command, actual in OPTIONS[flag].items():
        assert actual.help == option.annotation.__metadata__[0].help, command
        assert actual.kind == kind_of(option.annotation.__args__[0]), command
        if command not in OWN_DEFAULTS.get(flag, ()):
            assert actual.default in (repr(option.default), LEFT), command


def test_the_lists_have_no_more_than_there_is() -> None:
    for flag, commands_ in OWN_DEFAULTS.items():
        usual = {option.default for command, option in OPTIONS[flag].items() if group_of(command) == ""}
        assert any(OPTIONS[flag][command].default != option for command in commands_ for option in usual), flag
    for flag, reason in SEVERAL_MEANINGS.items():
        assert reason and len({(option.kind, option.help) for option in OPTIONS[flag].values()}) > 1, flag


FORMER_FLAGS = [(command, *flags) for command, former in FORMER.items() for flags in former.items()]


@pytest.mark.parametrize(("command", "former", "current"), FORMER_FLAGS)
def test_a_former_flag_is_read_as_its_new_name(command: str, former: str, current: str, capsys) -> None:
    assert command not in OPTIONS[former] and command in OPTIONS[current]
    assert in_flags_of_today(command, [former, "a", f"{former}=b", "--", former]) == [
        *(current, "a", f"{current}=b", "--"),
        former,
    ]
    assert capsys.readouterr().err == f"{former} is now called {current}; both are read\n" * 2


DOCUMENTED_FLAGS = [(command, *flags) for command, documented in DOCUMENTED.items() for flags in documented.items()]


@pytest.mark.parametrize(("command", "documented", "current"), DOCUMENTED_FLAGS)
def test_a_flag_of_an_original_is_read_without_a_note(command: str, documented: str, current: str, capsys) -> None:
    assert command not in OPTIONS[documented] and documented in OPTIONS[current][command].help
    assert in_flags_of_today(command, [documented, "a", "--", documented]) == [current, "a", "--", documented]
    assert capsys.readouterr().err == ""


def test_a_former_flag_works(tmp_path, capsys) -> None:
    """Of a setting, of a command of the tool's own, of a published system, and with `=`."""
    from countenance.cli.app import run

    assert run(["data", "export", "people:twins", "--format=folder", "--out", str(tmp_path / "twins")]) == 0
    assert (tmp_path / "twins" / "labels.csv").is_file()
    assert "--format is now called --layout; both are read" in capsys.readouterr().err
    assert run(["plan", "--metric", "mean", "--effect", "d=.5"]) == 0
    outputs = capsys.readouterr()
    assert "78" in outputs.out and "--kind mean" in outputs.err
    assert run(["plan", "--metric", "mean", "--baseline", ".9", "--data", "no.csv"]) == 2
    assert "no.csv: no such file" in capsys.readouterr().err
    words = ["--model", "haar", "--data", "people", "--out", "no", "--box-format", "x"]
    assert run(["run", "face_localization", *words]) == 2
    assert "error: --boxes is 'x', expected 'xyxy', 'xywh', " in capsys.readouterr().err


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in GROUPS for name in group.names()])
def test_messages_name_flags_on_the_command_line(group: Any, name: str) -> None:
    text = in_flags(OptionError(name, f"{name} is 0, and {name}s or 'a/{name}.csv' are no arguments"))
    python_only = option_of(group, name) is None
    shown = name if python_only else flag_of(group, name)
    assert text == f"{shown} is 0, and {name}s or 'a/{name}.csv' are no arguments"


def test_a_message_names_the_flag_that_the_command_has(capsys) -> None:
    """Predictions have `--prediction-units` where `--units` were those of the dataset."""
    from countenance.cli.app import run

    words = ["mask-fairness", "assess", "--dataset", "people", "--detector", "haar", "--out", "no"]
    assert run([*words, "--prediction-units", "x"]) == 2
    assert "error: --prediction-units is 'x', expected 'px' or 'rel'" in capsys.readouterr().err


def test_a_message_about_several_settings_names_all_their_flags() -> None:
    with pytest.raises(OptionError) as error:
        EngineSettings(address="host:1")
    assert str(error.value) == "address and gpus_per_worker are for engine ray"
    assert in_flags(error.value) == "--address and --gpus-per-worker are for --engine ray"
    assert in_flags(OptionError("truth_boxes", "truth_boxes and truth_units are not for seed 3")) == (
        "--truth-boxes and --truth-units are not for seed 3"
    )


def test_the_command_line_shows_flags(capsys) -> None:
    from countenance.cli.app import run

    arguments = ["run", "face_localization", "--model", "haar", "--data", "people:portraits", "--out", "never"]
    assert run([*arguments, "--address", "host:1"]) == 2
    assert "--address and --gpus-per-worker are for --engine ray" in capsys.readouterr().err
    assert run(["audit", "table.csv", "--comparison", "paired"]) == 2
    assert run([*arguments, "--delta", "-1"]) == 2
    assert "--delta '-1', expected a number above 0" in capsys.readouterr().err
