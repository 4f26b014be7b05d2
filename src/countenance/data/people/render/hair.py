"""Hair on the head: thousands of strands grown on the resting head, then carried with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from countenance.data.people.render.mesh import Array, noise, normalise, scatter, smoothstep, vertex_normals
from countenance.data.people.render.sampling import Identity
from countenance.data.people.render.shape import CHIN, Template, hairline


@dataclass(frozen=True)
class Style:
    """A haircut in numbers; lengths in metres. Strands are thicker than real ones: fewer cover the head."""

    strands: int
    shortest: float
    longest: float
    layer: float
    comb: str
    gravity: float
    follow: float
    curl: float
    wave: float
    clump: float
    radius: float
    points: int
    cut: str = ""


STYLES = {
    "buzz": Style(9000, 0.006, 0.010, 0.001, "none", 0.0, 0.1, 0, 0.02, 0, 0.00035, 3),
    "short": Style(9000, 0.028, 0.052, 0.013, "side", 0.1, 0.78, 0.0010, 0.03, 0.35, 0.00045, 7),
    "slick": Style(9000, 0.08, 0.12, 0.010, "back", 0.1, 0.9, 0.0008, 0.05, 0.45, 0.00042, 9),
    "crop": Style(9000, 0.018, 0.030, 0.010, "forward", 0.1, 0.65, 0.0015, 0.02, 0.25, 0.00045, 6),
    "bob": Style(9000, 0.34, 0.36, 0.016, "part", 0.8, 0.9, 0.0012, 0.09, 0.45, 0.00055, 18, "chin"),
    "long": Style(9500, 0.40, 0.44, 0.018, "part", 0.8, 0.9, 0.0022, 0.11, 0.5, 0.0006, 20, "chest"),
    "wavy": Style(9000, 0.38, 0.44, 0.022, "part", 0.8, 0.9, 0.0075, 0.080, 0.7, 0.00055, 26, "chest"),
    "afro": Style(14000, 0.045, 0.062, 0.05, "none", 0.0, 0.05, 0.0035, 0.011, 0.0, 0.00045, 12),
    "curly": Style(9500, 0.06, 0.085, 0.03, "out", 0.45, 0.35, 0.0055, 0.024, 0.7, 0.0005, 18),
    "bun": Style(8500, 0.16, 0.22, 0.007, "bun", 0.0, 0.95, 0.0005, 0.05, 0.45, 0.00045, 14),
}
HANGING = ("bob", "long", "wavy")


class _Grower:
    """Grows the strands of one head step by step."""

    def __init__(self, template: Template, identity: Identity, body_rest: Array, density: float) -> None:
        self.style = STYLES[identity.hair]
        self.identity = identity
        self.rng = np.random.default_rng([identity.seed, 81])
        head = template.head
        self.skull = head.operator @ body_rest
        self.normal = vertex_normals(self.skull, head.triangles)
        edge = hairline(head.canonical, identity.recede) + 0.004 * head.noise(120, identity.seed + 30)
        weight = (np.clip(edge / 0.006, 0, 1) * (1 - head.fields["ear"]))[head.triangles].min(1)
        self.count = int(self.style.strands * density)
        chosen, share = scatter(self.skull, head.triangles, weight, self.count, self.rng)
        corner = head.triangles[chosen]

        def at(values: Array) -> Array:
            return np.asarray((values[corner] * (share[..., None] if values.ndim > 1 else share)).sum(1))

        self.root, self.root_normal = at(self.skull), normalise(at(self.normal))
        self.root_canonical, self.edge = at(head.canonical), at(edge)
        self.chin = self.skull[template.nearest(CHIN)]
        self.scale = (self.skull[:, 2].max() - self.chin[2]) / 0.24
        self.centre = np.array([0, self.root[:, 1].mean(), self.root[:, 2].mean()])
        self.parting = identity.parting * self.scale
        self.side = np.where(self.root[:, 0] > self.parting, 1.0, -1.0)
        self.bun = np.array([0, self.skull[:, 1].max() + 0.012 * self.scale, self.centre[2] - 0.005 * self.scale])
        trunk = template.body
        resting = trunk.operator @ body_rest
        x, z = np.abs(trunk.canonical[:, 0]), trunk.canonical[:, 2]
        near = (z < 0.60) & (z > 0.28) & (x < 0.26)
        self.shoulder, self.shoulder_normal = resting[near], vertex_normals(resting, trunk.triangles)[near]

    def lengths(self) -> Array:
        style, height, name = self.style, self.root_canonical[:, 2], self.identity.hair
        length = self.rng.uniform(style.shortest, style.longest, self.count) * self.scale
        if name in ("short", "slick"):
            length *= np.interp(height, [0.70, 0.76, 0.82], [0.40, 0.6, 1.0])
        elif name == "crop":
            length *= np.interp(height, [0.70, 0.76, 0.82], [0.4, 0.7, 1.0])
        elif name == "afro":
            swell = 1 + 0.12 * noise(self.root_canonical, 20, self.identity.seed + 33)
            length *= swell * np.interp(height, [0.66, 0.72, 0.80], [0.55, 0.8, 1.0])
            length *= 0.75 + 0.5 * self.identity.hair_length
        if name not in (*HANGING, "bun", "slick"):
            length *= np.interp(self.edge, [0, 0.02], [0.35, 1.0])
        return np.asarray(length)

    def comb(self, point: Array) -> Array:
        """Direction the comb wants at a point."""
        kind, zero = self.style.comb, np.zeros(self.count)
        canonical = self.root_canonical
        if kind == "side":
            low = canonical[:, 2] < 0.775
            way = -np.sign(self.identity.parting)
            x = np.where(low, 0, 0.8 * way)
            y = np.where(self.root[:, 1] < self.centre[1], -0.35, 0.5)
            return normalise(np.stack([x, y, np.where(low, -1.0, -0.35)], 1))
        if kind == "back":
            return normalise(np.stack([0.1 * np.sign(point[:, 0]), zero + 1, zero - 0.35], 1))
        if kind == "forward":
            behind = canonical[:, 1] > -0.02
            x = 0.25 * np.sin(self.root[:, 0] * 300)
            return normalise(np.stack([x, np.where(behind, 0.2, -1), np.where(behind, -1, -0.3)], 1))
        if kind == "part":
            front = smoothstep(-0.06, -0.12, canonical[:, 1])
            spread = np.stack([self.side, 0.15 + 0.55 * front, zero - 0.55], 1)
            fall = np.stack([0.06 * self.side, zero + 0.10, zero - 1], 1)
            low = smoothstep(0.80, 0.745, (point[:, 2] - self.centre[2]) / self.scale + 0.775)[:, None]
            return normalise(spread * (1 - low) + fall * low)
        if kind == "bun":
            return normalise(self.bun - point)
        if kind == "out":
            return normalise(normalise(point - self.centre) + np.array([0, 0, 0.1]))
        return self.root_normal

    def grow(self) -> Array:
        style, points = self.style, self.style.points
        step = self.lengths() / (points - 1)
        layer = style.layer * self.scale * self.rng.uniform(0.1, 1, self.count)
        layer *= np.interp(self.edge, [0, 0.03], [0.35, 1])
        sub = np.arange(0, len(self.skull), 3)
        tree = cKDTree(self.skull[sub])
        body_tree = cKDTree(self.shoulder) if points >= 14 else None
        lean = style.follow * 0.75
        jitter = 0.12 * self.rng.normal(size=(self.count, 3))
        direction = normalise(self.root_normal * (1 - lean) + lean * self.comb(self.root) + jitter)
        resting = np.zeros(self.count)  # length that lies on the shoulders
        self.stop = np.full(self.count, points - 1)
        point = self.root.copy()
        path = [point.copy()]
        nearest = sub[tree.query(point)[1]]
        for k in range(1, points):
            along = k / (points - 1)
            want, normal = self.comb(point), self.normal[nearest]
            height = ((point - self.skull[nearest]) * normal).sum(1)
            close = np.clip(1 - height / (0.02 * self.scale), 0, 1)[:, None]
            tangent = normalise(want - close * normal * (want * normal).sum(1, keepdims=True) + 1e-6)
            pull = style.gravity * 0.35 * (1.0 if style.comb == "part" else along) * np.array([0, 0, -1.0])
            direction = normalise(
                direction * (1 - 0.5 * style.follow) + 0.5 * style.follow * tangent + pull * (1 - close)
            )
            point = point + direction * step[:, None]
            nearest = sub[tree.query(point)[1]]
            normal = self.normal[nearest]
            height = ((point - self.skull[nearest]) * normal).sum(1)
            floor = np.minimum(layer, 0.0015 + along * 3 * layer)
            if style.comb in ("none", "out"):
                floor = np.full(self.count, 0.001)
            point = point + normal * np.clip(floor - height, 0, None)[:, None]
            if body_tree is not None:
                raised = self._off_shoulders(body_tree, point, layer)
                resting += step * (np.abs(raised - point).sum(1) > 1e-9)
                point = raised
                # Hair that goes on along the shoulder would flare like a bell.
                self.stop = np.where((resting > 0.02 * self.scale) & (self.stop == points - 1), k, self.stop)
            if style.comb == "part":
                point = self._off_face(point, step)
            path.append(point.copy())
        return np.stack(path, 1)

    def _off_shoulders(self, tree: cKDTree, point: Array, layer: Array) -> Array:
        distance, index = tree.query(point, distance_upper_bound=0.05)
        found = np.isfinite(distance)
        index = np.minimum(index, len(self.shoulder) - 1)
        normal = self.shoulder_normal[index]
        height = ((point - self.shoulder[index]) * normal).sum(1)
        return np.asarray(point + normal * (np.clip(0.014 + layer * 0.5 - height, 0, 0.02) * found)[:, None])

    def _off_face(self, point: Array, step: Array) -> Array:
        relative = (point - self.centre) / self.scale
        on_face = (relative[:, 1] < -0.045) & (relative[:, 2] < 0.035) & (relative[:, 2] > -0.34)
        limit = 0.068 * self.scale
        inside = on_face & (np.abs(point[:, 0]) < limit)
        away = np.abs(point[:, 0]) + 0.45 * (limit - np.abs(point[:, 0]))
        point[:, 0] = np.where(inside, self.side * away, point[:, 0])
        point[:, 1] = np.where(on_face, point[:, 1] + 0.2 * step, point[:, 1])
        return point

    def trim(self, strands: Array) -> Array:
        """Cut hanging hair at its height, spreading the points again over what is left."""
        fall = {
            "chin": 0.005 - 0.03 * self.identity.hair_length,
            "chest": -0.030 - 0.060 * self.identity.hair_length,
        }
        bottom = self.chin[2] + fall[self.style.cut] * self.scale + self.rng.normal(0, 0.006, self.count)
        below = strands[:, :, 2] < bottom[:, None]
        points = strands.shape[1]
        last = np.maximum(np.minimum(np.where(below.any(1), below.argmax(1), points - 1), self.stop), 3)
        place = np.linspace(0, 1, points)[None] * last[:, None]
        index = np.floor(place).astype(int).clip(0, points - 2)
        share = (place - index)[..., None]
        low = np.take_along_axis(strands, index[..., None], 1)
        return np.asarray(low * (1 - share) + np.take_along_axis(strands, index[..., None] + 1, 1) * share)

    def tidy(self, strands: Array) -> Array:
        """Drop strands that stray over the face, the throat or the chest."""
        relative = (strands - self.centre) / self.scale
        x, y, z = np.abs(relative[..., 0]), relative[..., 1], relative[..., 2]
        limit = np.interp(z, [-0.34, -0.22, -0.10, 0.02], [0.050, 0.044, 0.056, 0.05])
        stray = ((y < -0.02) & (z < 0.015) & (x < limit)).any(1)
        return np.asarray(strands[~stray])


def _bun_knot(grower: _Grower) -> Array:
    count, rng = 2500, grower.rng
    start = normalise(rng.normal(size=(count, 3)))
    axis = normalise(np.cross(start, [0, 1, 0]) + 0.3 * rng.normal(size=(count, 3)))
    radius = 0.032 * grower.scale * rng.uniform(0.9, 1.02, (count, 1))
    angle = np.linspace(0, 1.6, grower.style.points)
    turn = start[:, None] * np.cos(angle)[None, :, None] + np.cross(axis, start)[:, None] * np.sin(angle)[None, :, None]
    return np.asarray(grower.bun + np.array([0, 0.012 * grower.scale, 0]) + radius[:, None] * turn)


def _clump_and_curl(grower: _Grower, strands: Array) -> Array:
    style, rng = grower.style, grower.rng
    count, points = strands.shape[:2]
    along: Array = np.linspace(0, 1, points)
    phase: Array = np.asarray(rng.uniform(0, 2 * np.pi, count))
    if style.clump:
        leaders = rng.choice(count, max(60, count // 28), replace=False)
        follows = cKDTree(strands[leaders, 0]).query(strands[:, 0])[1]
        # A strand follows a leader only where the two grow the same way: else it would cross the parting.
        apart = np.linalg.norm(strands[leaders][follows][:, points // 2] - strands[:, points // 2], axis=1)
        pull = (along**0.8)[None, :, None] * style.clump * rng.uniform(0.5, 1, (count, 1, 1))
        pull = pull * (apart < 0.05 * grower.scale)[:, None, None]
        strands = strands * (1 - pull) + strands[leaders][follows] * pull
        shared: Array = np.asarray(rng.uniform(0, 2 * np.pi, len(leaders)))
        phase = shared[follows] + rng.normal(0, 0.5, count)
    if style.curl:
        arc = np.arange(points)[None] * np.linalg.norm(np.diff(strands, axis=1), axis=2).mean(1, keepdims=True)
        direction = normalise(np.gradient(strands, axis=1))
        first = normalise(np.cross(direction, np.array([0.3, 0.5, 0.81])))
        second = np.cross(direction, first)
        turn = 2 * np.pi * arc / (style.wave * rng.uniform(0.8, 1.2, (count, 1))) + phase[:, None]
        ramp: Array = np.clip(along * 3, 0, 1)
        size = style.curl * ramp[None] * rng.uniform(0.6, 1.3, (count, 1))
        strands = strands + (size * np.cos(turn))[..., None] * first + (size * np.sin(turn))[..., None] * second
    return np.asarray(strands + rng.normal(0, 0.0004, strands.shape) * along[None, :, None])


def head_hair(template: Template, identity: Identity, body_rest: Array, density: float = 1.0) -> tuple[Array, float]:
    """Strands (count, points, 3) on the resting head, and their radius; far figures take fewer, thicker ones."""
    grower = _Grower(template, identity, body_rest, density)
    strands = grower.grow()
    if grower.style.cut:
        strands = grower.trim(strands)
    strands = _clump_and_curl(grower, strands)
    if grower.style.comb == "part":
        strands = grower.tidy(strands)
    if identity.hair == "bun":
        strands = np.concatenate([strands, _bun_knot(grower)])
    return strands, grower.style.radius * density**-0.6
