"""Postures of the body: turns of its bones in degrees, in the body model's own frame.

Upper arms: y lowers, x below 0 swings forward. Forearms: x below 0 bends up, y brings the hands together. Thighs: x
below 0 swings forward. Lower legs: x bends the knee. Spine: x bows, y leans.
"""

from __future__ import annotations

Turns = dict[str, list[tuple[str, float]]]


def _side(turns: Turns, side: str) -> Turns:
    """Turns of one side; about y and z they change their sign on the right."""
    sign = 1 if side == "L" else -1
    return {
        f"{bone}.{side}": [(axis, sign * angle if axis in "yz" else angle) for axis, angle in row]
        for bone, row in turns.items()
    }


def _posture(left: Turns, right: Turns | None = None, spine: Turns | None = None) -> Turns:
    """A whole posture from what both sides do; without a right side it does as the left."""
    base = {**SLOPING, "upperleg01": [("y", 3.0)]}
    return {
        **_side({**base, **left}, "L"),
        **_side({**base, **(left if right is None else right)}, "R"),
        **(spine or {}),
    }


def _arm(lower: float, forward: float = 0.0, elbow: float = -12.0, inward: float = 0.0) -> Turns:
    return {"upperarm01": [("y", lower), ("x", -forward)], "lowerarm01": [("x", elbow), ("y", inward)]}


def _leg(forward: float, knee: float = 0.0, apart: float = 3.0, foot: float = 0.0) -> Turns:
    return {"upperleg01": [("y", apart), ("x", -forward)], "lowerleg01": [("x", knee)], "foot": [("x", foot)]}


def _bow(angle: float) -> Turns:
    return {"spine03": [("x", angle / 2)], "spine02": [("x", angle / 2)]}


SLOPING: Turns = {"clavicle": [("y", 8.0)], "shoulder01": [("y", 6.0)]}
DOWN = _arm(25)
POSTURES: dict[str, Turns] = {
    "portrait": _posture(_arm(22, 0, 0)),
    "stand": _posture(DOWN),
    "stand_apart": _posture(_arm(20) | _leg(0, 0, 11)),
    "stand_at_ease": _posture(DOWN | _leg(10, 16), DOWN, {"spine03": [("y", -4.0)]}),
    "walk": _posture(_arm(26, -22) | _leg(24, 8, 1), _arm(26, 24, -25) | _leg(-18, 22, 1)),
    "walk_other": _posture(_arm(26, 24, -25) | _leg(-18, 22, 1), _arm(26, -22) | _leg(24, 8, 1)),
    "run": _posture(_arm(28, -35, -75) | _leg(48, 55, 1), _arm(28, 38, -80) | _leg(-22, 62, 1), _bow(10)),
    "hands_on_hips": _posture(_arm(8, -6, -6, 78)),
    "arms_folded": _posture(_arm(30, 22, -22, 92)),
    "wave": _posture(DOWN, _arm(-48, 8, -72)),
    "arms_up": _posture(_arm(-68, 0, -18)),
    "arms_out": _posture(_arm(-32, 0, -6)),
    "point": _posture(DOWN, _arm(12, 62, -6)),
    "reach": _posture(_arm(16, 66, -14)),
    "hand_to_chin": _posture(_arm(28, 14, -30, 70), _arm(30, 34, -112, 22)),
    "phone": _posture(_arm(28, 12, -14), _arm(30, 26, -88, 22)),
    "bow": _posture(_arm(22, 20), None, {**_bow(28), "neck01": [("x", -12.0)]}),
    "lean": _posture(_arm(24), _arm(20), {"spine03": [("y", 9.0)], "spine02": [("y", 6.0)]}),
    "sit": _posture(_arm(27, 22, -48, 14) | _leg(84, 84, 5)),
    "sit_apart": _posture(_arm(24, 26, -36, 6) | _leg(80, 82, 17)),
    "squat": _posture(_arm(18, 48, -22) | _leg(98, 122, 14, -22), None, _bow(24)),
    "kneel": _posture(_arm(25, 18, -40) | _leg(84, 84, 4), DOWN | _leg(2, 92, 2, 24)),
}
"""By name; all but `portrait` are of full bodies."""
SEATED = ("sit", "sit_apart")
STANDING = tuple(name for name in POSTURES if name not in (*SEATED, "portrait", "squat", "kneel", "run"))
