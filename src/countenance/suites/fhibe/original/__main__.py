"""`python -m countenance.suites.fhibe.original SCRIPT [ARGS]`: run a published script unchanged."""

import logging
import runpy
import sys
from pathlib import Path

import countenance.suites.fhibe.original  # noqa: F401 - makes fhibe_eval_api importable
from countenance.errors import InputError
from countenance.text import printable

USAGE = "usage: python -m countenance.suites.fhibe.original SCRIPT [ARGS]"


def main(arguments: list[str]) -> int:
    """Run a script as `python SCRIPT ARGS` would, with `fhibe_eval_api` importable; returns the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if arguments else sys.stderr)
        return 0 if arguments else 2
    script = Path(arguments[0])
    if not script.is_file():
        print(printable(f"error: {script}: no such script"), file=sys.stderr)
        return 2
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    before = sys.argv, sys.path[:]
    sys.argv, sys.path[:1] = arguments, [str(script.resolve().parent)]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except InputError as error:
        print(printable(f"error: {error}"), file=sys.stderr)
        return 2
    finally:
        sys.argv, sys.path[:] = before
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
