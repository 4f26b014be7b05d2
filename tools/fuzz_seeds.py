"""Good input for the fuzzer: folders, and the commands that read them."""

import importlib.util
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType


@dataclass(frozen=True)
class Seed:
    """A folder of good input and commands on it, with `{in}` for the folder and `{out}` for what they write.

    `{s3}` is the address of `{in}/run` in a bucket: the damaged folder is copied there first.
    """

    name: str
    make: Callable[[Path], object]
    commands: dict[str, list[str]]
    targets: tuple[str, ...] = ("**/*",)
    """Which files are damaged."""

    def only(self, part: str, exact: bool = False) -> "Seed":
        """The same with the commands whose name contains `part`."""
        return replace(self, commands={n: c for n, c in self.commands.items() if (n == part if exact else part in n)})


def _command(*arguments: object) -> None:
    from countenance.cli.app import run

    code = run([str(part) for part in arguments])
    if code not in (0, 1):
        raise SystemExit(f"exit {code}: countenance {' '.join(map(str, arguments))}")


def _discs(folder: Path, n: int = 24) -> Path:
    from countenance.testing import write_small_dataset

    return write_small_dataset(folder / "set", n=n, size=32)


def _boxes(folder: Path) -> None:
    """Boxes of the discs as CSV, Parquet and COCO, with embeddings, ages and labels beside them."""
    import pyarrow as pa
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    from countenance.data import load_dataset

    rows, labels, vectors, ages, coco = [], [], [], [], []
    for k, sample in enumerate(load_dataset(_discs(folder))):
        x0, y0, x1, y1 = sample.subjects[0].face_box.tolist()
        if k % 7:
            rows.append({"image": sample.id, "x0": x0, "y0": y0, "x1": x1, "y1": y1, "score": 0.9, "label": "mask"})
        coco.append({"image_id": sample.id, "category_id": 1, "bbox": [x0, y0, x1 - x0, y1 - y0], "score": 0.5})
        labels.append({"image": sample.id, "gender": ("female", "male")[k % 2], "skin_tone": "monk_5"})
        vectors.append({"image": sample.id, "e0": float(k // 2), "e1": 1.0, "e2": k / 9})
        ages.append({"image": sample.id, "age": 20 + k})
    for name, some in (("boxes", rows), ("labels", labels), ("vectors", vectors), ("ages", ages)):
        table = pa.Table.from_pylist(some)
        pc.write_csv(table, folder / f"{name}.csv")
        pq.write_table(table, folder / f"{name}.parquet")
    (folder / "coco.json").write_text(json.dumps(coco))


def _run_directory(folder: Path) -> None:
    """A finished run of boxes, a policy, a list of people, and a second run."""
    _boxes(folder)
    for name, file in (("run", "boxes.csv"), ("other", "coco.json")):
        _command(
            "run",
            "face_localization",
            "--model",
            f"predictions:{folder / file}",
            "--data",
            folder / "set",
            "--out",
            folder / name,
            "--by",
            "gender",
            "--adjust",
            "holm",
            "-q",
        )
    (folder / "gone.csv").write_text("subject_id,date\nid0003,2026\nnobody,2026\n")
    root = Path(__file__).resolve().parents[1]
    shutil.copy(root / "docs/examples/gate.yaml", folder / "gate.yaml")


def _table(folder: Path) -> None:
    import random

    draw = random.Random(1)
    lines = ["row,person,gender,tone,age,hit,error\n"]
    lines += [
        f"{k},p{k // 2},{'fm'[k % 2]},{draw.choice('abc')},{draw.randint(5, 90)},{draw.randint(0, 1)},{draw.random()}\n"
        for k in range(80)
    ]
    (folder / "table.csv").write_text("".join(lines))
    import pyarrow.csv as pc
    import pyarrow.parquet as pq

    pq.write_table(pc.read_csv(folder / "table.csv"), folder / "table.parquet")


def _datasets(folder: Path) -> None:
    _discs(folder, 12)
    _command("data", "export", folder / "set", "--out", folder / "coco", "--layout", "coco")
    _command("data", "index", folder / "set", "--out", folder / "index", "-q")
    label_files = _tests("data/adapters/test_labelled.py")
    label_files.yolo_folder(folder / "yolo")
    label_files.voc_folder(folder / "voc", "face", "with_mask", "without_mask")


def _challenge(folder: Path) -> None:
    """The tests' small challenge, a submission, and predictions that are the labels."""
    write_split = _tests("suites/bias_bounty/conftest.py").write_split
    for split, faces, seed, others in (("train", 12, 0, 2), ("test", 20, 1, 4), ("holdout", 20, 2, 8)):
        write_split(folder / "data" / split, faces, seed, others)
    for split in ("test", "holdout"):
        shutil.copy(folder / "data" / split / "labels.csv", folder / f"{split}.csv")
    _command(
        "bias-bounty",
        "submit",
        "--name",
        "first",
        "--kind",
        "supervised",
        "--data",
        folder / "data",
        "--board",
        folder / "board",
        "--test",
        folder / "test.csv",
        "--holdout",
        folder / "holdout.csv",
    )


def _tests(name: str) -> ModuleType:
    """A file of the tests, whose small inputs serve here too."""
    place = Path(__file__).resolve().parents[1] / "tests" / name
    spec = importlib.util.spec_from_file_location(place.stem, place)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[place.stem] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def _documented(folder: Path) -> None:
    """The files of docs/answers.md: saved predictions in every form."""
    for name, content in _tests("test_docs_answers.py").FILES.items():
        (folder / name).write_text(content)


def _documented_commands() -> dict[str, list[str]]:
    """The commands of docs/answers.md that read a file."""
    found = {}
    for line in _tests("test_docs_answers.py").COMMANDS:
        arguments = shlex.split(line)
        if arguments[0] == "run" and any("predictions:" in part for part in arguments):
            changed = [part.replace("predictions:", "predictions:{in}/") for part in arguments]
            changed[changed.index("--out") + 1] = "{out}"
            file = next(part for part in arguments if part.startswith("predictions:"))
            found[f"docs {arguments[1]} {file}"] = [*changed, "--adjust", "holm", "-q"]
    return found


def _suite(name: str, more: dict[str, list[str]], needs_run: bool) -> Seed:
    """The case of a suite: its own command, and those that read the run it leaves."""

    def make(folder: Path) -> None:
        sys.path.insert(0, str(folder))
        case = _tests("suites/test_runs_of_suites.py").CASES[name](folder)
        (folder / "arguments.json").write_text(
            json.dumps([part.replace(str(folder), "{in}") for part in case.arguments])
        )
        if needs_run:
            _command(*(part.replace("{out}", str(folder / "run")) for part in case.arguments))

    return Seed(name, make, {name: ["@arguments"]} | more)


def seeds() -> list[Seed]:
    """Every seed that this version's commands can read."""
    run, data = "{in}/run", "{in}/set"
    predict = ["--data", data, "--out", "{out}", "--adjust", "holm", "-q"]
    made = [
        Seed(
            "table",
            _table,
            {
                f"audit {kind}": [
                    "audit",
                    f"{{in}}/table.{kind}",
                    "--by",
                    "gender,tone*gender,age:18,40",
                    "--metric",
                    "hit,error",
                    "--cluster",
                    "person",
                    "--adjust",
                    "holm",
                    "--json",
                    "{out}",
                ]
                for kind in ("csv", "parquet")
            }
            | {"plan data": ["plan", "--source", "{in}/table.csv", "--metric", "hit", "--by", "gender"]}
            | {
                f"audit --{what}": [
                    "audit",
                    "{in}/table.csv",
                    "--by",
                    "gender,tone",
                    "--metric",
                    "hit,error",
                    "--cluster",
                    "person",
                    "--adjust",
                    "holm",
                    f"--{what}",
                    "{out}." + end,
                ]
                for what, end in (("report", "html"), ("pdf", "pdf"))
            }
            | {
                f"{what} tables": [
                    what,
                    "{in}/table.csv",
                    "{in}/table.parquet",
                    "--metric",
                    "hit",
                    "--by",
                    "gender",
                    "--pair",
                    "row",
                    "--cluster",
                    "person",
                    "--json",
                    "{out}",
                ]
                for what in ("compare", "leaderboard")
            },
        ),
        Seed(
            "datasets",
            _datasets,
            {
                f"data {what} {place}": ["data", what, f"{{in}}/{place}", *extra]
                for place in ("set", "coco", "index", "yolo", "voc")
                for what, extra in (
                    ("check", ["-q"]),
                    ("show", []),
                    ("card", ["--out", "{out}"]),
                    ("croissant", ["--out", "{out}"]),
                    ("export", ["--out", "{out}"]),
                    ("index", ["--out", "{out}", "-q"]),
                )
            },
        ),
        Seed(
            "predictions",
            _boxes,
            {
                f"run {task} {file}": ["run", task, "--model", f"predictions:{{in}}/{file}", *predict]
                for task, file in (
                    ("face_localization", "boxes.csv"),
                    ("face_localization", "boxes.parquet"),
                    ("face_localization", "coco.json"),
                    ("person_localization", "boxes.csv"),
                    ("mask_detection", "boxes.csv"),
                    ("attributes", "labels.csv"),
                    ("attributes", "labels.parquet"),
                    ("face_verification", "vectors.csv"),
                    ("face_identification", "vectors.parquet"),
                    ("age_estimation", "ages.csv"),
                    ("keypoint_estimation", "coco.json"),
                    ("person_parsing", "coco.json"),
                )
            },
            ("*.*", "set/labels.csv", "set/*.json"),
        ),
        Seed(
            "run",
            _run_directory,
            {
                "report": ["report", run],
                "verify": ["verify", run],
                "card": ["card", run, "--out", "{out}.md"],
                "purge": ["purge", run, "--subjects", "{in}/gone.csv"],
                "gate": ["gate", run, "--policy", "{in}/gate.yaml", "--json", "{out}"],
                "gate init": ["gate", run, "--init"],
                "gate baseline": ["gate", run, "--policy", "{in}/gate.yaml", "--baseline", "{in}/other"],
                "audit run": ["audit", run, "--by", "gender", "--adjust", "holm"],
                "compare": ["compare", run, "{in}/other"],
                "compare report": ["compare", run, "{in}/other", "--report", "{out}.html", "--json", "{out}"],
                "leaderboard": ["leaderboard", run, "{in}/other", "--json", "{out}"],
                "view bundle": ["view", run, "{in}/other", "--bundle", "{out}", "--no-browser"],
                "view folder": ["view", "{in}", "--bundle", "{out}", "--no-browser"],
                "run again": [
                    "run",
                    "face_localization",
                    "--model",
                    "predictions:{in}/boxes.csv",
                    "--data",
                    data,
                    "--out",
                    run,
                    "--by",
                    "gender",
                    "--adjust",
                    "holm",
                    "-q",
                ],
                **{
                    f"export {what}": ["export", run, "--what", what, "--out", "{out}" + end]
                    for what, end in (("groups", ".csv"), ("findings", ".md"), ("coco", ".json"), ("figures", ".svg"))
                },
            },
            ("run/**/*", "gate.yaml", "gone.csv", "other/*"),
        ),
        Seed(
            "store",
            _run_directory,
            {
                "s3 verify": ["verify", "{s3}"],
                "s3 report": ["report", "{s3}"],
                "s3 audit": ["audit", "{s3}", "--by", "gender", "--adjust", "holm"],
                "s3 compare": ["compare", "{s3}", "{in}/other"],
                "s3 gate": ["gate", "{s3}", "--policy", "{in}/gate.yaml"],
                "s3 leaderboard": ["leaderboard", "{s3}", "{in}/other"],
                "s3 card": ["card", "{s3}", "--out", "{out}.md"],
                "s3 purge": ["purge", "{s3}", "--subjects", "{in}/gone.csv"],
                "s3 run": [
                    "run",
                    "face_localization",
                    "--model",
                    "predictions:{in}/boxes.csv",
                    "--data",
                    data,
                    "--out",
                    "{s3}",
                    "--by",
                    "gender",
                    "--adjust",
                    "holm",
                    "-q",
                ],
                "s3 view": ["view", "{s3}", "--bundle", "{out}", "--no-browser"],
            },
            ("run/**/*",),
        ),
        Seed("documented", _documented, _documented_commands()),
        Seed(
            "challenge",
            _challenge,
            {
                "bias-bounty submit": [
                    "bias-bounty",
                    "submit",
                    "--name",
                    "mine",
                    "--kind",
                    "unsupervised",
                    "--data",
                    "{in}/data",
                    "--board",
                    "{in}/board",
                    "--test",
                    "{in}/test.csv",
                    "--holdout",
                    "{in}/holdout.csv",
                ],
                "bias-bounty leaderboard": [
                    "bias-bounty",
                    "leaderboard",
                    "{in}/board",
                    "--data",
                    "{in}/data",
                    "--json",
                    "{out}",
                    "--replicates",
                    "100",
                    "-q",
                ],
            },
            ("*.csv", "board/**/*", "data/**/*.csv", "data/**/*.json", "data/**/*.txt"),
        ),
    ]
    uccs = ["-d", "{in}/uccs", "-r", "{in}/mine.txt"]
    made += [
        _suite(
            f"uccs-recognizer-{version}",
            {
                f"uccs check {version}": ["uccs", "check", "{in}/mine.txt", "-d", "{in}/uccs"],
                f"uccs calibrate {version}": ["uccs", "calibrate", *uccs, "-n", "5"],
                f"uccs recognizer {version}": ["uccs", "evaluate-recognizer", *uccs, "-w", "{out}.svg"],
                f"uccs detector {version}": [
                    "uccs",
                    "evaluate-detector",
                    *uccs,
                    "-w",
                    "{out}.svg",
                    "--json",
                    "{out}.json",
                ],
            },
            False,
        )
        for version in (2, 3)
    ]
    made.append(_suite("bias-bounty", {}, False))
    made.append(
        _suite(
            "mask-fairness",
            {
                "mask-fairness compare": ["mask-fairness", "compare", run, run, "--by", "gender"],
                "mask-fairness page": ["mask-fairness", "page", run, "--out", "{out}.html"],
                "mask-fairness make-data": [
                    "mask-fairness",
                    "make-data",
                    "--out",
                    "{out}",
                    "--dataset",
                    "bafmd",
                    "--data-directory",
                    "{in}/data",
                    "-q",
                ],
                "report mask run": ["report", run],
            },
            True,
        )
    )
    made.append(
        _suite(
            "fhibe",
            {
                "fhibe report": ["fhibe", "report", run, "--attributes", "pronoun"],
                "fhibe purge": ["fhibe", "purge", run, "--subjects", "{in}/arguments.json"],
                "audit fhibe run": ["audit", run, "--by", "pronoun", "--adjust", "holm"],
            },
            True,
        )
    )
    made.append(
        _suite(
            "happyfaces",
            {
                "happyfaces sweep": [
                    "happyfaces",
                    "sweep",
                    "-d",
                    "{in}/happy",
                    "--method",
                    "corner_method:Corners",
                    "--mix-rates",
                    "0.5",
                    "--seeds",
                    "1",
                    "--json",
                    "{out}",
                    "-q",
                ],
                "report happyfaces run": ["report", run],
            },
            True,
        )
    )
    return made
