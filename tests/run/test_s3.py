"""A whole run in an object store: the same bytes as on a disk, whatever happens to writers, uploads and requests."""

import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from countenance.answers import Boxes
from countenance.cli.app import run as command
from countenance.data import DatasetCard
from countenance.data.image import UrlImage, encode_png
from countenance.data.manifest_writer import ManifestWriter
from countenance.run import Run, evaluate
from countenance.run.marker import Committed
from countenance.run.rows import columns_of, rows_table
from countenance.run.store import RunStore
from countenance.run.verification import verify
from countenance.storage import open_storage
from countenance.tasks import load_task
from countenance.testing import small_dataset, write_small_dataset
from s3_servers import Fault, Proxy

MODEL = "countenance.testing:DiscDetector"
SCRIPT = """
import sys
from countenance.run import evaluate
evaluate("fakes:Slow", "face_localization", sys.argv[1], out=sys.argv[2], workers=2, threads=1, batch=4)
"""


def content(run: Run, *names: str) -> list[bytes]:
    return [run.store.storage.read(name) for name in names]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A dataset and its run on a disk."""
    folder = tmp_path_factory.mktemp("local")
    data = write_small_dataset(folder / "set", n=240, size=16)
    return data, evaluate(MODEL, "face_localization", data, out=folder / "run", batch=4)


def same(one: Run, two: Run) -> bool:
    return one.store.answer_files() == two.store.answer_files() and all(
        one.store.storage.read(name) == two.store.storage.read(name)
        for name in ("scores.parquet", "failures.parquet", *one.store.answer_files())
    )


def test_a_run_in_a_store_has_the_bytes_of_one_on_a_disk(s3: str, local: tuple[Path, Run]) -> None:
    data, on_disk = local
    there = evaluate(MODEL, "face_localization", data, out="s3://tests/bytes/run", batch=4, workers=2, threads=1)
    assert same(there, on_disk) and verify(there.store).problems == []
    said: list[str] = []
    evaluate(MODEL, "face_localization", data, out="s3://tests/bytes/run", batch=4, say=said.append)
    assert said == ["s3://tests/bytes/run: already complete, nothing to do"]


def test_every_command_takes_a_url(s3: str, local: tuple[Path, Run], tmp_path: Path, capsys) -> None:
    url, data = "s3://tests/commands/run", str(local[0])
    run = ["run", "face_localization", "--model", MODEL, "--data", data, "--out", url, "--by", "skin_tone", "-q"]
    assert command(run) == 0
    assert f"report   {url}/report.html" in capsys.readouterr().out
    assert command(["verify", url]) == 0 and "intact" in capsys.readouterr().out
    assert command(["audit", url, "--by", "gender"]) == 0 and "gender = " in capsys.readouterr().out
    assert command(["report", url]) == 0 and capsys.readouterr().out.strip() == f"{url}/report.html"
    assert command(["report", url, "--out", str(tmp_path / "page.html")]) == 0
    assert "gender" in (tmp_path / "page.html").read_text()
    capsys.readouterr()
    (tmp_path / "gone.txt").write_text("id0003\n")
    assert command(["purge", url, "--subjects", str(tmp_path / "gone.txt")]) == 0
    told = capsys.readouterr().out
    assert "removed 1 person, 2 images" in told and "report.html" in told
    purged = Run(url)
    assert "id0003" not in purged.scores()["identity"].to_pylist()
    assert {"s00006", "s00007"}.isdisjoint(purged.answers())
    assert command(["verify", url]) == 0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        pytest.param("AWS_ENDPOINT_URL", "http://127.0.0.1:9", "cannot be reached", marks=pytest.mark.slow),
        ("AWS_ENDPOINT_URL", "http://s3.example.org", "unencrypted"),
    ],
)
def test_a_wrong_address_is_one_line_and_exit_2(s3: str, monkeypatch, capsys, name, value, said) -> None:
    monkeypatch.setenv(name, value)
    for words in (["verify"], ["audit"], ["report"]):
        assert command([*words, "s3://tests/none"]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and said in told


def test_a_missing_bucket_is_told_before_any_image_is_read(s3: str, local: tuple[Path, Run], capsys) -> None:
    run = ["run", "face_localization", "--model", MODEL, "--data", str(local[0]), "--out", "s3://no-such-bucket/r"]
    assert command(run) == 2
    told = "error: s3://no-such-bucket/r: there is no bucket 'no-such-bucket'; make it, or name another\n"
    assert capsys.readouterr().err == told


def test_uploads_that_are_cut_off_are_done_again_in_the_same_run(proxy: Proxy, local: tuple[Path, Run]) -> None:
    data, on_disk = local
    proxy.faults = [
        Fault(lambda method, path: method == "PUT" and "/answers/00001" in path, times=1, cut=0.5),
        Fault(lambda method, path: method == "PUT" and "work/00002" in path, times=1, cut=0.9),
        Fault(lambda method, path: method == "PUT" and "/shards/00000" in path, times=1, cut=0.5),
    ]
    there = evaluate(MODEL, "face_localization", data, out="s3://tests/cut/run", batch=4, workers=1, threads=1)
    assert [fault.hits for fault in proxy.faults] == [1, 1, 1]
    assert verify(there.store).problems == []
    assert content(there, "scores.parquet") == content(on_disk, "scores.parquet")


@pytest.mark.slow
def test_throttling_and_latency_change_nothing_but_the_time(proxy: Proxy, local: tuple[Path, Run]) -> None:
    data, on_disk = local
    random_ = random.Random(0)
    proxy.faults = [
        Fault(lambda method, path: random_.random() < 0.2, times=30, status=503),
        Fault(lambda method, path: random_.random() < 0.3, times=30, wait=0.2),
        Fault(lambda method, path: method in ("GET", "PUT") and random_.random() < 0.1, times=5, drop=True),
    ]
    there = evaluate(MODEL, "face_localization", data, out="s3://tests/throttle/run", batch=4, workers=2, threads=1)
    assert same(there, on_disk) and sum(fault.hits for fault in proxy.faults) > 10


def test_killed_at_random_moments_the_run_equals_the_uninterrupted_one(s3: str, tmp_path: Path) -> None:
    data = write_small_dataset(tmp_path / "set", n=600, size=16)
    whole = evaluate("fakes:Slow", "face_localization", data, out=tmp_path / "whole", batch=4)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    words = [sys.executable, "-c", SCRIPT, str(data), "s3://tests/killed/run"]
    moments, kills, store = random.Random(0), 0, open_storage(words[-1])
    for shards in (0, 2, 5):  # by what is stored, since machines differ in speed
        process = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(store.entries("shards/")) <= shards:
            time.sleep(0.02)
        time.sleep(moments.uniform(0.0, 0.2))
        kills += process.poll() is None
        process.kill()
        process.wait()
    subprocess.run(words, env=environment, check=True)
    resumed = Run("s3://tests/killed/run")
    assert kills >= 1 and resumed.complete and same(resumed, whole) and verify(resumed.store).problems == []


def test_going_on_lists_keys_and_reads_no_predictions(proxy: Proxy) -> None:
    store = RunStore("s3://tests/listing/run")
    for number in range(5):
        commit(store, number, 0.5)
    proxy.requests.clear()
    assert sorted(store.committed()) == [0, 1, 2, 3, 4]
    read = [path for method, path in proxy.requests if method == "GET" and "list-type" not in path]
    assert len(read) == 5 and all("/shards/" in path for path in read)


def commit(store: RunStore, number: int, value: float) -> Committed:
    task = load_task("face_localization")
    answers = [("a", Boxes(np.array([[0, 0, 4, 4.0]]), [value]))]
    rows = rows_table([{"sample": "a", "m.iou": value}], columns_of(task, {}))
    return store.commit(number, Boxes, answers, rows, [])


@pytest.mark.parametrize("place", ["s3", "disk"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_of_sixteen_racing_writers_of_a_shard_one_counts(
    s3: str, tmp_path: Path, place: str, deterministic: bool
) -> None:
    url = tmp_path / "run" if place == "disk" else f"s3://tests/race-{deterministic}/run"
    for number in range(3):
        said: list[Committed] = []
        barrier = threading.Barrier(16)

        def write(k: int, number: int = number, said: list[Committed] = said, barrier=barrier) -> None:
            barrier.wait()
            said.append(commit(RunStore(url), number, 0.5 if deterministic else (k + 1) / 20))

        threads = [threading.Thread(target=write, args=(k,)) for k in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        others = Committed.SAME if deterministic else Committed.DIFFERENT
        assert sorted(said) == sorted([Committed.FIRST] + [others] * 15)
    store = RunStore(url)
    markers = store.committed()
    assert sorted(markers) == [0, 1, 2]
    for number in markers:  # predictions and rows of one and the same writer
        (score,) = store.shard_answers(number)["a"].scores.tolist()
        assert store.shard_rows(number)["m.iou"].to_pylist() == [score]
    store.sweep(markers)
    assert len(store.answer_files()) == 3


def test_a_writer_killed_before_its_marker_is_not_in_the_way(s3: str) -> None:
    store = RunStore("s3://tests/before-marker/run")
    store.storage.write("answers/00000.parquet", b"half of some")
    assert commit(store, 0, 0.5) is Committed.FIRST
    assert list(store.committed()) == [0] and list(store.shard_answers(0)) == ["a"]
    store.sweep(store.committed())
    assert store.storage.read(store.answer_files()[0]) != b"half of some"


def test_a_model_that_answers_a_shard_twice_differently_is_called_nondeterministic(
    s3: str, local: tuple[Path, Run]
) -> None:
    said: list[str] = []
    url = "s3://tests/nondeterministic/run"

    class Model:
        """While it predicts, another writer commits its first shard."""

        def __call__(self, images):
            from countenance.testing import DiscDetector

            commit(RunStore(url), 0, 0.25)
            return DiscDetector()(images)

    found = evaluate(Model(), "face_localization", local[0], out=url, batch=4, say=said.append)
    assert any("the model is nondeterministic: shard 0" in line for line in said)
    assert any("nondeterministic" in note for note in found.notes)


def test_pictures_of_a_manifest_may_be_in_the_store(s3: str, tmp_path: Path) -> None:
    store, tar = open_storage("s3://tests/pictures"), b""
    samples = []
    for sample in small_dataset(24, 16):
        content = encode_png(sample.image.load())
        store.write(f"{sample.id}.png", content)
        url = UrlImage(f"s3://tests/pictures/{sample.id}.png")
        if int(sample.id[1:]) % 2:  # a part of a larger object
            url, tar = UrlImage("s3://tests/pictures/all.tar", len(tar), len(content)), tar + content
        samples.append(replace(sample, image=url))
    store.write("all.tar", tar)
    store.delete("s00004.png")
    card = DatasetCard(name="discs", real_people=False)
    data = ManifestWriter(tmp_path / "manifest", card).write(samples).storage.place
    runs = [
        evaluate(MODEL, "face_localization", data, out=tmp_path / name, batch=4, decoders=count, max_failures=1.0)
        for name, count in (("thread", 0), ("processes", 2))
    ]
    assert same(*runs)
    assert runs[0].failures()["reason"].to_pylist() == ["s3://tests/pictures/s00004.png: no such image"]
    assert len(runs[0].scores()) >= 23
