"""Every evaluation of every suite leaves a run that audit, report, verify and purge open."""

import csv
import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from countenance.cli.app import run as command
from countenance.run import Run
from countenance.run.purge import purge, read_subjects


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


CASES = {
    "uccs-detector-2": uccs("detector", 2),
    "uccs-detector-3": uccs("detector", 3, several=True),
    "uccs-recognizer-2": uccs("recognizer", 2),
    "uccs-recognizer-3": uccs("recognizer", 3),
    "bias-bounty": bias_bounty,
}


@pytest.mark.parametrize("name", CASES)
def test_the_run_of_a_suite_is_a_run_like_any_other(name, tmp_path, capsys) -> None:
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
    assert all(wanted in (place / "report.html").read_text() for wanted in case.results)
    assert command(["verify", str(place)]) == 0

    before = run.scores()
    assert case.person in before["identity"].to_pylist()
    (tmp_path / "gone.txt").write_text(f"{case.person}\n")
    assert purge(place, read_subjects(tmp_path / "gone.txt")).people == 1
    left = Run(place).scores()
    assert left.num_rows < before.num_rows and case.person not in left["identity"].to_pylist()
    assert [result.name for result in Run(place).results()] == names, "results are computed again without the person"
    assert command(["verify", str(place)]) == 0
    (place / "results.json").write_text("[]")
    assert command(["verify", str(place)]) == 2
