"""FHIBE's published facts on its tasks: their metrics, and the text of reports on tasks and datasets."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from countenance.person_columns import GROUPS_OF
from countenance.tasks import Metric


class FhibeTask(NamedTuple):
    """A task: its metrics, and a description of the model's work."""

    metrics: tuple[str, ...]
    explained: str


_TASKS = {
    "person_localization": FhibeTask(
        ("AR_IOU",), "The model draws boxes around people. Each person's best box is compared with the true one."
    ),
    "person_parsing": FhibeTask(
        ("AR_MASK",), "The model marks each person's pixels; the truth is the union of the person's polygons."
    ),
    "keypoint_estimation": FhibeTask(
        ("PCK", "AR_OKS"), "The model places COCO's keypoints on each person; only visible ones are scored."
    ),
    "face_localization": FhibeTask(
        ("AR_IOU",), "The model draws a box around each face. Each face's best box is compared with the true one."
    ),
    "body_parts_detection": FhibeTask(
        ("AR_DET", "ACC_DET"),
        "For each person the model says how probable it is that each body part is in the picture.",
    ),
    "face_encoding": FhibeTask(
        ("CURRICULAR_FACE", "LPIPS", "PSNR", "SSIM"),
        "The model encodes and restores a face picture, which is compared with the original.",
    ),
    "face_verification": FhibeTask(
        ("VAL",), "The model turns faces into vectors; pictures of one person should lie closer than others."
    ),
    "face_parsing": FhibeTask(
        ("F1",), "The model labels each pixel of a face picture with one of 19 CelebAMask-HQ classes."
    ),
    "face_super_resolution": FhibeTask(
        ("LPIPS", "PSNR", "SSIM"),
        "The model restores a face from a small picture, which is compared with the original.",
    ),
}
METRICS: dict[str, tuple[str, ...]] = {name: task.metrics for name, task in _TASKS.items()}
EXPLAINED: dict[str, str] = {name: task.explained for name, task in _TASKS.items()}
DATASET_TEXTS = {
    "fhibe": "About 10,000 pictures at full size (3,000 to 10,000 pixels a side), each of one or two people.",
    "fhibe_downsampled": "About 10,000 pictures of one or two people, the longer side 2,048 pixels.",
    "fhibe_face_crop_align": "About 10,000 pictures of one face each, aligned, 512 × 512 pixels.",
    "fhibe_face_crop": "About 10,000 pictures of one face each, cut out and not aligned.",
}
"""What each dataset holds, for a report."""

OWN_METRICS = (
    Metric("VAL", "validation rate: same pairs accepted at a false acceptance rate of at most 0.001", "higher"),
    Metric("LPIPS", "learned perceptual distance (AlexNet) at 256 × 256; lower is better", better="lower"),
    Metric("CURRICULAR_FACE", "cosine of the face embeddings of the original and the restored picture", "higher"),
)
"""Metrics that the tasks themselves do not have."""
MODEL_CARD = "model_card.json"
"""The file beside model_outputs.json that describes the model, if there is one."""


def compared_by(attributes: Iterable[str], there: Collection[str]) -> list[str]:
    """FHIBE's attributes under the dataset's names: its bins of `age` are the attribute `age_group`.

    >>> compared_by(["pronoun", "age"], ["pronoun", "age", "age_group"]), compared_by(["age"], ["age"])
    (['pronoun', 'age_group'], ['age'])
    """
    return [GROUPS_OF[name] if GROUPS_OF.get(name) in there else name for name in attributes]
