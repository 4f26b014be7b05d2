"""`countenance bias-bounty`: make data, train, predict, score, submit, rank, time."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from countenance.cli.audit_options import Quiet
from countenance.cli.lines import note, say
from countenance.cli.settings import Commands, in_flags, single
from countenance.cli.shared_options import Device, Json, Labels, Seed, Threads
from countenance.errors import InputError
from countenance.settings import EngineSettings

CODE = "The code (a file, a folder, or its sha256): its hash is recorded."
REPLACE = "Hand in again under the same name: the latest counts, the earlier ones are kept."
CREW = "Who takes part (a bundle that names another crew is refused); of a crew the best on the public test is ranked."
app = Commands("Run a bias bounty: entries label skin tone, age and gender; accuracy, disparity and speed are scored.")

ENTRY = typer.Option("--entry", help="A folder with entry.json, or a shipped entry: baseline, better, unsupervised.")
Entry = Annotated[str, ENTRY]
DATA = typer.Option(help="A folder in the challenge's layout: train, test and holdout with their labels.")
NAME = typer.Option(help="The entry's name on the leaderboard (a bundle has its own in entry.json).")
Replicates = Annotated[int, typer.Option(min=100, help="Bootstrap replicates.")]


class Kind(StrEnum):
    """How an entry was trained."""

    supervised = "supervised"
    semi_supervised = "semi-supervised"
    unsupervised = "unsupervised"


@app.command("make-data")
def make_data(
    *,
    out: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    people: Annotated[str, typer.Option(help="Rendered people: the embedded ones, or a folder.")] = "people",
    unlabelled: Annotated[float, typer.Option(min=0, max=0.9, help="Share of faces in train without labels.")] = 0.1,
    seed: Seed,
    quiet: Quiet = False,
) -> None:
    """Write rendered people and non-people in the challenge's layout: train, public test, private holdout."""
    from functools import partial

    from countenance.cli.progress import progress
    from countenance.suites.bias_bounty.made_data import write_challenge

    counts = write_challenge(out, people, unlabelled=unlabelled, seed=seed, progress=partial(progress, quiet=quiet))
    for split, row in counts.items():
        share = row["nonfaces"] / max(row["images"], 1)
        say(
            f"{split:8} {row['images']:5} images, {row['nonfaces']} not faces ({share:.0%}), "
            f"{row['unlabelled_faces']} faces with a label missing"
        )
    say(f"{out.resolve()}")


@app.command()
def train(
    *,
    entry: Entry,
    data: Annotated[Path, DATA],
    out: Annotated[Path, typer.Option(help="Where the entry goes: entry.json and ONNX files.")],
    device: Device,
    epochs: Annotated[int | None, typer.Option(min=1, help="Passes over the data (default: the entry's own).")] = None,
    threads: Threads,
    seed: Seed,
    quiet: Quiet = False,
) -> None:
    """Train a shipped entry on the train part and export it to ONNX (needs the extra `torch`)."""
    from functools import partial

    from countenance.cli.progress import progress
    from countenance.suites.bias_bounty.training import EntryTraining, train_entry

    how = EntryTraining(device, epochs, threads, seed)
    trained = train_entry(entry, data, out, how, progress=partial(progress, quiet=quiet))
    threads = trained["training"]["threads"]
    where = (
        f"{threads} CPU {'thread' if threads == 1 else 'threads'}" if device == "cpu" else trained["training"]["device"]
    )
    say(f"{trained['name']}: trained in {trained['took']['seconds']:.1f} s on {where}")
    say(f"{out.resolve()}")


@app.command()
def predict(
    *,
    entry: Entry,
    images: Annotated[Path, typer.Option(help="A folder with labels.csv (its names are used), or of images alone.")],
    out: Annotated[Path, typer.Option(help="The predictions, with the columns of labels.csv.")],
    threads: Threads,
    quiet: Quiet = False,
) -> None:
    """Label every image of a folder with an entry (no torch needed)."""
    from countenance.cli.progress import progress
    from countenance.data.adapters.bias_bounty_files import predictions_text
    from countenance.files import write_text
    from countenance.suites.bias_bounty.entry import BountyEntry, image_files, predict_files

    model = BountyEntry(entry, threads=threads)
    files = image_files(images)
    with progress("predicting", len(files), quiet=quiet) as step:
        words = predict_files(model, files, step)
    write_text(out, predictions_text(list(files), words))
    say(f"{len(files)} images in {out}")


@app.command()
def score(
    *,
    labels: Labels,
    predictions: Annotated[Path, typer.Option(help="The answers, with the same columns.")],
    nonfaces: Annotated[Path | None, typer.Option(help="Names of known non-faces, one on each line.")] = None,
    identities: Annotated[
        Path | None, typer.Option(help="name,identity: whose picture it is (default: identities.csv beside labels).")
    ] = None,
    json: Json = None,
    submission: Annotated[Path | None, typer.Option(help="Write submission.json here.")] = None,
    name: Annotated[str, NAME] = "unnamed",
    replicates: Replicates = 2000,
    seed: Seed,
    against: Annotated[
        Path | None, typer.Option(help="Older predictions to compare with, paired: better for whom, worse for whom.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write a run here.", metavar="RUN")] = None,
) -> None:
    """Score predictions by labels (name,skin_tone,gender,age): accuracy, disparity, Score₁, randomness on non-faces."""
    from countenance.files import write_json
    from countenance.suites.bias_bounty.pairing import against_json, compare_predictions, read_pair, score_difference
    from countenance.suites.bias_bounty.printing import against_lines, score_lines
    from countenance.suites.bias_bounty.scoring import Draws
    from countenance.suites.bias_bounty.task import ScoredFiles

    if not labels or len(labels) > 1:
        raise InputError("--labels: expected one table, such as bounty/holdout/labels.csv")
    files = ScoredFiles.read(predictions, Path(labels[0]), nonfaces, identities)
    truth, draws = files.truth, Draws(replicates=replicates, seed=seed)
    if out is None:
        finished, score_result = None, files.score(draws)
    else:
        finished, score_result = files.run(out, draws, predictions.stem if name == "unnamed" else name, note)
    content, change_lines = score_result.to_json(), []
    if against is not None:
        pair = read_pair(truth, predictions, against)
        change, compared = score_difference(truth, pair, draws), compare_predictions(truth, pair, seed)
        content["against"] = against_json(change, compared)
        change_lines = against_lines(change, compared)
    if json is not None:
        write_json(json, content)
    if submission is not None:
        write_json(submission, score_result.submission(name))
    place = [] if finished is None else [f"run        {finished.path}"]
    for line in [*score_lines(score_result), *place, *change_lines]:
        say(line)


@app.command()
def submit(
    name: Annotated[str, NAME],
    kind: Annotated[Kind, typer.Option(help="How it was trained.")],
    data: Annotated[Path, DATA],
    board: Annotated[Path, typer.Option(help="The folder of submissions.")],
    test: Annotated[Path, typer.Option(help="Predictions of the public test.")],
    holdout: Annotated[Path | None, typer.Option(help="Predictions of the private holdout.")] = None,
    entry: Annotated[str | None, ENTRY] = None,
    timing: Annotated[
        Path | None, typer.Option(help="What `time --json` wrote: checked and shown, but not scored.")
    ] = None,
    replace: Annotated[bool, typer.Option(help=REPLACE)] = False,
    code: Annotated[str | None, typer.Option(help=CODE)] = None,
    crew: Annotated[str, typer.Option(help=CREW)] = "",
) -> None:
    """Check predictions and hand them in: a folder with submission.json is added to the board."""
    from countenance.suites.bias_bounty.submissions import BountySubmission, hand_in

    submission = BountySubmission(name, kind.value, test, holdout, entry, timing, code, crew)
    score = hand_in(board, data, submission, replace=replace).first
    interval = f"[{score.low:.3f}, {score.high:.3f}]"
    say(f"{name}: Score₁ {score.value:.4f} {interval} on the public test, handed in to {board}")


@app.command("open")
def open_(
    board: Annotated[Path, typer.Argument(help="The folder of submissions; it is created.", metavar="BOARD")],
    opens: Annotated[str | None, typer.Option(help="When the contest opens, such as 2026-11-15.")] = None,
    closes: Annotated[str | None, typer.Option(help="When the contest closes.")] = None,
    title: Annotated[str | None, typer.Option(help="What the contest is called on its page.")] = None,
    admit: Annotated[
        list[str] | None,
        typer.Option(metavar="CREW", help="A crew that takes part; may be repeated (default: everyone may)."),
    ] = None,
    entries_per_crew: Annotated[
        int | None, typer.Option(min=1, help="How many entries a crew may have on the board (default: any number).")
    ] = None,
) -> None:
    """Set the dates and crews of a contest; entries outside them are refused by `submit` and not ranked.

    What is not named stays as it was set before; `--closes ""` removes a date.
    """
    from countenance.suites.bias_bounty.contest import Contest, open_contest

    named = {
        "title": title,
        "opens": opens,
        "closes": closes,
        "crews": tuple(admit) if admit else None,
        "entries_per_crew": entries_per_crew,
    }
    changed = {name: value or None for name, value in named.items() if value is not None}
    contest = Contest.read(board).model_copy(update=changed | ({"title": title} if title is not None else {}))
    say(f"contest  {open_contest(board, contest)}: {contest.sentence()}")


@app.command()
def bundle(
    out: Annotated[Path, typer.Argument(help="The zip file to write.", metavar="FILE")],
    entry: Entry,
    test: Annotated[Path, typer.Option(help="Predictions of the public test.")],
    holdout: Annotated[Path | None, typer.Option(help="Predictions of the private holdout.")] = None,
    code: Annotated[str | None, typer.Option(help=CODE)] = None,
    crew: Annotated[str, typer.Option(help=CREW)] = "",
) -> None:
    """Pack an entry for the organiser: entry.json, networks, predictions and the hash of the code in one file."""
    from countenance.suites.bias_bounty.bundles import write_bundle

    say(f"bundle   {write_bundle(out, entry, test, holdout, code, crew)}")


@app.command("submit-bundle")
def submit_bundle(
    file: Annotated[Path, typer.Argument(help="What `bundle` wrote.", metavar="FILE")],
    data: Annotated[Path, DATA],
    board: Annotated[Path, typer.Option(help="The folder of submissions.")],
    name: Annotated[str | None, NAME] = None,
    replace: Annotated[bool, typer.Option(help=REPLACE)] = False,
    crew: Annotated[str, typer.Option(help=CREW)] = "",
) -> None:
    """Hand in what a participant packed with `bundle`."""
    from countenance.suites.bias_bounty.bundles import hand_in_bundle

    title, score = hand_in_bundle(file, board, data, name=name, replace=replace, crew=crew)
    say(f"{title}: Score₁ {score.score1:.4f} on the public test, handed in to {board}")


@app.command("check-code")
def check_code(
    board: Annotated[Path, typer.Argument(help="The folder of submissions.", metavar="BOARD")],
    name: Annotated[str, typer.Argument(help="The entry's name.", metavar="NAME")],
    code: Annotated[str, typer.Option(help=CODE)],
) -> None:
    """Check whether code is that of a submission, by the hash that `submit --code` recorded (exit 2 if not)."""
    from countenance.suites.bias_bounty.submissions import code_hash, same_code

    submissions = same_code(board, name, code)
    if not submissions:
        raise InputError(f"{name}: no submission was made by this code (sha256 {code_hash(code)})")
    numbers = ", ".join(f"{submission.number} ({submission.submitted})" for submission in submissions)
    say(f"{name}: the code of submission {numbers}")


@app.command()
def leaderboard(
    *,
    board: Annotated[Path, typer.Argument(help="The folder of submissions.", metavar="BOARD")],
    data: Annotated[Path, DATA],
    out: Annotated[Path | None, typer.Option(help="Write the HTML page here, with a page for each entry.")] = None,
    public: Annotated[
        Path | None, typer.Option(help="A folder for a site that everyone may see, without anything from the holdout.")
    ] = None,
    private: Annotated[Path | None, typer.Option(help="A folder for the site of the private tables alone.")] = None,
    json: Json = None,
    strict_rubric: Annotated[
        bool, typer.Option(help="Keep the gap of the published rubric between 10 and 15 %.")
    ] = False,
    pictures: Annotated[
        bool | None, typer.Option(help="Show failures as pictures (default: when nobody in them is real).")
    ] = None,
    time: Annotated[
        bool, typer.Option("--time", help="Time every entry that was handed in, here and now, on the holdout.")
    ] = False,
    passes: Annotated[int, typer.Option(min=1, help="Passes over the images; their median counts.")] = 5,
    seconds: Annotated[
        float, typer.Option(min=1, help="The most seconds that an entry may take on the holdout.")
    ] = 900.0,
    memory_gb: Annotated[float, typer.Option(min=0.1, help="The most memory that an entry may take.")] = 8.0,
    replicates: Replicates = 2000,
    seed: Seed,
    quiet: Quiet = False,
) -> None:
    """Run every entry on the holdout, rank the entries by score with intervals, and name the winners of the prizes."""
    from countenance.cli.progress import progress
    from countenance.files import write_json
    from countenance.suites.bias_bounty.board import Rules, rank, submission_folders
    from countenance.suites.bias_bounty.entry_runs import EntryLimits
    from countenance.suites.bias_bounty.page import write_pages, write_site
    from countenance.suites.bias_bounty.printing import table_lines
    from countenance.suites.bias_bounty.scoring import Draws

    sites = _sites(public, private, out)
    draws, limits = Draws(replicates=replicates, seed=seed), EntryLimits(seconds, memory_gb)
    rules = Rules(strict_rubric, draws, time, passes, limits)
    with progress("entries", len(submission_folders(board)), quiet=quiet) as step:
        ranking = rank(board, data, rules, step)
    for line in table_lines(ranking):
        say(in_flags(line))
    if json is not None:
        write_json(json, ranking.to_json())
    if out is not None:
        say(f"page     {write_pages(ranking, data, out, pictures=pictures).resolve()}")
    for which, folder in sites.items():
        say(f"{which:8} {write_site(ranking, data, folder, which, pictures=pictures).resolve()}")
    if not ranking.standings and ranking.rejected:
        raise InputError(f"{board}: every submission was rejected; the reasons are above")


def _sites(public: Path | None, private: Path | None, out: Path | None) -> dict[str, Path]:
    """The folders of the sites, refused before the work: a site may not hold anything else, such as the other site."""
    from countenance.report.board_site import check_site

    sites = {which: folder for which, folder in (("public", public), ("private", private)) if folder is not None}
    written = {f"--{which}": folder for which, folder in sites.items()} | ({} if out is None else {"--out": out})
    for which, folder in sites.items():
        check_site(folder)
        for option, place in written.items():
            if option != f"--{which}" and place.resolve().is_relative_to(folder.resolve()):
                raise InputError(f"{option} {place} lies in the folder of --{which}, {folder}; name another place")
    return sites


@app.command("time")
def time_(
    entry: Entry,
    images: Annotated[Path, typer.Option(help="A folder with labels.csv (its names are used), or of images alone.")],
    json: Json = None,
    passes: Annotated[int, typer.Option(min=1, help="Passes over the images; their median counts.")] = 5,
    threads: Annotated[int, single(EngineSettings, "threads")] = 1,
) -> None:
    """Time an entry in its own process: after a warm-up, the median of 5 passes, with loading timed separately."""
    from countenance.files import write_json
    from countenance.suites.bias_bounty.timing import measure

    timing, _ = measure(entry, images, passes=passes, threads=threads)
    if json is not None:
        write_json(json, timing.model_dump())
    for line in timing.lines(timing.entry):
        say(line)
