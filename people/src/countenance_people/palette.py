"""Colours of the population (linear light) and the names its attributes take, in their order."""

from __future__ import annotations

Colour = tuple[float, float, float]

# The ten swatches of the Monk Skin Tone scale.
MONK = (
    "#f6ede4",
    "#f3e7db",
    "#f7ead0",
    "#eadaba",
    "#d7bd96",
    "#a07e56",
    "#825c43",
    "#604134",
    "#3a312a",
    "#292420",
)

AGE_GROUPS = ("0_17", "18_30", "31_60", "61_100")
GENDERS = ("female", "male")
LIGHTS = ("even", "indoor", "window", "sun", "dusk", "flash", "coloured", "backlight")
BACKGROUNDS = ("plain", "studio", "blur", "room", "outdoor")
HAIR_STYLES = (
    "bald",
    "buzz",
    "crop",
    "short",
    "slick",
    "curly",
    "afro",
    "bob",
    "fringe",
    "long",
    "wavy",
    "ponytail",
    "bun",
    "braids",
    "locs",
)
HEADWEAR = ("none", "cap", "beanie", "hat", "headscarf", "turban", "hood", "helmet")
GLASSES = ("none", "clear", "tinted", "sunglasses")
BEARDS = ("none", "stubble", "moustache", "goatee", "short", "full")
EXPOSURES = ("face", "scene", "fixed")

MASK: dict[str, Colour] = {
    "blue": (0.30, 0.56, 0.74),
    "white": (0.76, 0.76, 0.77),
    "black": (0.022, 0.022, 0.025),
    "pink": (0.78, 0.36, 0.46),
}
# Eumelanin and pheomelanin of the hair, in the units of the scattering model.
HAIR: dict[str, tuple[float, float]] = {
    "black": (6.5, 0.10),
    "dark_brown": (2.6, 0.15),
    "brown": (1.25, 0.22),
    "auburn": (0.75, 1.1),
    "ginger": (0.20, 0.95),
    "blond": (0.20, 0.17),
    "grey": (0.28, 0.0),
    "white": (0.035, 0.012),
}
# What the skin under the strands takes on, and what stubble and lashes are drawn with.
HAIR_RGB: dict[str, Colour] = {
    "black": (0.010, 0.008, 0.007),
    "dark_brown": (0.030, 0.018, 0.012),
    "brown": (0.080, 0.045, 0.026),
    "auburn": (0.120, 0.045, 0.020),
    "ginger": (0.280, 0.110, 0.035),
    "blond": (0.360, 0.260, 0.130),
    "grey": (0.250, 0.245, 0.240),
    "white": (0.520, 0.510, 0.490),
}
IRIS: dict[str, Colour] = {
    "brown": (0.080, 0.036, 0.014),
    "dark": (0.030, 0.015, 0.008),
    "hazel": (0.110, 0.075, 0.026),
    "green": (0.075, 0.105, 0.045),
    "blue": (0.070, 0.140, 0.220),
    "grey": (0.130, 0.155, 0.175),
}
CLOTH: tuple[Colour, ...] = (
    (0.045, 0.070, 0.17),
    (0.30, 0.035, 0.04),
    (0.52, 0.50, 0.47),
    (0.018, 0.018, 0.021),
    (0.035, 0.11, 0.07),
    (0.36, 0.20, 0.04),
    (0.12, 0.05, 0.14),
    (0.05, 0.16, 0.21),
    (0.42, 0.23, 0.23),
    (0.11, 0.11, 0.125),
    (0.70, 0.68, 0.64),
    (0.16, 0.085, 0.045),
    (0.20, 0.28, 0.40),
    (0.26, 0.27, 0.21),
)
TROUSERS: tuple[Colour, ...] = (
    (0.040, 0.060, 0.13),
    (0.10, 0.09, 0.08),
    (0.02, 0.02, 0.024),
    (0.20, 0.16, 0.10),
    (0.10, 0.11, 0.08),
)
SHOES: tuple[Colour, ...] = ((0.04, 0.03, 0.026), (0.20, 0.05, 0.05), (0.5, 0.5, 0.5), (0.10, 0.06, 0.03))
FRAMES: tuple[Colour, ...] = ((0.012, 0.012, 0.013), (0.09, 0.035, 0.014), (0.16, 0.15, 0.13), (0.05, 0.02, 0.035))
LENSES: dict[str, tuple[Colour, ...]] = {
    "clear": ((0.97, 0.98, 0.97),),
    "tinted": ((0.80, 0.68, 0.48), (0.68, 0.76, 0.80), (0.84, 0.68, 0.70)),
    "sunglasses": ((0.030, 0.030, 0.032), (0.050, 0.034, 0.020), (0.022, 0.034, 0.030)),
}
DARK_LENS = 0.3
"""A lens that lets less than this through hides the eyes."""
