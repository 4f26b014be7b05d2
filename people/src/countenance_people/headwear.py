"""Headwear: caps, hats and helmets as domes over the scalp; a hood as a loose dome open in front, over a collar; a
headscarf as cloth around the head.

A dome is a function of direction from a point inside the head, so hair can be pressed under it by the same function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates, maximum_filter
from scipy.spatial import ConvexHull, cKDTree

from countenance_people.clothes import Garment, cut, neck_height, shell
from countenance_people.mesh import Array, noise, normalise, smoothstep, triangulate, vertex_normals
from countenance_people.shape import Template

AROUND, DOWN = 120, 64
LOWEST = 2.35
"""How far down (radians from the crown) a dome is known."""
CENTRE = np.array([0.0, -0.020, 0.735])
"""The point inside the head, in canonical coordinates."""


@dataclass(frozen=True)
class Hat:
    """A dome: canonical heights of its rim in front, at the side and behind, its distance from the scalp, and more."""

    rim: tuple[float, float, float]
    gap: float
    rise: float = 0.0  # extra height at the crown
    flat: float = 0.0  # how flat the crown is, 0 to 1
    brim: tuple[float, float, float] | None = None  # width in front, at the side, behind
    cuff: float = 0.0  # height of a turned-up band
    rib: float = 0.0  # depth of knitted ribs
    wrap: float = 0.0  # depth of wound cloth
    gloss: float = 0.9  # roughness


HATS = {
    "cap": Hat((0.787, 0.757, 0.735), 0.010, rise=0.014, brim=(0.078, 0.0, 0.0)),
    "beanie": Hat((0.783, 0.742, 0.705), 0.008, rise=0.012, cuff=0.040, rib=0.0010),
    "hat": Hat((0.787, 0.764, 0.752), 0.010, rise=0.034, flat=0.75, brim=(0.058, 0.066, 0.058)),
    "helmet": Hat((0.790, 0.752, 0.715), 0.024, rise=0.010, brim=(0.012, 0.0, 0.0), gloss=0.22),
    "turban": Hat((0.785, 0.738, 0.690), 0.024, rise=0.018, wrap=0.012),
}
CLOTHS = ("headscarf", "hood")
HOOD_EDGE = ((0.60, 0.66, 0.73, 0.80, 0.90), (-0.104, -0.090, -0.084, -0.108, -0.128))
"""Heights, and how far forward a hood reaches at each, in canonical coordinates: before the cheeks, behind the brow."""
THROAT = (0.0, -0.088, 0.606)
"""Where a chin strap passes under the chin, in canonical coordinates."""


class Dome:
    """Distance of the scalp from a point inside the head, over azimuth (0 is the front) and angle from the crown."""

    def __init__(self, template: Template, skull: Array, scale: float) -> None:
        inner = template.nearest((0, -0.142, 0.735))
        self.scale = scale
        self.centre = skull[inner] + (CENTRE - template.head.canonical[inner]) * scale
        self.centre[0] = 0.0
        bare = (template.head.fields["ear"] < 0.3) & (template.head.fields["mouth"] < 0.3)
        offset = skull[bare] - self.centre
        reach = np.linalg.norm(offset, axis=1)
        polar, azimuth = np.meshgrid(np.linspace(0.0, LOWEST, DOWN), np.linspace(-np.pi, np.pi, AROUND), indexing="ij")
        near = cKDTree(offset / reach[:, None]).query(self.direction(azimuth, polar).reshape(-1, 3), k=6)[1]
        radius = reach[near].mean(1).reshape(polar.shape)
        radius[0] = radius[0].mean()
        self.polar, self.azimuth = polar, azimuth
        self.radius = gaussian_filter(radius, 1.5, mode=("nearest", "wrap"))

    @staticmethod
    def direction(azimuth: Array, polar: Array) -> Array:
        """Unit vectors of directions."""
        flat = np.sin(polar)
        return np.stack([flat * np.sin(azimuth), -flat * np.cos(azimuth), np.cos(polar)], -1)

    def look_up(self, table: Array, offset: Array) -> Array:
        """Values of a table over the grid, in the direction of offsets from the centre."""
        reach = np.linalg.norm(offset, axis=-1)
        polar = np.arccos(np.clip(offset[..., 2] / np.maximum(reach, 1e-9), -1, 1))
        azimuth = np.arctan2(offset[..., 0], -offset[..., 1])
        row, column = polar / LOWEST * (DOWN - 1), (azimuth + np.pi) / (2 * np.pi) * (AROUND - 1)
        return np.asarray(
            map_coordinates(table, [row.ravel(), column.ravel()], order=1, mode="nearest").reshape(reach.shape)
        )


@dataclass
class Fitted:
    """A hat on a head: its surfaces, and what presses the hair."""

    meshes: list[tuple[Array, Array]]
    press: Callable[[Array], Array]
    ends: Array | None = None  # where a chin strap is tied, left and right


def fit_hat(dome: Dome, name: str, seed: int) -> Fitted:
    """A hat in the head's own frame."""
    hat = HATS[name]
    rng = np.random.default_rng([seed, 95])
    scale = dome.scale
    front, side, back = ((height - CENTRE[2]) * scale for height in hat.rim)
    azimuth = np.linspace(-np.pi, np.pi, AROUND)
    share = np.abs(azimuth) / np.pi
    rim_height = np.interp(
        share, [0, 0.25, 0.5, 0.75, 1], [front, 0.65 * front + 0.35 * side, side, 0.5 * (side + back), back]
    )
    smooth = gaussian_filter(maximum_filter(dome.radius, (3, 3)), (3, 4), mode=("nearest", "wrap"))
    crown = np.cos(np.clip(dome.polar, 0, np.pi / 2))
    # Close at the rim, loose above it.
    hug = smoothstep(0.0, 0.35, _edge(dome, smooth, rim_height)[None] - dome.polar)
    radius = smooth + hat.gap * scale * (0.35 + 0.65 * hug) + hat.rise * scale * crown**1.5
    if hat.flat:
        top = (smooth[0].mean() + (hat.gap + hat.rise) * scale) * 0.97
        flat = top / np.maximum(np.cos(dome.polar), 0.25)
        wide = np.minimum(radius * (1 + 0.05 * crown), flat)
        radius = radius * (1 - hat.flat) + np.minimum(np.maximum(wide, smooth + 0.004), flat * 1.02) * hat.flat
    radius = radius + _surface(dome, hat, rng) * scale * (0.3 + 0.7 * hug)
    edge = _edge(dome, radius, rim_height)
    grid = np.linspace(0, 1, 40)
    polar = grid[:, None] * edge[None]
    points = _on_dome(dome, radius, azimuth, polar)
    if hat.cuff:
        depth = np.linalg.norm(points - points[-1:], axis=-1)
        thick = 0.0048 * scale * smoothstep(hat.cuff * scale, hat.cuff * scale - 0.003, depth)
        points = points + thick[..., None] * normalise(points - dome.centre)
    inner = points[-1] - 0.004 * scale * normalise(points[-1] - dome.centre) + np.array([0, 0, 0.002])
    meshes = [_mesh(np.concatenate([points, inner[None]]))]
    if hat.brim is not None:
        meshes.append(_mesh(_brim(points[-1], azimuth, hat, scale, rng)))
    limit = radius - 0.003 * scale

    def press(strands: Array) -> Array:
        return _press(dome, limit, edge, azimuth, strands)

    tied = [int(np.argmin(np.abs(azimuth - sign * 1.35))) for sign in (1, -1)]
    return Fitted(meshes, press, inner[tied] if name == "helmet" else None)


def _surface(dome: Dome, hat: Hat, rng: np.random.Generator) -> Array:
    """Ribs of a knitted cap, or the winding of a turban."""
    relief = np.zeros_like(dome.radius)
    if hat.rib:
        relief += hat.rib * np.cos(dome.azimuth * 58) * smoothstep(0.15, 0.5, dome.polar)
    if hat.wrap:
        slope = np.abs(dome.azimuth) * 0.42
        turn = (dome.polar - slope + 0.10 * np.sin(2 * dome.azimuth + rng.uniform(0, 6))) / 0.27
        fold = turn - np.floor(turn)
        relief += hat.wrap * (np.sqrt(np.clip(1 - (2 * fold - 1) ** 2, 0, 1)) - 0.5)
    return np.asarray(relief)


def _edge(dome: Dome, radius: Array, height: Array) -> Array:
    """Angle from the crown at which each azimuth reaches the height of the rim."""
    levels = radius * np.cos(dome.polar)
    return np.array([np.interp(-height[k], -levels[:, k], dome.polar[:, 0]) for k in range(AROUND)])


def _on_dome(dome: Dome, radius: Array, azimuth: Array, polar: Array) -> Array:
    row = polar / LOWEST * (DOWN - 1)
    column = np.broadcast_to(np.arange(AROUND), polar.shape)
    reach = map_coordinates(radius, [row.ravel(), column.ravel()], order=1, mode="nearest").reshape(polar.shape)
    return np.asarray(dome.centre + reach[..., None] * dome.direction(np.broadcast_to(azimuth, polar.shape), polar))


def _brim(rim: Array, azimuth: Array, hat: Hat, scale: float, rng: np.random.Generator) -> Array:
    assert hat.brim is not None
    front, side, back = (width * scale for width in hat.brim)
    share = np.abs(azimuth) / np.pi
    if side:
        width = np.interp(share, [0, 0.5, 1], [front, side, back])
        wave = 0.004 * scale * np.cos(2 * azimuth + rng.uniform(0, 6)) + 0.010 * scale * np.cos(2 * azimuth)
        fall = np.full(AROUND, -0.05)
    else:
        width = front * np.clip(1 - (np.abs(azimuth) / 1.05) ** 2.6, 0, 1) ** 0.75
        wave = -0.016 * scale * (np.abs(azimuth) / 1.05) ** 2 * (width > 0)
        fall = np.full(AROUND, -0.22)
    out = normalise(np.stack([np.sin(azimuth), -np.cos(azimuth), np.zeros(AROUND)], 1))
    if not side:  # a peak points forward rather than outward
        out = normalise(out * 0.45 + np.array([0, -0.55, 0]))
    up = np.array([0, 0, 1.0])
    rows = [
        rim + out * (width * step)[:, None] + (fall * width * step + wave * step**1.5)[:, None] * up
        for step in np.linspace(0, 1, 12)
    ]
    under = [row - np.array([0, 0, 0.0025 * scale]) for row in rows[::-1]]
    return np.stack(rows + under)


def _mesh(grid: Array) -> tuple[Array, Array]:
    rows, columns = grid.shape[:2]
    first = np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)[None]
    quads = np.stack([first, first + columns, first + columns + 1, first + 1], -1).reshape(-1, 4)
    return grid.reshape(-1, 3), triangulate(quads)


def _press(dome: Dome, limit: Array, edge: Array, azimuth: Array, strands: Array) -> Array:
    """Hair inside the hat; below the rim it may swell out again."""
    offset = strands - dome.centre
    reach = np.linalg.norm(offset, axis=-1)
    bound = dome.look_up(limit, offset)
    polar = np.arccos(np.clip(offset[..., 2] / np.maximum(reach, 1e-9), -1, 1))
    rim = np.interp(np.arctan2(offset[..., 0], -offset[..., 1]), azimuth, edge)
    below = np.clip((polar - rim) * reach, 0, None)
    bound = bound + 0.9 * below
    return np.asarray(dome.centre + offset * (np.minimum(reach, bound) / np.maximum(reach, 1e-9))[..., None])


def loose(dome: Dome) -> Callable[[Array], Array]:
    """Hair under a hood: close to the head, and not below the chin."""
    limit = dome.radius + 0.014 * dome.scale
    floor = dome.centre[2] - 0.125 * dome.scale

    def press(strands: Array) -> Array:
        offset = strands - dome.centre
        reach = np.linalg.norm(offset, axis=-1)
        pressed = (
            dome.centre + offset * (np.minimum(reach, dome.look_up(limit, offset)) / np.maximum(reach, 1e-9))[..., None]
        )
        return np.asarray(pressed[(pressed[..., 2] > floor).all(1)])

    return press


def chin_strap(template: Template, face: Array, ends: Array, worn: Array | None = None) -> Array:
    """A strap (1, points, 3) from one end under the chin to the other, pulled tight over a face and what it wears.

    `face` are fine head vertices in the head's own frame, with expression; so are `ends` and `worn`.
    """
    throat = face[template.nearest(THROAT)]
    middle = ends.mean(0)
    across, down = normalise(ends[0] - ends[1]), normalise(throat - middle)
    thin = np.cross(across, down)
    solid = (template.head.fields["ear"] < 0.3) & (template.head.fields["mouth"] < 0.3)
    points = face[solid] if worn is None else np.concatenate([face[solid], worn])
    flat = (points - middle) @ np.stack([across, down, thin], 1)
    depth = float((throat - middle) @ down)
    near = (np.abs(flat[:, 2]) < 0.004) & (flat[:, 1] > 0) & (flat[:, 1] < depth + 0.004)
    tied = (ends - middle) @ np.stack([across, down], 1)
    section = np.concatenate([tied, flat[near, :2]])
    # A tight strap is the lower half of the section's convex hull, between its ends.
    hull = section[ConvexHull(section).vertices]
    below = hull[(hull[:, 1] > 0) & (np.abs(hull[:, 0]) <= np.abs(section[:, 0]).max())]
    order = np.argsort(np.arctan2(below[:, 1], below[:, 0]))
    line = np.concatenate([tied[:1], below[order], tied[1:]])
    along = np.r_[0, np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))]
    step = np.linspace(0, along[-1], 48)
    line = np.stack([gaussian_filter(np.interp(step, along, line[:, k]), 1.2, mode="nearest") for k in range(2)], 1)
    line[[0, -1]] = tied
    return np.asarray(middle + line[:, :1] * across + line[:, 1:] * down)[None]


def fit_hood(dome: Dome, seed: int) -> tuple[tuple[Array, Array], Array]:
    """A hood in the head's own frame: its cloth, and the line (1, points, 3) of the hem around the face."""
    scale = dome.scale
    loose_fit = gaussian_filter(maximum_filter(dome.radius, (3, 3)), (3, 4), mode=("nearest", "wrap")) + 0.022 * scale
    # Below the ears it hangs down, and is gathered at the neck.
    level = int(np.argmin(np.abs(dome.polar[:, 0] - 1.7)))
    reach = loose_fit[level] * np.sin(1.7) * (1 - 0.22 * smoothstep(1.8, LOWEST, dome.polar))
    hangs = smoothstep(1.5, 1.85, dome.polar)
    radius = loose_fit * (1 - hangs) + reach / np.maximum(np.sin(dome.polar), 0.1) * hangs
    around = dome.direction(dome.azimuth, dome.polar)
    folds = noise((around * (1.0, 1.0, 0.4)).reshape(-1, 3), 1.6, seed).reshape(radius.shape)
    radius = radius + 0.004 * scale * folds * smoothstep(0.0, 0.6, dome.polar)
    polar, azimuth = np.linspace(0, LOWEST, 150), dome.azimuth[0]
    every = _on_dome(dome, radius, azimuth, np.broadcast_to(polar[:, None], (150, AROUND)))
    place = (every - dome.centre) / scale + CENTRE
    covered = place[..., 1] - np.interp(place[..., 2], *HOOD_EDGE)
    half = azimuth > 0
    edge = np.array([np.interp(0, np.maximum.accumulate(row), azimuth[half], left=0) for row in covered[:, half]])
    edge = gaussian_filter(edge, 2.0, mode="nearest") * (edge > 0)
    turn = edge[:, None] + (2 * np.pi - 2 * edge[:, None]) * np.linspace(0, 1, AROUND)
    column = (turn + np.pi) % (2 * np.pi) / (2 * np.pi) * (AROUND - 1)
    row = np.broadcast_to(polar[:, None] / LOWEST * (DOWN - 1), turn.shape)
    distance = map_coordinates(radius, [row.ravel(), column.ravel()], order=1, mode="nearest").reshape(turn.shape)
    points = dome.centre + distance[..., None] * dome.direction(turn, np.broadcast_to(polar[:, None], turn.shape))
    # Below the dome it goes on down into the collar, and closes towards the throat.
    fall = np.linspace(0, 1, 16)[1:, None, None]
    front = np.abs(np.linspace(-1, 1, AROUND))[:, None] ** 6
    inward = 1 - fall * (0.16 + 0.24 * front * edge[-1])
    end = points[-1] - dome.centre
    below = end * np.concatenate([inward, np.ones_like(inward), np.ones_like(inward)], -1)
    below = below + fall * scale * np.array([0, 0, -0.062]) - 0.012 * scale * fall * front * np.array([0, 1.0, 0])
    open_rows = np.concatenate([points[edge > 0], dome.centre + below])[::4]
    points = np.concatenate([points, dome.centre + below])
    hem = np.concatenate([open_rows[::-1, 0], open_rows[:, -1]])[None]
    return _mesh(points), hem


def cloth_field(canonical: Array, name: str) -> Array:
    """Positive where a headscarf or the collar of a hood covers, roughly in metres."""
    x, y, z = np.abs(canonical[:, 0]), canonical[:, 1], canonical[:, 2]
    if name == "hood":
        top = np.interp(y, [-0.10, -0.06, -0.01, 0.05], [0.586, 0.592, 0.650, 0.665])
        return np.asarray(np.minimum(top - z, z - neck_height(canonical, "crew") + 0.028))
    opening = (np.hypot(x / 0.0615, (z - 0.7020) / 0.0930) - 1) * 0.06
    opening = np.where(y < -0.02, opening, np.maximum(opening, (y + 0.02) * 1.2 + 0.004))
    return np.asarray(np.minimum(np.minimum(opening, z - 0.430), 0.205 - x))


def fit_cloth(template: Template, skin: Array, name: str, seed: int) -> Garment:
    """A headscarf, or the collar of a hood, around a posed body."""
    canonical = template.body.canonical
    field = cloth_field(canonical, name)
    scarf = name == "headscarf"
    head = smoothstep(0.60, 0.66, canonical[:, 2])
    gap = np.where(head > 0, 0.010 + (0.004 if scarf else 0.016) * head, 0.016)
    near = field > -0.03
    ear = template.body.masks["ears"] > 0.15
    cloth = shell(template, skin, near, np.where(ear, -0.05, gap), 90 if scarf else 70, 0.0035, seed)
    vertices, triangles, _, points = cut(template, cloth, field, [0.03, 0.015], lambda c: cloth_field(c, name))
    return vertices, triangles, vertex_normals(vertices, triangles), points
