"""`countenance gate`: check a run against a policy (exit 0: it passes, 1: it does not, 2: wrong input)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.lines import PaintedLine, PaintedText, say, width
from countenance.cli.places import RunPlace
from countenance.cli.settings import in_flags
from countenance.cli.shared_options import Json, Policy
from countenance.cli.trust_options import Unverified
from countenance.errors import GateFailed, InputError
from countenance.storage import place_of

if TYPE_CHECKING:
    from countenance.auditing import Audit
    from countenance.gating import Gate

FAIL_ON = ("disparity", "insufficient")


def gate(
    run: RunPlace,
    policy: Policy = None,
    baseline: Annotated[
        Any,
        typer.Option(help="The run that rules of the kind regression compare with.", metavar="RUN", parser=place_of),
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML here.")] = None,
    json: Json = None,
    markdown: Annotated[Path | None, typer.Option(help="Write the outcome here as Markdown.")] = None,
    any_time: Annotated[
        bool,
        typer.Option(
            "--any-time", help="Use intervals that stay valid when the gate is run again and again on growing data."
        ),
    ] = False,
    init: Annotated[bool, typer.Option("--init", help="Print a commented policy made from the run, and stop.")] = False,
    unverified: Unverified = False,
) -> None:
    """Check a run against a policy: print a table, write JUnit, Markdown or JSON, exit with 1 when a rule fails."""
    from countenance.gating import gate as judge
    from countenance.run import Run

    verified = not unverified
    if init:
        from countenance.gating.template import template

        say(template(Run(run, verified=verified)), nl=False)
        return
    if policy is None:
        raise InputError(f"--policy is missing; `countenance gate --init {run} > gate.yaml` writes one to start from")
    before = None if baseline is None else Run(baseline, verified=verified)
    show(judge(Run(run, verified=verified), policy, baseline=before, any_time=any_time), junit, json, markdown)


MARKS = {"FAIL": "severe", "warn": "unsure", "pass": "none", "FAILED": "severe", "passed": "none"}


def _painted(line: str) -> PaintedLine:
    """A line of the outcome, its first words in the colour of their meaning."""
    label, text = line[:9], line[9:]
    first, colon, rest = text.partition(":")
    if label.strip() == "gate" and colon:
        return PaintedLine([label, PaintedText(first, MARKS[first]), colon, rest])
    return PaintedLine([PaintedText(label, MARKS.get(label.strip(), "")), text])


def show(outcome: "Gate", junit: Path | None = None, json: Path | None = None, markdown: Path | None = None) -> None:
    """Print the outcome, write its files, and raise `GateFailed` (exit 1) where the gate fails."""
    from countenance.files import write_json, write_text
    from countenance.gating import output

    for line in output.lines(outcome, width=width()):
        say(_painted(in_flags(line) if line.startswith("note ") else line))
    if junit is not None:
        write_text(junit, output.junit(outcome))
    if json is not None:
        write_json(json, outcome.to_dict())
    output.write_summary(outcome, markdown)
    if not outcome.passed:
        raise GateFailed(outcome.summary)


def fail_on(text: str | None) -> tuple[str, ...]:
    """The verdicts that --fail-on names.

    >>> fail_on("disparity,insufficient"), fail_on(None)
    (('disparity', 'insufficient'), ())
    """
    from countenance.data.tables import near

    named = tuple(part.strip() for part in (text or "").split(",") if part.strip())
    if text is not None and not named:
        raise InputError(f"--fail-on {text!r}: expected disparity or disparity,insufficient")
    for name in named:
        if name not in FAIL_ON:
            raise InputError(f"--fail-on {name!r}{near(name, FAIL_ON)}: expected {' or '.join(FAIL_ON)}")
    return named


def fail_on_verdict(audit: "Audit", named: tuple[str, ...]) -> None:
    """Fail where the audit's verdict is one of those named; what could not be tested counts as insufficient."""
    kind = {"disparity": "disparity", "insufficient evidence": "insufficient", "untestable": "insufficient"}
    if kind.get(audit.verdict) in named:
        raise GateFailed(f"the verdict is {audit.verdict} (--fail-on {','.join(named)})")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(gate)
