"""The two tables of a rendered set, its hashes and its card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from countenance_people._backend import load_mitsuba
from countenance_people.engine import Settings, truth_path
from countenance_people.spec import PictureSpec

TEXTS = (
    "sample",
    "part",
    "file",
    "sha256",
    "split",
    "base",
    "change",
    "kind",
    "camera",
    "attack",
    "background",
    "light",
    "exposure",
    "depth_file",
)
SUBJECT_TEXTS = (
    "sample",
    "subject",
    "identity",
    "role",
    "mask",
    "skin_tone",
    "age_group",
    "gender",
    "expression",
    "smile",
    "mask_colour",
    "glasses",
    "headwear",
    "hair_style",
    "hair_colour",
    "beard",
    "posture",
    "pose",
)
SMALL: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 22,
    "data_page_size": 2**27,
    "dictionary_pagesize_limit": 2**27,
}
"""One page a column: the masks of twins repeat those of their base, and are stored once."""
SUBJECT_NUMBERS = ("age", "yaw", "pitch", "roll", "distance", "face_size", "visible", "hair_visible", "face_luminance")


def sample_schema() -> Any:
    """Columns of `samples.parquet`."""
    import pyarrow as pa

    whole = [(name, pa.int32()) for name in ("width", "height", "jpeg")]
    numbers = [(name, pa.float32()) for name in ("stops", "focal_length", "defocus", "motion", "noise", "reduce")]
    return pa.schema([*((name, pa.string()) for name in TEXTS), *whole, *numbers, ("seed", pa.int64())])


def subject_schema() -> Any:
    """Columns of `subjects.parquet`."""
    import pyarrow as pa

    numbers = pa.list_(pa.float32())
    lists = [(name, numbers) for name in ("face_box", "person_box", "keypoints", "keypoints_33", "landmarks")]
    parts = pa.list_(pa.struct([("label", pa.string()), ("counts", pa.string())]))
    body = [("body_parts", pa.list_(pa.string())), ("body_part_pixels", pa.list_(pa.int32()))]
    return pa.schema(
        [
            *((name, pa.string()) for name in SUBJECT_TEXTS),
            *lists,
            ("face_parts", parts),
            *body,
            *((name, pa.float32()) for name in SUBJECT_NUMBERS),
        ]
    )


def collect(out: Path | str, specs: Iterable[PictureSpec]) -> tuple[Path, Path]:
    """Write samples.parquet and subjects.parquet in the order of the specification."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = Path(out)
    samples: list[dict[str, Any]] = []
    subjects: list[dict[str, Any]] = []
    for spec in specs:
        path = truth_path(out, spec)
        if not path.exists():
            raise FileNotFoundError(f"{path}: not rendered yet; run the render again to finish it")
        record = json.loads(path.read_text())
        samples.append(record["sample"])
        subjects += record["subjects"]
    paths = out / "samples.parquet", out / "subjects.parquet"
    for path, rows, schema in zip(paths, (samples, subjects), (sample_schema(), subject_schema()), strict=True):
        pq.write_table(pa.Table.from_pylist(rows, schema), path, **SMALL)
    return paths


def seal(out: Path | str, settings: Settings, seed: int) -> Path:
    """Write the card, how the set was rendered, and the hashes of both and of the tables; returns the hashes' file.

    The tables hold the hashes of the pictures, so these few hashes cover everything.
    """
    from countenance.data.people.dataset import CARD

    out = Path(out)
    (out / "card.json").write_text(CARD.model_dump_json(indent=1) + "\n", encoding="utf-8")
    (out / "renderer.json").write_text(json.dumps(provenance(settings, seed), indent=1) + "\n", encoding="utf-8")
    names = ("samples.parquet", "subjects.parquet", "card.json", "renderer.json")
    lines = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (out / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
    return out / "SHA256SUMS"


def provenance(settings: Settings, seed: int) -> dict[str, Any]:
    """What decides the bytes of the pictures beside their specification: seed, settings and versions."""
    variant = settings.variant or load_mitsuba()[0].variant()
    packages = ("countenance-people", "mitsuba", "drjit", "anny", "pyoidn")
    return {"seed": seed, **asdict(settings), "variant": variant, "versions": {p: _version(p) for p in packages}}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
