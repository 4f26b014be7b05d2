"""The hostile corpus: what a stranger may send, each item made by a function from good input.

An item changes a copy of the good input (`make_good`): a run and another one, the dataset and the predictions they were
made from, a policy, a list of people, and beside them `pwn.py`, which leaves a trace when it is imported, and a folder
`outside` that nothing may touch. `kept/` holds files that the fuzzers found; they are items like the others.
"""

import base64
import json
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.hostile.making import (
    ACTING,
    Make,
    acting,
    as_dataset,
    column,
    deep,
    edit,
    filled,
    forged,
    instead,
    labels,
    linked_folder,
    long_text,
    many_rows,
    member,
    named,
    no_format,
    pickled,
    picture_bomb,
    replace,
    table,
    table_edited,
    tar,
    unfinished_and_edited,
    voc,
    yaml_bomb,
    yolo,
)

HERE = Path(__file__).parent
RUN, DATA, PREDICTIONS, POLICY, MODEL = "run", "data", "predictions", "policy", "model"


@dataclass(frozen=True)
class Item:
    """Something that a stranger sent: what kind of thing it is, and how it is made."""

    name: str
    kind: str
    make: Make
    telling: tuple[str, ...] = ()
    """The commands that the quick test runs; the sweep runs all of its kind."""


REPORTS = ("report", "export", "card", "audit", "gate", "purge")
READS = ("audit", "report", "gate", "compare")


def runs() -> list[Item]:
    """Runs from a stranger."""
    found = [
        Item("code-as-task", RUN, edit("run.json", lambda m: m | {"task_source": "pwn:x"}), REPORTS),
        Item("code-as-task-name", RUN, edit("run.json", named("pwn:x")), REPORTS),
        Item("code-as-suite", RUN, edit("run.json", lambda m: m | {"suite": "pwn"}), ("report",)),
        Item("code-as-model", RUN, edit("run.json", lambda m: m | {"model": m["model"] | {"source": "pwn:x"}})),
        Item("forged-local", RUN, forged, ("report", "view", "purge")),
        Item(
            "option-names-a-run",
            RUN,
            edit(
                "run.json",
                lambda m: m | {"task": "face_verification", "options": {"threshold_from": "s3://strangers/run"}},
            ),
            ("report", "audit"),
        ),
        Item(
            "source-is-usr",
            RUN,
            edit("run.json", lambda m: m | {"dataset": m["dataset"] | {"source": "/usr", "fingerprint": ""}}),
            ("report", "view"),
        ),
        Item(
            "source-is-a-bucket",
            RUN,
            edit("run.json", lambda m: m | {"dataset": m["dataset"] | {"source": "s3://strangers/data"}}),
            ("report", "view"),
        ),
        Item(
            "journal-leaves-the-run",
            RUN,
            replace(
                "run/purge.json",
                json.dumps({"samples": ["s00001.png"], "files": ["../outside/victim.txt", "../gone.txt", "notes.txt"]}),
            ),
            ("purge",),
        ),
        Item("journal-of-others", RUN, replace("run/purge.json", deep()), ("purge", "verify")),
        Item(
            "hashes-leave-the-run",
            RUN,
            edit(
                "files.json",
                lambda f: {"files": f["files"] | {"../outside/victim.txt": "0", "/etc/hostname": "0"}},
                seal=False,
            ),
            ("verify", "purge"),
        ),
        Item(
            "marker-leaves-the-run",
            RUN,
            edit("shards/00000.json", lambda m: m | {"files": m["files"] | {"../outside/victim.parquet": "0"}}),
            ("purge", "view"),
        ),
        Item("edited-table", RUN, table_edited, READS),
        Item("edited-table-unfinished", RUN, unfinished_and_edited, READS),
        Item("hashes-are-missing", RUN, instead("run/files.json", lambda path: None), READS),
        Item("format-before-hashes", RUN, no_format, READS),
        Item("rows-without-end", RUN, table("run/scores.parquet", many_rows), ("audit", "view")),
        Item("text-without-end", RUN, table("run/scores.parquet", long_text), ("audit", "view")),
        Item("failures-of-another-kind", RUN, table("run/failures.parquet", lambda: {"x": [1]}), ("report",)),
        Item(
            "predictions-of-another-kind",
            RUN,
            table("run/answers/00000.parquet", lambda: {"x": [1]}),
            ("export", "view"),
        ),
        Item(
            "hash-is-a-deep-list",
            RUN,
            edit("files.json", lambda f: {"files": f["files"] | {"run.json": json.loads(deep(900))}}, seal=False),
            ("export", "verify"),
        ),
        Item("column-of-views", RUN, column("img.people", "string_view", "x"), ("gate",)),
        Item("column-of-flags", RUN, column("img.sharpness", "bool_", True), ("leaderboard", "compare")),
        Item("acting-names", RUN, edit("run.json", acting), ("report", "card", "export", "view")),
        Item("key-is-a-path", RUN, edit("run.json", lambda m: m | {"key": "../../outside"}), ("run",)),
        Item(
            "settings-of-an-audit",
            RUN,
            edit(
                "audit.json",
                lambda a: (
                    a | {"settings": a["settings"] | {"depth": "x", "alpha": [], "by": 7, "metrics": {}, "levels": "x"}}
                ),
            ),
            ("report", "card", "view", "purge"),
        ),
        Item(
            "settings-are-a-list", RUN, edit("audit.json", lambda a: a | {"settings": []}), ("report", "view", "gate")
        ),
        Item(
            "views",
            RUN,
            replace("run/views.json", json.dumps({"views": [{"name": 7}, 3, {"address": None}]})),
            ("view",),
        ),
        Item("pages", RUN, replace("run/pages.json", deep()), ("report", "purge")),
    ]
    for name in ("run.json", "audit.json", "results.json", "files.json", "shards/00000.json", "local.json"):
        telling = ("verify", "report") if name != "local.json" else ("report",)
        found.append(Item(f"deep-{name.replace('/', '-')}", RUN, replace(f"run/{name}", deep(), seal=False), telling))
        found.append(Item(f"pipe-{name.replace('/', '-')}", RUN, instead(f"run/{name}", os.mkfifo), telling))
    for name in ("run.json", "scores.parquet", "audit.json", "failures.parquet", "answers/00000.parquet", ".lock"):
        there = instead(f"run/{name}", lambda path: path.symlink_to(path.parents[1] / "outside" / "victim.txt"))
        found.append(Item(f"link-{name.replace('/', '-')}", RUN, there, ("audit", "purge", "run")))
        found.append(Item(f"folder-{name.replace('/', '-')}", RUN, instead(f"run/{name}", filled), ("audit", "run")))
    return [*found, Item("link-answers", RUN, linked_folder, ("export", "purge", "run"))]


def datasets() -> list[Item]:
    """Datasets from a stranger."""
    leaving = lambda text: text.replace("images/s00001.png", "../../../etc/hostname")  # noqa: E731
    coco = {
        "images": [{"id": 1, "file_name": "../outside/victim.txt", "width": 9, "height": 9}],
        "annotations": [],
        "categories": [{"id": 1, "name": "face"}],
    }
    manifest = {
        "format": 2,
        "card": {"name": "x"},
        "attributes": {},
        "partitions": [{"name": "../outside/victim.parquet", "rows": 10**18, "sha256": "0"}],
    }
    laughs = '<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><annotation>&b;</annotation>'
    return [
        Item("labels-leave", DATA, labels(leaving), ("check", "run")),
        Item(
            "labels-of-text",
            DATA,
            labels(lambda text: text.replace("monk_2", ACTING.replace("\0", ""))),
            ("check", "export"),
        ),
        Item("labels-without-end", DATA, labels(lambda text: text + "x" * 9_000_000), ("check",)),
        Item("picture-bomb", DATA, picture_bomb, ("check", "run")),
        Item("picture-pipe", DATA, instead("set/images/s00001.png", os.mkfifo), ("check", "run")),
        Item(
            "picture-link",
            DATA,
            instead("set/images/s00001.png", lambda p: p.symlink_to("/dev/zero")),
            ("check", "run"),
        ),
        Item("card-pipe", DATA, instead("set/card.json", os.mkfifo), ("check",)),
        Item("coco-leaves", DATA, as_dataset("annotations.json", json.dumps(coco)), ("check",)),
        Item("coco-deep", DATA, as_dataset("annotations.json", deep()), ("check",)),
        Item("manifest-leaves", DATA, as_dataset("dataset.json", json.dumps(manifest)), ("check", "run")),
        Item("manifest-deep", DATA, as_dataset("dataset.json", deep()), ("check",)),
        Item("yolo-bomb", DATA, yolo(yaml_bomb()), ("check",)),
        Item("voc-laughs", DATA, voc(laughs), ("check",)),
        Item("tar-leaves", DATA, tar("set.tar", member("../outside/victim.txt")), ("archive",)),
        Item("tar-absolute", DATA, tar("set.tar", member("/tmp/countenance-victim.txt")), ("archive",)),
        Item("tar-link", DATA, tar("set.tar", member("a", tarfile.SYMTYPE, "/etc"), member("a/b")), ("archive",)),
        Item(
            "tar-hard-link", DATA, tar("set.tar", member("a", tarfile.LNKTYPE, "../outside/victim.txt")), ("archive",)
        ),
        Item("tar-device", DATA, tar("set.tar", member("a", tarfile.CHRTYPE)), ("archive",)),
        Item("tar-bomb", DATA, tar("set.tar", member("a"), content=bytes(80 << 20), mode="gz"), ("archive",)),
        Item(
            "tar-of-xz-damaged", DATA, replace("set.tar", b"\xfd7zXZ\x00\x00\x04" + bytes(range(256)) * 9), ("archive",)
        ),
        Item("tar-of-gz-damaged", DATA, replace("set.tar", b"\x1f\x8b\x08\x00" + bytes(range(256)) * 9), ("archive",)),
    ]


def others() -> list[Item]:
    """Predictions, policies and models from a stranger."""
    huge = "image,x0,y0,x1,y1,score\n" + "s00001.png,1,1,9,9,0.5\n" * 200_000
    return [
        Item("boxes-200000", PREDICTIONS, replace("boxes.csv", huge), ("csv",)),
        Item(
            "boxes-of-numbers",
            PREDICTIONS,
            replace("boxes.csv", "image,x0,y0,x1,y1,score\n" + "s00001.png" + ",1e999" * 5),
            ("csv",),
        ),
        Item("boxes-rows-without-end", PREDICTIONS, table("boxes.parquet", many_rows), ("parquet",)),
        Item("boxes-text-without-end", PREDICTIONS, table("boxes.parquet", long_text), ("parquet",)),
        Item("boxes-deep", PREDICTIONS, replace("boxes.json", deep()), ("json",)),
        Item("boxes-pipe", PREDICTIONS, instead("boxes.csv", os.mkfifo), ("csv",)),
        Item("boxes-pickle", PREDICTIONS, pickled("boxes.parquet"), ("parquet",)),
        Item("policy-bomb", POLICY, replace("gate.yaml", yaml_bomb()), ("gate",)),
        Item(
            "policy-code", POLICY, replace("gate.yaml", "rules: !!python/object/apply:os.system ['touch x']"), ("gate",)
        ),
        Item("policy-deep", POLICY, replace("gate.yaml", "[" * 9000), ("gate",)),
        Item("policy-long", POLICY, replace("gate.yaml", "a: " + "x" * 3_000_000), ("gate",)),
        Item("policy-pipe", POLICY, instead("gate.yaml", os.mkfifo), ("gate",)),
        Item(
            "policy-of-odd-values",
            POLICY,
            replace("gate.yaml", "alpha: .nan\nrules:\n- 2024-99-99\n- {estimate: 7}"),
            ("gate",),
        ),
        Item("onnx-empty", MODEL, replace("net.onnx", b""), ("onnx",)),
        Item("onnx-garbage", MODEL, replace("net.onnx", bytes(range(256)) * 40), ("onnx",)),
        Item("onnx-pickle", MODEL, pickled("net.onnx"), ("onnx",)),
        Item("onnx-pipe", MODEL, instead("net.onnx", os.mkfifo), ("onnx",)),
    ]


def kept() -> list[Item]:
    """What the fuzzers found: a file of the good input with other content."""
    found = []
    for path in sorted((HERE / "kept").glob("*.json")):
        about = json.loads(path.read_text(encoding="utf-8"))
        content = base64.b64decode(about["content"])
        make = replace(about["file"], content, seal=about.get("seal", True))
        found.append(Item(path.stem, about["kind"], make, tuple(about["commands"])))
    return found


def corpus() -> list[Item]:
    """Every item."""
    return [*runs(), *datasets(), *others(), *kept()]


EVALUATED = ["--data", "set", "--out", "out/run", "--adjust", "holm", "-q"]
COMMANDS: dict[str, dict[str, list[str]]] = {
    RUN: {
        "verify": ["verify", "run"],
        "audit": ["audit", "run", "--by", "gender", "--adjust", "holm", "-q"],
        "report": ["report", "run", "--out", "out/page.html"],
        "evidence": ["report", "run", "--evidence", "--out", "out/evidence.html"],
        "pdf": ["report", "run", "--pdf", "out/page.pdf"],
        "unverified": ["report", "run", "--unverified", "--out", "out/unverified.html"],
        "card": ["card", "run", "--out", "out/card.md"],
        "export": ["export", "run", "--what", "coco", "--out", "out/coco.json"],
        "groups": ["export", "run", "--what", "groups", "--out", "out/groups.csv"],
        "figures": ["export", "run", "--what", "figures", "--out", "out/figures.svg"],
        "gate": ["gate", "run", "--policy", "gate.yaml", "--json", "out/gate.json"],
        "init": ["gate", "run", "--init"],
        "compare": ["compare", "other", "run", "--adjust", "holm", "--report", "out/compared.html", "-q"],
        "leaderboard": ["leaderboard", "run", "other", "--report", "out/leaderboard.html"],
        "view": ["view", "run", "other", "--bundle", "out/bundle", "--no-browser"],
        "dry": ["purge", "run", "--subjects", "gone.txt", "--dry-run"],
        "purge": ["purge", "run", "--subjects", "gone.txt"],
        "answers": ["run", "face_localization", "--model", "answers:run", *EVALUATED],
        "run": [
            "run",
            "face_localization",
            "--model",
            "predictions:boxes.csv",
            "--data",
            "set",
            "--out",
            "run",
            "--adjust",
            "holm",
            "-q",
        ],
    },
    DATA: {
        "check": ["data", "check", "set", "-q"],
        "show": ["data", "show", "set"],
        "card": ["data", "card", "set", "--out", "out/card.md"],
        "croissant": ["data", "croissant", "set", "--out", "out/croissant.json"],
        "export": ["data", "export", "set", "--out", "out/exported"],
        "index": ["data", "index", "set", "--out", "out/index", "-q"],
        "run": ["run", "face_localization", "--model", "predictions:boxes.csv", *EVALUATED],
        "archive": ["data", "check", "set.tar", "-q"],
    },
    PREDICTIONS: {
        kind: ["run", "face_localization", "--model", f"predictions:boxes.{kind}", *EVALUATED]
        for kind in ("csv", "parquet", "json")
    },
    POLICY: {"gate": ["gate", "run", "--policy", "gate.yaml"]},
    MODEL: {"onnx": ["run", "face_localization", "--model", "net.onnx", *EVALUATED]},
}
