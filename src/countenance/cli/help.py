"""Help texts: an example first, then the options in sections by what they are about."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

EXAMPLES = {
    "run": "countenance run face_localization --model mtcnn --data people:portraits --by skin_tone --out out/run",
    "audit": "countenance audit scores.csv --by gender,skin_tone --metric correct",
    "report": "countenance report out/run --pdf report.pdf",
    "plan": "countenance plan --metric rate --baseline .9 --effect .05 --groups 6",
    "demo": "countenance demo --out out/demo",
    "list": "countenance list",
    "verify": "countenance verify out/run",
    "purge": "countenance purge out/run --subjects withdrawn.txt --dry-run",
    "compare": "countenance compare out/old out/new --by skin_tone --report compare.html",
    "discover": "countenance discover out/haar --metric recall@0.5 --out out/slices --json slices.json",
    "leaderboard": "countenance leaderboard out/a out/b out/c --out board.html",
    "gate": "countenance gate out/run --policy policy.yaml",
    "card": "countenance card out/run --out README.md",
    "export": "countenance export out/run --what groups --out groups.csv",
    "view": "countenance view out",
    "doctor": "countenance doctor",
    "calibration": "countenance calibration --near runs/mine",
    "models list": "countenance models list",
    "data list": "countenance data list",
    "data show": "countenance data show people:portraits",
    "data export": "countenance data export people:portraits --format coco --out faces",
    "data index": "countenance data index faces.tar --out manifest",
    "data check": "countenance data check faces",
    "data card": "countenance data card people:portraits --out README.md",
    "data croissant": "countenance data croissant people:portraits --out croissant.json",
    "people render": "countenance people render --n 24 --out people",
    "suite list": "countenance suite list",
    "suite run": "countenance suite run mask_fairness --data people:portraits --model countenance-mask --out out/masks",
    "fhibe evaluate": "countenance fhibe evaluate --data fhibe --task face_localization --out out/fhibe",
    "fhibe report": "countenance fhibe report out/fhibe",
    "fhibe attributes": "countenance fhibe attributes",
    "fhibe make-data": "countenance fhibe make-data --out made",
    "fhibe purge": "countenance fhibe purge out/fhibe --subjects withdrawn.txt",
    "uccs detect": "countenance uccs detect --data-directory uccs --result-file boxes.txt",
    "uccs recognize": "countenance uccs recognize --data-directory uccs --result-file scores.txt",
    "uccs score": "countenance uccs score --result-file scores.txt --gallery gallery --probes probes",
    "uccs make-data": "countenance uccs make-data --out uccs",
    "uccs evaluate-detector": "countenance uccs evaluate-detector --data-directory uccs --result-files boxes.txt",
    "uccs evaluate-recognizer": "countenance uccs evaluate-recognizer --data-directory uccs --result-files scores.txt",
    "uccs calibrate": "countenance uccs calibrate --data-directory uccs --result-file s.txt --false-identifications 10",
    "uccs check": "countenance uccs check scores.txt --data-directory uccs",
    "uccs evaluation": "countenance uccs evaluation --report report.html",
    "uccs baseline_detection": "countenance uccs baseline_detection --force",
    "uccs baseline_recognition": "countenance uccs baseline_recognition --force",
    "uccs scoring": "countenance uccs scoring",
    "mask-fairness assess": "countenance mask-fairness assess --dataset people --detector countenance-mask --out out",
    "mask-fairness detectors": "countenance mask-fairness detectors",
    "mask-fairness recipe": "countenance mask-fairness recipe rhf --out rhf.Containerfile",
    "mask-fairness make-data": "countenance mask-fairness make-data --out masks",
    "mask-fairness compare": "countenance mask-fairness compare out/first out/second --by gender",
    "mask-fairness page": "countenance mask-fairness page out/first out/second --out masks.html",
    "mask-fairness twins": "countenance mask-fairness twins --detector countenance-mask --out out/twins",
    "mask-fairness train": "countenance mask-fairness train --out masks.onnx",
    "bias-bounty make-data": "countenance bias-bounty make-data --out bounty",
    "bias-bounty train": "countenance bias-bounty train --entry small --data bounty --out model",
    "bias-bounty predict": "countenance bias-bounty predict --entry model --images bounty/test --out predictions.csv",
    "bias-bounty score": "countenance bias-bounty score --labels labels.csv --predictions predictions.csv",
    "bias-bounty submit": "countenance bias-bounty submit --name us --kind open --data b --board board --test p.csv",
    "bias-bounty open": "countenance bias-bounty open board --opens 2026-11-15 --closes 2026-11-30",
    "bias-bounty bundle": "countenance bias-bounty bundle us.zip --entry model --test p.csv --code entry.py",
    "bias-bounty submit-bundle": "countenance bias-bounty submit-bundle us.zip --data bounty --board board",
    "bias-bounty check-code": "countenance bias-bounty check-code board us --code entry.py",
    "bias-bounty leaderboard": "countenance bias-bounty leaderboard board --data bounty --out board.html",
    "bias-bounty time": "countenance bias-bounty time --entry model --images bounty/test",
    "happyfaces build": "countenance happyfaces build --official official --lfw lfw --out faces",
    "happyfaces draw": "countenance happyfaces draw --data-directory faces --mix-rate 0.1 --seed 0 --out list.csv",
    "happyfaces run": "countenance happyfaces run --data-directory faces --method spatial",
    "happyfaces score": "countenance happyfaces score --data-directory faces --predictions predictions.csv",
    "happyfaces sweep": "countenance happyfaces sweep --data-directory faces --method spatial --seeds 8",
    "happyfaces report": "countenance happyfaces report out/sweep --out happyfaces.html",
    "happyfaces ask": "countenance happyfaces ask --data-directory faces",
}
"""An example of each command."""


def with_help(command: Any) -> Any:
    """The command, with every command below it helped by an example and by sections of options."""
    for path, leaf in leaves(command):
        leaf.format_help = partial(_help, leaf, EXAMPLES.get(" ".join(path)))
    return command


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with its words."""
    below = getattr(command, "commands", None)
    if below is None:
        yield path, command
    else:
        for name, inner in below.items():
            yield from leaves(inner, (*path, name))


def _help(leaf: Any, example: str | None, context: Any, formatter: Any) -> None:
    if example:
        formatter.write(f"Example: {example}\n\n")
    leaf.format_usage(context, formatter)
    leaf.format_help_text(context, formatter)
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in leaf.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
            sections.setdefault(getattr(parameter, "rich_help_panel", None) or usual, []).append(record)
    for title, records in sections.items():
        with formatter.section(title):
            formatter.write_dl(records)
    leaf.format_epilog(context, formatter)
