"""A long run on a cluster of three nodes that are killed at random, its run and data in an object store.

    python benchmarks/cluster.py [--images 500000] [--workers 12] [--every 20] [--data folder] [--seed 0]

Starts an S3 server (moto's) and three `ray start` nodes on loopback, evaluates the same manifest once by the local
engine with as many workers, without interruption, and once on the cluster. There, every `--every` seconds or so one of
the two other nodes or the driver is killed with signal 9; nodes are started again, and the driver's command is given
again until the run is complete. Prints both times, what was killed, and whether all bytes of scores, results, failures
and predictions are equal. Each image has two score rows.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from scale import index  # noqa: E402

from countenance.run import Run, evaluate  # noqa: E402
from countenance.run.verification import verify  # noqa: E402
from countenance.storage import open_storage  # noqa: E402
from ray_cluster import Cluster  # noqa: E402
from s3_servers import BUCKET, CREDENTIALS, moto_server  # noqa: E402

MODEL, TASK = "countenance.testing:DiscDetector", "face_localization"
DRIVER = """
import sys
from countenance.run import evaluate
evaluate(sys.argv[1], sys.argv[2], sys.argv[3], out=sys.argv[4], batch=32, shard=int(sys.argv[6]), threads=1,
         workers=int(sys.argv[7]), engine="ray", address=sys.argv[5])
"""


def on_cluster(data: str, out: str, cluster: Cluster, asked: argparse.Namespace) -> dict[str, object]:
    """Evaluate on a cluster whose nodes and driver are killed; what was killed, and how long it took."""
    chance, every = random.Random(asked.seed), asked.every
    killed = {"node": 0, "driver": 0}
    environment = {**os.environ, **cluster.variables, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    words = [sys.executable, "-W", "ignore", "-c", DRIVER, MODEL, TASK, data, out, cluster.address, str(asked.shard)]
    words.append(str(asked.workers))
    started = time.perf_counter()
    with tempfile.TemporaryFile() as said:  # Ray tells of every death: shown only if the driver fails
        while True:
            driver = subprocess.Popen(words, env=environment, stderr=said)
            while driver.poll() is None:
                end = time.monotonic() + chance.uniform(0.5, 1.5) * every
                while driver.poll() is None and time.monotonic() < end:
                    time.sleep(0.5)
                if driver.poll() is not None:
                    break
                if sum(killed.values()) >= asked.kills:
                    continue
                done = len(open_storage(out).entries("shards/"))
                what = chance.choice(["node", "node", "driver"])
                killed[what] += 1
                print(
                    json.dumps({"after_s": round(time.perf_counter() - started), "killed": what, "shards": done}),
                    flush=True,
                )
                if what == "driver":
                    driver.kill()
                    driver.wait()
                    break
                number = chance.choice([n for n in cluster.nodes if n != 1])
                cluster.kill(number)
                cluster.start(max(cluster.nodes) + 1)
            if driver.returncode == 0:
                return {"seconds": round(time.perf_counter() - started, 1), "killed": killed}
            if driver.returncode != -9:
                said.seek(0)
                last = said.read().decode(errors="replace")[-4000:]
                raise SystemExit(f"the driver ended with code {driver.returncode}:\n{last}")


def differing(one: Run, two: Run) -> list[str]:
    """The files of two runs whose bytes differ."""
    names = [*one.store.score_files(), "failures.parquet", "results.json", *one.store.answer_files()]
    if two.store.answer_files() != one.store.answer_files():
        return ["the list of answer files"]
    return [name for name in names if one.store.storage.read(name) != two.store.storage.read(name)]


def main() -> None:
    """Print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=500_000)
    parser.add_argument("--workers", type=int, default=3, help="of the local run, and of the three nodes together")
    parser.add_argument("--shard", type=int, default=5_000)
    parser.add_argument("--every", type=float, default=60.0, help="seconds between two kills, about")
    parser.add_argument("--kills", type=int, default=1000, help="at most so many")
    parser.add_argument("--data", choices=("folder", "store"), default="store", help="where the pictures are")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, moto_server() as address:
        os.environ.update({**CREDENTIALS, "AWS_ENDPOINT_URL": address})
        folder = Path(name)
        data = f"s3://{BUCKET}/data" if asked.data == "store" else str(folder / "data")
        started = time.perf_counter()
        index(data, asked.images, asked.workers)
        indexed = round(time.perf_counter() - started, 1)
        started = time.perf_counter()
        local = evaluate(
            MODEL, TASK, data, out=folder / "local", batch=32, shard=asked.shard, threads=1, workers=asked.workers
        )
        figures: dict[str, object] = {
            "images": asked.images,
            "rows": local.scores().num_rows,
            "shards": len(local.store.answer_files()),
            "data": asked.data,
            "workers": asked.workers,
            "index_s": indexed,
            "local_s": round(time.perf_counter() - started, 1),
        }
        print(json.dumps(figures), flush=True)
        out = f"s3://{BUCKET}/run"
        with Cluster(cpus=-(-asked.workers // 3)).running(nodes=3) as cluster:
            figures["cluster"] = on_cluster(data, out, cluster, asked)
        found = Run(out)
        figures["differing"] = differing(local, found)
        figures["problems"] = [str(one) for one in verify(found.store).problems]
        figures["load"] = os.getloadavg()[0]
    print(json.dumps(figures))
    if figures["differing"] or figures["problems"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
