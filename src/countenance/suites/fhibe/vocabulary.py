"""FHIBE's words: datasets, tasks, metrics, attributes, keypoints, body parts, face labels, age bins."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Compat = Literal["default", "strict"]

BODY_TASKS = (
    "person_localization",
    "person_parsing",
    "keypoint_estimation",
    "face_localization",
    "body_parts_detection",
)
FACE_TASKS = ("face_encoding", "face_verification", "face_parsing", "face_super_resolution")
TASKS = BODY_TASKS + FACE_TASKS
DATASETS = ("fhibe", "fhibe_face_crop", "fhibe_face_crop_align")

METRICS: dict[str, tuple[str, ...]] = {
    "person_localization": ("AR_IOU",),
    "person_parsing": ("AR_MASK",),
    "keypoint_estimation": ("PCK", "AR_OKS"),
    "face_localization": ("AR_IOU",),
    "body_parts_detection": ("AR_DET", "ACC_DET"),
    "face_parsing": ("F1",),
    "face_encoding": ("CURRICULAR_FACE", "LPIPS", "PSNR", "SSIM"),
    "face_verification": ("VAL",),
    "face_super_resolution": ("LPIPS", "PSNR", "SSIM"),
}
LOWER_IS_BETTER = ("LPIPS",)

ATTRIBUTES = (
    "pronoun",
    "age",
    "ancestry",
    "scene",
    "camera_position",
    "camera_distance",
    "natural_skin_color",
    "apparent_skin_color",
    "apparent_skin_color_hue_lum",
    "hairstyle",
    "natural_hair_type",
    "apparent_hair_type",
    "head_pose",
    "action_body_pose",
    "nationality",
    "lighting",
    "weather",
    "natural_hair_color",
    "apparent_hair_color",
    "facial_hairstyle",
    "natural_facial_haircolor",
    "apparent_facial_haircolor",
    "natural_left_eye_color",
    "apparent_left_eye_color",
    "natural_right_eye_color",
    "apparent_right_eye_color",
    "facial_marks",
    "action_subject_object_interaction",
    "action_subject_subject_interaction",
    "user_hour_captured",
    "location_country",
)
"""The 31 attributes in the order in which results name them."""

NOT_ON_FACES = ("action_subject_subject_interaction",)
"""Attributes that the face datasets lack."""

MULTIPLE = frozenset(
    {
        "pronoun",
        "ancestry",
        "nationality",
        "lighting",
        "weather",
        "natural_hair_color",
        "apparent_hair_color",
        "facial_hairstyle",
        "natural_facial_haircolor",
        "apparent_facial_haircolor",
        "natural_left_eye_color",
        "apparent_left_eye_color",
        "natural_right_eye_color",
        "apparent_right_eye_color",
        "facial_marks",
        "action_subject_object_interaction",
        "action_subject_subject_interaction",
    }
)
"""The 17 attributes of which a person may have several values."""

UNNUMBERED = frozenset({"age", "user_hour_captured", "location_country", "apparent_skin_color_hue_lum"})
"""Attributes whose values carry no number ("0. She/her/hers") and sort as words."""

DEFAULT_ATTRIBUTES = ("pronoun", "age", "apparent_skin_color", "ancestry")
UNKNOWN = "(unknown)"

AGE_BINS = ("[18, 30)", "[30, 40)", "[40, 50)", "[50, 60)", "[60, +]")


def age_bin(age: float) -> str:
    """The bin of an age; below 18 joins the first.

    >>> age_bin(29.9), age_bin(30), age_bin(9), age_bin(130)
    ('[18, 30)', '[30, 40)', '[18, 30)', '[60, +]')
    """
    return AGE_BINS[min(max(int(age // 10) - 2, 0), 4)]


KEYPOINTS = (
    "Nose",
    "Left eye",
    "Right eye",
    "Left ear",
    "Right ear",
    "Left shoulder",
    "Right shoulder",
    "Left elbow",
    "Right elbow",
    "Left wrist",
    "Right wrist",
    "Left hip",
    "Right hip",
    "Left knee",
    "Right knee",
    "Left ankle",
    "Right ankle",
)

EARS_TO_SKIN = {8: 1, 9: 1}
"""FHIBE draws no ears: they belong to the skin."""

_DECIMALS: NDArray[np.float64] = np.arange(50, 100, 5) / 100
EXACT_THRESHOLDS: dict[str, NDArray[np.float64]] = {
    "AR_IOU": _DECIMALS,
    "AR_OKS": _DECIMALS,
    "AR_MASK": _DECIMALS,
    "AR_DET": _DECIMALS,
    "ACC_DET": np.array([0.5]),
    "PCK": np.arange(1, 10) / 10,
}
STRICT_THRESHOLDS: dict[str, NDArray[np.float64]] = {
    "AR_IOU": np.arange(0.5, 1, 0.05),
    "AR_OKS": np.arange(0.5, 1, 0.05),
    "AR_MASK": np.arange(0.5, 1, 0.05),
    "AR_DET": np.arange(0.5, 1, 0.05),
    "ACC_DET": np.array([0.5]),
    "PCK": np.arange(0.1, 1, 0.1),
}
"""The published thresholds with their floating errors: .6000000000000001 stands where .60 was meant."""


def visible_parts(keypoints: dict[str, list[float]], classes: list[str], compat: Compat = "default") -> list[str]:
    """The body parts that are there: the face, each segment's class, hands by knuckles or glove, legs.

    In strict mode knees and ankles make no leg, as published.

    >>> visible_parts({"29. Right heel": [1, 1, 1]}, ["20. Upper body clothes"])
    ['Face', 'Upper body clothes', 'Right leg', 'Leg']
    >>> visible_parts({"26. Left knee": [1, 1, 1]}, [], "strict"), visible_parts({"26. Left knee": [1, 1, 1]}, [])
    (['Face'], ['Face', 'Left leg', 'Leg'])
    """
    parts = ["Face"]
    for name in classes:
        part = name.split(". ")[-1]
        if part not in parts:
            parts.append(part)
    seen = {name.split(". ")[-1] for name, point in keypoints.items() if point[-1] > 0}
    parts += [
        f"{side} hand"
        for side in ("Left", "Right")
        if any(f"{side} {finger} knuckle" in seen for finger in ("pinky", "index", "thumb"))
    ]
    if any(part in parts for part in ("Left hand", "Right hand", "Glove")):
        parts.append("Hand")
    leg = ("heel", "foot index") if compat == "strict" else ("knee", "ankle", "heel", "foot index")
    for side in ("Left", "Right"):
        if f"{side} shoe" in parts or any(f"{side} {joint}" in seen for joint in leg):
            parts.append(f"{side} leg")
    if "Left leg" in parts or "Right leg" in parts:
        parts.append("Leg")
    return parts
