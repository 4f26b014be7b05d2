"""Help texts: an example first, then commands or options in sections by what they are about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

EXAMPLES = {
    "": "countenance demo --out out/demo",
    "models": "countenance models list",
    "data": "countenance data check faces",
    "people": "countenance people render",
    "suite": "countenance suite list",
    "fhibe": "countenance fhibe make-data --out made",
    "uccs": "countenance uccs make-data --out uccs",
    "mask-fairness": "countenance mask-fairness detectors",
    "bias-bounty": "countenance bias-bounty make-data --out bounty",
    "happyfaces": "countenance happyfaces build --people --out faces",
    "run": "countenance run face_localization --model mtcnn --data people:portraits --by skin_tone --out out/run",
    "audit": "countenance audit scores.csv --by gender,skin_tone --metric correct",
    "report": "countenance report out/run --pdf report.pdf",
    "plan": "countenance plan --rate .9 --effect diff=.05 --groups 6",
    "demo": "countenance demo --out out/demo",
    "list": "countenance list",
    "verify": "countenance verify out/run",
    "purge": "countenance purge out/run --subjects withdrawn.txt --dry-run",
    "compare": "countenance compare out/old out/new --by skin_tone --report compare.html",
    "discover": "countenance discover out/haar --metric recall@0.5 --out out/slices --json slices.json",
    "leaderboard": "countenance leaderboard out/a out/b out/c --report board.html",
    "gate": "countenance gate out/run --policy policy.yaml",
    "card": "countenance card out/run --out README.md",
    "export": "countenance export out/run --what groups --out groups.csv",
    "view": "countenance view out",
    "doctor": "countenance doctor",
    "docs": "countenance docs how-to/own-detector",
    "calibration": "countenance calibration --near out/run",
    "models list": "countenance models list",
    "data list": "countenance data list",
    "data show": "countenance data show people:portraits",
    "data export": "countenance data export people:portraits --layout coco --out faces",
    "data index": "countenance data index faces.tar --out manifest",
    "data check": "countenance data check faces",
    "data card": "countenance data card people:portraits --out README.md",
    "data croissant": "countenance data croissant people:portraits --out croissant.json",
    "people render": "countenance people render",
    "suite list": "countenance suite list",
    "suite run": "countenance suite run mask_fairness --data people:portraits --model countenance-mask --out out/masks",
    "fhibe evaluate": "countenance fhibe evaluate --data fhibe --task face_localization --out out/fhibe",
    "fhibe report": "countenance fhibe report out/fhibe",
    "fhibe attributes": "countenance fhibe attributes",
    "fhibe make-data": "countenance fhibe make-data --out made",
    "fhibe purge": "countenance fhibe purge out/fhibe --subjects withdrawn.txt",
    "uccs detect": "countenance uccs detect --data-directory uccs --result-file boxes.txt",
    "uccs recognize": "countenance uccs recognize --data-directory uccs --result-file scores.txt",
    "uccs score": "countenance uccs score --result-file scores.txt --temp-dir temp",
    "uccs make-data": "countenance uccs make-data --out uccs",
    "uccs evaluate-detector": "countenance uccs evaluate-detector --data-directory uccs --result-files boxes.txt",
    "uccs evaluate-recognizer": "countenance uccs evaluate-recognizer --data-directory uccs --result-files scores.txt",
    "uccs calibrate": "countenance uccs calibrate --data-directory uccs --scores s.txt --false-identifications 10",
    "uccs check": "countenance uccs check scores.txt --data-directory uccs",
    "uccs evaluation": "countenance uccs evaluation --report report.html",
    "uccs baseline_detection": "countenance uccs baseline_detection --force",
    "uccs baseline_recognition": "countenance uccs baseline_recognition --force",
    "uccs scoring": "countenance uccs scoring",
    "mask-fairness assess": "countenance mask-fairness assess --dataset people:portraits --predictions p.csv --out out",
    "mask-fairness detectors": "countenance mask-fairness detectors",
    "mask-fairness recipe": "countenance mask-fairness recipe rhf --out rhf.Containerfile",
    "mask-fairness make-data": "countenance mask-fairness make-data --out masks",
    "mask-fairness compare": "countenance mask-fairness compare out/first out/second --by gender",
    "mask-fairness page": "countenance mask-fairness page out/first out/second --out masks.html",
    "mask-fairness twins": "countenance mask-fairness twins --detector countenance-mask --out out/twins",
    "mask-fairness train": "countenance mask-fairness train --out masks.onnx",
    "bias-bounty make-data": "countenance bias-bounty make-data --out bounty",
    "bias-bounty train": "countenance bias-bounty train --entry baseline --data bounty --out model",
    "bias-bounty predict": "countenance bias-bounty predict --entry model --images bounty/test --out predictions.csv",
    "bias-bounty score": "countenance bias-bounty score --labels bounty/test/labels.csv --predictions predictions.csv",
    "bias-bounty submit": "countenance bias-bounty submit --name us --kind supervised --data bounty --board board "
    "--test predictions.csv --code entry.py",
    "bias-bounty open": "countenance bias-bounty open board --opens 2026-11-15 --closes 2026-11-30",
    "bias-bounty bundle": "countenance bias-bounty bundle us.zip --entry model --test predictions.csv --code entry.py",
    "bias-bounty submit-bundle": "countenance bias-bounty submit-bundle us.zip --data bounty --board board",
    "bias-bounty check-code": "countenance bias-bounty check-code board us --code entry.py",
    "bias-bounty leaderboard": "countenance bias-bounty leaderboard board --data bounty --out board.html",
    "bias-bounty time": "countenance bias-bounty time --entry model --images bounty/test",
    "happyfaces build": "countenance happyfaces build --official official --lfw lfw --out faces",
    "happyfaces draw": "countenance happyfaces draw --data-directory faces --mix-rate 0.1 --seed 0 --out list.csv",
    "happyfaces run": "countenance happyfaces run --data-directory faces --method spatial",
    "happyfaces score": "countenance happyfaces score --data-directory faces --predictions predictions.csv",
    "happyfaces sweep": "countenance happyfaces sweep --data-directory faces --method spatial --seeds 8",
    "happyfaces report": "countenance happyfaces report happyfaces.json --out happyfaces.html",
    "happyfaces ask": "countenance happyfaces ask --data-directory faces",
}
"""An example of each command and of each group of commands."""

COMMANDS = {
    "Start": ("demo", "docs", "doctor", "list", "models", "data", "people"),
    "Evaluate and audit": ("run", "audit", "discover", "plan", "suite"),
    "Compare and decide": ("compare", "leaderboard", "gate"),
    "Show and pass on": ("report", "view", "card", "export"),
    "Check and keep": ("verify", "purge", "calibration"),
    "Published protocols": ("fhibe", "uccs", "mask-fairness", "bias-bounty", "happyfaces"),
}
"""The commands of the first level, in sections."""

OPTIONS = {
    "The study": (
        "--source",
        "--kind",
        "--rate",
        "--effect",
        "--groups",
        "--rows-per-person",
        "--icc",
        "--cluster-deff",
        "--sd",
    ),
    "What is compared": (
        *("--by", "--metric", "--where", "--given", "--depth", "--truth", "--pred", "--score", "--positive"),
        *("--cluster", "--comparison", "--reference", "--pair", "--names", "--denominator", "--ordered"),
    ),
    "How it is judged": (
        *("--alpha", "--delta", "--better", "--h0", "--power", "--min-n", "--adjust", "--families", "--poor"),
        *("--baseline", "--equity", "--any-time", "--policy", "--fail-on"),
    ),
    "What is written": (
        *("--out", "--report", "--pdf", "--json", "--csv", "--markdown", "--junit", "--site", "--gallery"),
        *("--evidence", "--bundle", "--log"),
    ),
}
"""Options outside the groups of settings, in sections; required ones come first."""

VALUES = {
    **{"<str>": "TEXT", "<list[str]>": "TEXT", "<Any>": "", "<list[Any]>": "", "<path>": "PATH", "<list[Path]>": ""},
    **{"<int>": "N", "<int range>": "N", "<float>": "X", "<float range>": "X"},
}
"""The placeholder of a value, by typer's name of its type."""


def with_help(command: Any) -> Any:
    """The command, with an example and sections of options in the help of every command below it."""
    for path, group in groups(command):
        group.format_help = partial(_group_help, group, EXAMPLES[" ".join(path)])
    for path, leaf in leaves(command):
        leaf.format_help = partial(_help, leaf, EXAMPLES[" ".join(path)])
    return command


def groups(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every group of commands with the words that call it: none for the first, which is the program."""
    if getattr(command, "commands", None) is not None:
        yield path, command
        for name, inner in command.commands.items():
            yield from groups(inner, (*path, name))


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that is no group, with the words that call it."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
    else:
        for name, inner in below.items():
            yield from leaves(inner, (*path, name))


def _group_help(group: Any, example: str, context: Any, formatter: Any) -> None:
    """Each command below with its whole first sentence."""
    formatter.write(f"Example: {example}\n\n")
    group.format_usage(context, formatter)
    group.format_help_text(context, formatter)
    sections: dict[str, list[tuple[str, str]]] = {title: [] for title in COMMANDS} if context.parent is None else {}
    for name in group.list_commands(context):
        inner = group.get_command(context, name)
        if inner is not None and not inner.hidden:
            title = (context.parent is None and _section(COMMANDS, [name])) or "Commands"
            sections.setdefault(title, []).append((name, inner.get_short_help_str(limit=300)))
    _write(sections, formatter)
    _write(_options(group, context), formatter)
    if context.parent is None:
        formatter.write("\n`countenance COMMAND --help` shows an example and the options of a command.\n")


def _help(leaf: Any, example: str, context: Any, formatter: Any) -> None:
    formatter.write(f"Example: {example}\n\n")
    leaf.format_usage(context, formatter)
    leaf.format_help_text(context, formatter)
    _write(_options(leaf, context), formatter)
    leaf.format_epilog(context, formatter)


def _options(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments and options of a command by section: names, values and meanings."""
    sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", "Required", *OPTIONS)}
    others: list[tuple[str, str]] = []
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        title = getattr(parameter, "rich_help_panel", None) or _section(OPTIONS, parameter.opts)
        if parameter.param_type_name == "argument":
            title = "Arguments"
        elif parameter.required:
            title = "Required"
        records = others if title is None else sections.setdefault(title, [])
        records.append((_plain_value(record[0]), record[1]))
    return sections | {"Other options" if any(sections.values()) else "Options": others}


def _section(sections: dict[str, tuple[str, ...]], names: list[str]) -> str | None:
    """The section that lists one of the names."""
    return next((title for title, members in sections.items() if set(members) & set(names)), None)


def _plain_value(text: str) -> str:
    """The names of an option with a plain word for its value.

    >>> _plain_value("--by <str>"), _plain_value("RUN <Any>")
    ('--by TEXT', 'RUN')
    """
    for kind, word in VALUES.items():
        text = text.replace(kind, word)
    return text.rstrip()


def _write(sections: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)
