"""Twenty expressions as facial actions (ARKit names) of the body model."""

from __future__ import annotations

# Actions that exist left and right are named without their side and done on both.
EXPRESSIONS: dict[str, dict[str, float]] = {
    "neutral": {},
    "slight_smile": {"mouthSmile": 0.45, "cheekSquint": 0.2, "mouthDimple": 0.12, "eyeSquint": 0.08},
    "smile": {"mouthSmile": 0.85, "cheekSquint": 0.5, "mouthDimple": 0.2, "eyeSquint": 0.15},
    "broad_smile": {
        "mouthSmile": 0.95,
        "cheekSquint": 0.6,
        "mouthDimple": 0.2,
        "eyeSquint": 0.18,
        "mouthUpperUp": 0.85,
        "mouthLowerDown": 0.60,
        "mouthStretch": 0.12,
        "jawOpen": 0.05,
    },
    "laugh": {
        "mouthSmile": 0.95,
        "cheekSquint": 0.75,
        "eyeSquint": 0.35,
        "mouthUpperUp": 0.85,
        "mouthLowerDown": 0.60,
        "mouthStretch": 0.12,
        "jawOpen": 0.20,
        "browInnerUp": 0.2,
    },
    "smirk": {"mouthSmileLeft": 0.75, "mouthDimpleLeft": 0.35, "cheekSquintLeft": 0.4, "mouthPressLeft": 0.2},
    "surprise": {"browInnerUp": 0.75, "browOuterUp": 0.65, "eyeWide": 0.55, "jawOpen": 0.24, "mouthFunnel": 0.15},
    "fear": {"browInnerUp": 0.85, "browDown": 0.2, "eyeWide": 0.6, "mouthStretch": 0.45, "jawOpen": 0.10},
    "anger": {"browDown": 0.9, "eyeSquint": 0.25, "noseSneer": 0.35, "mouthPress": 0.55, "mouthFrown": 0.25},
    "disgust": {"noseSneer": 0.8, "mouthUpperUp": 0.35, "browDown": 0.45, "cheekSquint": 0.4, "mouthFrown": 0.3},
    "sadness": {"browInnerUp": 0.8, "mouthFrown": 0.7, "mouthShrugLower": 0.4, "eyeSquint": 0.12},
    "contempt": {"mouthSmileRight": 0.35, "mouthDimpleRight": 0.6, "mouthPress": 0.3, "browOuterUpRight": 0.3},
    "frown": {"browDown": 0.6, "mouthFrown": 0.4, "mouthPress": 0.2},
    "raised_brows": {"browInnerUp": 0.6, "browOuterUp": 0.7, "eyeWide": 0.2},
    "squint": {"eyeSquint": 0.8, "cheekSquint": 0.5, "browDown": 0.35, "mouthUpperUp": 0.08},
    "wink": {"eyeBlinkLeft": 0.97, "cheekSquintLeft": 0.6, "mouthSmileLeft": 0.45, "mouthSmileRight": 0.2},
    "eyes_closed": {"eyeBlink": 0.97},
    "pursed": {"mouthPucker": 0.7, "mouthFunnel": 0.12},
    "speaking": {"jawOpen": 0.13, "mouthFunnel": 0.2, "mouthLowerDown": 0.2, "mouthUpperUp": 0.1},
    "shout": {"jawOpen": 0.50, "mouthUpperUp": 0.3, "mouthLowerDown": 0.4, "mouthStretch": 0.2, "browDown": 0.3},
}
SMILES = ("slight_smile", "smile", "broad_smile", "laugh")
REST = {"eyeSquint": 0.05, "mouthSmile": 0.14, "browOuterUp": 0.05}
SIDED = (
    "browDown",
    "browOuterUp",
    "cheekSquint",
    "eyeBlink",
    "eyeSquint",
    "eyeWide",
    "mouthDimple",
    "mouthFrown",
    "mouthLowerDown",
    "mouthPress",
    "mouthSmile",
    "mouthStretch",
    "mouthUpperUp",
    "noseSneer",
)


def facial_actions(name: str, strength: float = 1.0, years: float = 30.0) -> dict[str, float]:
    """Facial actions of an expression; small mouths open less, or the gap behind the lower lip shows.

    >>> facial_actions("eyes_closed")["eyeBlinkRight"]
    0.97
    """
    # A face at rest: the body model's own looks sullen.
    actions = {f"{action}{side}": value for action, value in REST.items() for side in ("Left", "Right")}
    for action, value in EXPRESSIONS[name].items():
        opens = action.startswith(("jawOpen", "mouthUpperUp", "mouthLowerDown"))
        value *= (1.0 if action.startswith("eyeBlink") else strength) * (0.7 if opens and years < 14 else 1.0)
        for side in ("Left", "Right") if action in SIDED else ("",):
            actions[action + side] = round(value, 4)
    return actions
