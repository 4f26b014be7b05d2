"""An option means one thing: the same flag has the same type, default and help in all commands.

What a setting is comes from its group; where a command differs, the list below says why.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import typer

from countenance.cli.app import app
from countenance.cli.settings import GROUPS, flag_of, in_flags, option_of
from countenance.errors import OptionError
from countenance.settings import EngineSettings, default_of

ORIGINAL = "a documented flag of the published command, with its own meaning"
PLACE = "what is read or written there differs from command to command"
ITS_OWN = "the protocol's own default"
DIFFERENT: dict[str, tuple[str, tuple[str, ...]]] = {
    "--adjust": ("a leaderboard has many pairs; a suite has its own", ("leaderboard", "mask-fairness", "suite run")),
    "--attributes": (ORIGINAL, ("fhibe", "mask-fairness")),
    "--baseline": ("the rate of a plan, the earlier run of a gate", ("plan", "gate")),
    "--batch": ("questions, not images", ("happyfaces ask",)),
    "--box-format": (ORIGINAL, ("mask-fairness",)),
    "--boxes": (ORIGINAL, ("mask-fairness",)),
    "--by": (ORIGINAL, ("uccs", "mask-fairness")),
    "--crew": ("a contest names all its crews", ("bias-bounty open",)),
    "--data": (PLACE, ("report", "purge", "view", "fhibe", "plan", "compare", "bias-bounty")),
    "--data-directory": (ORIGINAL, ("uccs", "mask-fairness", "happyfaces")),
    "--dataset": (ORIGINAL, ("fhibe", "uccs", "mask-fairness")),
    "--depth": (ITS_OWN, ("fhibe", "mask-fairness")),
    "--detector": (ORIGINAL, ("uccs", "mask-fairness")),
    "--entry": ("only entries of this package can be trained", ("bias-bounty train", "bias-bounty submit")),
    "--faces": (ORIGINAL, ("fhibe make-data", "happyfaces report")),
    "--format": (PLACE, ("export", "data export", "mask-fairness make-data")),
    "--gallery": (
        "people of FHIBE are shown only where that is asked for; a gallery of embeddings",
        ("fhibe", "uccs score"),
    ),
    "--json": ("a table that is always written", ("happyfaces sweep", "happyfaces ask")),
    "--labels": (ORIGINAL, ("uccs", "bias-bounty")),
    "--metric": ("one metric, not those of an audit", ("plan", "discover")),
    "--mix-rate": ("a method that was fitted elsewhere may not say it", ("happyfaces score",)),
    "--model": ("a detector or an embedding with a default", ("demo", "fhibe", "uccs")),
    "--name": (ORIGINAL, ("bias-bounty", "happyfaces")),
    "--only-present": (ORIGINAL, ("uccs",)),
    "--out": (PLACE, ("",)),
    "--pair": (ORIGINAL, ("happyfaces build",)),
    "--pdf": ("FHIBE's PDF lies beside its page", ("fhibe",)),
    "--people": (ORIGINAL, ("bias-bounty", "happyfaces")),
    "--portraits": (ORIGINAL, ("fhibe", "uccs")),
    "--predictions": ("files of one suite", ("mask-fairness", "bias-bounty", "happyfaces")),
    "--protocol-version": ("data that is made has no files that show it", ("uccs make-data",)),
    "--report": ("FHIBE's report lies in the run", ("fhibe",)),
    "--result-file": (ORIGINAL, ("uccs calibrate",)),
    "--seed": ("a method that was fitted elsewhere may not say it", ("happyfaces score",)),
    "--seeds": (ITS_OWN, ("happyfaces ask",)),
    "--task": (ORIGINAL, ("fhibe", "compare")),
    "--threads": ("of a training or a timing, not of workers", ("mask-fairness train", "bias-bounty")),
    "--truth-boxes": (ORIGINAL, ("mask-fairness",)),
    "--truth-units": (ORIGINAL, ("mask-fairness",)),
    "--units": (ORIGINAL, ("mask-fairness",)),
}


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


def is_different(flag: str, command: str) -> bool:
    """Whether the list says that a command has an option of its own."""
    _, names = DIFFERENT.get(flag, ("", ()))
    return any(not name or command == name or command.startswith(f"{name} ") for name in names)


@pytest.mark.parametrize("flag", sorted(OPTIONS))
def test_a_flag_has_one_type_default_and_help(flag: str) -> None:
    shared = {command: option for command, option in OPTIONS[flag].items() if not is_different(flag, command)}
    assert len(set(shared.values())) <= 1, shared


def test_the_list_of_differences_has_no_more_than_there_are() -> None:
    for flag, (reason, names) in DIFFERENT.items():
        assert reason and len(set(OPTIONS[flag].values())) > 1, flag
        for name in names:
            assert any(not name or command == name or command.startswith(f"{name} ") for command in OPTIONS[flag]), name


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_an_option_of_a_setting_is_what_the_setting_says(group: Any) -> None:
    for name in group.names():
        option = option_of(group, name)
        if option is None:
            continue
        info = option.annotation.__metadata__[0]
        for command, actual in OPTIONS.get(flag_of(group, name), {}).items():
            if not is_different(flag_of(group, name), command):
                default = default_of(group, name)
                assert actual.help == info.help, (name, command)
                assert actual.default in (repr(default), "None", "False" if default is False else "None"), (
                    name,
                    command,
                )


@pytest.mark.parametrize(("group", "name"), [(group, name) for group in GROUPS for name in group.names()])
def test_messages_name_flags_on_the_command_line(group: Any, name: str) -> None:
    text = in_flags(OptionError(name, f"{name} is 0, and {name}s or 'a/{name}.csv' are no arguments"))
    python_only = option_of(group, name) is None
    shown = name if python_only else flag_of(group, name)
    assert text == f"{shown} is 0, and {name}s or 'a/{name}.csv' are no arguments"


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
