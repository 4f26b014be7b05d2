"""Options that several commands have: those of settings, and where a command writes its result."""

from pathlib import Path
from typing import Annotated

import typer

from countenance.cli.settings import described
from countenance.settings import DataSettings, EngineSettings, ModelSettings, ReportSettings, RunSettings

Gallery = Annotated[str, described(ReportSettings, "gallery")]
Seed = Annotated[int, described(RunSettings, "seed")]
Limit = Annotated[int | None, described(RunSettings, "limit")]
Device = Annotated[str, described(ModelSettings, "device")]
Weights = Annotated[str | None, described(ModelSettings, "weights")]
OnlyPresent = Annotated[bool, described(DataSettings, "only_present")]
Workers = Annotated[int, described(EngineSettings, "workers")]
Threads = Annotated[int | None, described(EngineSettings, "threads")]
MaxFailures = Annotated[float, described(EngineSettings, "max_failures")]
ModelName = Annotated[
    str,
    typer.Option("--model", help="A zoo name, net.onnx, module:attr, path.py:attr, predictions:FILE or answers:RUN."),
]
DatasetName = Annotated[str, typer.Option("--data", help="A dataset's name, a path, module:attr or path.py:attr.")]
Policy = Annotated[
    Path | None,
    typer.Option("--policy", help="The rules (YAML); `countenance gate --init RUN` prints some to start from."),
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the result here as JSON.")]
Page = Annotated[Path | None, typer.Option("--report", help="Write an HTML page here.")]
Pdf = Annotated[Path | None, typer.Option("--pdf", help="Write the page as PDF here.")]
