"""Camera geometry: projection and rays agree, and angles have the promised signs."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("scipy")

from countenance_people.camera import Camera, head_angles, level, orbit
from countenance_people.light import half_size, lamp_scale, rig


def turned(axis: str, degrees: float) -> np.ndarray:
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return {
        "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
        "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
    }[axis]


def test_a_point_on_a_ray_projects_to_its_pixel() -> None:
    camera = orbit(np.zeros(3), 1.5, 12, 5, 0.5, 64, 48)
    points = camera.origin + 2.0 * camera.directions()
    pixels = camera.project(points).reshape(48, 64, 2)
    assert np.allclose(pixels[7, 20], [20.5, 7.5])


def test_the_persons_left_is_on_the_images_right() -> None:
    camera = orbit(np.zeros(3), 1.5, 0, 0, 0.5, 64, 64)
    left, right = camera.project(np.array([[0.1, 0, 0], [-0.1, 0, 0]]))
    assert left[0] > 32 > right[0]


def test_the_horizon_is_where_far_ground_ends() -> None:
    camera = level(1.6, -8, math.radians(26), 1024, 768)
    far = camera.project(np.array([[0.0, 1e6, 0.0]]))[0]
    assert camera.horizon() == pytest.approx(far[1], abs=0.1)


def test_head_angles_are_relative_to_the_camera() -> None:
    camera = Camera(np.array([0, -2.0, 0]), np.zeros(3), 20, 64, 64)
    assert head_angles(np.eye(3), camera, np.zeros(3)) == pytest.approx((0, 0, 0))
    yaw, pitch, roll = head_angles(turned("z", 20), camera, np.zeros(3))
    assert (yaw, pitch, roll) == pytest.approx((20, 0, 0), abs=1e-6)
    _, pitch, _ = head_angles(turned("x", -10), camera, np.zeros(3))
    assert pitch == pytest.approx(10)


@pytest.mark.parametrize("distance", [0.8, 1.6, 2.6, 5.0])
def test_no_lamp_stands_before_the_camera(distance: float) -> None:
    for kind in ("flash", "backlight"):
        for lamp in rig(kind, np.random.default_rng(1)).lamps:
            scale = lamp_scale(lamp, 1.0, distance)
            assert scale * lamp.distance > distance or abs(lamp.azimuth) > 45
            assert scale == 1.0 or distance > lamp.distance


def test_a_lamp_stays_before_the_wall() -> None:
    aim = np.array([-0.6, 0.75, 0.28])
    middle = np.array([0, 3.2, 1.3]) + aim * 3.9
    half = half_size(2.1, middle, aim / np.linalg.norm(aim), 7.2)
    assert 0 < half < 2.1
    across = np.cross(aim, [0, 0.01, 1])
    across /= np.linalg.norm(across)
    up = np.cross(across, aim / np.linalg.norm(aim))
    corners = [middle + half * (x * across + y * up) for x in (-1, 1) for y in (-1, 1)]
    assert max(corner[1] for corner in corners) == pytest.approx(7.1)
