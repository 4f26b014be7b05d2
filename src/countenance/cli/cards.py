"""Documents and exports: `countenance card` and `export`, `countenance data card` and `data croissant`."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countenance.cli import data
from countenance.cli.lines import say
from countenance.cli.places import RunPlace
from countenance.cli.trust_options import TrustCode, Unverified, audited_run
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.run import Run


class What(StrEnum):
    """What can be exported."""

    groups = "groups"
    findings = "findings"
    coco = "coco"
    figures = "figures"
    eval_results = "eval-results"
    every_eval_ever = "every-eval-ever"
    summary = "summary"


class TableFormat(StrEnum):
    """How tables are written."""

    md = "md"
    latex = "latex"
    csv = "csv"


def card(
    run: RunPlace,
    out: Annotated[Path, typer.Option(help="The card, such as README.md.")],
    trust_code: TrustCode = False,
    unverified: Unverified = False,
) -> None:
    """Write the model card of a run: whom the model fails, group table, licences, Hugging Face front matter."""
    from countenance.files import write_text
    from countenance.report.cards import model_card

    write_text(out, model_card(audited_run(run, verified=not unverified, trust_code=trust_code)))
    say(out.resolve())


def export(
    run: RunPlace,
    what: Annotated[
        What,
        typer.Option(
            help="groups, findings, figures, coco (predictions), eval-results (Hugging Face), every-eval-ever, summary."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The file; of figures its ending is .pdf, .svg or .png.")],
    format: Annotated[
        TableFormat | None, typer.Option(help="Of tables: md, latex or csv (default: by the name).")
    ] = None,
    trust_code: TrustCode = False,
    unverified: Unverified = False,
) -> None:
    """Write the tables of a run (Markdown, LaTeX, CSV), its figures (PDF, SVG, PNG) or its predictions (COCO)."""
    from countenance.files import write_json, write_text
    from countenance.report import exports
    from countenance.report.cards import FORMATS, findings_table, groups_table
    from countenance.report.source import ReportSource
    from countenance.run.licences import of_manifest

    how: dict[str, Any] = {"verified": not unverified, "trust_code": trust_code}
    if what.value in exports.WRITERS:
        exports.write(what.value, audited_run(run, **how), out)
        say(out.resolve())
        return
    if what is What.figures:
        if format is not None:
            raise InputError(f"--format {format.value} is for tables; the ending of --out says how figures are written")
        for path in _figures(audited_run(run, **how), out):
            say(path.resolve())
        return
    if what is What.coco:
        from countenance.answers.formats.coco import write_coco_results
        from countenance.run import Run

        if format is not None:
            raise InputError(f"--format {format.value} is for tables; COCO results are JSON: leave it out")
        finished = Run(run, **how)
        finished.require_complete()
        write_coco_results(out, finished.store.answers())
        # The format is a plain list, so provenance goes into a file beside it.
        write_json(out.with_name(f"{out.name}.licences.json"), of_manifest(finished.manifest))
    else:
        endings = {".md": "md", ".tex": "latex", ".csv": "csv"}
        chosen = format.value if format else endings.get(out.suffix.lower())
        if chosen is None:
            raise InputError(
                f"{out}: which format? add --format md, latex or csv, or end the name in .md, .tex or .csv"
            )
        source = ReportSource.of(audited_run(run, **how))
        table = groups_table(source) if what is What.groups else findings_table(source)
        write_text(out, FORMATS[chosen](table))
    say(out.resolve())


def _figures(run: "Run", out: Path) -> list[Path]:
    """A file for each figure; where there are several, their names go into the files' names."""
    from countenance.files import named
    from countenance.report.draw.mpl import all_figures, save
    from countenance.report.source import ReportSource
    from countenance.run.licences import in_words, of_manifest

    source = ReportSource.of(run)
    figures = all_figures(source)
    about = (
        f"{source.run.model_label} on {source.run.dataset_name}. Licences: {in_words(of_manifest(source.run.manifest))}"
    )
    names = (
        [out] if len(figures) == 1 else [named(out).with_name(f"{out.stem}-{name}{out.suffix}") for name, _ in figures]
    )
    return [save(figure, path, about) for path, (_, figure) in zip(names, figures, strict=True)]


def dataset_card(
    name: data.Name,
    out: Annotated[Path, typer.Option(help="The card, such as README.md.")],
) -> None:
    """Write the dataset's card: rights, counts and the balance of its attributes, with Hugging Face front matter."""
    from countenance.data import load_dataset
    from countenance.files import write_text
    from countenance.report.cards import dataset_card as card_text

    write_text(out, card_text(load_dataset(name)))
    say(out.resolve())


def croissant(
    name: data.Name,
    out: Annotated[Path, typer.Option(help="The file, such as croissant.json.")],
) -> None:
    """Describe a dataset in a form that programs read: Croissant JSON-LD with group counts and `rai:` fields."""
    from countenance.data import load_dataset
    from countenance.data.people.dataset import SHIPPED
    from countenance.report.cards import write_croissant

    tables = SHIPPED if name.partition(":")[0] == "people" else Path(name)
    write_croissant(load_dataset(name), out, tables if (tables / "samples.parquet").is_file() else None)
    say(out.resolve())


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    app.command()(card)
    app.command()(export)
    data.app.command("card")(dataset_card)
    data.app.command()(croissant)
