"""Options that several commands have: those of settings, and where a command writes its result."""

from pathlib import Path
from typing import Annotated

import typer

from countenance.cli.settings import single
from countenance.settings import DataSettings, EngineSettings, ModelSettings, ReportSettings, RunSettings

Gallery = Annotated[str, single(ReportSettings, "gallery")]
Seed = Annotated[int, single(RunSettings, "seed")]
Limit = Annotated[int | None, single(RunSettings, "limit")]
Device = Annotated[str, single(ModelSettings, "device")]
Weights = Annotated[str | None, single(ModelSettings, "weights")]
Labels = Annotated[list[str] | None, single(DataSettings, "labels")]
OnlyPresent = Annotated[bool, single(DataSettings, "only_present")]
Workers = Annotated[int, single(EngineSettings, "workers")]
Threads = Annotated[int | None, single(EngineSettings, "threads")]
MaxFailures = Annotated[float, single(EngineSettings, "max_failures")]
ModelName = Annotated[
    str,
    typer.Option("--model", help="A zoo name, net.onnx, module:attr, path.py:attr, predictions:FILE or answers:RUN."),
]
DATASET = typer.Option("--data", help="A dataset's name, a path, module:attr or path.py:attr.")
DatasetName = Annotated[str, DATASET]
Policy = Annotated[
    Path | None,
    typer.Option("--policy", help="The rules (YAML); `countenance gate --init RUN` prints some to start from."),
]
JSON = typer.Option("--json", help="Write the result here as JSON.")
Json = Annotated[Path | None, JSON]
JsonFile = Annotated[Path, JSON]
Page = Annotated[Path | None, typer.Option("--report", help="Write an HTML page here.")]
Pdf = Annotated[Path | None, typer.Option("--pdf", help="Write the page as PDF here.")]
