"""Backgrounds: what stands behind a portrait (a picture) or around a full figure (floor, wall, ground)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter

from countenance.data.people.render._backend import load_mitsuba
from countenance.data.people.render.mesh import Array, smoothstep, srgb_to_linear
from countenance.data.people.render.scene import bitmap, rgb


def _colour(rng: np.random.Generator, low: float, high: float, spread: float = 0.055) -> Array:
    return srgb_to_linear(np.clip(rng.uniform(low, high) + rng.normal(0, spread, 3), 0.03, 0.97))


def _clouds(rng: np.random.Generator, height: int, width: int, size: float) -> Array:
    field = gaussian_filter(rng.normal(size=(height, width)), size, mode="wrap")
    return np.asarray(field / field.std())


def _outdoor(rng: np.random.Generator, height: int, width: int, horizon: float, blur: float) -> Array:
    """Sky, trees or houses, and ground, out of focus."""
    y, x = np.mgrid[0:height, 0:width].astype(float)
    up = np.clip((horizon - y) / max(height * 0.8, 1), 0, 1)[..., None]
    sky = srgb_to_linear(np.array([0.80, 0.86, 0.92])) * (1 - up) + srgb_to_linear(np.array([0.45, 0.62, 0.86])) * up
    image = sky + 0.06 * np.clip(_clouds(rng, height, width, height * 0.06), 0, 2)[..., None]
    ground = srgb_to_linear(np.array([0.42, 0.46, 0.30]) + rng.normal(0, 0.05, 3))
    image = np.where((y > horizon)[..., None], ground, image)
    if rng.random() < 0.6:
        crown = _clouds(rng, 1, width, width * 0.03)[0] + 0.4 * _clouds(rng, 1, width, width * 0.008)[0]
        top = horizon - height * (0.14 + 0.04 * crown)
        leaves = srgb_to_linear(np.array([0.24, 0.34, 0.18]) + rng.normal(0, 0.03, 3))
        shade = 1 + 0.3 * _clouds(rng, height, width, height * 0.012)
        trees = (y > top[None]) & (y <= horizon)
        image = np.where(trees[..., None], np.clip(leaves * shade[..., None], 0.005, 1), image)
    else:
        left = 0.0
        while left < width:
            span, rise = width * rng.uniform(0.12, 0.3), height * rng.uniform(0.12, 0.4)
            house = (x >= left) & (x < left + span) & (y > horizon - rise) & (y <= horizon)
            wall = _colour(rng, 0.4, 0.75, 0.04)
            pane = (((x - left) % (span / 4)) < span / 8) & ((y % (height * 0.06)) < height * 0.03)
            image[house] = wall
            image[house & pane] = wall * 0.35
            left += span * rng.uniform(1.0, 1.3)
    return np.asarray(gaussian_filter(image, (blur, blur, 0)))


def picture(kind: str, seed: int, width: int, height: int, horizon: float | None = None) -> Array:
    """A background picture in linear light."""
    rng = np.random.default_rng([seed, 111])
    y, x = np.mgrid[0:height, 0:width] / height
    first, second = _colour(rng, 0.35, 0.85), _colour(rng, 0.15, 0.7)
    if kind == "plain":
        angle = rng.uniform(0, 2 * np.pi)
        share = np.clip(np.cos(angle) * (x - 0.5) + np.sin(angle) * (y - 0.5) + 0.5, 0, 1)[..., None]
        image = first * (1 - 0.5 * share) + second * 0.5 * share
    elif kind == "studio":
        share = np.clip(np.hypot(x - 0.5 * width / height, y - 0.45) * 1.3, 0, 1)[..., None]
        image = first * (1 - share) + second * 0.6 * share
    elif kind == "blur":
        image = 0.5 * (first + second) + 0.22 * first * _clouds(rng, height, width, height * 0.10)[..., None]
    elif kind == "outdoor":
        row = height * rng.uniform(0.5, 0.75) if horizon is None else horizon
        image = _outdoor(rng, height, width, row, height * (0.018 if horizon is None else 0.005))
    else:
        image = np.ones((height, width, 3)) * first
        for _ in range(int(rng.integers(3, 7))):
            left, top = rng.uniform(-0.1, 0.9, 2)
            span, rise = rng.uniform(0.1, 0.4, 2)
            image[(x > left) & (x < left + span) & (y > top) & (y < top + rise)] = _colour(rng, 0.1, 0.9)
        image[y > rng.uniform(0.75, 0.95)] = second * 0.5
        image = gaussian_filter(image, (height * 0.022, height * 0.022, 0))
    return np.asarray(np.clip(image + 0.003 * rng.normal(size=image.shape), 0.004, 1))


def surroundings(kind: str, seed: int, wall_distance: float) -> dict[str, Any]:
    """Floor and wall of a room, or open ground, as Mitsuba shapes."""
    mi, _ = load_mitsuba()
    rng = np.random.default_rng([seed, 112])
    transform = mi.ScalarTransform4f

    def plane(to_world: Any, reflectance: Any) -> dict[str, Any]:
        return {
            "type": "rectangle",
            "to_world": to_world,
            "bsdf": {"type": "diffuse", "reflectance": reflectance},
        }

    if kind == "outdoor":
        ground = _colour(rng, 0.55, 0.70, 0.02) * np.array([1.0, 1.0, 0.80])
        mottled = ground * (1 + 0.12 * _clouds(rng, 128, 128, 2.0)[..., None])
        floor = transform().translate([0, 20, -0.014]).scale(60)
        return {"room_floor": plane(floor, bitmap(np.clip(mottled, 0.01, 1), 40.0))}
    wood = _colour(rng, 0.45, 0.65, 0.03) * np.array([1.1, 0.95, 0.8])
    tiles = np.ones((64, 64, 3)) * wood * (1 + 0.03 * rng.normal(size=(64, 64, 1)))
    tiles[::16] *= 0.65
    tiles[:, ::32] *= 0.85
    shapes = {"room_floor": plane(transform().translate([0, 4, -0.014]).scale(12), bitmap(np.clip(tiles, 0, 1), 20.0))}
    upright = transform().translate([0, wall_distance, 0]).rotate([1, 0, 0], 90)
    shapes["room_wall"] = plane(upright.scale(16), rgb(_colour(rng, 0.55, 0.82, 0.03)))
    for number in range(int(rng.integers(2, 5))):
        # Pictures, doors and cupboards; all plain, none face-like.
        door = number == 0
        size = (0.45, 1.02) if door else tuple(rng.uniform(0.25, 0.8, 2))
        height = 1.0 if door else float(rng.uniform(1.5, 2.1))
        across = float(rng.uniform(-0.55, 0.55)) * wall_distance * 1.4
        board = transform().translate([across, wall_distance - 0.02 - 0.012 * number, height]).rotate([1, 0, 0], 90)
        shapes[f"room_board{number}"] = plane(board.scale([*map(float, size), 1]), rgb(_colour(rng, 0.25, 0.7, 0.08)))
    skirting = transform().translate([0, wall_distance - 0.01, 0.06]).rotate([1, 0, 0], 90).scale([16, 0.06, 1])
    shapes["room_skirting"] = plane(skirting, rgb(_colour(rng, 0.3, 0.8, 0.02)))
    return shapes


def vignette(image: Array, strength: float = 0.08) -> Array:
    """A little darker towards the corners, as a lens does."""
    height, width = image.shape[:2]
    y, x = np.mgrid[0:height, 0:width]
    radius = np.hypot((x / width - 0.5) * 2, (y / height - 0.5) * 2)
    return np.asarray(image * (1 - strength * smoothstep(0.5, 1.5, radius))[..., None])
