"""Four kinds of light, with fixed exposure: normalising a picture would erase the tone of its skin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance.data.people.render._backend import load_mitsuba
from countenance.data.people.render.mesh import Array
from countenance.data.people.render.scene import rgb


@dataclass(frozen=True)
class Setup:
    """Radiance of key, rim and ambient light, and the range of the key's angles in degrees."""

    key: tuple[float, float]
    azimuth: tuple[float, float]
    elevation: tuple[float, float]
    rim: tuple[float, float]
    ambient: tuple[float, float]


# Key and rim are strong enough for the darkest skin to keep its shape, the same for every tone.
SETUPS = {
    "bright": Setup((17, 21), (20, 45), (22, 45), (5, 9), (0.32, 0.42)),
    "dim": Setup((11, 14), (20, 50), (22, 45), (8, 12), (0.16, 0.22)),
    "side": Setup((20, 25), (62, 80), (12, 30), (8, 12), (0.18, 0.24)),
    "back": Setup((10, 13), (20, 45), (20, 40), (24, 34), (0.26, 0.34)),
}


def lights(kind: str, seed: int, target: Array, scale: float = 1.0, indoors: bool = False) -> dict[str, Any]:
    """Key, rim, ceiling and ambient light around a target; `scale` enlarges the set for full figures."""
    mi, _ = load_mitsuba()
    rng = np.random.default_rng([seed, 101])
    setup = SETUPS[kind]
    side = float(rng.choice([-1, 1]))
    turn = math.radians(rng.uniform(*setup.azimuth) * side)
    rise = math.radians(rng.uniform(*setup.elevation))
    warmth = rng.uniform(-1, 1)
    tint = np.array([1 + 0.10 * warmth, 1, 1 - 0.12 * warmth])

    def lamp(offset: Array, size: float, radiance: Array) -> dict[str, Any]:
        place = mi.ScalarTransform4f().look_at(
            origin=[float(v) for v in target + offset], target=[float(v) for v in target], up=[0, 0.01, 1]
        )
        emitter = {"type": "area", "radiance": rgb(radiance)}
        return {"type": "rectangle", "to_world": place.scale(float(size)), "emitter": emitter}

    key = 1.7 * scale * np.array([math.sin(turn) * math.cos(rise), -math.cos(turn) * math.cos(rise), math.sin(rise)])
    behind = (0.55, 0.95) if indoors else (0.9, 0.55)  # indoors a wall stands close behind
    rim = 1.6 * scale * np.array([-math.sin(turn) * 0.8, *behind])
    # A full figure's set is deeper than its lamps reach.
    ambient = rng.uniform(*setup.ambient) * (1.0 if scale < 1.5 else 1.5)
    sky, ground = np.array([1.0, 1.04, 1.10]) * ambient, np.array([0.50, 0.46, 0.42]) * ambient
    rim_light = np.array([0.96, 1, 1.04]) * rng.uniform(*setup.rim)
    return {
        "light_key": lamp(key, 0.38 * scale, tint * rng.uniform(*setup.key)),
        "light_rim": lamp(rim, 0.3 * scale, rim_light),
        "light_top": lamp(np.array([0, -0.2 * scale, 2.0 * scale]), 0.9 * scale, (sky - ground) * 3),
        "light_ambient": {"type": "constant", "radiance": rgb((sky + ground) / 2)},
    }
