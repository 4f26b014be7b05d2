"""`countenance uccs`: the challenge's commands, with the original's options and under the original's names."""

from typing import Any

from typer.core import TyperGroup

from countenance.cli.settings import Commands
from countenance.cli.uccs import baseline, evaluation, original

SCRIPTS = {"baseline-detector": "detect", "baseline-recognizer": "recognize"}
"""The original's names of its scripts; names such as `evaluate_detector.py` are recognised by their spelling."""


class Scripts(TyperGroup):
    """Finds a command under the name of the original's script: `evaluate_detector.py`, `baseline_detector`, ..."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        plain = cmd_name.removesuffix(".py")
        for name in (cmd_name, plain, plain.replace("_", "-"), plain.replace("-", "_")):
            command = super().get_command(ctx, SCRIPTS.get(name, name))
            if command is not None:
                return command
        return None


app = Commands(
    "UCCS challenge: detect faces, recognise them in an open set, evaluate and check submissions.", cls=Scripts
)
app.add_typer(baseline.app)
app.add_typer(evaluation.app)
app.add_typer(original.app)
