"""`countenance happyfaces`: build, draw, run, score, sweep, report, ask."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from countenance.cli.audit_options import Quiet
from countenance.cli.lines import say
from countenance.cli.settings import Commands, single
from countenance.cli.shared_options import Json, JsonFile, Seed
from countenance.errors import InputError
from countenance.settings import RunSettings

app = Commands("HappyFaces: can a method find both features that explain one label?")

DATA = typer.Option("--data-directory", "-d", help="A folder (or archive) with the three sets.")
Data = Annotated[Path, DATA]
MethodName = Annotated[
    str,
    typer.Option(
        help="erm, divdis, dbat, topk, topk-exp, spatial, spatial-deep, spatial-landmarks, spatial-topk, or "
        "path.py:Class (module:attr) with fit(labelled, labels, unlabelled)."
    ),
]
MIX_RATE = typer.Option(help="Share of cross types among the unlabelled photos, 0 to 1.")
MixRate = Annotated[float, MIX_RATE]
DrawnSeed = Annotated[int | None, single(RunSettings, "seed")]
HeldBack = Annotated[
    Path | None, typer.Option("--held-back", help="A fourth set, a folder with the four types: the test.")
]
Out = Annotated[Path | None, typer.Option(help="Write a run here, with a row for each photo that was scored.")]

NAMING = "heads       assigned to features by validation truth, the better of the two ways"
NO_DRAW = (
    "not checked: whether the method was fitted on some of these unlabelled photos; "
    "--mix-rate and --seed name the draw that it used"
)
USES_BATCH = "uses its batch: the answer to a photo depends on the other photos beside it; the entry is marked"


@app.command()
def build(
    *,
    out: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    official: Annotated[Path | None, typer.Option(help="The benchmark's folder: its list, its sets.")] = None,
    lfw: Annotated[Path | None, typer.Option(help="Folder of LFW originals.")] = None,
    people: Annotated[bool, typer.Option("--people", help="Use the embedded rendered people, no photos.")] = False,
    features: Annotated[
        str, typer.Option(help="With --people: smile+text, mask+text, smile+glasses, smile+background, smile+tone.")
    ] = "smile+text",
    seed: Seed,
    quiet: Quiet = False,
) -> None:
    """Build the three sets: complete an official folder from LFW originals, or print words on rendered people."""
    from countenance.cli.progress import progress

    if people and (official or lfw):
        raise InputError("build: --people uses no photos; give either --people or --official and --lfw")
    if people:
        from countenance.suites.happyfaces.people import build_people

        count = build_people(out, features=features, seed=seed)
        say(f"{count} pictures of rendered people ({features}) in {out}")
        return
    if official is None or lfw is None:
        raise InputError("build: give --official DIR and --lfw DIR, or --people")
    from countenance.suites.happyfaces.printed_sets import build_official, to_make

    with progress("printing words", to_make(official), quiet=quiet) as step:
        count = build_official(official, lfw, out, step)
    say(f"{count} photos made; the three sets are in {out}")


@app.command()
def draw(
    *,
    data_directory: Data,
    mix_rate: MixRate = 0.1,
    seed: Seed,
    out: Annotated[Path, typer.Option(help="The list to write (CSV).")] = Path("list.csv"),
) -> None:
    """List the unlabelled photos that a run is fitted on, with checksums, for methods that run elsewhere."""
    from countenance.data.adapters.happyfaces_layout import read_happyfaces
    from countenance.suites.happyfaces.draws import write_draw

    _not_a_folder(out, "--out")
    lines, checksum = write_draw(read_happyfaces(data_directory), mix_rate, seed, out)
    say(f"{lines} photos drawn at mix rate {mix_rate:g} with seed {seed}: {out}")
    say(f"sha256 of the list  {checksum}")


@app.command()
def run(
    *,
    data_directory: Data,
    method: MethodName = "spatial",
    mix_rate: MixRate = 0.1,
    seed: Seed,
    json_: Json = None,
    out: Out = None,
    held_back: HeldBack = None,
) -> None:
    """Run a method once and print both heads' accuracies."""
    from countenance.data.adapters.happyfaces import HappyFacesDataset
    from countenance.data.adapters.happyfaces_layout import read_happyfaces
    from countenance.suites.happyfaces.protocol import MixTask, evaluate_method

    if not 0 <= mix_rate <= 1:
        raise InputError(f"--mix-rate {mix_rate:g}: expected a number from 0 to 1")
    dataset = HappyFacesDataset(read_happyfaces(data_directory, held_back))
    source = _source(data_directory, held_back)
    evaluated = evaluate_method(dataset, MixTask(method, mix_rate, seed), out, source=source, say=say)
    _show(evaluated, json_, out)


@app.command()
def score(
    data_directory: Data,
    predictions: Annotated[
        Path, typer.Option(help="CSV or Parquet with a photo and the probabilities of head 1 and head 2 on each line.")
    ],
    name: Annotated[str | None, typer.Option(help="What the method is called (default: the file's name).")] = None,
    mix_rate: Annotated[float | None, MIX_RATE] = None,
    seed: DrawnSeed = None,
    json_: Json = None,
    out: Out = None,
    held_back: HeldBack = None,
) -> None:
    """Score predictions made elsewhere: every validation photo, and unlabelled ones that the method did not use."""
    from countenance.data.adapters.happyfaces_layout import read_happyfaces
    from countenance.suites.happyfaces.predictions import evaluate_predictions

    if mix_rate is not None and not 0 <= mix_rate <= 1:
        raise InputError(f"--mix-rate {mix_rate:g}: expected a number from 0 to 1")
    if seed is not None and mix_rate is None:
        raise InputError("--seed: is that of a draw; give --mix-rate as well")
    evaluated = evaluate_predictions(
        predictions,
        read_happyfaces(data_directory, held_back),
        name or predictions.stem,
        mix_rate=mix_rate,
        seed=seed or 0,
        source=_source(data_directory, held_back),
        out=out,
    )
    _show(evaluated, json_, out)


def _source(folder: Path, held_back: Path | None) -> str:
    from countenance.data.adapters.happyfaces import source_of

    return source_of(folder.absolute(), held_back and held_back.absolute())


def _show(evaluated: Any, json_: Path | None, out: Path | None) -> None:
    """Write the record of an evaluation and print it."""
    from countenance.files import write_json
    from countenance.suites.happyfaces.runs import record_of
    from countenance.suites.happyfaces.task import PARTS

    record = record_of(evaluated)
    if json_ is not None:
        write_json(json_, record)
    if not record["answered"]:
        say(f"no answer: {record['reason']}")
    for part in PARTS:
        accuracies = record.get(part)
        if accuracies:
            heads = ", ".join(f"{name} {head['accuracy']:.3f}" for name, head in accuracies["heads"].items())
            say(f"{part.replace('_', ' '):10}  worst head {accuracies['worst_head']:.3f}   ({heads})")
    if record["answered"]:
        say(NAMING)
    if record["answered"] and record["mix_rate"] is None and record["not_drawn"]:
        say(NO_DRAW)
    if record.get("uses_batch"):
        say(USES_BATCH)
    notes = record["notes"]
    if "way" in notes:
        say(f"by          {notes['way']}{', because ' + str(notes['why']) if notes.get('why') else ''}")
    if notes.get("estimated_mix_rate") is not None:
        say(f"mix rate    {notes['estimated_mix_rate']:.3f} estimated, {record['mix_rate']:.3f} true")
    if out is not None:
        say(f"run         {out.resolve()}")


@app.command()
def sweep(
    data_directory: Data,
    method: MethodName = "spatial",
    mix_rates: Annotated[str, typer.Option(help="Mix rates, separated by commas.")] = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1",
    seeds: Annotated[int, typer.Option(help="How many seeds.", min=1)] = 8,
    first_seed: Annotated[int, typer.Option(help="The first seed.", min=0)] = 0,
    json_: JsonFile = Path("happyfaces.json"),
    runs: Annotated[
        Path | None, typer.Option("--out", "--runs", help="Folder of the single runs; default: beside the table.")
    ] = None,
    held_back: HeldBack = None,
    jobs: Annotated[int, typer.Option(help="Runs at a time.", min=1)] = 1,
    quiet: Quiet = False,
) -> None:
    """Run a method at many mix rates and seeds; finished runs are reused."""
    from countenance.cli.progress import progress
    from countenance.files import write_json
    from countenance.suites.happyfaces.protocol import MixTask
    from countenance.suites.happyfaces.protocol import sweep as run_all
    from countenance.suites.happyfaces.scores import needs, summary

    rates = _rates(mix_rates)
    tasks = [MixTask(method, rate, seed) for rate in rates for seed in range(first_seed, first_seed + seeds)]
    _not_a_folder(json_)
    folder = runs or json_.with_suffix(".runs")
    with progress(method, len(tasks), quiet=quiet) as step:
        table = summary(run_all(data_directory, tasks, folder, held_back=held_back, jobs=jobs, step=step))
    # The page shows where the heads of these runs look.
    write_json(json_, table | {"folder": os.path.relpath(folder, json_.parent)})
    for row in table["mix_rates"]:
        if row["answered"]:
            beside = "" if row["not_drawn_mean"] is None else f"   not drawn {row['not_drawn_mean']:.3f}"
            if "held_back_mean" in row:
                beside += f"   held back {row['held_back_mean']:.3f}"
            about = "(1 seed)" if row["worst_head_std"] is None else f"± {row['worst_head_std']:.3f}"
            say(f"mix rate {row['mix_rate']:<4g}   worst head {row['worst_head_mean']:.3f} {about}{beside}")
        else:
            say(f"mix rate {row['mix_rate']:<4g}   no answer")
    for reason in table["not_answered"]:
        say(f"no answer: {reason}")
    if any(row["answered"] for row in table["mix_rates"]):
        say(NAMING)
    if table["uses_batch"]:
        say(USES_BATCH)
    if table["accuracy_at_10"] is not None:
        say(f"worst head at 10 %  {table['accuracy_at_10']:.3f}")
    for rate, declined in table["declined"].items():
        say(f"mix rate {rate}: {declined} of {len(table['seeds'])} seeds declined, counted as a guess (0.5)")
    area, lowest = table["auc_0_30"], table["lowest_mix_rate_above_90"]
    known = (f"{area:.3f}" if area is not None else "none", f"{lowest:g}" if lowest is not None else "none")
    missing = (table["auc_needs"], table["lowest_needs"])
    for name, value, rates in zip(("AUC 0–30 %", "lowest mix rate above 90 %"), known, missing, strict=True):
        say(f"{name}  {f'not given: {needs(rates)}' if rates else value}")


def _not_a_folder(path: Path, flag: str = "--json") -> None:
    """Refuse early what would fail after the work is done."""
    if path.is_dir():
        raise InputError(f"{flag} {path}: a folder; name a file")


def _rates(text: str) -> list[float]:
    try:
        rates = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        raise InputError(f"--mix-rates: {text!r}, expected numbers from 0 to 1 separated by commas") from None
    if not rates or any(not 0 <= rate <= 1 for rate in rates):
        raise InputError(f"--mix-rates: {text!r}, expected numbers from 0 to 1 separated by commas")
    return rates


@app.command()
def report(
    sweeps: Annotated[
        list[Path],
        typer.Argument(
            help="Tables that `sweep --json` wrote, or a file of runs of several methods.", metavar="SWEEP.json…"
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("happyfaces.html"),
    data_directory: Annotated[Path | None, DATA] = None,
    answers: Annotated[Path | None, typer.Option("--asked", help="What `ask --json` wrote.")] = None,
    faces: Annotated[bool, typer.Option("--faces", help="Also over some validation photos of real people.")] = False,
) -> None:
    """Write one page: curves beside the published ones, accuracy by type, where the heads look, estimated mix rates."""
    from countenance.suites.happyfaces.report import write_report

    if faces and data_directory is None:
        raise InputError("--faces: give --data-directory DIR as well, the photos are there")
    say(f"Page: {write_report(sweeps, out, data=data_directory, answers=answers, faces=faces).resolve()}")


@app.command()
def ask(
    *,
    data_directory: Data,
    method: MethodName = "spatial",
    mix_rate: MixRate = 0.1,
    questions: Annotated[int, typer.Option(help="How many questions at most.", min=1)] = 40,
    fit_every: Annotated[int, typer.Option(help="Questions between two fits.", min=1)] = 5,
    seeds: Annotated[int, typer.Option(help="How many seeds.", min=1)] = 3,
    seed: Seed,
    interactive: Annotated[bool, typer.Option("--interactive", help="Ask you instead of reading the truth.")] = False,
    json_: JsonFile = Path("asked.json"),
    out: Annotated[Path | None, typer.Option(help="Interactive: folder for the photos asked about.")] = None,
    quiet: Quiet = False,
) -> None:
    """Ask about the photos on which the heads disagree most, learn from the answers, and draw the curve."""
    from countenance.cli.progress import progress
    from countenance.data.adapters.happyfaces_layout import read_happyfaces
    from countenance.files import write_json
    from countenance.suites.happyfaces.interface import CannotAnswer
    from countenance.suites.happyfaces.protocol import MixTask
    from countenance.suites.happyfaces.questions import ask as ask_about
    from countenance.suites.happyfaces.questions import at_the_terminal, means, simulated

    _not_a_folder(json_)
    data = read_happyfaces(data_directory)
    common: dict[str, Any] = {"questions": questions, "batch": fit_every}
    try:
        if interactive:
            say("learning from the labelled photos; the questions follow")
            oracle = at_the_terminal(data, out or json_.with_suffix(".photos"), pictures=sys.stdout.isatty())
            runs = [[ask_about(data, oracle, MixTask(method, mix_rate, seed), **common)]]
        else:
            with progress("asking", 2 * seeds * questions, quiet=quiet) as step:
                runs = [
                    [
                        ask_about(data, simulated(data), task, by_disagreement=order, step=step, **common)
                        for task in (MixTask(method, mix_rate, number) for number in range(seed, seed + seeds))
                    ]
                    for order in (True, False)
                ]
    except CannotAnswer as reason:
        say(f"no answer: {reason}")
        return
    tables = [means(group) for group in runs]
    write_json(json_, tables)
    for table in tables:
        say("asked by disagreement" if table["order"] == "disagreement" else "asked at random")
        for point in table["mean"]:
            beside = "" if point["not_drawn"] is None else f"   not drawn {point['not_drawn']:.3f}"
            word = "question " if point["questions"] == 1 else "questions"
            say(f"  {point['questions']:4d} {word}   worst head {point['worst_head']:.3f}{beside}")
        if table["effect"]:
            say(f"  {table['effect']}")
