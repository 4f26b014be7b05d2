"""Options of `run` that say where it is worked off."""

from typing import Annotated

import typer

EngineOption = Annotated[
    str, typer.Option("--engine", help="local (processes of this machine) or ray (actors of a cluster).")
]
AddressOption = Annotated[
    str | None, typer.Option("--address", help="Ray: the cluster, as host:port or auto (default: one on this machine).")
]
GpusOption = Annotated[
    float, typer.Option("--gpus-per-worker", min=0, help="Ray: GPUs of each worker; .5 puts two workers on one.")
]
DecodersOption = Annotated[
    int | None,
    typer.Option(
        "--decoders", min=0, help="Decode processes per worker (default: all cores but one for cuda, otherwise none)."
    ),
]
DecodeOption = Annotated[
    str, typer.Option("--decode", help="exact (the processor's pixels) or gpu (nvJPEG: faster, other pixels).")
]
