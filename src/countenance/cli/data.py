"""`countenance data`: list, show, export, index, check; `countenance people`: the embedded people."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli.audit_options import Quiet
from countenance.cli.lines import note, say
from countenance.cli.settings import Commands
from countenance.errors import InputError
from countenance.settings import ReadingSettings
from countenance.storage import place_of

if TYPE_CHECKING:
    from countenance.data import Dataset


app = Commands("List, show, check, export and index datasets.")

Name = Annotated[str, typer.Argument(help="A dataset's name (people, people:portraits) or a path.", metavar="NAME")]


class DatasetLayout(StrEnum):
    """The layouts that a dataset can be written in."""

    coco = "coco"
    folder = "folder"


@app.command("list")
def list_() -> None:
    """List the datasets that are known by name."""
    from countenance.data import dataset_names, load_dataset

    for name in dataset_names():
        try:
            dataset = load_dataset(name)
        except InputError as error:  # the user's own folder is needed: the message says how to name it
            say(f"{name:16} {str(error).removeprefix(f'{name}: ')}")
            continue
        say(f"{name:16} {len(dataset):6} images   {dataset.card.licence}")
        for part, n in _part_sizes(dataset).items():
            say(f"  {name}:{part:14} {n:6} images")


def _part_sizes(dataset: "Dataset") -> dict[str, int]:
    from collections import Counter

    return dict(Counter(str(sample.attributes["part"]) for sample in dataset if "part" in sample.attributes))


def _load(name: str, reading: ReadingSettings) -> "Dataset":
    """Load a dataset, and print the notes of its reader (such as what was left out) to the standard error."""
    from countenance.data import load_dataset

    dataset = load_dataset(name, **reading.reading())
    for text in dataset.notes:
        note(text)
    return dataset


@app.command()
def show(
    name: Name,
    reading: ReadingSettings,
    out: Annotated[Path | None, typer.Option(help="Also write an HTML page with thumbnails here.")] = None,
    thumbnails: Annotated[int, typer.Option(help="How many pictures the page shows.", min=0)] = 96,
    faces: Annotated[bool, typer.Option(help="Show pictures of real people on the page.")] = False,
) -> None:
    """Print a dataset's card, counts and attribute balance; with --out, write a page of its pictures."""
    from countenance.data.balance import balance, card_lines

    dataset = _load(name, reading)
    for line in card_lines(dataset):
        say(line)
    for attribute, counts in balance(dataset).items():
        say(f"\n{attribute}")
        most = max(n for _, n in counts)
        for value, n in counts:
            say(f"  {value:16.16} {n:6}  {'█' * max(1, round(32 * n / most)) if n else ''}")
    if out is not None:
        from countenance.report.sheet import write_sheet

        write_sheet(dataset, out, thumbnails=thumbnails, faces=faces)
        say(f"\nPage: {out.resolve()}")


@app.command()
def export(
    name: Name,
    out: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    reading: ReadingSettings,
    layout: Annotated[
        DatasetLayout, typer.Option(help="COCO JSON with attributes, or a folder with labels.csv.")
    ] = DatasetLayout.coco,
) -> None:
    """Write a dataset in another layout; reading it back gives the same truth."""
    from countenance.data.adapters.coco import write_coco
    from countenance.data.adapters.folder import write_folder
    from countenance.files import staged

    dataset = _load(name, reading)
    with staged(out) as folder:
        folder.rmdir()  # the writers create the folder
        (write_coco if layout is DatasetLayout.coco else write_folder)(dataset, folder)
    say(f"{len(dataset)} images in {out}")


@app.command()
def index(
    source: Annotated[
        str, typer.Argument(help="A dataset's name or path: a folder, COCO, tars, Parquet, Hugging Face.")
    ],
    out: Annotated[
        Any, typer.Option(help="The manifest: a new folder or s3://bucket/prefix.", metavar="MANIFEST", parser=place_of)
    ],
    reading: ReadingSettings,
    embed: Annotated[
        bool | None,
        typer.Option(help="Put the pictures into the manifest (default: when it goes to a URL)."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write a dataset as a manifest, which `run --data` reads in parts, on any number of machines."""
    from countenance.cli.progress import progress
    from countenance.data.index import index_dataset, open_source

    samples = open_source(source, **reading.reading())
    for text in samples.notes:
        note(text)
    with progress("indexing", samples.images or 0, quiet=quiet) as step:
        manifest = index_dataset(samples, out, embed=embed, step=step)
    images = "1 image" if len(manifest) == 1 else f"{len(manifest):,} images"
    parts = "1 partition" if len(manifest.partitions) == 1 else f"{len(manifest.partitions)} partitions"
    say(f"{images} in {parts}: {out}")
    say(f"fingerprint {manifest.fingerprint()[:16]}, attributes: {', '.join(manifest.attributes) or 'none'}")


@app.command()
def check(name: Name, reading: ReadingSettings, quiet: Quiet = False) -> None:
    """Check every label of a dataset: print each kind of problem with its count, exit with 2 when there is one."""
    from countenance.cli.progress import progress
    from countenance.data.balance import people_in_words
    from countenance.data.truth_problems import check as check_dataset
    from countenance.data.truth_problems import grouped, unfamiliar_values

    dataset = _load(name, reading)
    with progress("checking", len(dataset), quiet=quiet) as step:
        problems = check_dataset(dataset, step)
    for sentence in unfamiliar_values(dataset):
        say(f"note: {sentence}", err=True)
    for line in grouped(problems):
        say(line)
    if problems:
        raise typer.Exit(2)
    images = "1 image" if len(dataset) == 1 else f"{len(dataset)} images"
    say(f"{dataset.name}: {images}, {people_in_words(dataset)}, no problem found")


people_app = Commands("The rendered people that come with the package.")
RENDERER = (
    "the renderer is a separate project, in the folder people of the repository: pip install ./people, then "
    "countenance-people render --n 40 --out more"
)


@people_app.callback()
def _group() -> None:
    """The rendered people that come with the package."""


@people_app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def render(context: typer.Context) -> None:
    """Print how to render more people."""
    if context.args:
        raise InputError(RENDERER)
    say(RENDERER)
