"""Every evaluation of every suite leaves a run that audit, report, compare, gate, view, verify and purge open."""

import csv
import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from countenance.cli.app import run as command
from countenance.run import Run


@dataclass(frozen=True)
class Case:
    """A command that leaves a run, and what is in that run."""

    arguments: list[str]
    """With `{out}` where the run goes."""
    by: str
    """An attribute to compare."""
    person: str
    """Somebody who is in the run."""
    below: str = ""
    """Where the run lies below `--out`."""
    results: tuple[str, ...] = ()
    """Names of results that must be there."""
    page: tuple[str, ...] = ()
    """What the suite says on the report."""
    files: tuple[str, ...] = ()
    """Files of the suite's own in the run."""


ANYBODY = ""
"""Whoever is in the first row."""


def _uccs(folder: Path, version: int) -> tuple[Path, Path]:
    """A protocol and a score file: 80 images, a known and an unknown person in each, large faces found more often."""
    draw = random.Random(version)
    data = folder / "uccs"
    (data / "protocol").mkdir(parents=True)
    truth, lines = [], []
    for k in range(80):
        for face, subject in enumerate((k % 20 + 1, -1)):
            size = "large" if (k + face) % 2 else "small"
            truth.append([2 * k + face + 1, f"{k:03}.jpg", subject, 100.1 * face, 10.2, 40.3, 40.4, size])
            if draw.random() < (0.95 if size == "large" else 0.5):
                guess = subject if subject > 0 and draw.random() < 0.9 else draw.randint(1, 20)
                lines.append((f"{k:03}.jpg", 100.1 * face + 1, 11.0, 40.0, 40.0, draw.random(), guess, draw.random()))
        lines.append((f"{k:03}.jpg", 300.0, 300.0, 20.0, 20.0, draw.random() * 0.8, 3, draw.random() * 0.7))
    header = ["FACE_ID", "FILE", "SUBJECT_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT", "SIZE"]
    protocol = data / "protocol" / "validation.csv" if version == 2 else data / "validation.csv"
    with protocol.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *truth])
    (data / "exclude_gallery_validation.txt").write_text("1\n5\n")
    scores = folder / "mine.txt"
    with scores.open("w", newline="") as stream:
        if version == 2:
            csv.writer(stream).writerows(lines)
        else:
            names = ["FILE", "DETECTION_SCORE", "BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT"]
            similar = [[line[7] if who == line[6] else 0.01 for who in range(1, 21)] for line in lines]
            rows = [[line[0], line[5], *line[1:5], *extra] for line, extra in zip(lines, similar, strict=True)]
            csv.writer(stream).writerows([[*names, *(f"S_{who:04}" for who in range(1, 21))], *rows])
    return data, scores


def uccs(kind: str, version: int, several: bool = False) -> Callable[[Path], Case]:
    def make(folder: Path) -> Case:
        data, scores = _uccs(folder, version)
        files = ["-r", str(scores)] + ([str(scores), "-l", "first", "second"] if several else [])
        plot = ["-w", str(folder / "plot.svg")]
        curve = {"detector": "FROC", "recognizer": "DIR" if version == 2 else "O-ROC"}[kind]
        arguments = ["uccs", f"evaluate-{kind}", "-d", str(data), *files, *plot, "--out", "{out}"]
        return Case(arguments, "size", "7", "second" if several else "", (curve,))

    return make


def bias_bounty(folder: Path) -> Case:
    draw = random.Random(0)
    labels, said, people = [], [], []
    for k in range(120):
        row = [f"{k:03}.png", f"monk_{k % 10 + 1}", ("female", "male")[k % 2], "18_30" if k % 3 else "0_17"]
        labels.append(row)
        said.append([*row[:2], row[2] if draw.random() < (0.6, 0.95)[k % 2] else "male", "18_30"])
        people.append([row[0], f"p{k // 3}"])
    words = ["female", "male"]
    said += [[f"n{k}.png", f"monk_{draw.randint(1, 10)}", draw.choice(words), "31_60"] for k in range(30)]
    columns = ["name", "skin_tone", "gender", "age"]
    for name, head, rows in (
        ("labels", columns, labels),
        ("said", columns, said),
        ("who", ["name", "identity"], people),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([head, *rows])
    (folder / "nonfaces.txt").write_text("".join(f"n{k}.png\n" for k in range(30)))
    arguments = ["bias-bounty", "score", "--labels", str(folder / "labels.csv"), "--predictions"]
    arguments += [str(folder / "said.csv"), "--nonfaces", str(folder / "nonfaces.txt")]
    arguments += ["--identities", str(folder / "who.csv"), "--replicates", "200", "--out", "{out}"]
    return Case(arguments, "gender", "p7", results=("Score₁", "disparity of age", "randomness of gender"))


def mask_fairness(folder: Path) -> Case:
    """Faces in BAFMD's form; the tables are in the run."""
    from countenance.suites.mask_fairness.made_data import make_data
    from countenance.testing import small_dataset

    data = small_dataset(120)
    for k, sample in enumerate(data):
        sample.subjects[0].attributes["masked"] = ("no", "yes")[k // 2 % 2]
    make_data(data, folder / "data", "bafmd")
    lines = [
        f"{sample.id}.png,{k // 2 % 2},{','.join(f'{v:.1f}' for v in sample.subjects[0].face_box)}\n"
        for k, sample in enumerate(data)
        if k % 9
    ]
    (folder / "theirs.csv").write_text("".join(lines))
    arguments = ["mask-fairness", "assess", "--dataset", "bafmd", "--data-directory", str(folder / "data")]
    arguments += ["--predictions", str(folder / "theirs.csv"), "--prediction-format", "corners"]
    arguments += ["--by", "gender", "--out", "{out}", "--quiet"]
    page, files = ("Two rules, side by side",), ("assessment_gender_localization.csv", "assessment_findings.csv")
    return Case(arguments, "gender", ANYBODY, page=page, files=files)


def fhibe(folder: Path) -> Case:
    """FHIBE's layout with a model that finds everybody but a few."""
    from countenance.data.vocabulary import KEYPOINTS

    rows = []
    for i in range(90):
        said = ["0. She/her/hers"] if i % 2 else ["1. He/him/his"]
        rows.append(
            {
                "filepath": f"data/raw/{i}/main_{i}.png",
                "json_path": "a.json",
                "image_id": i,
                "subject_id": f"s{i}",
                "image_height": 64,
                "image_width": 64,
                "age": 20 + 10 * (i % 5),
                "pronoun": said,
                "ancestry": ["11. Asia"],
                "apparent_skin_color": f"{i % 2}. [102, 78, 65]",
                "person_bbox": [4, 10, 15, 40],
                "face_bbox": [4, 10, 15, 20],
                "segments": [],
                "keypoints": {f"{k}. {name}": [4, 12, 1] for k, name in enumerate(KEYPOINTS)},
            }
        )
    place = folder / "data" / "processed" / "fhibe_downsampled"
    place.mkdir(parents=True)
    with (place / "fhibe_downsampled.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    outputs = folder / "results" / "person_localization" / "fhibe_downsampled" / "mine"
    outputs.mkdir(parents=True)
    found = {
        str(folder / row["filepath"]): {"detections": [[4, 10, 19 if i % 7 else 9, 50]], "scores": [0.9]}
        for i, row in enumerate(rows)
    }
    (outputs / "model_outputs.json").write_text(json.dumps(found))
    arguments = ["fhibe", "evaluate", "--data", str(folder), "--task", "person_localization", "--model-name", "mine"]
    arguments += ["--attributes", "pronoun,age", "--no-report", "--quiet", "--out", "{out}"]
    return Case(
        arguments,
        "pronoun",
        "s8",
        "",
        ("average_precision@0.5",),
        ("FHIBE: the task and its metrics",),
    )


METHOD = """
class Corners:
    def __init__(self, seed):
        self.seed = seed

    def fit(self, labelled, labels, unlabelled):
        return self

    def predict(self, photos):
        return photos[:, :2, 0, 0] / 255.0
"""


def happyfaces(folder: Path) -> Case:
    """A method of the user's own; the first pixels say what is in the picture, some of them wrongly."""
    import numpy as np

    from countenance.data.adapters.happyfaces_layout import SETS
    from countenance.data.image import encode_png

    (folder / "corner_method.py").write_text(METHOD)
    draw = np.random.default_rng(0)
    for number, (folders, tags) in enumerate(SETS.values()):
        for tag in tags:
            place = folder / "happy" / folders[0] / tag
            place.mkdir(parents=True)
            for i in range(20):
                pixels = draw.integers(0, 256, (24, 24, 3), dtype=np.uint8)
                truth = [tag[1] == "H", (tag[3] == "H") != (i % 8 == 0)]
                pixels[:2, 0, 0] = [200 if one else 50 for one in truth]
                (place / f"Ann_{'abcdefghij'[i // 2]}{number}_{i:04}_{tag}.png").write_bytes(encode_png(pixels))
    arguments = ["happyfaces", "run", "-d", str(folder / "happy"), "--method", "corner_method:Corners", "--seed", "3"]
    results = ("worst head, validation", "worst head, photos not drawn")
    return Case(
        [*arguments, "--out", "{out}"], "agree", ANYBODY, "", results, ("accuracy by type", "Heads are assigned")
    )


CASES = {
    "mask-fairness": mask_fairness,
    "fhibe": fhibe,
    "happyfaces": happyfaces,
    "uccs-detector-2": uccs("detector", 2),
    "uccs-detector-3": uccs("detector", 3, several=True),
    "uccs-recognizer-2": uccs("recognizer", 2),
    "uccs-recognizer-3": uccs("recognizer", 3),
    "bias-bounty": bias_bounty,
}


def named(scores: Any) -> set[str]:
    """Everybody in a score table, and every image."""
    return {*scores["identity"].to_pylist(), *scores["sample"].to_pylist()}


def _decided(place: Path, folder: Path, capsys: Any) -> None:
    """Compare, gate and view open the run: it equals its copy, its own policy is read, and a viewer's pages show it."""
    shutil.copytree(place, folder / "copy")
    assert command(["compare", str(place), str(folder / "copy"), "--names", "first,second", "--quiet"]) == 0
    assert "first → second" in capsys.readouterr().out
    assert command(["gate", str(place), "--init"]) == 0
    (folder / "gate.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    assert command(["gate", str(place), "--policy", str(folder / "gate.yaml")]) in (0, 1)
    assert "gate" in capsys.readouterr().out
    assert command(["view", str(place), "--bundle", str(folder / "pages")]) == 0
    assert (folder / "pages" / "index.html").is_file()
    capsys.readouterr()


@pytest.mark.parametrize("name", CASES)
def test_the_run_of_a_suite_is_a_run_like_any_other(name, tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    case = CASES[name](tmp_path)
    out = tmp_path / "run"
    assert command([argument.replace("{out}", str(out)) for argument in case.arguments]) == 0, capsys.readouterr().err
    place = out / case.below if case.below else out
    run = Run(place)
    assert run.complete and run.scores().num_rows and run.manifest.suite
    names = [result.name for result in run.results()]
    assert all(wanted in names for wanted in case.results), names
    assert str(tmp_path) not in (place / "run.json").read_text(), "a published file names a folder of this machine"

    assert command(["audit", str(place), "--by", case.by, "--json", str(tmp_path / "a.json"), "--adjust", "holm"]) == 0
    assert json.loads((tmp_path / "a.json").read_text())["findings"]
    assert command(["report", str(place)]) == 0
    page = (place / "report.html").read_text()
    assert [text for text in (*case.results, *case.page) if text not in page] == []
    assert command(["verify", str(place)]) == 0
    assert command(["report", str(place), "--gallery", "off"]) == 0
    assert command(["verify", str(place)]) == 0, "a page that is written again is still the run's own"

    _decided(place, tmp_path, capsys)
    before = run.scores()
    person = case.person or before["identity"][0].as_py() or before["sample"][0].as_py()
    assert person in named(before)
    (tmp_path / "strangers.txt").write_text("nobody at all\n")
    assert command(["purge", str(place), "--subjects", str(tmp_path / "strangers.txt")]) == 2
    assert "nobody at all" in capsys.readouterr().err
    (tmp_path / "gone.csv").write_text(f"date,subject_id\n2026,{person}\n2026,stranger\n")
    assert command(["purge", str(place), "--subjects", str(tmp_path / "gone.csv")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("removed 1 person, ") and "not in this run: 1 id (stranger)" in said
    left = Run(place).scores()
    assert 0 < left.num_rows < before.num_rows and person not in named(left)
    assert left.column_names == before.column_names and Run(place).manifest.purged
    assert [result.name for result in Run(place).results()] == names, "results are computed again without the person"
    assert all((place / name).is_file() for name in ("audit.json", "report.html", *case.files))
    assert command(["verify", str(place)]) == 0
    (place / "results.json").write_text("[]")
    assert command(["verify", str(place)]) == 2
