"""`countenance-people`: render people who do not exist, with every truth about them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal

import typer

from countenance_people._backend import RendererMissing
from countenance_people.engine import Settings, begin, render_specs, timings
from countenance_people.plan import SEED, core_set, full_set, shard, small_set
from countenance_people.spec import PictureSpec

app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, help=__doc__)
Out = Annotated[Path, typer.Option(help="A folder; an interrupted rendering goes on in it.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes; the pictures are the same with any number.")]
Variant = Annotated[
    Literal["llvm_ad_rgb", "cuda_ad_rgb", "scalar_rgb"] | None, typer.Option(help="Mitsuba's backend (default: llvm).")
]
Samples = Annotated[int, typer.Option(min=1, help="Samples for each of the four rendered pixels of a pixel.")]
Depth = Annotated[bool, typer.Option("--depth-maps", help="Store depth maps too (16 bit, millimetres).")]


class WrongInput(ValueError):
    """What was asked for cannot be done; the message says why and what to do."""


def _check_folder(out: Path, settings: Settings, seed: int) -> None:
    """Make the folder, or see that it was begun with the same seed and settings; remember them."""
    ours = (out / ".truth").is_dir() or (out / "samples.parquet").exists()
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not ours)):
        raise WrongInput(f"{out}: holds something else; name a folder that is new or empty")
    begun = begin(out, settings, seed)
    if begun is not None:
        raise WrongInput(f"{out}: was begun with {begun}; ask for the same, or name a folder that is new or empty")


def _reporter() -> Callable[[int, int], None]:
    """A line on standard error whenever another twentieth is done."""
    start, last = time.monotonic(), -1

    def report(done: int, total: int) -> None:
        nonlocal last
        if (twentieth := done * 20 // max(total, 1)) != last:
            last = twentieth
            print(f"{done} of {total} pictures, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)

    return report


def _finish(specs: Iterable[PictureSpec], out: Path, failed: list[str], settings: Settings, seed: int) -> None:
    """Tables, card and hashes of a finished set; an error for an unfinished one."""
    from countenance_people.tables import collect, seal

    if failed:
        named = ", ".join((*failed[:3], *(["..."] if failed[3:] else [])))
        raise WrongInput(f"not all pictures are rendered, {len(failed)} are missing: {named}; run it again")
    collect(out, specs)
    seal(out, settings, seed)


@app.command()
def render(
    out: Out,
    n: Annotated[int, typer.Option(min=0, help="How many portraits, four of each person.")] = 24,
    scenes: Annotated[int, typer.Option(min=0, help="How many of every other part too; of twins: bases.")] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same pictures.")] = 1,
    workers: Workers = 1,
    variant: Variant = None,
    samples: Samples = 6,
    depth_maps: Depth = False,
) -> None:
    """Render a small set of new people, in the format of the shipped ones."""
    specs, settings = small_set(seed, n, scenes), Settings(samples, depth_maps=depth_maps, variant=variant)
    if not specs:
        raise WrongInput("nothing to render: --n and --scenes are both 0")
    _check_folder(out, settings, seed)
    failed = render_specs(specs, out, settings, workers=workers, progress=_reporter())
    _finish(specs, out, failed, settings, seed)
    print(f"{len(specs)} pictures in {out}; look at them: countenance data show {out} --out {out}/sheet.html")


@app.command()
def build(
    out: Out,
    which: Annotated[
        Literal["core", "full"], typer.Option("--set", help="core: what the package ships; full: all pictures.")
    ] = "core",
    seed: Annotated[int, typer.Option(min=0, help="The shipped set has the default.")] = SEED,
    workers: Workers = 1,
    variant: Variant = None,
    samples: Samples = 6,
    minutes: Annotated[float | None, typer.Option(min=0, help="Begin no picture after so many minutes.")] = None,
    share: Annotated[str | None, typer.Option(help="Only share i of n, as i/n, without tables.")] = None,
) -> None:
    """Render the core set, or the full set with depth maps: resumable, the same with any number of processes."""
    settings = Settings(samples, depth_maps=which == "full", variant=variant)
    part = None if share is None else _share(share)
    _check_folder(out, settings, seed)
    specs = core_set(seed) if which == "core" else list(full_set(seed))
    until = None if minutes is None else time.time() + 60 * minutes
    if part is not None:
        specs = list(shard(specs, *part))
    failed = render_specs(specs, out, settings, workers=workers, until=until, progress=_reporter())
    if share is None:
        _finish(specs, out, failed, settings, seed)
    print(f"{len(specs) - len(failed)} of {len(specs)} pictures in {out}; seconds for one: {timings(out)}")


def _share(text: str) -> tuple[int, int]:
    """The share i of n from i/n.

    >>> _share("3/16")
    (3, 16)
    """
    index, _, count = text.partition("/")
    if not (index.isdecimal() and count.isdecimal() and int(index) < int(count)):
        raise WrongInput(f"--share {text}: expected i/n with i from 0 to n - 1, such as 0/16")
    return int(index), int(count)


@app.command()
def pack(
    folder: Annotated[Path, typer.Argument(help="A folder with pictures that are rendered.")],
    to: Annotated[Path, typer.Option(help="The tar file, or its start when it is written in pieces.")],
    piece: Annotated[int | None, typer.Option(min=1, help="Largest size of a piece in MiB.")] = None,
) -> None:
    """Write a rendered set, finished or not, as a tar file or as tar files of a largest size.

    Unpacked over each other, pieces and shares make one folder in which a build goes on.
    """
    from countenance_people.archive import write_archive

    if not (folder / ".truth").is_dir():
        raise WrongInput(f"{folder}: holds no rendered pictures (no .truth in it)")
    if to.is_dir() or folder.resolve() in to.resolve().parents:
        raise WrongInput(f"--to {to}: expected a file outside the folder that is packed, such as full.tar")
    print(*write_archive(folder, to, None if piece is None else piece * 2**20), sep="\n")


@app.command()
def tones() -> None:
    """Measure the ten skin tones on the rendered cheek in the reference light, against the published swatches."""
    from countenance_people.tones import measure

    print("| tone | published | cheek | CIEDE2000 |\n|---|---|---|---|")
    for row in measure():
        print(f"| {row.tone} | {row.published} | {row.cheek} | {row.distance} |", flush=True)


def main() -> None:
    """Run the command; wrong input is one line and exit code 2."""
    try:
        app()
    except (WrongInput, RendererMissing, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
