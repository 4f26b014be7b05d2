"""Where full figures stand: a room with floor, wall and furniture, or open ground, as Mitsuba shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from countenance_people._backend import load_mitsuba
from countenance_people.backdrop import clouds
from countenance_people.mesh import Array, srgb_to_linear, triangulate, vertex_normals
from countenance_people.scene import bitmap, make_mesh, rgb

Shapes = dict[str, Any]


def _colour(rng: np.random.Generator, low: float, high: float, spread: float) -> Array:
    return srgb_to_linear(np.clip(rng.uniform(low, high) + rng.normal(0, spread, 3), 0.03, 0.97))


def _plane(to_world: Any, reflectance: Any) -> Shapes:
    return {"type": "rectangle", "to_world": to_world, "bsdf": {"type": "diffuse", "reflectance": reflectance}}


class Blocks:
    """Blocks of many colours as one shape: a shape each would take the compiler minutes."""

    SIDES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)

    def __init__(self) -> None:
        self.vertices: list[Array] = []
        self.colours: list[Array] = []

    def add(self, centre: Any, half: Any, colour: Any, turn: float = 0.0) -> None:
        """A block, turned about the vertical in degrees."""
        cos, sin = np.cos(np.radians(turn)), np.sin(np.radians(turn))
        corners = (self.CORNERS * np.asarray(half)) @ np.array([[cos, sin, 0], [-sin, cos, 0], [0, 0, 1]])
        self.vertices.append((corners + np.asarray(centre))[self.SIDES].reshape(-1, 3))
        self.colours.append(np.tile(np.asarray(colour), (24, 1)))

    def shape(self, name: str) -> Any:
        """The mesh; each side has corners of its own, so edges stay sharp."""
        vertices = np.concatenate(self.vertices)
        triangles = triangulate(np.arange(len(vertices)).reshape(-1, 4))
        paint = {"type": "diffuse", "reflectance": {"type": "mesh_attribute", "name": "vertex_color"}}
        colours = {"vertex_color": np.concatenate(self.colours)}
        normals = vertex_normals(vertices, triangles)
        return make_mesh(name, vertices, triangles, {"type": "twosided", "bsdf": paint}, normals, colours)


def ground(rng: np.random.Generator) -> Shapes:
    """Open ground: grass, sand or asphalt."""
    mi, _ = load_mitsuba()
    base = srgb_to_linear(np.array([(0.42, 0.48, 0.28), (0.72, 0.66, 0.54), (0.48, 0.48, 0.49)][int(rng.integers(3))]))
    mottled = base * (1 + 0.16 * clouds(rng, 128, 128, 2.0)[..., None] + 0.10 * clouds(rng, 128, 128, 9.0)[..., None])
    floor = mi.ScalarTransform4f().translate([0, 20, -0.014]).scale(60)
    tile = np.concatenate([mottled, mottled[::-1]])  # mirrored, so that no seam shows where it repeats
    tile = np.concatenate([tile, tile[:, ::-1]], 1)
    return {"room_floor": _plane(floor, bitmap(np.clip(tile, 0.01, 1), 30.0))}


def room(rng: np.random.Generator, wall_distance: float) -> Shapes:
    """Floor, back wall, skirting, pictures, a door, shelves or a cabinet; nothing that looks like a face."""
    mi, _ = load_mitsuba()
    transform = mi.ScalarTransform4f
    wood = _colour(rng, 0.40, 0.65, 0.03) * np.array([1.1, 0.95, 0.8])
    tiles = np.ones((64, 64, 3)) * wood * (1 + 0.05 * rng.normal(size=(64, 64, 1)))
    tiles[::16] *= 0.7
    tiles[:, ::32] *= 0.85
    shapes = {"room_floor": _plane(transform().translate([0, 4, -0.014]).scale(12), bitmap(np.clip(tiles, 0, 1), 20.0))}
    upright = transform().translate([0, wall_distance, 0]).rotate([1, 0, 0], 90)
    paint = _colour(rng, 0.55, 0.85, 0.04) * (1 + 0.015 * clouds(rng, 128, 128, 3.0)[..., None])
    shapes["room_wall"] = _plane(upright.scale(16), bitmap(np.clip(paint, 0, 1), 6.0))
    skirting = transform().translate([0, wall_distance - 0.01, 0.06]).rotate([1, 0, 0], 90).scale([16, 0.06, 1])
    shapes["room_skirting"] = _plane(skirting, rgb(_colour(rng, 0.3, 0.8, 0.02)))
    spread = wall_distance * 0.75
    places = rng.permutation(np.linspace(-spread, spread, 5))
    blocks = Blocks()
    kinds = rng.permutation(["door", "frame", "frame", "shelf", "cabinet"])[: int(rng.integers(3, 6))]
    for kind, across in zip(kinds, places, strict=False):
        _furniture(blocks, str(kind), float(across), wall_distance, rng)
    shapes["room_furniture"] = blocks.shape("room_furniture")
    return shapes


def _furniture(blocks: Blocks, kind: str, across: float, wall: float, rng: np.random.Generator) -> None:
    if kind == "door":
        blocks.add((across, wall - 0.02, 1.0), (0.43, 0.03, 1.02), _colour(rng, 0.3, 0.8, 0.03))
    elif kind == "frame":
        wide, tall = rng.uniform(0.18, 0.5, 2)
        height, edge = rng.uniform(1.4, 1.9), rng.uniform(0.015, 0.04)
        blocks.add((across, wall - 0.015, height), (wide + edge, 0.015, tall + edge), _colour(rng, 0.05, 0.5, 0.03))
        blocks.add((across, wall - 0.02, height), (wide, 0.015, tall), _colour(rng, 0.3, 0.85, 0.10))
        blocks.add(
            (across, wall - 0.024, height - tall * 0.3), (wide, 0.015, tall * 0.35), _colour(rng, 0.2, 0.7, 0.12)
        )
    elif kind == "cabinet":
        wide, tall = rng.uniform(0.35, 0.7), rng.uniform(0.35, 0.6)
        blocks.add((across, wall - 0.22, 2 * tall + 0.02), (wide + 0.03, 0.23, 0.02), _colour(rng, 0.2, 0.6, 0.03))
        blocks.add((across, wall - 0.22, tall), (wide, 0.21, tall), _colour(rng, 0.25, 0.75, 0.05))
    else:
        wood = _colour(rng, 0.2, 0.5, 0.03)
        for row in range(4):
            height, at = 0.5 + 0.42 * row, -0.42
            blocks.add((across, wall - 0.14, height), (0.45, 0.14, 0.012), wood)
            while at < 0.38:
                thick, tall = rng.uniform(0.012, 0.035), rng.uniform(0.09, 0.15)
                spot = (across + at + thick, wall - 0.14, height + 0.012 + tall)
                blocks.add(spot, (thick, 0.10, tall), _colour(rng, 0.15, 0.8, 0.13))
                at += 2 * thick + rng.uniform(0.0, 0.06)


def stool(name: str, middle: Array, seat: float, turn: float, colour: Array) -> Any:
    """A stool of a height under a seated person."""
    blocks = Blocks()
    blocks.add((middle[0], middle[1], seat - 0.025), (0.21, 0.20, 0.025), colour, turn)
    for x, y in ((-0.17, -0.16), (0.17, -0.16), (-0.17, 0.16), (0.17, 0.16)):
        blocks.add((middle[0] + x, middle[1] + y, (seat - 0.05) / 2), (0.018, 0.018, (seat - 0.05) / 2), colour * 0.7)
    return blocks.shape(name)
