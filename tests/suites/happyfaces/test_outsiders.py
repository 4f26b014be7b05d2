"""Methods and predictions of others: run, checked, scored as ours are."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from countenance.cli.app import run as command
from countenance.data.adapters.happyfaces_layout import SETS, TAGS, read_happyfaces
from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.run import Run
from countenance.suites.happyfaces.methods import make_method
from countenance.suites.happyfaces.protocol import MixTask, run, sweep
from countenance.suites.happyfaces.runs import record_of


def write_set(place: Path, tags: tuple[str, ...], each: int, wrong: int) -> None:
    """Pictures whose first two pixels are the truth; of every `wrong`th the second is not."""
    draw = np.random.default_rng(each)
    for tag in tags:
        (place / tag).mkdir(parents=True)
        for i in range(each):
            pixels = draw.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            pixels[:2, 0, 0] = [200 if tag[1] == "H" else 50, 200 if (tag[3] == "H") != (i % wrong == 0) else 50]
            (place / tag / f"Ann_{'abcdefghij'[i % 10]}_{i:04}_{tag}.png").write_bytes(encode_png(pixels))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("happy")
    for folders, tags in SETS.values():
        write_set(built / folders[0], tags, 20, 10)
    write_set(built / "held", TAGS, 10, 5)
    (built / "mine.py").write_text(
        "class Pixels:\n"
        "    def __init__(self, seed=None):\n        self.notes = {'seed': seed}\n"
        "    def fit(self, labelled, labels, unlabelled):\n        return self\n"
        "    def predict(self, photos):\n        return photos[:, :2, 0, 0] / 255.0\n"
        "made = Pixels(9)\n"
    )
    return built


class Pixels:
    """The same as an object."""

    def fit(self, labelled, labels, unlabelled):
        return self

    def predict(self, photos):
        return photos[:, :2, 0, 0] / 255.0


def test_a_class_an_object_and_a_python_object_give_the_same_numbers(folder: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(folder)
    records = []
    for method in ("mine:Pixels", "mine:made"):
        out = tmp_path / f"{method}.json"
        arguments = ["-d", str(folder), "--method", method, "--seed", "4", "--json", str(out)]
        assert command(["happyfaces", "run", *arguments]) == 0, capsys.readouterr().err
        records.append(json.loads(out.read_text()))
    records.append(run(read_happyfaces(folder), MixTask(Pixels(), 0.1, 4))[0])
    assert {record["validation"]["worst_head"] for record in records} == {0.9}
    assert [record["method"] for record in records] == ["mine:Pixels", "mine:made", "Pixels"]
    assert records[0]["notes"] == {"seed": 4} and records[1]["notes"] == {"seed": 9}


class Broken(Pixels):
    def __init__(self, answer):
        self.answer = answer

    def predict(self, photos):
        return self.answer(len(photos))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda n: np.zeros((n, 3)), r"an array of \d+ × 3, expected \d+ × 2"),
        (lambda n: np.full((n, 2), 7.0), "numbers from 0 to 7, expected probabilities"),
        (lambda n: np.full((n, 2), np.nan), "expected probabilities"),
        (lambda n: [["a", "b"]] * n, "list, expected"),
        (lambda n: sys.exit(3), "method 'Broken' raised SystemExit: 3"),
        (lambda n: 1 / 0, "method 'Broken' raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_wrong_answer_is_named(folder: Path, answer, words: str):
    with pytest.raises(InputError, match=words) as caught:
        run(read_happyfaces(folder), MixTask(Broken(answer), 0.1, 0))
    assert "max_failures" not in str(caught.value), "neither `run` nor the command takes it"


def test_what_is_no_method_is_refused(folder: Path):
    with pytest.raises(InputError, match="has no fit"):
        make_method(object())
    with pytest.raises(InputError, match="no module 'nowhere'"):
        make_method("nowhere:Method")
    with pytest.raises(InputError, match="expected something with predict"):
        method = make_method(type("Odd", (), {"fit": lambda self, *extra: 3}))
        method.fit(np.zeros(0), np.zeros(0), np.zeros(0))


def predictions(folder: Path, path: Path, *, parts=("validation",), drop: int = 0) -> Path:
    data = read_happyfaces(folder)
    rows = []
    for part in parts:
        photos = {"validation": data.validation, "unlabelled": data.unlabelled}[part]
        probabilities = Pixels().predict(photos.pixels)
        rows += [[photo, *p] for photo, p in zip(photos.ids(part), probabilities, strict=True)]
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["photo", "head_1", "head_2"], *rows[drop:]])
    return path


def test_predictions_made_elsewhere_are_scored(folder: Path, tmp_path: Path, capsys):
    file = predictions(folder, tmp_path / "theirs.csv", parts=("validation", "unlabelled"))
    arguments = ["happyfaces", "score", "-d", str(folder), "--predictions", str(file), "--out", str(tmp_path / "run")]
    assert command([*arguments, "--json", str(tmp_path / "r.json")]) == 0, capsys.readouterr().err
    assert "not checked: whether the method was fitted on some of these unlabelled photos" in capsys.readouterr().out
    text = json.loads((tmp_path / "r.json").read_text())
    assert text["method"] == "theirs" and text["validation"]["worst_head"] == text["not_drawn"]["worst_head"] == 0.9
    stored = record_of(Run(tmp_path / "run"))
    assert stored["validation"] == text["validation"] and stored["not_drawn"] == text["not_drawn"]


def test_predictions_that_lack_photos_or_name_others_are_refused(folder: Path, tmp_path: Path, capsys):
    base = ["happyfaces", "score", "-d", str(folder), "--predictions"]
    assert command([*base, str(predictions(folder, tmp_path / "few.csv", drop=2))]) == 2
    assert "2 of 80 validation photos are missing" in capsys.readouterr().err
    for missing in ("none.csv", "none.parquet"):
        assert command([*base, str(tmp_path / missing)]) == 2
        assert capsys.readouterr().err.strip() == f"error: {tmp_path / missing}: no such file"
    (tmp_path / "odd.csv").write_text("photo,head_1,head_2\nnobody.png,1,0\n")
    assert command([*base, str(tmp_path / "odd.csv")]) == 2
    assert "names 1 image that the dataset does not have (nobody.png)" in capsys.readouterr().err
    first = read_happyfaces(folder).validation
    (tmp_path / "head.csv").write_text(f"name,one\nvalidation/{first.tags[0]}/{first.names[0]},1\n")
    assert command([*base, str(tmp_path / "head.csv")]) == 2
    assert "expected the columns photo, head_1 and head_2" in capsys.readouterr().err


def test_a_set_held_back_is_scored_and_stored(folder: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(folder)
    arguments = ["-d", str(folder), "--method", "mine:Pixels", "--held-back", str(folder / "held")]
    assert command(["happyfaces", "run", *arguments, "--out", str(tmp_path / "run")]) == 0
    assert "held back   worst head 0.800" in capsys.readouterr().out
    assert record_of(Run(tmp_path / "run"))["held_back"]["worst_head"] == 0.8
    table, page = tmp_path / "table.json", tmp_path / "page.html"
    many = ["--mix-rates", "0,.1", "--seeds", "2", "--jobs", "2", "--json", str(table), "--quiet"]
    assert command(["happyfaces", "sweep", *arguments, *many]) == 0
    assert capsys.readouterr().out.count("held back 0.800") == 2
    assert command(["happyfaces", "report", str(table), "--out", str(page)]) == 0
    assert "held back</th>" in page.read_text("utf-8")


def test_a_sweep_of_runs_can_be_audited_one_by_one(folder: Path, tmp_path: Path, monkeypatch, capsys):
    data = ["-d", str(folder), "--method", "mine:Pixels", "--mix-rates", "0,.1,.3", "--seeds", "2", "--quiet"]
    where = ["--out", str(tmp_path / "runs"), "--json", str(tmp_path / "table.json"), "--jobs", "2"]
    monkeypatch.syspath_prepend(folder)
    assert command(["happyfaces", "sweep", *data, *where]) == 0, capsys.readouterr().err
    table = json.loads((tmp_path / "table.json").read_text())
    assert table["accuracy_at_10"] == 0.9 and [row["runs"] for row in table["mix_rates"]] == [2, 2, 2]
    places = sorted((tmp_path / "runs").iterdir())
    assert [place.name for place in places][:2] == ["mine.Pixels_0.000_0", "mine.Pixels_0.000_1"]
    assert command(["audit", str(places[0]), "--by", "type", "--quiet", "--adjust", "holm"]) == 0
    assert command(["verify", str(places[0])]) == 0
    (tmp_path / "gone.txt").write_text("Ann_b\n")
    assert command(["purge", str(tmp_path / "runs"), "--subjects", str(tmp_path / "gone.txt")]) == 0
    assert all("Ann_b" not in Run(place).scores()["identity"].to_pylist() for place in places)
    capsys.readouterr()


def test_a_custom_method_is_run_again_since_its_code_may_have_changed(folder: Path, tmp_path: Path):
    built = []

    class Counted(Pixels):
        def fit(self, *extra):
            built.append(1)
            return self

    for _ in range(2):
        sweep(folder, [MixTask(Counted(), 0.1, 0)], tmp_path / "runs")
    assert len(built) == 2 and len(list((tmp_path / "runs").iterdir())) == 1


EDITING = """
import numpy as np

class Careful:
    def fit(self, labelled, labels, unlabelled):
        return self
    def predict(self, photos):
        return photos[:, :2, 0, 0] / 255.0

class Editing(Careful):
    def fit(self, labelled, labels, unlabelled):
        labelled[:], labels[:], unlabelled[:] = 0, 0, 0
        return self
    def predict(self, photos):
        found = super().predict(photos)
        photos[:] = 255 - photos
        return found
"""


@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_a_method_may_write_on_what_it_is_given(folder: Path, tmp_path: Path, monkeypatch, jobs):
    """The photos of one evaluation are those of the next, whatever a method does with its own."""
    (tmp_path / "editing.py").write_text(EDITING)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    scores = {}
    for method in ("Careful", "Editing"):
        out = tmp_path / f"{method}.json"
        extra = ["-d", str(folder), "--method", f"editing:{method}", "--mix-rates", "0,.5", "--seeds", "3", "--quiet"]
        assert command(["happyfaces", "sweep", *extra, "--json", str(out), "--jobs", jobs]) == 0
        rows = json.loads(out.read_text())["mix_rates"]
        scores[method] = [(row["worst_head_by_seed"], row["not_drawn_mean"]) for row in rows]
    assert scores["Editing"] == scores["Careful"]


def test_nearly_equal_rates_are_evaluations_of_their_own(folder: Path, tmp_path: Path):
    tasks = [MixTask("erm", rate, seed) for rate in (0.0033, 0.0034) for seed in (0, 1)]
    names = {task.run_name() for task in tasks}
    assert len(names) == 4
    assert MixTask("erm", 0.1, 0, (("k", 1),)).run_name() != MixTask("erm", 0.1, 0).run_name()


def test_rate_seed_and_options_are_in_the_key_of_a_run(folder: Path, tmp_path: Path):
    """A folder under the name of another evaluation is moved aside, and what was asked for is evaluated."""
    data, place = read_happyfaces(folder), tmp_path / "run"
    keys = []
    for rate, seed in ((0.0033, 0), (0.0034, 0), (0.0034, 1)):
        record, evaluated = run(data, MixTask(Pixels(), rate, seed), place)
        assert (record["mix_rate"], record["seed"]) == (rate, seed)
        keys.append(evaluated.manifest.key)
    assert len(set(keys)) == 3 and len(list(tmp_path.iterdir())) == 3, "the two others are kept under other names"
    again, evaluated = run(data, MixTask(Pixels(), 0.0034, 1), place)
    assert evaluated.manifest.key == keys[2] and again["seed"] == 1


class Guess(Pixels):
    """Another method, which knows nothing."""

    def predict(self, photos):
        return np.full((len(photos), 2), 0.5)


class Leaning(Pixels):
    """A method whose answer to a photo depends on how many photos stand beside it."""

    def predict(self, photos):
        return super().predict(photos) * (1 if len(photos) == 1 else 0.5)


def test_methods_and_predictions_of_one_draw_are_on_one_board(folder: Path, tmp_path: Path, capsys):
    data = read_happyfaces(folder)
    for name, method, rate in (("a", Pixels, 0.1), ("b", Guess, 0.1), ("c", Pixels, 0.2), ("e", Leaning, 0.1)):
        run(data, MixTask(method(), rate, 0), tmp_path / name)
    file = predictions(folder, tmp_path / "theirs.csv", parts=("validation", "unlabelled"))
    drawn = set(csv_column(folder, tmp_path / "list.csv"))
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if line.split(",")[0] not in drawn))
    draw_of = ["-d", str(folder), "--mix-rate", ".1", "--seed", "0"]
    scored = ["happyfaces", "score", *draw_of, "--predictions", str(file), "--out", str(tmp_path / "d")]
    assert command(scored) == 0, capsys.readouterr().err
    runs = [str(tmp_path / name) for name in "abde"]
    site = tmp_path / "site"
    ranked = ["leaderboard", *runs, "--names", "a,b,theirs,leaning", "--site", str(site)]
    assert command(ranked) == 0, capsys.readouterr().err
    printed = " ".join(capsys.readouterr().out.split())
    elsewhere = "was predicted elsewhere: use of the batch unknown"
    assert "note leaning uses its batch" in printed and f"note theirs {elsewhere}" in printed
    assert "a uses its batch" not in printed
    board = json.loads((site / "board.json").read_text(encoding="utf-8"))
    remarks = {model["model"]: model["remark"] for model in board["metrics"][0]["models"]}
    assert remarks == {"a": "", "b": "", "theirs": elsewhere, "leaning": "uses its batch"}
    index = (site / "index.html").read_text(encoding="utf-8")
    assert "Armstrong" in index and index.count("uses its batch</span>") == len(board["metrics"])
    assert "<bdi>leaning</bdi></a><span" in index and "<bdi>a</bdi></a></th>" in index
    assert (site / "evidence.html").read_text(encoding="utf-8").count("uses its batch</span>") == len(board["metrics"])
    assert "It uses its batch." in (site / "models" / "004.html").read_text(encoding="utf-8")
    assert "It uses its batch." in (site / "feed.xml").read_text(encoding="utf-8")
    assert command(["verify", runs[2]]) == 0, capsys.readouterr().err
    assert command(["leaderboard", runs[0], str(tmp_path / "c")]) == 2
    assert "mix_rate=0.2" in capsys.readouterr().err


def csv_column(folder: Path, out: Path) -> list[str]:
    """The photos of the draw at mix rate .1 with seed 0."""
    assert command(["happyfaces", "draw", "-d", str(folder), "--mix-rate", ".1", "--seed", "0", "--out", str(out)]) == 0
    return [row["photo"] for row in csv.DictReader(out.read_text().splitlines())]
