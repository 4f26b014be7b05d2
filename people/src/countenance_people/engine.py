"""Rendering many pictures: resumable, crash-proof, one small file pair per picture.

Mitsuba's just-in-time code crashes on rare rays, so pictures are made in child processes that handle a few each; a
child that dies costs one picture, which is tried again with another sampler seed. A picture depends on its
specification and the settings alone, not on how many processes there are or what they made before.
"""

from __future__ import annotations

import gc
import hashlib
import io
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countenance_people.spec import PictureSpec, from_dict

WEBP_QUALITY = 80
"""With it the core set fits into the wheel."""
RETRIES = 4
BATCH = 40
SEGFAULT = 139
CHILD = [sys.executable, "-W", "ignore", "-c", "from countenance_people.engine import serve; serve()"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Settings:
    """How pictures are made: samples per rendered pixel, longest path, and whether depth maps are stored."""

    samples: int = 6
    depth: int = 5
    depth_maps: bool = False
    variant: str | None = None
    threads: int = 1


def begin(out: Path, settings: Settings, seed: int) -> str | None:
    """Remember in a folder what decides its pictures; if others stand there already, return them in words.

    Pictures of another seed have the same names: without this a folder would hold both, and its tables would say one.
    """
    place = out / ".truth" / "settings.json"
    chosen = {"seed": seed, "samples": settings.samples, "depth maps": settings.depth_maps}
    if place.exists():
        before = json.loads(place.read_text())
        return None if before == chosen else ", ".join(f"{name} {value}" for name, value in before.items())
    _write(place, json.dumps(chosen).encode())
    return None


def truth_path(out: Path, spec: PictureSpec) -> Path:
    """Where the truth of a picture waits for its table."""
    return out / ".truth" / f"{spec.sample}.json"


def is_done(out: Path, spec: PictureSpec) -> bool:
    """Whether a picture is finished: its truth file is written last."""
    return truth_path(out, spec).exists()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(path)


def encode(image: Any, **options: Any) -> bytes:
    """A picture as the bytes of a file."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, **options)
    return buffer.getvalue()


def make(spec: PictureSpec, retry: int, settings: Settings) -> Any:
    """The picture of a specification, by its part."""
    from countenance_people import attacks, lookalikes, objects, studio

    quality = studio.Quality(settings.samples, settings.depth)
    makers = {"attacks": attacks.attack, "lookalikes": lookalikes.lookalike, "objects": objects.photograph}
    return makers.get(spec.part, studio.photograph)(spec, retry, quality)


def render_one(spec: PictureSpec, out: Path, retry: int = 0, settings: Settings = Settings()) -> float:
    """Render one picture in this process and write it; returns the seconds it took."""
    start = time.monotonic()
    picture = make(spec, retry, settings)
    data = encode(picture.image, format="WEBP", quality=WEBP_QUALITY, method=6)
    row = {
        **picture.sample,
        "file": f"{spec.sample}.webp",
        "sha256": hashlib.sha256(data).hexdigest(),
        "depth_file": None,
    }
    _write(out / row["file"], data)
    if settings.depth_maps and picture.maps is not None:
        row["depth_file"] = f"depth/{spec.sample}.png"
        millimetres = np.where(np.isfinite(picture.maps.distance), picture.maps.distance * 1000, 0)
        _write(out / row["depth_file"], encode(np.clip(millimetres, 0, 65535).astype(np.uint16), format="PNG"))
    seconds = time.monotonic() - start
    record = {"sample": row, "subjects": picture.subjects, "seconds": round(seconds, 2), "retry": retry}
    _write(truth_path(out, spec), json.dumps(record).encode())
    return seconds


def serve() -> None:
    """Entry of a child: render the pictures named on standard input, until the time is up."""
    from countenance_people._backend import load_anny, load_mitsuba
    from countenance_people.shape import load_template

    job = json.loads(sys.stdin.read())
    settings = Settings(**job["settings"])
    load_mitsuba(settings.variant, settings.threads)
    load_anny()[1].set_num_threads(settings.threads)
    load_template()
    gc.freeze()  # every picture collects garbage: the libraries and the template are none
    for plan, retry in job["requests"]:
        if job["until"] is not None and time.time() > job["until"]:
            return
        try:
            render_one(from_dict(plan), Path(job["out"]), retry, settings)
        except Exception:  # one picture's error must not cost the batch; the parent reports what is missing
            print(f"{plan['sample']}: not rendered", file=sys.stderr)
            traceback.print_exc()


@dataclass
class Run:
    """One rendering of a list of pictures into a folder."""

    out: Path
    settings: Settings
    until: float | None = None
    attempts: dict[str, int] = field(default_factory=dict)

    def missing(self, specs: Iterable[PictureSpec]) -> list[PictureSpec]:
        """Pictures that are not there and may be tried (again)."""
        return [s for s in specs if not is_done(self.out, s) and self.attempts.get(s.sample, 0) < RETRIES]

    def over(self) -> bool:
        """Whether the time is up."""
        return self.until is not None and time.time() > self.until

    def batch(self, group: list[PictureSpec]) -> None:
        """Render a group in children, one after another, until it is finished or given up."""
        while (todo := self.missing(group)) and not self.over():
            status = self._child(todo)
            if status > 0 and status != SEGFAULT:
                raise RuntimeError(f"the renderer's process failed (exit {status}); its message is above")
            left = [spec for spec in todo if not is_done(self.out, spec)]
            if self.over():
                return
            if left and status == 0:
                self.attempts.update(dict.fromkeys((spec.sample for spec in left), RETRIES))  # an error, not a crash
            elif left:  # the first unfinished one is the one that crashed
                self.attempts[left[0].sample] = self.attempts.get(left[0].sample, 0) + 1

    def _child(self, specs: list[PictureSpec]) -> int:
        """Run a batch in a fresh interpreter; returns its exit status, negative after a crash."""
        requests = [(spec.to_dict(), self.attempts.get(spec.sample, 0)) for spec in specs]
        job = {
            "out": str(self.out),
            "settings": asdict(self.settings),
            "until": self.until,
            "requests": requests,
        }
        threads = str(self.settings.threads)
        names = ("OIDN_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        path = os.pathsep.join(place for place in sys.path if place)
        environment = {**os.environ, "PYTHONPATH": path, **dict.fromkeys(names, threads)}
        return subprocess.run(CHILD, input=json.dumps(job).encode(), env=environment).returncode


def render_specs(
    specs: Iterable[PictureSpec],
    out: Path | str,
    settings: Settings = Settings(),
    *,
    workers: int = 1,
    until: float | None = None,
    progress: Progress | None = None,
) -> list[str]:
    """Render what is not there yet; returns the samples that are not made (normally none).

    No picture is begun after `until` (seconds since the epoch). `progress` hears how many of how many are done.
    """
    from countenance_people._backend import load_mitsuba

    run, every = Run(Path(out), settings, until), list(specs)
    todo = run.missing(every)
    if todo:
        load_mitsuba(settings.variant)  # fail here, in one line, when the libraries are missing
    count = max(-(-len(todo) // BATCH), min(workers, len(todo)))
    batches = [todo[i::count] for i in range(count)]  # a share of every part each: group scenes take long
    with ThreadPoolExecutor(max(1, workers)) as pool:
        jobs = [pool.submit(run.batch, group) for group in batches]
        while not all(job.done() for job in jobs):
            time.sleep(0.5)
            if progress is not None:
                progress(sum(is_done(run.out, spec) for spec in every), len(every))
        for job in jobs:
            job.result()
    if progress is not None:
        progress(sum(is_done(run.out, spec) for spec in every), len(every))
    return [spec.sample for spec in every if not is_done(run.out, spec)]


def timings(out: Path | str) -> dict[str, float]:
    """Mean seconds per picture of each part that has finished pictures."""
    seconds: dict[str, list[float]] = {}
    for path in sorted((Path(out) / ".truth").glob("*/*.json")):
        record = json.loads(path.read_text())
        seconds.setdefault(path.parent.name, []).append(record["seconds"])
    return {part: float(np.mean(values)) for part, values in seconds.items()}
