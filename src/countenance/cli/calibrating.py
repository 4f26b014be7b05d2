"""`countenance calibration`: what simulations with a known truth gave, near the sizes of a run."""

from typing import Annotated

import typer

from countenance.cli.lines import say, width
from countenance.cli.shared_options import Json
from countenance.cli.tables import fitted


def calibration(
    near: Annotated[str | None, typer.Option(help="A run: only the lines nearest to its sizes.")] = None,
    json: Json = None,
) -> None:
    """Show how often verdicts, intervals and sample sizes were right on simulated data whose truth is known."""
    from countenance.calibration_table import calibration as lines_near
    from countenance.calibration_table import calibration_hash
    from countenance.files import write_json
    from countenance.run import Run
    from countenance.run.auditing import read_audit

    audit = None if near is None else read_audit(Run(near))
    lines = lines_near(audit)
    rows = [("kind", "promised", "came out", "people", "groups", "simulated")]
    rows += [
        (
            line.kind,
            f"{line.nominal:g}",
            f"{line.value:.3f} ± {line.se:.3f}",
            f"{line.n:,}" if line.n else "",
            f"{line.groups}" if line.groups else "",
            f"{line.surface}, {line.process}",
        )
        for line in lines
    ]
    for text in fitted(rows, width()):
        say(text)
    say(f"table    {calibration_hash()}")
    if json is not None:
        write_json(json, {"lines": [line.model_dump() for line in lines]})


def register(app: typer.Typer) -> None:
    """Put the command at the top level."""
    app.command()(calibration)
