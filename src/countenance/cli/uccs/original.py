"""The scripts of version 3 under their own names: a YAML file, and `--a.b.c value` to override a key."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from countenance.cli.lines import say
from countenance.cli.settings import Commands
from countenance.cli.shared_options import Gallery, Json, Page
from countenance.cli.uccs.options import Bootstrap, By, Force, Out, Quiet, Temp, Verbose
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.run.image_jobs import How
    from countenance.suites.uccs.config import Config


class ConfigurationKeys(TyperCommand):
    """A command whose help ends with the keys of a CONFIG.yaml and their defaults."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The keys that this script reads."""
        from countenance.suites.uccs.config import Config

        section = "eval" if ctx.info_name.startswith("evaluation") else ctx.info_name.removesuffix(".py").split("_")[-1]
        rows = [("--tasks, -t", ", ".join(TASKS))] if section == "eval" else []
        rows += [(f"--{name}", str(value)) for name, value in Config.flat() if name.split(".")[0] in (section, name)]
        with formatter.section(f"Keys of CONFIG.yaml ({CONFIG} where no file is named) and their defaults"):
            formatter.write_dl(rows)


app = Commands()
ANY = {"allow_extra_args": True, "ignore_unknown_options": True}
TASKS = ("detection", "recognition")
CONFIG = Path("facerec/configs/baseline_config.yaml")
"""The file that is read if no other is named, as in the original's scripts."""
ORIGINAL_NETWORK = "iresnet100"
"""What the original's configuration names; it is not shipped here."""


def _config(arguments: list[str]) -> "tuple[Config, list[str]]":
    """The configuration, and the tasks named after -t."""
    from countenance.suites.uccs.config import Config

    words = ["--tasks" if word == "-t" else word for word in arguments]
    path = Path(words.pop(0)) if words and not words[0].startswith("-") else None
    if path is None and CONFIG.is_file():
        path = CONFIG
        say(f"notice: settings of {CONFIG}", err=True)
    tasks: list[str] = []
    if "--tasks" in words:
        start = words.index("--tasks")
        stop = next((k for k in range(start + 1, len(words)) if words[k].startswith("--")), len(words))
        tasks, words = words[start + 1 : stop], words[:start] + words[stop:]
        wrong = [task for task in tasks if task not in TASKS]
        if wrong or not tasks:
            raise InputError(f"-t {' '.join(wrong)}: expected one or both of {', '.join(TASKS)}")
    config = Config.read(path, words)
    for notice in config.notices:
        say(f"notice: {notice}", err=True)
    return config, [task for task in TASKS if task in tasks] or list(TASKS)


@app.command(context_settings=ANY, cls=ConfigurationKeys)
def evaluation(
    *,
    ctx: typer.Context,
    by: By = None,
    report: Page = None,
    out: Out = None,
    gallery: Gallery,
    json: Json = None,
    bootstrap: Bootstrap = 0,
    verbose: Verbose = 0,
) -> None:
    """Version 3: evaluate detection and recognition as a CONFIG.yaml says; other words override it (--eval.iou 0.5)."""
    from countenance.cli.uccs.output import Output, columns, ready_to_plot, written
    from countenance.suites.uccs import CurveSettings
    from countenance.suites.uccs.score_curves import read_submissions

    config, tasks = _config(ctx.args)
    data, which, exclude = config.path("data_directory"), config["which_set"], config.path("eval.exclude_gallery")
    plots = {task: config.path(f"eval.{task}.{'froc' if task == 'detection' else 'oroc'}") for task in tasks}
    for plot in plots.values():
        ready_to_plot(plot)

    def apart(path: Path | None, task: str) -> Path | None:
        return path if path is None or len(tasks) == 1 else path.with_stem(f"{path.stem}-{task}")

    for task in tasks:
        settings = CurveSettings(
            log=not config["eval.linear"],
            overlap=config["eval.iou"],
            rank=1 if task == "detection" else config["eval.recognition.rank"],
            numbers=config[f"eval.{task}.plot_numbers"],
            bootstrap=bootstrap,
            exclude=None if exclude == data / f"exclude_gallery_{which}.txt" else exclude,
        )
        submissions = read_submissions(
            data,
            [Path(file) for file in config[f"eval.{task}.files"]],
            recognition=task == "recognition",
            labels=config[f"eval.{task}.labels"],
            which=which,
            version=3,
            settings=settings,
            attributes=any((by, report, out)),
        )
        place = None if out is None else out if len(tasks) == 1 else out / task
        output = (plots[task], apart(json, task), apart(report, task), place, gallery, columns(by), verbose)
        written(submissions, data, Output(*output))


@app.command("baseline_detection", context_settings=ANY, cls=ConfigurationKeys)
def baseline_detection(
    ctx: typer.Context, temp_dir: Temp = Path("temp"), force: Force = False, quiet: Quiet = False
) -> None:
    """Version 3: detect faces as a CONFIG.yaml says; other words override it (--detection.results FILE)."""
    from countenance.suites.uccs.baseline import Baseline, detect

    config, _ = _config(ctx.args)
    baseline = Baseline(
        config.path("data_directory"),
        config["which_set"],
        3,
        thresholds=tuple(config["detection.thresholds"]),
        most=config["detection.max_detections"],
        images=config.path("image_directory"),
        result_file=config.path("detection.results"),
    )
    out, detections = detect(baseline, _how(config, "detection.parallel", temp_dir, force, quiet))
    say(f"{detections.count:,} detections in {len(detections.images):,} images: {out}")


@app.command("baseline_recognition", context_settings=ANY, cls=ConfigurationKeys)
def baseline_recognition(
    ctx: typer.Context,
    disable_gallery: Annotated[
        bool,
        typer.Option(
            "--disable-gallery", help="Embed only the detected faces; the gallery's embeddings exist already."
        ),
    ] = False,
    temp_dir: Temp = Path("temp"),
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Version 3: embed the gallery and the detected faces as a CONFIG.yaml says."""
    from countenance.suites.uccs.baseline import Baseline
    from countenance.suites.uccs.baseline.recognition import EmbeddingFiles, recognize
    from countenance.suites.uccs.config import EMBEDDING

    config, _ = _config(ctx.args)
    arch = config["recognition.arch"]
    if arch == ORIGINAL_NETWORK:
        say(f"notice: the network {arch} is not shipped; {EMBEDDING} stands for it", err=True)
        arch = EMBEDDING
    names = ("scoring.gallery", "recognition.result_dir", "recognition.detection_file")
    gallery, probes, detections = (config.path(name) for name in names)
    files = EmbeddingFiles(gallery, probes, detections, disable_gallery)
    baseline = Baseline(
        config.path("data_directory"),
        config["which_set"],
        3,
        images=config.path("image_directory"),
        embedding=arch,
        result_file=config.path("scoring.results"),
    )
    recognize(baseline, _how(config, "recognition.workers", temp_dir, force, quiet), files)
    say(f"Embeddings: {files.probes}" if disable_gallery else f"Embeddings: {files.gallery}, {files.probes}")


@app.command(context_settings=ANY, cls=ConfigurationKeys)
def scoring(ctx: typer.Context) -> None:
    """Version 3: score embeddings (.pth or .npz) as a CONFIG.yaml says; other words override it."""
    from countenance.suites.uccs.baseline.score import score

    config, _ = _config(ctx.args)
    places = config.path("scoring.gallery"), config.path("scoring.probe")
    say(f"Scoring file: {score(*places, which=config['which_set'], result_file=config.path('scoring.results'))}")


def _how(config: "Config", workers: str, temp_dir: Path, force: bool, quiet: bool) -> "How":
    from countenance.cli.uccs.baseline import how_of

    return how_of(temp_dir, force, max(1, config[workers]), [config["gpu"]], quiet)
