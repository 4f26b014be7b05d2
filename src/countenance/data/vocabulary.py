"""Attribute vocabularies: which values an attribute may take, in their natural order.

A string sort puts monk_10 after monk_1; every table and plot takes its order from here instead.
"""

from collections.abc import Iterable

MONK_TONES = tuple(f"monk_{i}" for i in range(1, 11))
AGE_GROUPS = ("0_17", "18_30", "31_60", "61_100")
LIGHTS = ("even", "indoor", "window", "sun", "dusk", "flash", "coloured", "backlight")

VOCABULARIES: dict[str, tuple[str, ...]] = {
    "skin_tone": MONK_TONES,
    "age_group": AGE_GROUPS,
    "gender": ("female", "male"),
    "smile": ("no", "yes"),
    "mask": ("none", "blue", "white", "black", "pink"),
    "masked": ("no", "yes"),
    "glasses": ("none", "round", "square", "clear", "tinted", "sunglasses"),
    "headwear": ("none", "cap", "beanie", "hat", "headscarf", "turban", "hood", "helmet"),
    "beard": ("none", "stubble", "moustache", "goatee", "short", "beard", "full"),
    "pose": ("frontal", "turned"),
    "light": ("bright", "dim", "side", "back", *LIGHTS),
    "exposure": ("face", "scene", "fixed"),
    "attack": ("none", "print", "phone", "tablet", "cutout"),
    "role": ("known", "known_unknown", "unknown"),
    "split": ("train", "validation", "test"),
    "part": ("portraits", "twins", "bodies", "groups", "objects", "natural", "scene", "lookalikes", "attacks"),
    "person": ("no", "yes"),
}
"""The attributes this package knows by name. A dataset's card may declare further ones."""

FITZPATRICK: dict[tuple[int, ...], str] = {
    (102, 78, 65): "VI dark",
    (136, 105, 81): "V brown",
    (164, 131, 103): "IV tan",
    (175, 148, 120): "III intermediate",
    (189, 163, 137): "II light",
    (198, 180, 157): "I very light",
}
"""Fitzpatrick's six skin types by the colours under which FHIBE offers them, darkest first."""

NUMERIC = (
    "age",
    "yaw",
    "pitch",
    "roll",
    "distance",
    "face_size",
    "face_luminance",
    "hair_visible",
    "visible",
    "stops",
    "focal_length",
    "defocus",
    "motion",
    "noise",
    "reduce",
    "jpeg",
)
"""Attributes that are numbers."""

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
"""COCO's keypoints in COCO's order."""
FACE_LABELS = (
    "background",
    "skin",
    "nose",
    "eye_g",
    "l_eye",
    "r_eye",
    "l_brow",
    "r_brow",
    "l_ear",
    "r_ear",
    "mouth",
    "u_lip",
    "l_lip",
    "hair",
    "hat",
    "ear_r",
    "neck_l",
    "neck",
    "cloth",
)
"""CelebAMask-HQ's labels; a pixel's class is the place in this list."""

UNKNOWN = "(unknown)"
"""The group of rows whose value is not known: shown, never tested."""


def in_order(name: str, values: Iterable[str]) -> list[str]:
    """The distinct values, in the vocabulary's order, others after them, `(unknown)` last.

    >>> in_order("skin_tone", ["monk_10", "monk_2", "(unknown)", "monk_2"])
    ['monk_2', 'monk_10', '(unknown)']
    >>> in_order("age", ["18–65", "<9", "65+", "9–18"])
    ['<9', '9–18', '18–65', '65+']
    """
    known = {value: i for i, value in enumerate(VOCABULARIES.get(name, ()))}

    def place(value: str) -> tuple[int, int, list[tuple[int, float, str]]]:
        return (value == UNKNOWN, known.get(value, len(known)), _natural(value))

    return sorted(set(values), key=place)


def _natural(text: str) -> list[tuple[int, float, str]]:
    """A key under which "9" comes before "10", and the bin "<9" before "9–18"."""
    import re

    below = re.fullmatch(r"<(\d+(?:\.\d+)?)", text)
    runs = re.findall(r"\d+(?:\.\d+)?|\D+", below[1] if below else text, re.ASCII)
    return [(0, float(run), "") if run[0].isdecimal() else (1, 0.0, run) for run in runs]


def age_group(years: float) -> str:
    """The age group of an age in years.

    >>> age_group(17.9), age_group(18), age_group(60.5), age_group(61)
    ('0_17', '18_30', '31_60', '61_100')
    """
    for limit, group in zip((18, 31, 61), AGE_GROUPS[:3], strict=True):
        if years < limit:
            return group
    return AGE_GROUPS[3]
