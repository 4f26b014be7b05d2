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

import numpy as np

from countenance.data import Dataset, load_dataset
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


def separation(portraits: Dataset) -> dict[str, object]:
    """Area under the ROC curve of same against different identity, by distance of dlib embeddings.

    Of all pairs, and of pairs in which both faces are frontal, without glasses, and without headwear.
    """
    from sklearn.metrics import roc_auc_score

    model = ModelSpec("dlib").load()
    people = [(sample, person) for sample in portraits for person in sample.subjects]
    vectors = np.stack([model.embed(sample.load(), person.face_box) for sample, person in people])
    identity = np.array([person.identity for _, person in people])
    first, second = np.triu_indices(len(people), 1)
    same = identity[first] == identity[second]
    distance = np.linalg.norm(vectors[first] - vectors[second], axis=1)

    def area(**fixed: str) -> dict[str, object]:
        plain = np.array([all(person.attributes[name] == fixed[name] for name in fixed) for _, person in people])
        pairs = plain[first] & plain[second]
        auc = roc_auc_score(same[pairs], -distance[pairs])
        return {"auc": round(float(auc), 4), "portraits": int(plain.sum()), "same_pairs": int(same[pairs].sum())}

    return {
        "embedding": "dlib",
        **area(),
        "frontal without glasses": area(pose="frontal", glasses="none"),
        "frontal without glasses and headwear": area(pose="frontal", glasses="none", headwear="none"),
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
