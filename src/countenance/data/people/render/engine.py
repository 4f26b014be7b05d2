"""Rendering many pictures: resumable, crash-proof, one small file pair per picture, two tables at the end.

Mitsuba's just-in-time code crashes on rare rays, so pictures are made in child processes that handle a few
each; a child that dies costs one picture, which is tried again with another sampler seed.
"""

from __future__ import annotations

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
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.people.render.sampling import PARTS, SHIPPED_SEED, PictureSpec, portraits, shipped_set

WEBP_QUALITY = {"portraits": 90, "twins": 90, "bodies": 88, "groups": 86, "objects": 82}
RETRIES = 4
BATCH = 40
SEGFAULT = 139
CHILD = [sys.executable, "-c", "from countenance.data.people.render.engine import serve; serve()"]
Progress = Callable[[int, int, str], None]


def _truth_path(out: Path, spec: PictureSpec) -> Path:
    return out / ".truth" / f"{spec.sample}.json"


def is_done(out: Path, spec: PictureSpec) -> bool:
    """The truth file is written last, so it stands for a finished picture."""
    return _truth_path(out, spec).exists()


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(path)


def encode_webp(image: Any, quality: int) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "WEBP", quality=quality, method=6)
    return buffer.getvalue()


def render_one(spec: PictureSpec, out: Path, retry: int = 0) -> float:
    """Render one picture in this process and write it; returns the seconds it took."""
    from countenance.data.people.render.studio import photograph

    start = time.monotonic()
    image, subjects, _ = photograph(spec, retry)
    data = encode_webp(image, WEBP_QUALITY[spec.part])
    row: dict[str, Any] = {
        "sample": spec.sample,
        "part": spec.part,
        "file": f"{spec.sample}.webp",
        "width": spec.width,
        "height": spec.height,
        "sha256": hashlib.sha256(data).hexdigest(),
        "split": spec.split,
        "base": spec.base,
        "change": spec.change,
        "background": spec.background if spec.persons else spec.object_kind,
        "light": spec.light,
        "seed": spec.seed,
    }
    _write(out / row["file"], data)
    seconds = time.monotonic() - start
    record = {"sample": row, "subjects": subjects, "seconds": round(seconds, 2), "retry": retry}
    _write(_truth_path(out, spec), json.dumps(record).encode())
    return seconds


def _child(
    command: list[str],
    requests: list[tuple[dict[str, Any], int]],
    out: Path,
    variant: str | None,
    threads: int,
) -> int:
    """Run a batch in a fresh interpreter; its exit status tells whether it crashed."""
    message = json.dumps({"out": str(out), "variant": variant, "threads": threads, "requests": requests})
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.run(  # noqa: S603
        command, input=message.encode(), env=environment
    ).returncode


def serve() -> None:
    """Entry of a child: render the pictures named on standard input."""
    from countenance.data.people.render._backend import load_anny, load_mitsuba

    job = json.loads(sys.stdin.read())
    load_mitsuba(job["variant"], job["threads"])
    load_anny()[1].set_num_threads(job["threads"])
    for plan, retry in job["requests"]:
        try:
            render_one(spec_from_dict(plan), Path(job["out"]), retry)
        except Exception:  # one picture's error must not cost the batch; the parent reports what is missing
            print(f"{plan['sample']}: not rendered", file=sys.stderr)
            traceback.print_exc()


def spec_from_dict(plan: dict[str, Any]) -> PictureSpec:
    """The inverse of `PictureSpec.to_dict`."""
    from countenance.data.people.render.sampling import Identity, Person

    persons = []
    for person in plan["persons"]:
        place = tuple(person["place"])
        persons.append(Person(**{**person, "identity": Identity(**person["identity"]), "place": place}))
    return PictureSpec(**{**plan, "persons": tuple(persons)})


def render_specs(
    specs: Iterable[PictureSpec],
    out: Path | str,
    *,
    workers: int = 1,
    threads: int = 1,
    variant: str | None = None,
    progress: Progress | None = None,
    command: list[str] | None = None,
) -> list[str]:
    """Render what is not there yet; returns the samples that could not be made (normally none)."""
    from countenance.data.people.render._backend import load_mitsuba

    load_mitsuba(variant)  # fail here, in one line, when the extra is missing
    out = Path(out)
    wanted = list(specs)
    todo = [spec for spec in wanted if not is_done(out, spec)]
    attempts = dict.fromkeys((spec.sample for spec in todo), 0)

    def batch(group: list[PictureSpec]) -> None:
        while True:
            missing = [spec for spec in group if not is_done(out, spec) and attempts[spec.sample] < RETRIES]
            if not missing:
                return
            requests = [(spec.to_dict(), attempts[spec.sample]) for spec in missing]
            status = _child(command or CHILD, requests, out, variant, threads)
            left = [spec for spec in missing if not is_done(out, spec)]
            if status > 0 and status != SEGFAULT:
                raise RuntimeError(f"the renderer's process failed (exit {status}); its message is above")
            if left and status == 0:
                attempts.update(dict.fromkeys((spec.sample for spec in left), RETRIES))  # an error, not a crash
            elif left:
                attempts[left[0].sample] += 1  # the first unfinished one is the one that crashed
            if progress is not None:
                done = sum(is_done(out, spec) for spec in wanted)
                progress(done, len(wanted), missing[-1].sample)

    groups = [todo[i : i + BATCH] for i in range(0, len(todo), BATCH)]
    with ThreadPoolExecutor(max(1, workers)) as pool:
        list(pool.map(batch, groups))
    return [spec.sample for spec in wanted if not is_done(out, spec)]


def collect(out: Path | str, specs: Iterable[PictureSpec]) -> tuple[Path, Path]:
    """Write samples.parquet and subjects.parquet in the order of the specification."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = Path(out)
    samples: list[dict[str, Any]] = []
    subjects: list[dict[str, Any]] = []
    for spec in specs:
        if not is_done(out, spec):
            raise FileNotFoundError(f"{_truth_path(out, spec)}: not rendered yet; run the render again to finish it")
        record = json.loads(_truth_path(out, spec).read_text())
        samples.append(record["sample"])
        subjects += record["subjects"]
    text, number = pa.string(), pa.float32()
    numbers = pa.list_(number)
    face_part = pa.struct([("label", text), ("counts", text)])
    kinds = {
        "face_box": numbers, "person_box": numbers, "keypoints": numbers, "landmarks": numbers,
        "face_parts": pa.list_(face_part), "body_parts": pa.list_(text), "body_part_pixels": pa.list_(pa.int32()),
        **dict.fromkeys(("age", "yaw", "pitch", "roll", "face_size", "visible"), number),
    }  # fmt: skip
    names = (
        "sample", "subject", "identity", "role", "face_box", "person_box", "keypoints", "landmarks", "mask",
        "face_parts", "body_parts", "body_part_pixels", "skin_tone", "age", "age_group", "gender", "smile",
        "mask_colour", "glasses", "hair", "hair_colour", "beard", "yaw", "pitch", "roll", "pose", "face_size",
        "visible",
    )  # fmt: skip
    subject_schema = pa.schema([(name, kinds.get(name, text)) for name in names])
    sample_kinds = {"width": pa.int32(), "height": pa.int32(), "seed": pa.int64()}
    sample_names = (
        "sample", "part", "file", "width", "height", "sha256", "split", "base", "change", "background", "light", "seed",
    )  # fmt: skip
    sample_schema = pa.schema([(name, sample_kinds.get(name, text)) for name in sample_names])
    paths = out / "samples.parquet", out / "subjects.parquet"
    pq.write_table(pa.Table.from_pylist(samples, sample_schema), paths[0], compression="zstd")
    pq.write_table(pa.Table.from_pylist(subjects, subject_schema), paths[1], compression="zstd")
    return paths


def render(
    n: int | None = None,
    seed: int = SHIPPED_SEED,
    out: Path | str = "people",
    *,
    parts: Iterable[str] = ("portraits",),
    workers: int = 1,
    threads: int = 1,
    variant: str | None = None,
    progress: Progress | None = None,
) -> tuple[Path, Path]:
    """Render `n` portraits from a seed (four shots each), or with n=None the shipped set's `parts`."""
    wanted = set(parts)
    if unknown := wanted - set(PARTS):
        raise ValueError(f"unknown parts {sorted(unknown)}, expected some of {', '.join(PARTS)}")
    plan = shipped_set(seed) if n is None else portraits(seed, n)
    specs = plan if n is not None else [spec for spec in plan if spec.part in wanted]
    failed = render_specs(specs, out, workers=workers, threads=threads, variant=variant, progress=progress)
    if failed:
        raise RuntimeError(f"{len(failed)} pictures could not be rendered, first {failed[0]}; run again to retry")
    return collect(out, specs)


def timings(out: Path | str) -> dict[str, float]:
    """Mean seconds per picture of each finished part."""
    seconds: dict[str, list[float]] = {}
    for path in sorted((Path(out) / ".truth").glob("*/*.json")):
        record = json.loads(path.read_text())
        seconds.setdefault(path.parent.name, []).append(record["seconds"])
    return {part: float(np.mean(values)) for part, values in seconds.items()}
