"""The pinhole camera: where it stands, what it projects, which rays it sends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from countenance_people._backend import load_mitsuba
from countenance_people.mesh import Array, normalise


@dataclass(frozen=True)
class Camera:
    """Looks from `origin` to `target`, z up; `fov` is the horizontal angle in degrees."""

    origin: Array
    target: Array
    fov: float
    width: int
    height: int

    @property
    def focal(self) -> float:
        """Focal length in pixels."""
        return self.width / 2 / math.tan(math.radians(self.fov) / 2)

    def axes(self) -> tuple[Array, Array, Array]:
        """Unit vectors forward, right and up."""
        forward = normalise(self.target - self.origin)
        right = normalise(np.cross(forward, [0, 0, 1.0]))
        return forward, right, np.cross(right, forward)

    def project(self, points: Array) -> Array:
        """Pixel coordinates (x, y) of points; pixel centres lie at .5."""
        forward, right, up = self.axes()
        offset = np.atleast_2d(points) - self.origin
        depth = offset @ forward
        x = self.width / 2 + self.focal * (offset @ right) / depth
        y = self.height / 2 - self.focal * (offset @ up) / depth
        return np.stack([x, y], 1)

    def directions(self) -> Array:
        """Unit directions through the pixel centres, row by row."""
        forward, right, up = self.axes()
        y, x = np.mgrid[0 : self.height, 0 : self.width] + 0.5
        across = (x.ravel() - self.width / 2) / self.focal
        rise = (self.height / 2 - y.ravel()) / self.focal
        return normalise(forward + across[:, None] * right + rise[:, None] * up)

    def horizon(self) -> float:
        """Row of the horizon in pixels."""
        forward, _, up = self.axes()
        return float(self.height / 2 + self.focal * forward[2] / up[2])

    def sensor(self, spp: int) -> dict[str, Any]:
        """Mitsuba's description of the camera."""
        mi, _ = load_mitsuba()
        look = mi.ScalarTransform4f().look_at(
            origin=[float(v) for v in self.origin], target=[float(v) for v in self.target], up=[0, 0, 1]
        )
        film = {"type": "hdrfilm", "width": self.width, "height": self.height, "pixel_format": "rgba"}
        return {
            "type": "perspective",
            "fov": float(self.fov),
            "to_world": look,
            # The denoiser wants pixels whose noise is their own.
            "film": {**film, "rfilter": {"type": "box"}},
            "sampler": {"type": "multijitter", "sample_count": spp},
        }


def orbit(
    centre: Array,
    distance: float,
    azimuth: float,
    elevation: float,
    frame_height: float,
    width: int,
    height: int,
    drop: float = 0.0,
) -> Camera:
    """A camera around `centre` that shows `frame_height` metres there; `drop` lowers its aim."""
    turn, rise = math.radians(azimuth), math.radians(elevation)
    offset = np.array([math.sin(turn) * math.cos(rise), -math.cos(turn) * math.cos(rise), math.sin(rise)])
    frame_width = frame_height * width / height
    fov = 2 * math.degrees(math.atan(frame_width / 2 / distance))
    return Camera(centre + distance * offset, centre - np.array([0, 0, drop]), fov, width, height)


def level(height: float, tilt: float, half_angle: float, width: int, rows: int) -> Camera:
    """A camera at (0, 0, height) that looks along +y, tilted in degrees."""
    aim = np.array([0, math.cos(math.radians(tilt)), math.sin(math.radians(tilt))])
    origin = np.array([0, 0, height])
    return Camera(origin, origin + aim, 2 * math.degrees(half_angle), width, rows)


def head_angles(rotation: Array, camera: Camera, face: Array) -> tuple[float, float, float]:
    """Yaw, pitch and roll of a head in degrees, relative to the line from the camera to the face.

    Yaw > 0: turned to the person's left. Pitch > 0: looks up. Roll > 0: tips to the own left shoulder.
    """
    towards = normalise(camera.origin - face)
    right = normalise(np.cross(-towards, [0, 0, 1.0]))
    up = np.cross(right, -towards)
    ahead, crown = rotation @ np.array([0, -1.0, 0]), rotation @ np.array([0, 0, 1.0])
    yaw = math.degrees(math.atan2(ahead @ right, ahead @ towards))
    pitch = math.degrees(math.asin(float(np.clip(ahead @ up, -1, 1))))
    level_side = normalise(np.cross(up, ahead))
    roll = math.degrees(math.atan2(crown @ level_side, crown @ up))
    return yaw, pitch, roll
