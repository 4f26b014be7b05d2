"""Colours of the population (linear light) and the names its attributes take."""

from __future__ import annotations

# The ten swatches of the Monk Skin Tone scale.
MONK = (
    "#f6ede4", "#f3e7db", "#f7ead0", "#eadaba", "#d7bd96",
    "#a07e56", "#825c43", "#604134", "#3a312a", "#292420",
)  # fmt: skip

AGE_GROUPS = ("0_17", "18_30", "31_60", "61_100")
LIGHTS = ("bright", "dim", "side", "back")
BACKGROUNDS = ("plain", "studio", "blur", "room", "outdoor")

Colour = tuple[float, float, float]

MASK: dict[str, Colour] = {
    "blue": (0.30, 0.56, 0.74),
    "white": (0.76, 0.76, 0.77),
    "black": (0.022, 0.022, 0.025),
    "pink": (0.78, 0.36, 0.46),
}
HAIR: dict[str, Colour] = {
    "black": (0.012, 0.010, 0.009),
    "dark_brown": (0.035, 0.020, 0.013),
    "brown": (0.085, 0.045, 0.025),
    "auburn": (0.16, 0.055, 0.025),
    "ginger": (0.36, 0.13, 0.04),
    "dark_blond": (0.26, 0.16, 0.075),
    "blond": (0.46, 0.33, 0.165),
    "grey": (0.33, 0.32, 0.31),
    "white": (0.62, 0.61, 0.59),
}
IRIS: dict[str, Colour] = {
    "brown": (0.065, 0.028, 0.011),
    "dark": (0.026, 0.013, 0.007),
    "hazel": (0.09, 0.06, 0.02),
    "green": (0.055, 0.08, 0.035),
    "blue": (0.045, 0.10, 0.16),
    "grey": (0.10, 0.12, 0.135),
}
CLOTH: tuple[Colour, ...] = (
    (0.08, 0.12, 0.30), (0.40, 0.06, 0.06), (0.52, 0.50, 0.47), (0.03, 0.03, 0.035), (0.06, 0.20, 0.12),
    (0.42, 0.26, 0.05), (0.22, 0.09, 0.25), (0.09, 0.26, 0.33), (0.52, 0.30, 0.30), (0.16, 0.16, 0.18),
    (0.62, 0.60, 0.55), (0.27, 0.15, 0.08),
)  # fmt: skip
TROUSERS: tuple[Colour, ...] = (
    (0.05, 0.07, 0.16), (0.10, 0.09, 0.08), (0.03, 0.03, 0.035), (0.20, 0.16, 0.10), (0.12, 0.14, 0.10),
)  # fmt: skip
SHOES: tuple[Colour, ...] = ((0.05, 0.04, 0.035), (0.20, 0.05, 0.05), (0.5, 0.5, 0.5), (0.10, 0.06, 0.03))
FRAMES: tuple[Colour, ...] = ((0.02, 0.02, 0.02), (0.12, 0.05, 0.02), (0.25, 0.25, 0.27), (0.10, 0.02, 0.03))
