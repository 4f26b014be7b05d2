"""What the commands have in common: their options, named as the original named them."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

SEVERAL = {"--result-files", "-r", "--curve-names", "-l", "--gpus", "-g"}


class SeveralValues(TyperCommand):
    """Takes `--result-files a b c` as the original did, not only `--result-files a --result-files b`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread: list[str] = []
        option, fresh = None, False
        for arg in args:
            if arg.startswith("-") and not arg[1:].isdigit() and arg != "-":
                name, equals, _ = arg.partition("=")
                option, fresh = (name, not equals) if name in SEVERAL else (None, False)
                spread.append(arg)
            else:
                if option and not fresh:
                    spread.append(option)
                spread.append(arg)
                fresh = False
        return super().parse_args(ctx, spread)


class Set(StrEnum):
    """The sets of the challenge."""

    training = "training"
    validation = "validation"
    test = "test"
    sample = "sample"


DATA = typer.Option("--data-directory", "-d", help="The folder that the challenge's files were extracted into.")
Data = Annotated[Path, DATA]
ResultFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--result-files", "-r", help="Score files; several may follow.  [default: the baseline's]", metavar="FILE..."
    ),
]
LabelList = Annotated[
    list[str] | None,
    typer.Option(
        "--curve-names",
        "-l",
        help="A name for the curve of each file (the original's --labels).  [default: the file names]",
        metavar="NAME...",
    ),
]
WhichSet = Annotated[Set, typer.Option("--which-set", "-y", help="The set to work on.")]
Verbose = Annotated[int, typer.Option("--verbose", "-v", count=True, help="Print more (-vv is recommended).")]
VERSION = typer.Option(
    "--protocol-version", min=2, max=3, help="2 or 3; default: what the files show, and 2 for data that is made."
)
Version = Annotated[int | None, VERSION]
Overlap = Annotated[float, typer.Option("--overlap-threshold", "-t", help="Overlap from which a face counts as found.")]
LogX = Annotated[bool, typer.Option("--log-x", "-s", help="Horizontal axis in logarithmic scale.")]
OnlyPresent = Annotated[
    bool,
    typer.Option(
        "--detected-images",
        "-x",
        help="Leave out images without any detection, for debugging (the original's --only-present).",
    ),
]
Bootstrap = Annotated[
    int,
    typer.Option(
        "--bootstrap", min=0, help="Shade a 95 % band from this many resamplings of the images (500 is good)."
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", help="Also by group: further columns of the protocol, with commas.", metavar="COLUMNS"),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="Also write a run here (RUN/LABEL for each of several files).", metavar="RUN"),
]
Result = Annotated[
    Path | None,
    typer.Option(
        "--result-file",
        "-w",
        help="Where the scores go; %s is the set.  [default: results/UCCS-v2-...-baseline-<set>.txt]",
    ),
]
Debug = Annotated[
    int | None, typer.Option("--debug", "-q", min=1, help="Use only this many images (detect) or identities.")
]
Display = Annotated[
    bool, typer.Option("--display", "-x", help="Write pictures: detections green, truth red; open them on a screen.")
]
Parallel = Annotated[int, typer.Option("--parallel", "-P", min=1, help="Number of processes.")]
Gpus = Annotated[
    list[int] | None, typer.Option("--gpus", "-g", help="Graphics cards to use; -1: none.", metavar="N...")
]
Temp = Annotated[
    Path, typer.Option("--temp-dir", "-t", help="Results are kept here and reused as long as the inputs are the same.")
]
Force = Annotated[bool, typer.Option("--force", "-F", help="Recompute everything.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no progress.")]
