"""`countenance discover`: groups that nobody labelled, searched on half of the people and confirmed on the other."""

from pathlib import Path
from typing import Annotated, Any

import typer

from countenance.cli.audit_options import Alpha, Better, Metrics, only_metric
from countenance.cli.lines import say, width
from countenance.cli.places import is_run
from countenance.cli.shared_options import Gallery, Json, Seed
from countenance.cli.tables import fitted
from countenance.cli.trust_options import Unverified
from countenance.errors import InputError
from countenance.storage import place_of


def discover(
    table: Annotated[
        Any, typer.Argument(help="A run (folder or s3://…), or a table of rows (.parquet, .csv).", parser=place_of)
    ],
    out: Annotated[Path, typer.Option(help="A folder for the page.")],
    better: Better,
    alpha: Alpha,
    seed: Seed,
    gallery: Gallery,
    metric: Metrics = None,
    json: Json = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(help="Vectors: .npy with one for each row, or .parquet with sample and embedding."),
    ] = None,
    save_attribute: Annotated[
        str | None, typer.Option(help="Add the first confirmed slice as an attribute of this name.")
    ] = None,
    unverified: Unverified = False,
) -> None:
    """Find groups that nobody labelled: search on half of the people, confirm on the other half."""
    from countenance.auditing.source import Source
    from countenance.cli.auditing import check_writable
    from countenance.discovering import discover as search
    from countenance.discovering import discover_run
    from countenance.discovering.attribute import check_name, save_in_run, save_table
    from countenance.discovering.page import write_page
    from countenance.files import write_json
    from countenance.report.gallery import mode_for
    from countenance.run import Run
    from countenance.run.file_names import MANIFEST

    if better not in (None, "higher", "lower"):
        raise InputError(f"--better {better}, expected higher or lower")
    check_writable([json], [table, embeddings])
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: a file, expected a folder")
    metric = only_metric(metric)
    options: dict[str, Any] = {"better": better, "alpha": alpha, "seed": seed}
    run = Run(table, verified=not unverified) if is_run(table) and _has_run(table, MANIFEST) else None
    dataset, mode = None, "off"
    source = Source(Path(table)) if run is None else Source(run.scores(), label=run.place)
    if save_attribute is not None:
        check_name(save_attribute, source.names)
    if run is not None:
        name = f"{run.model_label} on {run.dataset_name}"
        mode = mode_for(gallery, run.manifest.dataset.card.real_people)
        dataset, vectors, notes = _looks(run, embeddings)
        discovery = discover_run(run, metric, embeddings=vectors, notes=notes, **options)
    else:
        name = Path(table).name
        vectors = None if embeddings is None else _vectors(source, embeddings)
        discovery = search(source, metric, embeddings=vectors, **options)
    out.mkdir(parents=True, exist_ok=True)
    page = write_page(discovery, name, out, dataset, mode, run)
    if json is not None:
        write_json(json, discovery.to_dict())
    for line in _lines(discovery):
        say(line)
    say(f"page     {page.resolve()}")
    if save_attribute is None:
        return
    if not discovery.slices or not discovery.slices[0].confirmed:
        say(f"no slice was confirmed, so there is no attribute {save_attribute}")
    elif run is not None:
        save_in_run(run, discovery, save_attribute)
        say(f"attribute {save_attribute} is in the run: countenance audit {table} --by {save_attribute}")
    else:
        say(f"attribute {save_attribute} is in {save_table(source, discovery, save_attribute, out).resolve()}")


def _has_run(place: Any, manifest: str) -> bool:
    from countenance.storage import is_url

    return is_url(place) or (Path(place) / manifest).is_file()


def _vectors(source: Any, path: Path) -> Any:
    from countenance.discovering.embeddings import from_file

    samples = source.read(["sample"], [])["sample"].to_pylist() if "sample" in source.names else []
    rows = len(source.read([], source.names[:1])[source.names[0]])
    return from_file(path, samples or [None] * rows, rows)


def _looks(run: Any, path: Path | None) -> tuple[Any, Any, list[str]]:
    """The dataset of a run and vectors of its rows, each None if not available, and notes on both."""
    from countenance.discovering.embeddings import from_file, of_crops, of_model

    scores = run.scores()
    samples = scores["sample"].to_pylist()
    subjects = scores["subject"].to_pylist() if "subject" in scores.column_names else [None] * len(samples)
    try:
        dataset = run.dataset()
    except (InputError, OSError) as error:
        dataset, notes = None, [f"the dataset cannot be loaded again ({error}), so there are no pictures"]
    else:
        notes = []
    if path is not None:
        return dataset, from_file(path, samples, len(samples)), [*notes, f"embeddings from {path.name}"]
    vectors = of_model(run, samples)
    if vectors is not None:
        return dataset, vectors, [*notes, "embeddings of the model itself"]
    vectors = None if dataset is None else of_crops(dataset, samples, subjects)
    return (
        dataset,
        vectors,
        [*notes, *(["pictures described by colours and edges of each crop"] if vectors is not None else [])],
    )


def _lines(discovery: Any) -> list[str]:
    from countenance.discovering.page import slice_words

    confirmed = sum(slice_.confirmed for slice_ in discovery.slices)
    content = discovery.to_dict()
    lines = [
        f"slices   {confirmed} confirmed of {len(discovery.slices)} candidates",
        f"halves   searched on {content['people_search']:,} {content['unit']}, confirmed on "
        f"{content['people_confirm']:,} others",
    ]
    lines += [f"note     {note}" for note in content["notes"]]
    rows = [("slice", "n confirm", discovery.rows.metric, "interval", "rest", "p adj.", "confirmed")]
    rows += [
        (
            slice_words(discovery.rows, member)[0][:90],
            f"{slice_.n_confirm:,}",
            f"{slice_.estimate:.3f}",
            f"[{slice_.low:.3f}, {slice_.high:.3f}]",
            f"{slice_.rest:.3f}",
            f"{slice_.p_adjusted:.3g}",
            "yes" if slice_.confirmed else "no",
        )
        for slice_, member in zip(discovery.slices, discovery.members, strict=True)
    ]
    return lines + (list(fitted(rows, width())) if discovery.slices else [])


def register(app: typer.Typer) -> None:
    """Put the command at the top level."""
    app.command()(discover)
