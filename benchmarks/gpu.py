"""How busy the engine keeps a GPU: a whole evaluation against the bare network and against the bare decoder, as JSON.

    python benchmarks/gpu.py [--images 30000] [--distinct 1500] [--decoders 16] [--decode exact gpu]

Needs an NVIDIA GPU, torch and torchvision. The network is ResNet-50 with random weights in half precision on 640 × 640
pixels; the pictures are JPEG files of 1280 × 960 (about 420 kB), some of them under several names. `images_a_second`
is measured from the first batch that was scored to the last, `with_start_up` over the whole call.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

SIDE, BATCH = 640, 64
CHECKS: dict[str, dict[str, Any]] = {
    "thread": {"decoders": 0},
    "processes": {"decoders": 4},
    "gpu": {"decode": "gpu", "decoders": 0},
    "gpu again": {"decode": "gpu", "decoders": 4},
}
"""Runs whose scores must be equal, two by two."""


class ResNet:
    """ResNet-50 as a detector of one box: what it finds means nothing, what it costs does."""

    name = "resnet50-640"

    def __new__(cls, tuned: bool = True) -> Any:
        import torch
        from torchvision.models import resnet50

        from countenance.models.inputs import InputSpec
        from countenance.models.torch_model import TorchModel

        torch.manual_seed(0)
        torch.backends.cudnn.benchmark = tuned
        network = resnet50(weights=None).half().to(memory_format=torch.channels_last)
        spec = InputSpec(size=(SIDE, SIDE), mean=(123.7, 116.3, 103.5), std=(58.4, 57.1, 57.4))
        return TorchModel(network, spec, box, "cuda")


class Untuned:
    """The same without a choice of algorithms by their speed, which may turn out differently each time."""

    def __new__(cls) -> Any:
        return ResNet(tuned=False)


def box(output: Any, scale: Any, offset: Any) -> dict[str, Any]:
    """A box from the first numbers of the output."""
    x, y, w, h = 1 / (1 + np.exp(-output[:4].astype(np.float64)))
    return {"boxes": [[x * 600, y * 400, x * 600 + 20 + w * 500, y * 400 + 20 + h * 400]], "scores": [0.5]}


def picture(seed: int) -> bytes:
    """A JPEG file of 1280 × 960."""
    from PIL import Image

    random = np.random.default_rng(seed)
    smooth = Image.fromarray(random.integers(0, 256, (60, 80, 3), dtype=np.uint8)).resize((1280, 960), Image.BICUBIC)
    noise = random.normal(0, 11, (960, 1280, 1)).astype(np.int16)
    content = io.BytesIO()
    Image.fromarray(np.clip(np.asarray(smooth).astype(np.int16) + noise, 0, 255).astype(np.uint8)).save(
        content, "JPEG", quality=90
    )
    return content.getvalue()


def write(place: tuple[str, int]) -> int:
    """Write one picture; its size."""
    return Path(place[0]).write_bytes(picture(place[1]))


def decode_some(asked: tuple[list[str], float]) -> int:
    """Read, check and decode as a decode process does, for so many seconds; how many pictures."""
    import cv2

    from countenance.data import Sample
    from countenance.data.image import LazyImage
    from countenance.models.decode_process import decoded
    from countenance.models.inputs import InputSpec

    cv2.setNumThreads(1)
    paths, seconds = asked
    room, done = np.empty(SIDE * SIDE * 3, np.uint8), 0
    started = time.perf_counter()
    while time.perf_counter() - started < seconds:
        path = paths[done % len(paths)]
        decoded(Sample(path, LazyImage(Path(path)), 1280, 960), InputSpec(size=(SIDE, SIDE)), room)
        done += 1
    return done


@contextmanager
def decode_processes(cores: int) -> Iterator[ProcessPoolExecutor]:
    """Processes with the environment of decode processes."""
    from countenance.run.engine.decoding import ENVIRONMENT

    before = dict(os.environ)
    os.environ.update(ENVIRONMENT)
    try:
        with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
            yield pool
    finally:
        os.environ.clear()
        os.environ.update(before)


def cores_decode(pool: ProcessPoolExecutor, cores: int, files: list[Path], windows: int, seconds: float) -> list[float]:
    """Pictures a second that all cores read and decode, in windows that follow each other: cores may slow down."""
    parts = [[str(files[(k + i) % len(files)]) for i in range(len(files))] for k in range(0, cores * 40, 40)]
    list(pool.map(decode_some, [(part, 0.1) for part in parts]))
    return [round(sum(pool.map(decode_some, [(part, seconds) for part in parts])) / seconds, 1) for _ in range(windows)]


def dataset(folder: Path, images: int, files: list[Path]) -> Path:
    """A manifest with one face in each picture."""
    from countenance.data import DatasetCard, Sample, Subject
    from countenance.data.image import LazyImage
    from countenance.data.manifest_writer import ManifestWriter

    def samples() -> Iterator[Sample]:
        for i in range(images):
            about = {"skin_tone": ("monk_2", "monk_5", "monk_9")[i % 3]}
            face = Subject("0", f"id{i // 2}", face_box=np.array([400.0, 300.0, 700.0, 640.0]), attributes=about)
            yield Sample(f"s{i:07d}", LazyImage(files[i % len(files)]), 1280, 960, (face,))

    ManifestWriter(folder, DatasetCard(name="noise", real_people=False)).write(samples())
    return folder


def bare_network(seconds: float = 3.0) -> float:
    """Images a second of the network alone, its input already on the GPU."""
    import torch

    module = ResNet().module
    batch = torch.rand(BATCH, 3, SIDE, SIDE, device="cuda").half()
    with torch.inference_mode():
        for _ in range(10):
            module(batch)
        torch.cuda.synchronize()
        started, done = time.perf_counter(), 0
        while time.perf_counter() - started < seconds:
            for _ in range(5):
                module(batch)
            torch.cuda.synchronize()
            done += 5 * BATCH
        return done / (time.perf_counter() - started)


def processor_time() -> tuple[int, int]:
    """What this machine's cores have done since it was started: busy, and busy or idle (Linux)."""
    numbers = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(numbers) - numbers[3] - numbers[4], sum(numbers)


def engine(data: Path, out: Path, model: str = "gpu:ResNet", **settings: Any) -> dict[str, Any]:
    """One evaluation: its rate from the first scored batch to the last, and over all."""
    from countenance.run import evaluate

    seen: list[tuple[float, int]] = []
    used: list[tuple[int, int]] = []

    @contextmanager
    def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
        def step(n: int = 1) -> None:
            seen.append((time.perf_counter(), n))
            if n:
                used.append(processor_time())

        yield step

    started = time.perf_counter()
    run = evaluate(
        model,
        "face_localization",
        data,
        out=out,
        batch=BATCH,
        device="cuda",
        progress=progress,
        allow_mismatch=True,
        **settings,
    )
    whole = time.perf_counter() - started
    steps = [(at, n) for at, n in seen if n]
    first, last = steps[0][0], steps[-1][0]
    images = sum(n for _, n in steps)
    busy, all_of_it = (b - a for a, b in zip(used[0], used[-1], strict=True))
    fifths = [steps[k * (len(steps) - 1) // 5] for k in range(6)]
    done = np.cumsum([n for _, n in steps])
    counts = [int(done[k * (len(steps) - 1) // 5]) for k in range(6)]
    stored = b"".join(path.read_bytes() for path in sorted((out / "answers").iterdir()))
    return {
        "images": images,
        "images_a_second": round((images - steps[0][1]) / max(last - first, 1e-9), 1),
        "by_fifths_of_the_run": [
            round((counts[k + 1] - counts[k]) / max(fifths[k + 1][0] - fifths[k][0], 1e-9)) for k in range(5)
        ],
        "cores_busy": round(busy / max(all_of_it, 1), 3),
        "with_start_up": round(images / whole, 1),
        "start_up_s": round(first - started, 2),
        "decoder": run.manifest["decoder"],
        "failed": run.manifest.get("failed"),
        "answers": hashlib.sha256(stored).hexdigest()[:16],
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=30_000)
    parser.add_argument("--distinct", type=int, default=1500)
    parser.add_argument("--decoders", type=int, nargs="+", default=[os.cpu_count() or 1])
    parser.add_argument("--readers", type=int, nargs="+", default=[6], help="processes that read for a GPU's decoder")
    parser.add_argument("--decode", nargs="*", default=["exact", "gpu"])
    parser.add_argument("--windows", type=int, default=4, help="times 5 seconds in which the cores only decode")
    parser.add_argument("--same", type=int, default=1280, help="images of the check that bytes are equal; 0: none")
    asked = parser.parse_args()
    cores = os.cpu_count() or 1
    figures: dict[str, Any] = {"cores": cores, "images": asked.images}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / f"{k}.jpg" for k in range(asked.distinct)]
        with decode_processes(cores) as pool:
            sizes = list(pool.map(write, [(str(path), k) for k, path in enumerate(files)], chunksize=8))
            figures["bytes"] = round(float(np.mean(sizes)))
            os.sync()  # what is still being written must not disturb what is measured
            found = cores_decode(pool, cores, files, asked.windows, 5.0)
            figures |= {"cores_decode_and_resize": round(float(np.mean(found)), 1), "by_5_seconds": found}
        figures["bare_network"] = round(bare_network(), 1)
        print(json.dumps(figures), flush=True)
        if asked.same:
            data = dataset(folder / "few", asked.same, files)
            for label, settings in CHECKS.items():
                figures[f"check_{label}"] = engine(data, folder / f"check-{label}", "gpu:Untuned", **settings)
                print(label, json.dumps(figures[f"check_{label}"]), flush=True)
        data = dataset(folder / "all", asked.images, files)
        for decode in asked.decode:
            for count in asked.decoders if decode == "exact" else asked.readers:
                label = f"{decode} {count}"
                figures[label] = engine(data, folder / label, decode=decode, decoders=count)
                print(label, json.dumps(figures[label]), flush=True)
        with decode_processes(cores) as pool:
            figures["by_5_seconds_afterwards"] = cores_decode(pool, cores, files, asked.windows, 5.0)
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
