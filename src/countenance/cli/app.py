"""The command `countenance`: groups of commands, and the one place that turns an error into an exit code.

0 fine, 1 a gate failed, 2 the user's input is wrong (one line), 3 our bug (traceback and what to send us).
"""

import contextlib
import io
import sys
from functools import cache, partial
from typing import Annotated, Any

import typer

import countenance
from countenance.cli import (
    bias_bounty,
    cards,
    comparing,
    data,
    discovering,
    doctor,
    documentation,
    evaluating,
    fhibe,
    gating,
    happyfaces,
    mask_fairness,
    planning,
    runs,
    suites,
    uccs,
    viewing,
)
from countenance.cli.former_flags import in_flags_of_today
from countenance.cli.help import leaves, with_help
from countenance.cli.lines import Stopped, flushed, mute, note, say
from countenance.cli.settings import Commands, in_flags
from countenance.errors import GateFailed, InputError
from countenance.files import explained
from countenance.scratch import sweep
from countenance.text import bounded, refuse_credentials

app = Commands(
    "Evaluate a vision model on images of people, score every prediction, and say whom it fails.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

STOPPED = 130
"""The exit code after Ctrl-C."""
RESUMES = "stopped; the same command resumes"

evaluating.register(app)
runs.register(app)
comparing.register(app)
discovering.register(app)
gating.register(app)
cards.register(app)
viewing.register(app)
doctor.register(app)
documentation.register(app)
planning.register(app)
app.add_typer(data.app, name="data")
app.add_typer(data.people_app, name="people")
app.add_typer(suites.app, name="suite")
app.add_typer(fhibe.app, name="fhibe")
app.add_typer(uccs.app, name="uccs")
app.add_typer(mask_fairness.app, name="mask-fairness")
app.add_typer(bias_bounty.app, name="bias-bounty")
app.add_typer(happyfaces.app, name="happyfaces")


def _version(requested: bool) -> None:
    if requested:
        say(f"countenance {countenance.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    pass


def refuse_repeats(command: Any) -> Any:
    """The command, with every command below it refusing repeated options that take one value, and an empty --out.

    Former flags are read as the present ones.
    """
    for path, leaf in leaves(command):
        leaf.parse_args = partial(_parse, " ".join(path), leaf, leaf.parse_args)
    return command


def _parse(path: str, leaf: Any, parse: Any, context: Any, arguments: list[str]) -> Any:
    if not context.resilient_parsing:
        arguments = in_flags_of_today(path, arguments)
        values, _, order = leaf.make_parser(context).parse_args(list(arguments))
        for option in leaf.params:
            countless = ("multiple", "is_flag", "count")  # -vv counts as -v twice
            single = not any(getattr(option, name, name != "count") for name in countless)
            if "--out" in option.opts and values.get(option.name) == "":
                raise InputError("--out is empty; expected the name of a file or a folder")
            if single and (times := order.count(option)) > 1:
                how = "with commas" if "comma" in (option.help or "") else "once"
                raise InputError(
                    f"{option.opts[0]} is given {times} times, and only the last would count; give its "
                    f"{'values ' if how == 'with commas' else 'value '}{how}, as in {option.opts[0]} "
                    f"{'A,B' if how == 'with commas' else 'VALUE'}"
                )
    return parse(context, arguments)


@cache
def command_line() -> Any:
    """The command with all commands below it; made once in a process, which may run several command lines."""
    return with_help(refuse_repeats(typer.main.get_command(app)))


def main() -> None:
    """Run the command line and turn what went wrong into an exit code."""
    code = run(sys.argv[1:])
    flushed()
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    with contextlib.suppress(OSError):
        sweep()
    try:
        for word in arguments:
            refuse_credentials(word)
        result = command_line().main(arguments, prog_name="countenance", standalone_mode=False)
        if result == STOPPED:  # typer raises this for Ctrl-C
            say(RESUMES, err=True)
        return result if isinstance(result, int) else 0
    except typer.Exit as stop:
        return stop.exit_code
    except Stopped:
        return STOPPED
    except typer.Abort:
        say("stopped", err=True)
        return 2
    except GateFailed as error:
        say(bounded(f"gate failed: {error}"), err=True)
        return 1
    except InputError as error:
        say(bounded(f"error: {documentation.with_addresses(in_flags(error))}"), err=True)
        return 2
    except KeyboardInterrupt:
        say(RESUMES, err=True)
        return STOPPED
    except SystemExit as stop:  # click exits with 1 when the pipe is closed; 1 is our code of a failed gate
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        mute(sys.stdout)
        return 0
    except OSError as error:
        say(bounded(f"error: {explained(error)}"), err=True)
        return 2
    except Exception as error:
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # a usage error of typer's
            text = io.StringIO()
            error.show(text)
            note(bounded(text.getvalue().rstrip("\n")))
            return 2
        import platform
        import traceback

        issues = documentation.address("Issues")
        note(traceback.format_exc())
        note(
            f"This is a bug in countenance {countenance.__version__} (Python {platform.python_version()}, "
            f"{platform.system()}).\n"
            f"Please send us the lines above and the command that you typed{issues and f': {issues}'}."
        )
        return 3
