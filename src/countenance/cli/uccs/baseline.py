"""Running the baselines, and making data to run them on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countenance.cli.lines import say
from countenance.cli.settings import Commands
from countenance.cli.shared_options import Weights
from countenance.cli.uccs.options import (
    VERSION,
    Data,
    Debug,
    Display,
    Force,
    Gpus,
    Parallel,
    Quiet,
    Result,
    Set,
    SeveralValues,
    Temp,
    Verbose,
    Version,
    WhichSet,
)

if TYPE_CHECKING:
    from countenance.run.image_jobs import How

app = Commands()
Model = Annotated[str, typer.Option(help="By name, path or module:attr: a face detector; to recognize, an embedding.")]


def how_of(temp_dir: Path, force: bool, parallel: int, gpus: list[int] | None, quiet: bool) -> "How":
    from countenance.cli.progress import progress
    from countenance.data.reading.arrays import Cache
    from countenance.run.image_jobs import How

    return How(
        Cache(temp_dir, force=force),
        parallel,
        tuple(card for card in gpus or () if card >= 0),
        lambda what, total: progress(what, total, quiet=quiet),
        lambda line: say(f"warning: {line}", err=True),
    )


def named_set(path: Path | None, which: Set) -> Path | None:
    """A result file whose `%s` stands for the set, as the original wrote it.

    >>> named_set(Path("mine-%s.txt"), Set.test).name
    'mine-test.txt'
    """
    return None if path is None else Path(str(path).replace("%s", which.value))


def show_if_possible(folder: Path) -> bool:
    """Open the pictures' folder in a window when there is a screen; otherwise do nothing."""
    import os
    import subprocess
    import sys

    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    opener = {"darwin": "open", "win32": "explorer"}.get(sys.platform, "xdg-open")
    try:
        subprocess.Popen([opener, str(folder)])  # noqa: S603 - a fixed program and our own folder
    except OSError:
        return False
    return True


def _shown(folder: Path | None) -> None:
    if folder is not None:
        say(f"Pictures: {folder}" + ("" if show_if_possible(folder) else " (no screen to open them on)"))


@app.command(cls=SeveralValues)
def detect(
    *,
    data_directory: Data,
    result_file: Result = None,
    which_set: WhichSet = Set.validation,
    protocol_version: Version = None,
    model: Model = "mtcnn",
    weights: Weights,
    debug: Debug = None,
    display: Display = False,
    parallel: Parallel = 1,
    gpus: Gpus = None,
    temp_dir: Temp = Path("temp"),
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Run the detection baseline: MTCNN with lowered thresholds."""
    from countenance.suites.uccs.baseline import Baseline
    from countenance.suites.uccs.baseline import detect as run

    pictures = Path("display") / which_set.value if display else None
    baseline = Baseline(
        data_directory,
        which_set.value,
        protocol_version,
        detector=model,
        detector_weights=None if weights is None else Path(weights),
        result_file=named_set(result_file, which_set),
        debug=debug,
        display=pictures,
    )
    out, detections = run(baseline, how_of(temp_dir, force, parallel, gpus, quiet))
    if verbose:
        for name, faces in zip(detections.images, detections.faces, strict=True):
            say(f"  {name}: {len(faces['score'])} detections")
    say(f"{detections.count:,} detections in {len(detections.images):,} images: {out}")
    _shown(pictures)


@app.command(cls=SeveralValues)
def recognize(
    *,
    data_directory: Data,
    result_file: Result = None,
    which_set: WhichSet = Set.validation,
    protocol_version: Version = None,
    model: Model = "dlib",
    weights: Weights,
    detector: Annotated[str, typer.Option(help="The face detector.")] = "mtcnn",
    maximum_scores: Annotated[
        int, typer.Option("--maximum-scores", "-m", min=1, help="Version 2: identities listed for a face.")
    ] = 10,
    debug: Debug = None,
    display: Display = False,
    parallel: Parallel = 1,
    gpus: Gpus = None,
    temp_dir: Temp = Path("temp"),
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Run the recognition baseline: templates of the known subjects, cosines to every detected face."""
    from countenance.suites.uccs.baseline import Baseline
    from countenance.suites.uccs.baseline import recognize as run

    pictures = Path("display") / which_set.value if display else None
    baseline = Baseline(
        data_directory,
        which_set.value,
        protocol_version,
        detector,
        embedding=model,
        embedding_weights=None if weights is None else Path(weights),
        labels=maximum_scores,
        result_file=named_set(result_file, which_set),
        debug=debug,
        display=pictures,
    )
    out = run(baseline, how_of(temp_dir, force, parallel, gpus, quiet))
    say(f"Recognition scores: {out}")
    if verbose:
        say(f"Kept for the next time: {temp_dir}")
    _shown(pictures)


@app.command()
def score(
    result_file: Result = None,
    which_set: WhichSet = Set.validation,
    temp_dir: Temp = Path("temp"),
    gallery_embeddings: Annotated[
        Path | None, typer.Option(help="Gallery embeddings (.npz: subject, embedding).  [default: in --temp-dir]")
    ] = None,
    probe_embeddings: Annotated[
        Path | None, typer.Option(help="Probe embeddings (.npz: image, box, score, embedding).  [default: likewise]")
    ] = None,
) -> None:
    """Write a version 3 scoring file from embeddings: those of `recognize`, or your own."""
    from countenance.suites.uccs.baseline.score import gallery_file, probe_file
    from countenance.suites.uccs.baseline.score import score as run

    out = run(
        gallery_embeddings or gallery_file(temp_dir),
        probe_embeddings or probe_file(temp_dir, which_set.value),
        which=which_set.value,
        result_file=named_set(result_file, which_set),
    )
    say(f"Scoring file: {out}")


@app.command("make-data")
def make_data(
    out: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    protocol_version: Annotated[int, VERSION] = 2,
    dataset: Annotated[str, typer.Option(help="Where the scenes come from.")] = "people:groups",
    portraits: Annotated[
        str, typer.Option(help="Further pictures of the known subjects; '' for none.")
    ] = "people:portraits",
) -> None:
    """Write the embedded group scenes in the challenge's layout."""
    from countenance.data import load_dataset
    from countenance.suites.uccs.made_data import make_data as make

    further = list(load_dataset(portraits)) if portraits else []
    for line in make(load_dataset(dataset), out, protocol_version, portraits=further).lines():
        say(line)
