"""What the UCCS suite costs: evaluation with reading the files, and exact search among templates.

    python benchmarks/uccs.py            # about two minutes; search among 20,000 × 20,000 templates
    python benchmarks/uccs.py --full     # search among 100,000 × 100,000 templates
    python benchmarks/uccs.py --only froc,dir

Prints one JSON object. CPU seconds are those of a process of its own that imports, reads and evaluates (`cpu_s`
without the imports, `process_cpu_s` with them and the interpreter); memory is that process's largest resident size.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ORIGINAL = {"froc": 51.0, "dir": 86.0, "v3_froc": 545.0, "oroc": 30.0}
LIMITS = {"froc": 1.0, "dir": 1.5, "v3_froc": 1.0, "oroc": 3.0}
FACES, DETECTIONS, SUBJECTS = 20, 31, 1000

MEASURE = """
import json, resource, sys, time
from pathlib import Path
kind, folder, file = sys.argv[1:]
from countenance.suites.uccs import Settings, evaluate_detector, evaluate_recognizer
evaluate = evaluate_recognizer if kind in ("dir", "oroc") else evaluate_detector
start = time.process_time()
found = evaluate(Path(folder), [Path(folder) / file], settings=Settings(log=True))[0]
end = time.process_time()
status = Path("/proc/self/status")  # a child's ru_maxrss begins with its parent's
if status.exists():
    peak = int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"cpu_s": round(end - start, 3), "process_cpu_s": round(end, 3), "peak_mb": round(peak),
                  "points": len(found.curve.x), "found": found.found, "false_alarms": len(found.negatives)}))
"""


def make(folder: Path, images: int, kind: str, seed: int = 0) -> str:
    """A data directory and one score file of the given kind; the file's name."""
    random = np.random.default_rng(seed)
    n, m = images * FACES, images * DETECTIONS
    width = random.uniform(60, 320, n)
    box = np.stack([random.uniform(0, 5000, n), random.uniform(0, 3200, n), width, width * 1.2], axis=1)
    subject = np.where(random.random(n) < 0.5, -1, random.integers(1, SUBJECTS + 1, n))
    image = np.repeat(np.arange(images), FACES)
    header = "FACE_ID,FILE,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT\n"
    rows = zip(image.tolist(), subject.tolist(), box.tolist(), strict=True)
    truth = header + "".join(
        f"{k},img{i:06d}.jpg,{s},{b[0]:.2f},{b[1]:.2f},{b[2]:.2f},{b[3]:.2f}\n" for k, (i, s, b) in enumerate(rows, 1)
    )
    (folder / "protocol").mkdir(parents=True)
    (folder / "protocol" / "validation.csv").write_text(truth)
    (folder / "validation.csv").write_text(truth)
    (folder / "exclude_gallery_validation.txt").write_text("1\n2\n")

    # Two of three detections lie on some face, the others anywhere.
    image = np.repeat(np.arange(images), DETECTIONS)
    face = image * FACES + np.tile(np.arange(DETECTIONS), images) % FACES
    near = np.tile(np.arange(DETECTIONS) < 2 * DETECTIONS // 3, images)
    found = box[face] * [1, 1, 0.8, 0.8] + box[face][:, [2, 3, 2, 3]] * random.normal(0.1, 0.03, (m, 4)) * [1, 1, 0, 0]
    found[~near, :2] = np.stack([random.uniform(0, 5000, m), random.uniform(0, 3200, m)], axis=1)[~near]
    score = random.uniform(0.2, 1, m)
    lines = [
        (f"img{i:06d}", f"{b[0]:.2f},{b[1]:.2f},{b[2]:.2f},{b[3]:.2f}", f"{q:.2f}")
        for i, b, q in zip(image.tolist(), found.tolist(), score.tolist(), strict=True)
    ]
    if kind == "froc":
        text = "# made\n# columns\n" + "".join(f"{i}.jpg,{b},{q}\n" for i, b, q in lines)
    elif kind == "dir":
        count = random.integers(1, 11, m).tolist()
        identity = iter(random.integers(-1, SUBJECTS + 1, sum(count)).tolist())
        similar = iter(random.random(sum(count)).tolist())
        pairs = ("".join(f",{next(identity)},{next(similar):.6f}" for _ in range(c)) for c in count)
        text = "# made\n# columns\n" + "".join(
            f"{i}.jpg,{b},{q}{p}\n" for (i, b, q), p in zip(lines, pairs, strict=True)
        )
    elif kind == "v3_froc":
        points = ",".join(f"{p}_{a}" for p in ("REYE", "LEYE", "NOSE", "RMOUTH", "LMOUTH") for a in "XY")
        text = f"FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,{points}\n"
        text += "".join(f"{i}.jpg,{q},{b}" + ",1234.56" * 10 + "\n" for i, b, q in lines)
    else:
        return make_scoring(folder / "scores.txt", lines, random)
    (folder / "scores.txt").write_text(text)
    return "scores.txt"


def make_scoring(path: Path, lines: list[tuple[str, str, str]], random: np.random.Generator) -> str:
    words = [f"{v:.4f}" for v in np.arange(-4000, 10000) / 10000]
    with path.open("w") as stream:
        subjects = ",".join(f"S_{s:04d}" for s in range(1, SUBJECTS + 1))
        stream.write(f"FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,{subjects}\n")
        for i, b, q in lines:
            value = np.clip(random.normal(0.1, 0.1, SUBJECTS) * 10000 + 4000, 0, len(words) - 1).astype(int).tolist()
            stream.write(f"{i},{q},{b}," + ",".join([words[v] for v in value]) + "\n")
    return path.name


def evaluation(kind: str, images: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        file = make(folder, images, kind)
        size = (folder / file).stat().st_size
        runs = []
        for _ in range(3):
            done = subprocess.run(
                [sys.executable, "-c", MEASURE, kind, str(folder), file], capture_output=True, text=True, check=True
            )
            runs.append(json.loads(done.stdout))
    best = min(runs, key=lambda run: run["cpu_s"])
    return {"images": images, "faces": images * FACES, "file_mb": round(size / 1e6, 1), **best}


def search(n: int, size: int = 128) -> dict[str, object]:
    """Exact top-10 against plain matrix products of the same amount, taken turn about on the same machine."""
    import resource

    from countenance.metrics.topk import GALLERY, PROBES, cosine_top_k

    random = np.random.default_rng(0)
    probes, gallery = (random.standard_normal((n, size), dtype=np.float32) for _ in range(2))
    a, b = probes[: min(n, 4096)], np.ascontiguousarray(gallery[: min(n, 4096)].T)
    out = np.empty((len(a), b.shape[1]), np.float32)

    def product() -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        np.matmul(a, b, out=out)
        return time.perf_counter() - wall, time.process_time() - cpu

    product()
    times = [product() for _ in range(7)]
    wall, cpu = time.perf_counter(), time.process_time()
    cosine_top_k(probes, gallery, 10)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    times += [product() for _ in range(7)]
    flops, done = 2.0 * out.size * size, 2.0 * n * n * size
    sgemm_wall, sgemm_cpu = (float(np.median([t[k] for t in times])) for k in (0, 1))
    return {
        "probes": n,
        "gallery": n,
        "wall_s": round(wall, 2),
        "cpu_s": round(cpu, 2),
        "sgemm_gflops": round(flops / sgemm_wall / 1e9, 1),
        "search_gflops": round(done / wall / 1e9, 1),
        "ratio_wall": round(done / wall / (flops / sgemm_wall), 3),
        "ratio_cpu": round(done / cpu / (flops / sgemm_cpu), 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "block": [PROBES, GALLERY],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="search among 100,000 × 100,000 templates")
    parser.add_argument("--only", help="some of froc, dir, v3_froc, oroc, search; with commas")
    wanted = parser.parse_args()
    chosen = wanted.only.split(",") if wanted.only else [*LIMITS, "search"]
    result: dict[str, object] = {}
    for kind in (kind for kind in LIMITS if kind in chosen):
        images = 2000 if kind == "oroc" else 20_000
        half, full = evaluation(kind, images // 2), evaluation(kind, images)
        growth = round(float(full["cpu_s"]) / float(half["cpu_s"]), 2)  # type: ignore[arg-type]
        within = float(full["cpu_s"]) <= LIMITS[kind]  # type: ignore[arg-type]
        within &= kind != "oroc" or float(full["peak_mb"]) <= 500  # type: ignore[arg-type]
        result[kind] = full | {
            "growth_when_doubled": growth,
            "limit_cpu_s": LIMITS[kind],
            "original_cpu_s": ORIGINAL[kind],
            "within": within,
        }
    if "search" in chosen:
        result["search"] = search(100_000 if wanted.full else 20_000) | {"wanted_ratio": 0.6, "limit_mb": 2048}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
