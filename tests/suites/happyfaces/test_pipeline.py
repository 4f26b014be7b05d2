"""HappyFaces on the one pipeline: methods in a process of their own, batches and photos alone, draws, resume, purge."""

import csv
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import countenance as ct
from countenance.cli.app import run as command
from countenance.data.adapters.happyfaces import HappyFacesDataset, load
from countenance.data.adapters.happyfaces_layout import SETS, TAGS, read_happyfaces
from countenance.data.image import encode_png
from countenance.errors import InputError
from countenance.run import Run
from countenance.suites.happyfaces.draws import draw
from countenance.suites.happyfaces.model import method_card, published_name
from countenance.suites.happyfaces.protocol import MixTask, run, sweep
from countenance.suites.happyfaces.runs import record_of
from countenance.suites.happyfaces.task import to_heads

METHODS = '''
import gc, os, re, sys, time
import numpy as np
from countenance.suites.happyfaces.interface import CannotAnswer

class Corners:
    """The first pixels say what is in the photo."""
    notes = {}
    def fit(self, labelled, labels, unlabelled):
        self.notes = {"fitted": [len(labelled), len(unlabelled)], "names": names(), "arguments": sys.argv[1:]}
        return self
    def predict(self, photos):
        return photos[:, :2, 0, 0] / 255.0

def names():
    """Names of photos in the memory of this process."""
    count = 0
    for line in open("/proc/self/maps"):
        place, rights = line.split()[:2]
        if rights.startswith("rw") and "[v" not in line:
            start, end = (int(part, 16) for part in place.split("-"))
            with open("/proc/self/mem", "rb") as memory:
                memory.seek(start)
                try:
                    count += len(re.findall(rb"Zoe_\\w_\\d{4}_F[HS]W[HS]", memory.read(end - start)))
                except OSError:
                    pass
    return count

class Spy(Corners):
    """Looks at every batch and, because a look takes long, at every tenth photo that comes alone."""
    alone = 0
    def predict(self, photos):
        self.alone += len(photos) == 1
        assert (len(photos) == 1 and self.alone % 10 != 1) or names() == 0
        return super().predict(photos)

class UsesBatch(Corners):
    def predict(self, photos):
        return np.clip(super().predict(photos) + 0.2 * (len(photos) > 1), 0, 1)

class Declines(Corners):
    def fit(self, *arrays):
        raise CannotAnswer("one place explains the label")

class DiesOnce(Corners):
    def predict(self, photos):
        mark = os.environ["MARK"]
        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(9)
        return super().predict(photos)

class Dies(Corners):
    def predict(self, photos):
        os._exit(9)

class DiesInFit(Corners):
    def fit(self, *arrays):
        os._exit(9)

class FailsOften(Corners):
    """No answer where the first pixel is bright."""
    def predict(self, photos):
        if (photos[:, 0, 0, 0] > 100).any():
            raise ValueError("too bright")
        return super().predict(photos)

class Remembers(Corners):
    """Gives what it saw in earlier runs away."""
    seen = []
    def fit(self, *arrays):
        super().fit(*arrays)
        self.notes["seen"] = len(Remembers.seen)
        return self
    def predict(self, photos):
        Remembers.seen.append(len(photos))
        return super().predict(photos)
'''


def write_set(place: Path, tags: tuple[str, ...], each: int, wrong: int) -> None:
    """Pictures whose first two pixels are the truth; of every `wrong`th the second is not."""
    rng = np.random.default_rng([each, *place.name.encode()])
    for tag in tags:
        (place / tag).mkdir(parents=True)
        for i in range(each):
            pixels = rng.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            pixels[:2, 0, 0] = [200 if tag[1] == "H" else 50, 200 if (tag[3] == "H") != (i % wrong == 0) else 50]
            (place / tag / f"Zoe_{'abcdefghij'[i % 10]}_{i:04}_{tag}.png").write_bytes(encode_png(pixels))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("happy")
    for folders, tags in SETS.values():
        write_set(root / folders[0], tags, 20, 10)
    write_set(root / "held", TAGS, 10, 5)
    (root / "methods.py").write_text(METHODS)
    return root


def method(folder: Path, name: str) -> str:
    return f"{folder / 'methods.py'}:{name}"


def test_a_method_gets_arrays_and_no_name_of_a_photo_is_in_its_memory(folder: Path, tmp_path: Path):
    record, evaluated = run(read_happyfaces(folder), MixTask(method(folder, "Spy"), 0.1, 0), tmp_path / "run")
    assert record["answered"] and evaluated.manifest.failed == 0, "its predict looks as well"
    assert record["notes"]["names"] == 0 and record["notes"]["fitted"] == [40, 40]
    assert evaluated.manifest.model.name == record["method"] == "methods.py:Spy" == published_name("a/methods.py:Spy")
    assert str(tmp_path) not in (tmp_path / "run" / "run.json").read_text(), "no folder of this machine is published"
    assert record["validation"]["worst_head"] == 0.9 and record["uses_batch"] is False


def test_photos_come_in_batches_that_say_nothing_and_once_more_alone(folder: Path):
    data = read_happyfaces(folder)
    names = [sample.id for sample in HappyFacesDataset(data)]
    kinds = [name.split("/")[1] for name in names]
    assert sum(a != b for a, b in pairwise(kinds)) > 0.6 * len(kinds), "in order there would be 7"
    _, evaluated = run(data, MixTask(method(folder, "Corners"), 0.1, 0))
    answer = next(iter(evaluated.answers().values()))
    assert set(answer.values) == {"head_1", "head_2", "alone_1", "alone_2"}
    assert evaluated.manifest.batch == 8 and evaluated.scores().num_rows == 80 + 40


def test_a_method_that_uses_its_batch_is_marked_everywhere(folder: Path, tmp_path: Path, capsys):
    arguments = ["-d", str(folder), "--method", method(folder, "UsesBatch"), "--out", str(tmp_path / "run")]
    assert command(["happyfaces", "run", *arguments, "--json", str(tmp_path / "r.json")]) == 0
    assert "uses its batch" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["uses_batch"] is True
    stored = Run(tmp_path / "run")
    assert any(note.startswith("uses its batch: 120 of 120 photos") for note in stored.manifest.notes)
    table, page = tmp_path / "t.json", tmp_path / "page.html"
    many = ["--mix-rates", "0,.1", "--seeds", "1", "--quiet", "--json", str(table)]
    assert command(["happyfaces", "sweep", "-d", str(folder), "--method", method(folder, "UsesBatch"), *many]) == 0
    assert json.loads(table.read_text())["uses_batch"] is True
    assert command(["happyfaces", "report", str(table), "--out", str(page)]) == 0
    assert "uses its batch" in page.read_text("utf-8")


def test_a_method_that_declines_fails_every_photo_and_is_no_error(folder: Path, tmp_path: Path, capsys):
    arguments = ["-d", str(folder), "--method", method(folder, "Declines"), "--out", str(tmp_path / "run")]
    assert command(["happyfaces", "run", *arguments]) == 0
    assert "no answer: one place explains the label" in capsys.readouterr().out
    stored = Run(tmp_path / "run")
    assert stored.complete and stored.manifest.failed == 120 and stored.results() == []
    assert record_of(stored)["answered"] is False and record_of(stored)["reason"] == "one place explains the label"
    assert command(["verify", str(tmp_path / "run")]) == 0


def test_a_process_that_ends_is_replaced_and_the_method_fitted_again(folder: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("MARK", str(tmp_path / "mark"))
    record, evaluated = run(read_happyfaces(folder), MixTask(method(folder, "DiesOnce"), 0.1, 0))
    assert evaluated.manifest.failed == 0 and record["validation"]["worst_head"] == 0.9


@pytest.mark.parametrize("name", ["Dies", "DiesInFit"])
def test_a_method_that_always_ends_its_process_is_one_line(folder: Path, name: str, capsys):
    assert command(["happyfaces", "run", "-d", str(folder), "--method", method(folder, name)]) == 2
    outcome = capsys.readouterr().err.strip().splitlines()[-1]
    assert (
        outcome.startswith("error: ") and f"method '{folder / 'methods.py'}:{name}'" in outcome and "ended" in outcome
    )


def test_a_photo_without_an_answer_counts_as_wrong_also_after_a_purge(folder: Path, tmp_path: Path, capsys):
    arguments = ["-d", str(folder), "--method", method(folder, "FailsOften"), "--out", str(tmp_path / "run")]
    assert command(["happyfaces", "run", *arguments]) == 0
    stored = Run(tmp_path / "run")
    record = record_of(stored)
    assert stored.manifest.failed == 60 and record["validation"]["photos"] == 80, "half of the photos"
    face = record["validation"]["heads"]["face"]
    assert face["by_type"] == {"FHWH": 0.0, "FHWS": 0.0, "FSWH": 1.0, "FSWS": 1.0} and face["accuracy"] == 0.5
    assert any("40 of 80 photos have no answer and count as wrong (validation)" in note for note in stored.notes)
    (tmp_path / "gone.txt").write_text("Zoe_b\n")
    assert command(["purge", str(tmp_path / "run"), "--subjects", str(tmp_path / "gone.txt")]) == 0
    after = record_of(Run(tmp_path / "run"))
    assert after["validation"]["photos"] == 72 and after["validation"]["heads"]["face"]["accuracy"] == 0.5
    assert "Zoe_b" not in Run(tmp_path / "run").scores()["identity"].to_pylist()


def test_a_run_goes_on_where_it_stopped_and_other_code_is_another_run(folder: Path, tmp_path: Path):
    code = tmp_path / "methods.py"
    code.write_text(METHODS)
    data, task = read_happyfaces(folder), MixTask(f"{code}:Corners", 0.3, 2)
    record, first = run(data, task, tmp_path / "run")
    stored = {path.name: path.read_bytes() for path in (tmp_path / "run" / "answers").iterdir()}
    (tmp_path / "run" / "shards" / "00001.json").unlink()
    again, second = run(data, task, tmp_path / "run")
    assert second.complete and again["validation"] == record["validation"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "run" / "answers").iterdir()} == stored
    assert first.manifest.key == second.manifest.key
    code.write_text(METHODS + "\n# edited\n")
    _, third = run(data, task, tmp_path / "run")
    assert third.manifest.key != first.manifest.key and len(list(tmp_path.glob("run*"))) == 2


def test_somebody_s_method_gets_a_new_process_for_each_run_and_ours_share_one(folder: Path, tmp_path: Path):
    tasks = [MixTask(method(folder, "Remembers"), rate, 0) for rate in (0.0, 0.1)]
    assert [record["notes"]["seen"] for record in sweep(folder, tasks, tmp_path / "runs")] == [0, 0]
    assert not method_card(method(folder, "Corners")).hashed and method_card("spatial").hashed
    with pytest.raises(InputError, match="an object runs in this program"):
        sweep(folder, [MixTask(object(), rate, 0) for rate in (0.0, 0.1)], tmp_path / "more", jobs=2)


def drawn_list(folder: Path, out: Path, *arguments: str) -> list[dict[str, str]]:
    assert command(["happyfaces", "draw", "-d", str(folder), "--out", str(out), *arguments]) == 0
    with out.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_draw_is_listed_in_its_order_with_checksums(folder: Path, tmp_path: Path, capsys):
    rows = drawn_list(folder, tmp_path / "list.csv", "--mix-rate", "0.3", "--seed", "5")
    printed = capsys.readouterr().out
    data = read_happyfaces(folder)
    drawn = draw(data.unlabelled.tags, 0.3, 5).drawn
    assert [row["photo"] for row in rows] == [data.unlabelled.ids("unlabelled")[i] for i in drawn]
    assert [int(row["number"]) for row in rows] == list(range(1, 41))
    assert rows[0]["sha256"] == hashlib.sha256(data.unlabelled.pixels[drawn[0]].tobytes()).hexdigest()
    assert hashlib.sha256((tmp_path / "list.csv").read_bytes()).hexdigest() in printed
    assert drawn_list(folder, tmp_path / "again.csv", "--mix-rate", "0.3", "--seed", "5") == rows
    assert drawn_list(folder, tmp_path / "other.csv", "--mix-rate", "0.3", "--seed", "6") != rows
    for wrong in (["--mix-rate", "1.5"], ["--out", str(tmp_path)]):
        assert command(["happyfaces", "draw", "-d", str(folder), *wrong]) == 2


def predictions(folder: Path, path: Path, photos: list[str]) -> Path:
    """What `Corners` says of some photos and of all validation photos."""
    by_name = {sample.id: sample.load()[:2, 0, 0] / 255 for sample in HappyFacesDataset(read_happyfaces(folder))}
    names = [name for name in by_name if name.startswith("validation/")] + photos
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["photo", "head_1", "head_2"], *([name, *by_name[name]] for name in names)])
    return path


def test_predictions_of_a_draw_are_scored_and_join_the_page(folder: Path, tmp_path: Path, capsys):
    everything = [name for name in (sample.id for sample in load(str(folder))) if name.startswith("unlabelled/")]
    score = ["happyfaces", "score", "-d", str(folder), "--name", "theirs", "--predictions"]
    records = []
    for seed in (0, 1):
        drawn = {
            row["photo"] for row in drawn_list(folder, tmp_path / "l.csv", "--mix-rate", ".1", "--seed", str(seed))
        }
        rest = [name for name in everything if name not in drawn]
        file = predictions(folder, tmp_path / f"p{seed}.csv", rest)
        out, record = str(tmp_path / f"run{seed}"), tmp_path / f"r{seed}.json"
        draw_of = ["--mix-rate", ".1", "--seed", str(seed), "--out", out, "--json", str(record)]
        assert command([*score, str(file), *draw_of]) == 0, capsys.readouterr().err
        outcome = json.loads(record.read_text())
        assert outcome["not_drawn"]["photos"] == 40 and (outcome["mix_rate"], outcome["seed"]) == (0.1, seed)
        assert Run(out).manifest.options["mix_rate"] == 0.1
        own, _ = run(read_happyfaces(folder), MixTask(method(folder, "Corners"), 0.1, seed))
        assert own["validation"] == outcome["validation"] and own["not_drawn"] == outcome["not_drawn"]
        records.append(record)
    file = predictions(folder, tmp_path / "all.csv", everything)
    capsys.readouterr()
    assert command([*score, str(file), "--mix-rate", ".1"]) == 2
    message = capsys.readouterr().err
    assert "40 of its photos were drawn at mix rate 0.1 with seed 0" in message and "happyfaces draw" in message
    assert command([*score, str(file)]) == 0, "without a draw any photos that the method did not use are taken"
    assert command([*score, str(file), "--seed", "3"]) == 2 and command([*score, str(file), "--mix-rate", "7"]) == 2
    page = tmp_path / "page.html"
    assert command(["happyfaces", "report", *map(str, records), "--out", str(page)]) == 0, capsys.readouterr().err
    assert "theirs, validation, 2 seeds" in page.read_text("utf-8")


def test_the_suite_runs_a_method_like_any_model(folder: Path, tmp_path: Path):
    (item,) = ct.load_suite("happyfaces").run(
        data=folder, model=method(folder, "Corners"), out=tmp_path / "run", mix_rate=0.3, seed=4
    )
    assert item.manifest.suite == "happyfaces" and item.manifest.options["mix_rate"] == 0.3 and item.manifest.seed == 4
    record, _ = run(read_happyfaces(folder), MixTask(method(folder, "Corners"), 0.3, 4))
    assert record_of(item)["validation"] == record["validation"] and (tmp_path / "run" / "audit.json").is_file()
    text = item.report().read_text("utf-8")
    assert "The protocol: happyfaces" in text and "Arigbabu" in text and "seed 4" in text
    with pytest.raises(InputError, match="needs data=happyfaces:FOLDER"):
        ct.load_suite("happyfaces").run(data="people:portraits", model="spatial")


def test_a_held_back_set_is_found_again_through_the_run(folder: Path, tmp_path: Path):
    source = f"{folder}?held_back={folder / 'held'}"
    assert len(load(source)) == 80 + 80 + 40 and len(load(str(folder))) == 160
    with pytest.raises(InputError, match="no option 'held'"):
        load(f"{folder}?held=x")
    extra = ["-d", str(folder), "--method", method(folder, "Corners"), "--held-back", str(folder / "held")]
    assert command(["happyfaces", "run", *extra, "--out", str(tmp_path / "run")]) == 0
    stored = Run(tmp_path / "run")
    assert stored.manifest.dataset.source.endswith("?held_back=held") and len(stored.dataset()) == 200


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"head_1": 0.5}, "expected head_1 and head_2"),
        ([0.5, 1.5], "head_2 is 1.5, expected a probability"),
        ([0.1, 0.2, 0.3], "argument 2 is longer"),
        ([-0.1, 0.2], "head_1 is -0.1"),
    ],
)
def test_what_is_no_pair_of_probabilities_is_refused(raw, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        to_heads(raw)
