"""How fast the viewer answers on a large run, as a browser asks it: over HTTP, from a process of its own.

    python benchmarks/viewer.py --rows 1000000 --pictures 100000

writes JSON to stdout and progress to stderr. Every click has another address, so that nothing is answered from what
was asked before. `cpu` is the processor time of the viewer for one click, `p95` is by the clock.
"""

import argparse
import http.client
import io
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from countenance.answers import Boxes
from countenance.data import DatasetCard, Sample, Subject, load_dataset
from countenance.data.image import LazyImage
from countenance.data.manifest_writer import ManifestWriter
from countenance.files import to_json
from countenance.models.model import ModelCard
from countenance.run.manifest import DatasetRecord, Manifest, MetricRecord, Place
from countenance.run.rows import failure_table
from countenance.run.store import RunStore

VALUES = {"skin_tone": 10, "age_group": 4, "gender": 2, "masked": 2, "light": 4, "hair": 6}
SIDE, SHARD, DISTINCT = 96, 1000, 64
TOKEN = "benchmark"
_THUMBNAIL = re.compile(r"thumbnails/(\d+)")
GOAL_MS, GOAL_MB = 300, 1000


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def make_pictures(folder: Path, count: int) -> list[Path]:
    """Small files of rendered people; a few dozen differ, each is written often."""
    from PIL import Image

    drawn = []
    for sample in itertools.islice(load_dataset("people:portraits"), DISTINCT):
        buffer = io.BytesIO()
        Image.fromarray(sample.load()).resize((SIDE, SIDE)).save(buffer, "JPEG", quality=80)
        drawn.append(buffer.getvalue())
    paths = []
    for i in range(count):
        path = folder / f"{i // 1000:04d}" / f"{i:06d}.jpg"
        if i % 1000 == 0:
            path.parent.mkdir(parents=True)
        path.write_bytes(drawn[i % len(drawn)])
        paths.append(path)
    return paths


def make_run(folder: Path, rows: int, pictures: int) -> None:
    """A dataset as a manifest, and a run's files on it, drawn at random: several people a picture."""
    rng = np.random.default_rng(0)
    each, people = rows // pictures, max(rows // 20, 10)
    say(f"{pictures:,} pictures")
    paths = make_pictures(folder / "pictures", pictures)
    ids = [f"{path.parent.name}/{path.name}" for path in paths]
    corner = rng.integers(0, SIDE // 2, (pictures, each, 2))
    boxes = np.concatenate([corner, corner + SIDE // 3], axis=2).astype(float)
    card = DatasetCard(name="drawn", real_people=False)

    def samples() -> Iterator[Sample]:
        for i, path in enumerate(paths):
            subjects = tuple(Subject(str(k), face_box=boxes[i, k]) for k in range(each))
            yield Sample(ids[i], LazyImage(path), SIDE, SIDE, subjects)

    say("the dataset's manifest")
    made = ManifestWriter(folder / "data", card).write(samples())
    say(f"{rows:,} rows and the predictions")
    identity = rng.integers(0, people, rows)
    columns: dict[str, Any] = {
        "sample": pa.array(np.repeat(np.array(ids, dtype=object), each)),
        "subject": pa.array([str(k) for k in range(each)] * pictures),
        "identity": pa.array([f"p{i:05d}" for i in range(people)]).take(pa.array(identity)),
    }
    for name, count in VALUES.items():
        drawn = pa.array([f"{name}_{v}" for v in rng.integers(0, count, people)])
        columns[f"attr.{name}"] = drawn.take(pa.array(identity))
    overlap = rng.beta(8, 2, rows)
    columns |= {"m.best_iou": pa.array(overlap), "m.recall@0.5": pa.array((overlap > 0.6).astype(float))}
    table = pa.table(columns)
    store = RunStore(folder / "run")
    for number in range(-(-pictures // SHARD)):
        here = range(number * SHARD, min((number + 1) * SHARD, pictures))
        store.commit(number, Boxes, [(ids[i], Boxes(boxes[i] + 2)) for i in here], table.slice(0, 0), [])
    pq.write_table(table, folder / "run" / "scores.parquet", compression="zstd")
    store.write_table("failures.parquet", failure_table([], {}))
    store.write_results([])
    store.write_local(Place(source=str(folder / "data")))
    metrics = [MetricRecord(name="recall@0.5", headline=True), MetricRecord(name="best_iou")]
    record = DatasetRecord(card=card, images=pictures, source=str(folder / "data"), fingerprint=made.fingerprint())
    model = ModelCard(name="random")
    store.write_manifest(
        Manifest(task="face_localization", status="complete", metrics=metrics, model=model, dataset=record)
    )


class Viewer:
    """A viewer in its own process."""

    def __init__(self, folder: Path) -> None:
        command = [
            sys.executable,
            "-u",
            "-c",
            "from countenance.cli.app import main; main()",
            "view",
            str(folder / "run"),
        ]
        options = ["--port", "0", "--token", TOKEN, "--no-browser"]
        self.process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        told = next(line for line in self.process.stdout if line.startswith("view "))
        self._own = threading.local()
        self.port = int(re.findall(r":(\d+)/", told)[0])
        self.run = json.loads(self.ask("/api/runs"))[0]["id"]

    def ask(self, path: str) -> bytes:
        """An answer; each thread keeps its connection, as a browser does."""
        if not hasattr(self._own, "connection"):
            self._own.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        connection = self._own.connection
        connection.request("GET", f"{path}{'&' if '?' in path else '?'}token={TOKEN}")
        answer = connection.getresponse()
        content: bytes = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {content[:300]!r}")
        return content

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, kind: str) -> int:
        """Resident memory in MB: now (VmRSS) or at most (VmHWM)."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(rf"{kind}:\s+(\d+)", status)[0]) // 1024

    def timed(
        self, name: str, call: Callable[[], object], times: int, before: Callable[[], None] = lambda: None
    ) -> dict[str, Any]:
        """The first click, then the later ones by the clock and by the processor; `before` each is not counted."""
        took, busy, first = [], 0.0, 0.0
        for number in range(times + 1):
            before()
            start, used = time.perf_counter(), self.cpu()
            call()
            if number == 0:
                first = time.perf_counter() - start
            else:
                took.append(1000 * (time.perf_counter() - start))
                busy += self.cpu() - used
        found = {
            "click": name,
            "times": times,
            "first_ms": round(1000 * first),
            "p50_ms": round(float(np.median(took)), 1),
            "p95_ms": round(float(np.quantile(took, 0.95)), 1),
            "cpu_ms": round(1000 * busy / times, 1),
        }
        say(f"{name:46} {found}")
        return found


def clicks(viewer: Viewer, times: int) -> list[dict[str, Any]]:
    """Every kind of click, each time with another address."""
    fresh = itertools.count(1)
    run, pages = viewer.run, itertools.count(2)

    def level() -> str:
        return f"depth=1&alpha={0.05 + 1e-6 * next(fresh):.6f}"

    def estimates(metric: str, further: str = "") -> Callable[[], bytes]:
        asked = f"by=skin_tone&metric={quote(metric)}{further}"
        return lambda: viewer.ask(f"/api/runs/{run}/estimates?{asked}&{level()}")

    group = "by=skin_tone&metric=recall%400.5&depth=1&of=skin_tone&group=skin_tone_3"
    everyone = "by=skin_tone&metric=recall%400.5&depth=1"
    gallery = f"/runs/{run}/samples?{everyone}&show=failed"
    shown = [int(place) for place in _THUMBNAIL.findall(viewer.ask(f"{gallery}&page=400").decode())]
    later = itertools.count(500)
    pool = ThreadPoolExecutor(6)  # as many connections as a browser has
    places: list[int] = []

    def turn() -> None:
        places[:] = [int(place) for place in _THUMBNAIL.findall(viewer.ask(f"{gallery}&page={next(later)}").decode())]

    def thumbnails() -> None:
        list(pool.map(lambda place: viewer.ask(f"/runs/{run}/thumbnails/{place}"), places))

    one = itertools.cycle(shown)
    pages_of_runs = (f"by={by}&metric={metric}" for metric in ("recall%400.5", "best_iou") for by in VALUES)
    wanted: list[tuple[str, Callable[[], object]]] = [
        ("the list of runs", lambda: viewer.ask("/")),
        ("estimates by one attribute, a rate", estimates("recall@0.5")),
        ("estimates by one attribute, a mean", estimates("best_iou")),
        ("estimates where gender=gender_1", estimates("recall@0.5", "&where=gender%3Dgender_1")),
        ("the page of a run", lambda: viewer.ask(f"/runs/{run}?{next(pages_of_runs)}&depth=1")),
        ("the next rows of a group", lambda: viewer.ask(f"/runs/{run}/rows?{group}&page={next(pages)}")),
        ("the next pictures of a group", lambda: viewer.ask(f"/runs/{run}/samples?{group}&page={next(pages)}")),
        ("the next failures of everybody", lambda: viewer.ask(f"{gallery}&page={next(pages)}")),
        ("48 thumbnails that are not yet made", thumbnails),
        ("one sample", lambda: viewer.ask(f"/runs/{run}/samples/{next(one)}?{everyone}")),
        ("its picture", lambda: viewer.ask(f"/runs/{run}/pictures/{next(one)}")),
    ]
    most = {"the page of a run": 2 * len(VALUES) - 1}  # every attribute by every metric, once
    before = {"48 thumbnails that are not yet made": turn}  # the page that shows them, as a browser has it first
    return [
        viewer.timed(name, call, min(times, most.get(name, times)), before.get(name, lambda: None))
        for name, call in wanted
    ]


def wait_for_pictures(viewer: Viewer) -> float:
    """Seconds until the dataset is there; it is loaded while other pages are looked at."""
    start = time.perf_counter()
    viewer.ask(f"/runs/{viewer.run}?by=skin_tone&metric=recall%400.5&depth=1")
    while (found := json.loads(viewer.ask(f"/api/runs/{viewer.run}/pictures")))["state"] == "loading":
        time.sleep(0.2)
    if found["state"] != "ready":
        raise SystemExit(f"no pictures: {found['problem']}")
    return time.perf_counter() - start


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--pictures", type=int, default=100_000)
    options.add_argument("--times", type=int, default=20, help="clicks of each kind")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        make_run(folder, asked.rows, asked.pictures)
        viewer = Viewer(folder)
        try:
            loading = wait_for_pictures(viewer)
            say(f"the pictures were there after {loading:.1f} s")
            found = clicks(viewer, asked.times)
            peak, now = viewer.memory("VmHWM"), viewer.memory("VmRSS")
        finally:
            viewer.process.terminate()
            viewer.process.wait(10)
        worst = max(one["p95_ms"] for one in found)
        print(
            to_json(
                {
                    "rows": asked.rows,
                    "pictures": asked.pictures,
                    "cores": os.cpu_count(),
                    "load": os.getloadavg()[0],
                    "pictures_ready_s": round(loading, 1),
                    "clicks": found,
                    "worst_p95_ms": worst,
                    "memory_mb": {"at_most": peak, "at_the_end": now},
                    "goals": {"p95 < 300 ms": worst < GOAL_MS, "< 1 GB": peak < GOAL_MB},
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
