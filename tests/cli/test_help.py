"""Help texts: every command has an example that its own options allow, and options mean one thing everywhere."""

import os
import shlex
import subprocess
import sys

import pytest
import typer

from countenance.cli.app import app, run
from countenance.cli.help import COMMANDS, EXAMPLES, OPTIONS, groups, leaves

GROUPS = {" ".join(path): group for path, group in groups(typer.main.get_command(app))}
LEAVES = {" ".join(path): leaf for path, leaf in leaves(typer.main.get_command(app))}


def test_every_command_has_an_example_and_no_example_is_left_over():
    assert set(EXAMPLES) == set(LEAVES) | set(GROUPS)


@pytest.mark.parametrize("name", LEAVES)
def test_the_example_has_the_options_of_its_command_and_all_that_are_required(name):
    words = shlex.split(EXAMPLES[name])[1:]
    assert words[: len(name.split())] == name.split()
    flags = {word for word in words if word.startswith("--")}
    known = {flag: option for option in LEAVES[name].params for flag in option.opts}
    assert flags <= set(known) or LEAVES[name].context_settings.get("ignore_unknown_options")
    for option in LEAVES[name].params:
        if option.required and option.param_type_name == "option":
            assert set(option.opts) & flags, option.opts


@pytest.mark.parametrize("name", LEAVES)
def test_the_values_of_an_example_are_accepted(name):
    """Types, choices and limits; whether the files are there is not asked."""
    words = shlex.split(EXAMPLES[name])[1 + len(name.split()) :]
    assert LEAVES[name].make_context(name, words).command is LEAVES[name]


@pytest.mark.parametrize("name", GROUPS)
def test_the_help_of_a_group_has_an_example_and_every_command_with_its_whole_sentence(name, capsys):
    assert run([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Example: {EXAMPLES[name]}\n")
    plain = "".join(shown.split())
    for inner in GROUPS[name].commands.values():
        assert inner.hidden or "".join((inner.help or "").split("\n\n")[0].split()) in plain, inner.name


def test_every_command_of_the_first_level_has_a_section():
    listed = [name for names in COMMANDS.values() for name in names]
    assert sorted(listed) == sorted(name for name, command in GROUPS[""].commands.items() if not command.hidden)


def test_every_option_that_a_section_names_exists():
    known = {flag for leaf in LEAVES.values() for option in leaf.params for flag in option.opts}
    assert [flag for flags in OPTIONS.values() for flag in flags if flag not in known] == []


def test_no_help_shows_a_type_of_python(capsys):
    for name in LEAVES:
        assert run([*name.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert [kind for kind in ("<str>", "<Any>", "list[", "range>", "<float>") if kind in shown] == []


def test_help_begins_with_the_example_and_has_sections(capsys):
    assert run(["run", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Example: countenance run face_localization --model")
    for title in ("The model:", "The data:", "The run:", "The work (nothing here changes a number):"):
        assert f"\n{title}\n" in shown


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("countenance ca", ["calibration", "card"]), ("countenance run --mo", ["--model"])],
    ids=["commands", "options"],
)
def test_the_shell_completes_commands_and_options(typed, completed):
    """What `countenance --install-completion` makes bash ask."""
    program = "import sys; sys.argv[0] = 'countenance'; from countenance.cli.app import main; main()"
    question = {
        "_COUNTENANCE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split()) - 1),
    }
    outcome = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | question, capture_output=True, text=True, check=False
    )
    assert sorted(outcome.stdout.split()) == completed, outcome.stderr
