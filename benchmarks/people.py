"""Do real networks see the rendered people as people? Detection of frontal portraits, separation of identities.

    python benchmarks/people.py --yunet PATH [--no-embedding] [--root FOLDER]

Prints JSON, of the shipped people or those that the renderer wrote to a folder. Needs YuNet's weights by path and, for
the embedding, the extra `dlib`.
"""

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data import Dataset, Subject, load_dataset
from countenance.metrics.boxes import iou_matrix
from countenance.models import ModelSpec


def detection(portraits: Dataset, name: str, weights: str | None) -> dict[str, object]:
    """Share of portraits in which the face is found (overlap ≥ .5), unmasked frontal ones and masked ones."""
    model = ModelSpec(name, weights).load()
    found: dict[str, list[bool]] = {"unmasked frontal": [], "unmasked turned": [], "masked": []}
    overlaps = []
    for sample in portraits:
        (person,) = sample.subjects
        (answer,) = model([sample.load()])
        best = iou_matrix(person.face_box[None], answer.xyxy).max(initial=0.0)
        kind = "masked" if person.attributes["masked"] == "yes" else f"unmasked {person.attributes['pose']}"
        found[kind].append(best >= 0.5)
        overlaps.append(best)
    shares = {kind: {"found": round(float(np.mean(hits)), 4), "n": len(hits)} for kind, hits in found.items()}
    return {"detector": name, **shares, "median_overlap": round(float(np.median(overlaps)), 3)}


def corners(landmarks: np.ndarray) -> np.ndarray:
    """dlib's five points from true ones: outer and inner corner of the left and of the right eye, base of the nose."""
    right, left, nose, *mouth = landmarks
    half = 0.25 * (left - right)
    return np.array([left + half, left - half, right - half, right + half, nose + 0.25 * (np.mean(mouth, 0) - nose)])


def aligned(model: Any, image: np.ndarray, person: Subject) -> np.ndarray:
    """The embedding of a face whose five points are the true ones, where dlib would search them in the box."""
    dlib = model.dlib
    points = [dlib.point(round(x), round(y)) for x, y in corners(person.landmarks).tolist()]
    shape = dlib.full_object_detection(dlib.rectangle(*(round(v) for v in person.face_box.tolist())), points)
    return np.asarray(model.network.compute_face_descriptor(np.ascontiguousarray(image), shape), float)


def separation(portraits: Dataset) -> dict[str, object]:
    """Area under the ROC curve of same against different identity, by distance of dlib embeddings.

    dlib searches its five points in the true box, or takes the true ones (`aligned`). Of all pairs, and of pairs in
    which both faces are frontal, without glasses, and without headwear; also against strangers alone who resemble the
    person, in hair or in tone, gender and age.
    """
    model = ModelSpec("dlib").load()
    people = [(sample, person) for sample in portraits for person in sample.subjects]
    pictures = [(sample.load(), person) for sample, person in people]
    searched = np.stack([model.embed(image, person.face_box) for image, person in pictures])
    placed = np.stack([aligned(model, image, person) for image, person in pictures])
    persons = [person for _, person in people]
    return {"embedding": "dlib", **areas(searched, persons), "aligned": areas(placed, persons)}


def areas(vectors: np.ndarray, persons: list[Subject]) -> dict[str, object]:
    """The areas of one kind of embedding."""
    from sklearn.metrics import roc_auc_score

    first, second = np.triu_indices(len(persons), 1)
    distance = np.linalg.norm(vectors[first] - vectors[second], axis=1)

    def shared(*names: str) -> np.ndarray:
        columns = [np.array([str(person.attributes[name]) for person in persons]) for name in names]
        return np.all([column[first] == column[second] for column in columns], axis=0)

    identity = np.array([person.identity for person in persons])
    same = identity[first] == identity[second]

    def area(among: np.ndarray | None = None, **fixed: str) -> dict[str, object]:
        plain = np.array([all(person.attributes[name] == fixed[name] for name in fixed) for person in persons])
        pairs = plain[first] & plain[second] & (True if among is None else same | among)
        auc = roc_auc_score(same[pairs], -distance[pairs])
        return {"auc": round(float(auc), 4), "portraits": int(plain.sum()), "same_pairs": int(same[pairs].sum())}

    return {
        **area(),
        "without glasses": area(glasses="none"),
        "frontal without glasses": area(pose="frontal", glasses="none"),
        "frontal without glasses and headwear": area(pose="frontal", glasses="none", headwear="none"),
        "strangers of the same hair": area(shared("hair", "hair_colour")),
        "strangers of the same tone, gender and age group": area(shared("skin_tone", "gender", "age_group")),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--yunet", type=Path, default=Path("../shared/weights/yunet.onnx"))
    parser.add_argument("--no-embedding", action="store_true")
    parser.add_argument("--root", type=Path)
    arguments = parser.parse_args()
    portraits = load_dataset("people:portraits", root=arguments.root)
    unmasked = portraits.filter(lambda s: s.subjects[0].attributes["masked"] == "no")
    result: dict[str, object] = {"benchmark": "people", "machine": f"{os.cpu_count()} cores, {platform.machine()}"}
    if arguments.yunet.exists():
        result["yunet"] = detection(portraits, "yunet", str(arguments.yunet))
    else:
        result["yunet"] = f"skipped: {arguments.yunet} is not here"
    result["mtcnn"] = detection(portraits, "mtcnn", None)
    if not arguments.no_embedding:
        result["identity"] = separation(unmasked)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
