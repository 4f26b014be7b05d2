"""Options of the commands that read runs: how far a run that somebody sent is trusted."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.lines import note
from countenance.cli.places import is_run
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.auditing import Audit
    from countenance.run import Run

Unverified = Annotated[
    bool, typer.Option("--unverified", help="Also read files that were changed after they were written; pages say so.")
]
TrustCode = Annotated[
    bool, typer.Option("--trust-code", help="Import the code of a custom task that the run names (module:attr).")
]
DataPlaces = Annotated[
    list[str] | None,
    typer.Option(
        "--data-at",
        help="Where the dataset of a run from another machine is: NAME=PATH (may be repeated).",
        metavar="NAME=PATH",
    ),
]


def data_of(pairs: Sequence[str] | None) -> dict[str, str]:
    """Datasets by name, with where they are.

    >>> data_of(["faces=/data/faces"]), data_of(None)
    ({'faces': '/data/faces'}, {})
    >>> data_of(["faces"])
    Traceback (most recent call last):
    countenance.errors.InputError: --data-at 'faces': expected NAME=PATH, the name of a run's dataset and where it is
    """
    places = {}
    for text in pairs or ():
        name, equals, place = text.partition("=")
        if not (equals and name.strip() and place.strip()):
            raise InputError(f"--data-at {text!r}: expected NAME=PATH, the name of a run's dataset and where it is")
        places[name.strip()] = place.strip()
    return places


def opened_entries(entries: Sequence[str], unverified: bool) -> Sequence[Any]:
    """Runs and tables as a comparison takes them; runs are opened here, so that their page does not read them again."""
    from countenance.run import Run

    return [Run(entry, verified=not unverified) if is_run(entry) else entry for entry in entries]


def keep_audit(run: "Run", audit: "Audit") -> None:
    """Store an audit in its run, or print why that fails: the audit of a run that cannot be written is still shown."""
    from countenance.run import store_audit

    try:
        store_audit(run, audit)
    except (OSError, InputError) as error:
        from countenance.files import explained

        run.unstored = audit
        note(f"the audit is not stored ({explained(error) if isinstance(error, OSError) else error})")


def audited_run(place: Path | str, **how: Any) -> "Run":
    """A finished run with an audit: its own, or the default one."""
    from countenance.run import Run, audit_run
    from countenance.run.file_names import AUDIT
    from countenance.run.ledger import noted

    finished = Run(place, **how)
    if not finished.store.storage.has(AUDIT):
        keep_audit(finished, noted(finished, audit_run(finished)))
    return finished
