"""A small FHIBE tree made on the spot: people, pictures, truths and a perfect model's outputs."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.image import encode_png
from countenance.data.vocabulary import KEYPOINTS
from countenance.metrics.masks import compress, mask_runs

SIDE = 64


def rle(mask: np.ndarray) -> dict[str, Any]:
    return {"size": list(mask.shape), "counts": compress(mask_runs(mask))}


def body(root: Path, people: int = 6, per_image: int = 1, **cells: Any) -> list[dict[str, Any]]:
    """Write a body table; returns its rows (cells as they were before being written)."""
    rows = []
    for i in range(people):
        image = i // per_image
        x = 4 + 20 * (i % per_image)
        polygon = [{"x": a, "y": b} for a, b in ((x, 10), (x + 15, 10), (x + 15, 50), (x, 50))]
        rows.append(
            {
                "filepath": f"data/raw/{image}/main_{image}.png",
                "json_path": "data/raw/a.json",
                "image_id": str(image),
                "subject_id": f"s{i}",
                "image_height": SIDE,
                "image_width": SIDE,
                "age": 20 + 10 * (i % 5),
                "pronoun": ["0. She/her/hers"] if i % 2 else ["1. He/him/his"],
                "ancestry": ["0. Africa", "5. Western Africa"] if i % 3 else ["11. Asia"],
                "apparent_skin_color": f"{i % 2}. [102, 78, 65]",
                "person_bbox": [x, 10, 15, 40],
                "face_bbox": [x, 10, 15, 20],
                "keypoints": {f"{k}. {name}": [x + k % 15, 12 + 2 * k, 1] for k, name in enumerate(KEYPOINTS)},
                "segments": [{"class_name": "0. Face skin", "num": 1, "polygon": polygon}],
            }
            | {name: value(i) if callable(value) else value for name, value in cells.items()}
        )
    write(root, "fhibe_downsampled", rows)
    return rows


def faces(root: Path, people: int = 4, each: int = 3) -> list[dict[str, Any]]:
    """Write a face table with pictures and masks; returns its rows."""
    rng = np.random.default_rng(0)
    rows = []
    base = "data/processed/fhibe_face_crop_align"
    for person in range(people):
        for shot in range(each):
            name = f"{person}_{shot}"
            path = f"data/raw/faces/{person}/{name}.png"
            pixels = rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(encode_png(pixels))
            labels = np.zeros((SIDE, SIDE), np.uint8)
            labels[10:50, 10:50] = 1
            labels[20:30, 20:30] = 2
            mask = f"{base}/masks/{name}/combined.png"
            (root / mask).parent.mkdir(parents=True, exist_ok=True)
            (root / mask).write_bytes(encode_png(labels))
            rows.append(
                {
                    "filepath": path,
                    "json_path": "data/raw/a.json",
                    "image_id": name,
                    "subject_id": f"s{person}",
                    "image_height": SIDE,
                    "image_width": SIDE,
                    "age": 20 + 10 * person,
                    "pronoun": ["0. She/her/hers"] if person % 2 else ["1. He/him/his"],
                    "ancestry": ["11. Asia"],
                    "apparent_skin_color": "1. [136, 105, 81]",
                    "multiple_subjects": False,
                    "CelebA": [f"{base}/masks/{name}/skin.png", mask],
                }
            )
    write(root, "fhibe_face_crop_align", rows)
    return rows


def write(root: Path, dataset: str, rows: list[dict[str, Any]]) -> Path:
    path = root / "data" / "processed" / dataset / f"{dataset}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def outputs(root: Path, task: str, entries: dict[str, Any], model: str = "m") -> Path:
    """Write model outputs by CSV file path."""
    face = task in ("face_parsing", "face_verification", "face_encoding", "face_super_resolution")
    dataset = "fhibe_face_crop_align" if face else "fhibe_downsampled"
    prefix = f"{root}/data/processed/" if task == "face_verification" else f"{root}/"
    path = root / "results" / task / dataset / model / "model_outputs.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({prefix + name: value for name, value in entries.items()}))
    return path


def perfect_boxes(rows: list[dict[str, Any]], column: str = "person_bbox") -> dict[str, Any]:
    actual: dict[str, Any] = {}
    for row in rows:
        x, y, w, h = row[column]
        entry = actual.setdefault(row["filepath"], {"detections": [], "scores": []})
        entry["detections"].append([x, y, x + w, y + h])
        entry["scores"].append(0.9)
    return actual
