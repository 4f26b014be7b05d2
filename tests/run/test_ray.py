"""The Ray engine on a cluster of three `ray start` nodes on loopback: the bytes of the local engine, whatever dies."""

import importlib.util
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Ray reads its token when it is imported, so the tests import it only after the cluster's token is set.
if importlib.util.find_spec("ray") is None:
    pytest.skip("the extra ray is not installed", allow_module_level=True)

from hypothesis import given
from hypothesis import strategies as st

from countenance.cli.app import run as command
from countenance.errors import InputError
from countenance.run import Run, evaluate
from countenance.run.engine import ray as engine
from countenance.run.engine.search import Bisection
from countenance.run.verification import verify
from countenance.testing import write_small_dataset
from ray_cluster import Cluster

# Ray leaves sockets and log files to the end of the process.
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings(
        "ignore::ResourceWarning",
        "ignore::pytest.PytestUnraisableExceptionWarning",
        "ignore::FutureWarning",
        "ignore::DeprecationWarning",
    ),
]
sys.path.append(str(Path(__file__).parent))  # fakes, for a fixture of the module
SCRIPT = """
import sys
from countenance.run import evaluate
evaluate("fakes:Slow", "face_localization", sys.argv[1], out=sys.argv[2], batch=4, shard=64, threads=1,
         workers=3, engine="ray", address=sys.argv[3])
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster().running(nodes=3) as made:
        yield made


@pytest.fixture
def joined(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """The cluster, with the variables set that let a driver in."""
    for name, value in cluster.variables.items():
        monkeypatch.setenv(name, value)
    return cluster


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_dataset(tmp_path_factory.mktemp("ray") / "set", n=900, size=16)


@pytest.fixture(scope="module")
def local(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("ray-local") / "run"
    return evaluate("fakes:Slow", "face_localization", data, out=out, batch=4, shard=64, threads=1)


def same(one: Run, two: Run) -> bool:
    names = ["scores.parquet", "failures.parquet", *one.store.answer_files()]
    return two.store.answer_files() == names[2:] and all(
        one.store.storage.read(name) == two.store.storage.read(name) for name in names
    )


def driver(data: Path, out: object, cluster: Cluster) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, **cluster.variables, "PYTHONPATH": path}
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(data), str(out), cluster.address], env=environment
    )


def wait_for_shards(out: Path, number: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 240
    while len(list((out / "shards").glob("*.json"))) < number and process.poll() is None:
        assert time.monotonic() < end, "the run does not begin"
        time.sleep(0.1)


def test_one_and_three_nodes_give_the_bytes_of_the_local_engine(
    joined: Cluster, data: Path, local: Run, tmp_path: Path, s3: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    done = engine._RayShards._done
    monkeypatch.setattr(
        engine._RayShards, "_done", lambda self, a, w, r: (sizes.append(len(pickle.dumps(r))), done(self, a, w, r))[1]
    )
    for workers, out in ((1, str(tmp_path / "one")), (3, "s3://tests/ray/three")):
        found = evaluate(
            "fakes:Slow",
            "face_localization",
            data,
            out=out,
            batch=4,
            shard=64,
            threads=1,
            workers=workers,
            engine="ray",
            address=joined.address,
        )
        assert same(local, found) and verify(found.store).problems == []
    assert len(sizes) == 30 and max(sizes) < 1000, "receipts are small: predictions do not pass through Ray"
    assert not (tmp_path / "one.samples").exists()


def test_images_that_kill_or_hang_workers_are_the_ones_the_local_engine_records(
    joined: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_small_dataset(tmp_path / "few", n=12, size=16)
    for model in ("fakes:dies", "fakes:hangs"):
        settings = {"batch": 4, "shard": 12, "threads": 1, "time_limit": 2.0, "max_failures": 1.0}
        here = evaluate(model, "face_localization", data, out=tmp_path / f"{model[6:]}-local", **settings)
        there = evaluate(
            model,
            "face_localization",
            data,
            out=tmp_path / f"{model[6:]}-ray",
            **settings,
            engine="ray",
            address=joined.address,
        )
        failed = here.failures()["sample"].to_pylist()
        assert failed and sorted(there.failures()["sample"].to_pylist()) == sorted(failed)
        assert there.store.storage.read("scores.parquet") == here.store.storage.read("scores.parquet")


def test_a_killed_node_costs_only_its_shards_and_one_that_joins_late_gets_work(
    joined: Cluster, data: Path, local: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, worked, kept = tmp_path / "run", [], []
    done = engine._RayShards._done

    def note(self: Any, actor: Any, work: Any, receipt: dict[str, Any]) -> None:
        hosts = {node["NodeID"]: node["NodeManagerAddress"] for node in self.ray.nodes()}
        worked.append((work.piece.number, hosts[actor.node]))
        done(self, actor, work, receipt)

    def trouble() -> None:
        while len(kept) < 3:
            kept[:] = [path.name for path in (out / "shards").glob("*.json")]
            time.sleep(0.1)
        joined.kill(3)
        joined.start(4)

    monkeypatch.setattr(engine._RayShards, "_done", note)
    thread = threading.Thread(target=trouble)
    thread.start()
    found = evaluate(
        "fakes:Slower",
        "face_localization",
        data,
        out=out,
        batch=4,
        shard=64,
        threads=1,
        workers=3,
        engine="ray",
        address=joined.address,
    )
    thread.join()
    assert same(local, found)
    numbers = [number for number, _ in worked]
    assert sorted(numbers) == list(range(15)), "no shard that was done is done again"
    assert "127.0.0.4" in {host for _, host in worked}


def test_a_driver_that_was_killed_goes_on_with_another_engine(
    joined: Cluster, data: Path, local: Run, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    process = driver(data, out, joined)
    wait_for_shards(out, 2, process)
    process.kill()
    process.wait()
    said: list[str] = []
    found = evaluate("fakes:Slow", "face_localization", data, out=out, batch=4, shard=64, threads=1, say=said.append)
    assert same(local, found) and any("resuming" in line for line in said)


def test_the_head_is_killed_and_the_run_goes_on_elsewhere(
    joined: Cluster, data: Path, local: Run, tmp_path: Path
) -> None:
    """The last test of the cluster: it has no head afterwards."""
    out = tmp_path / "run"
    process = driver(data, out, joined)
    wait_for_shards(out, 2, process)
    joined.kill(1)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    found = evaluate("fakes:Slow", "face_localization", data, out=out, batch=4, shard=64, threads=1)
    assert same(local, found)


def test_an_engine_or_address_that_is_not_there_is_one_line(data: Path, tmp_path: Path, capsys) -> None:
    run = ["run", "face_localization", "--model", "fakes:Slow", "--data", str(data), "--out", str(tmp_path / "r"), "-q"]
    assert command([*run, "--engine", "dask"]) == 2
    assert "engine is 'dask', expected 'local' or 'ray'" in capsys.readouterr().err
    assert command([*run, "--address", "127.0.0.1:1"]) == 2
    assert "are for --engine ray" in capsys.readouterr().err
    for address, message in (("127.0.0.1:1", "nothing answers there"), ("ray://x:1", "expected host:port")):
        assert command([*run, "--engine", "ray", "--address", address]) == 2
        told = capsys.readouterr().err
        assert message in told and told.count("\n") == 1


def test_a_node_with_other_software_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    shards = engine._RayShards.__new__(engine._RayShards)
    from countenance.run.engine.actor import software

    told = {"host": "n7", "node": "x", "software": {**software(), "countenance": "0.0.1"}}
    with pytest.raises(InputError, match=r"node n7 has countenance 0\.0\.1, this machine has"):
        shards._greeted(engine._Actor(None, None), told)


@given(st.integers(1, 5000), st.data())
def test_the_search_finds_the_harmful_image_in_few_tries(images: int, draw: st.DataObject) -> None:
    harmful = draw.draw(st.integers(0, images - 1))
    search, tries = Bisection(images), 0
    while search.culprit is None and not search.over:
        low, high = search.candidates()
        assert 0 <= low < high <= images
        search.tell(low <= harmful < high)
        tries += 1
    assert search.culprit == harmful and tries <= images.bit_length() + 1


@given(st.integers(1, 500))
def test_a_search_for_nothing_ends(images: int) -> None:
    search = Bisection(images)
    while search.culprit is None and not search.over:
        search.tell(False)
    assert search.culprit is None
