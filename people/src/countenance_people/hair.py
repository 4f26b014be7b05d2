"""Hair on the head: guides grown on the resting head, thousands of fine strands between them, in locks.

A style is a row of numbers. Guides follow a comb over the scalp and then fall; strands follow their nearest guides on
the same side of the parting, differ in length, gather in locks, curl, and a few of them stray.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from countenance_people.knots import bun, plait, rope, tail
from countenance_people.mesh import Array, noise, normalise, scatter, smoothstep, vertex_normals
from countenance_people.shape import CHIN, Template, hairline
from countenance_people.spec import Identity


@dataclass(frozen=True)
class Style:
    """A haircut; lengths in metres. Strands are twice as thick as real ones, so that fewer cover the head."""

    strands: int
    length: tuple[float, float]  # at the crown
    sides: float  # length at sides and nape, as a share of that at the crown
    comb: str
    lift: float  # how steeply a strand leaves the scalp, 0 (flat) to 1 (upright)
    volume: float  # height of the top layer over the scalp
    gravity: float = 0.3
    lock: float = 0.5  # how strongly strands gather
    lock_size: int = 40
    curl: float = 0.0  # radius of the curl
    pitch: float = 0.05  # length of one turn
    stray: float = 0.04
    radius: float = 0.00011
    points: int = 10
    cut: float | None = None  # height of the ends above the chin
    knot: str = ""


STYLES = {
    "buzz": Style(26000, (0.006, 0.010), 0.7, "none", 0.5, 0.004, 0, 0.0, radius=0.00010, points=4),
    "crop": Style(30000, (0.022, 0.034), 0.45, "forward", 0.55, 0.016, 0.2, 0.45, 14, 0.0012, 0.03, points=7),
    "short": Style(30000, (0.034, 0.052), 0.42, "side", 0.5, 0.020, 0.25, 0.55, 20, 0.0018, 0.05, points=8),
    "slick": Style(28000, (0.09, 0.13), 0.5, "back", 0.35, 0.014, 0.1, 0.6, 30, 0.0010, 0.06, points=11),
    "curly": Style(26000, (0.06, 0.09), 0.6, "out", 0.8, 0.05, 0.5, 0.85, 36, 0.0060, 0.022, 0.08, points=22),
    "afro": Style(32000, (0.06, 0.075), 0.8, "none", 1.0, 0.07, 0.0, 0.25, 12, 0.0032, 0.009, 0.05, points=16),
    "bob": Style(30000, (0.34, 0.37), 1.0, "part", 0.3, 0.016, 0.8, 0.5, 50, 0.0016, 0.10, points=20, cut=0.005),
    "long": Style(32000, (0.46, 0.54), 1.0, "part", 0.28, 0.014, 0.8, 0.55, 60, 0.0025, 0.13, points=24, cut=-0.14),
    "wavy": Style(
        30000, (0.46, 0.54), 1.0, "part", 0.32, 0.020, 0.8, 0.75, 70, 0.0085, 0.085, 0.06, points=30, cut=-0.11
    ),
    "fringe": Style(30000, (0.34, 0.37), 1.0, "part", 0.28, 0.014, 0.8, 0.5, 50, 0.0016, 0.10, points=20, cut=-0.02),
    "ponytail": Style(
        24000, (0.16, 0.20), 1.0, "tail", 0.15, 0.009, 0.0, 0.8, 60, 0.0008, 0.06, 0.05, points=14, knot="tail"
    ),
    "bun": Style(22000, (0.16, 0.20), 1.0, "bun", 0.15, 0.009, 0.0, 0.8, 60, 0.0008, 0.06, 0.05, points=14, knot="bun"),
    "braids": Style(
        22000, (0.20, 0.26), 1.0, "plaits", 0.12, 0.008, 0.0, 0.8, 60, 0.0006, 0.06, points=16, knot="plaits"
    ),
    "locs": Style(26000, (0.30, 0.36), 1.0, "part", 0.4, 0.022, 0.7, 1.0, 140, 0.0, 0.05, 0.02, points=20, cut=-0.07),
}
FRINGE = Style(0, (0.062, 0.072), 1.0, "forward", 0.30, 0.012, 0.9, 0.45, 30, 0.0012, 0.06, points=20)
GUIDES = 900


@dataclass
class Scalp:
    """The resting head that hair grows on, in metres of that head, with what guides need to know of it."""

    skull: Array
    normal: Array
    tree: cKDTree
    centre: Array
    chin: Array
    scale: float
    shoulder: Array
    shoulder_normal: Array
    shoulder_tree: cKDTree


def scalp_of(template: Template, body_rest: Array) -> Scalp:
    """The head of a resting body."""
    head, trunk = template.head, template.body
    skull = head.operator @ body_rest
    chosen = np.arange(0, len(skull), 2)
    chin = skull[template.nearest(CHIN)]
    above = skull[hairline(head.canonical) > 0]
    resting = trunk.operator @ body_rest
    x, z = np.abs(trunk.canonical[:, 0]), trunk.canonical[:, 2]
    near = (z < 0.60) & (z > 0.20) & (x < 0.30)
    return Scalp(
        skull=skull[chosen],
        normal=vertex_normals(skull, head.triangles)[chosen],
        tree=cKDTree(skull[chosen]),
        centre=np.array([0, above[:, 1].mean(), above[:, 2].mean()]),
        chin=chin,
        scale=float((skull[:, 2].max() - chin[2]) / 0.24),
        shoulder=resting[near],
        shoulder_normal=vertex_normals(resting, trunk.triangles)[near],
        shoulder_tree=cKDTree(resting[near]),
    )


@dataclass
class Roots:
    """Where strands leave the scalp."""

    point: Array
    normal: Array
    canonical: Array
    edge: Array  # metres inside the hairline
    side: Array  # -1 or 1: which side of the parting

    def __getitem__(self, index: Array) -> Roots:
        return Roots(self.point[index], self.normal[index], self.canonical[index], self.edge[index], self.side[index])


def draw_roots(template: Template, identity: Identity, body_rest: Array, count: int, rng: np.random.Generator) -> Roots:
    """Roots by area, thinner towards the hairline and where age has thinned the hair."""
    head = template.head
    skull = head.operator @ body_rest
    normal = vertex_normals(skull, head.triangles)
    ragged = 0.0035 * head.noise(120, identity.seed + 30) + 0.003 * head.noise(40, identity.seed + 31)
    edge = hairline(head.canonical, identity.recede) + ragged
    weight = smoothstep(-0.002, 0.016, edge) * (1 - head.fields["ear"]) * thinning(head.canonical, identity)
    chosen, share = scatter(skull, head.triangles, weight[head.triangles].min(1), count, rng)
    corner = head.triangles[chosen]

    def at(values: Array) -> Array:
        return np.asarray((values[corner] * (share[..., None] if values.ndim > 1 else share)).sum(1))

    point = at(skull)
    parting = identity.parting * (skull[:, 2].max() - skull[:, 2].min()) / 0.33
    wander = 0.0012 * np.sin(point[:, 1] * 260 + identity.seed % 7)
    side = np.where(point[:, 0] > parting + wander, 1.0, -1.0)
    return Roots(point, normalise(at(normal)), at(head.canonical), at(edge), side)


def thinning(canonical: Array, identity: Identity) -> Array:
    """Density of the hair relative to a full head: less on the crown of those who go bald."""
    crown = np.exp(-(((canonical[:, 0] / 0.06) ** 2) + ((canonical[:, 1] - 0.01) / 0.07) ** 2)) * (
        canonical[:, 2] > 0.78
    )
    return np.asarray(1 - min(0.85, identity.recede * 26) * crown)


class Grower:
    """Grows guides over one scalp."""

    def __init__(self, scalp: Scalp, identity: Identity, style: Style, rng: np.random.Generator) -> None:
        self.scalp, self.identity, self.style, self.rng = scalp, identity, style, rng
        self.knots = knots(scalp, identity, style)

    def lengths(self, roots: Roots) -> Array:
        """Length of each guide: shorter at sides, nape and hairline."""
        style, identity = self.style, self.identity
        low, high = style.length
        length = np.full(len(roots.point), low + (high - low) * identity.hair_length) * self.scalp.scale
        height = roots.canonical[:, 2]
        length *= np.interp(height, [0.66, 0.74, 0.80, 0.83], [style.sides * 0.8, style.sides, 0.9, 1.0])
        if style.cut is None and not style.knot:
            length *= np.interp(roots.edge, [0, 0.02], [0.6, 1.0])
        length *= 1 + 0.10 * noise(roots.canonical, 25, identity.seed + 33)
        return np.asarray(length)

    def comb(self, point: Array, roots: Roots) -> Array:
        """Direction the comb wants at a point."""
        kind, zero = self.style.comb, np.zeros(len(point))
        canonical, scalp = roots.canonical, self.scalp
        way = -np.sign(self.identity.parting)
        if kind == "side":
            low = smoothstep(0.80, 0.765, canonical[:, 2])
            front = smoothstep(-0.02, -0.09, canonical[:, 1])
            across = np.stack([0.6 * way + zero, -0.45 + 0.1 * front, zero - 0.05], 1)
            back = np.stack([0.2 * way + zero, zero + 0.9, zero - 0.6], 1)
            down = np.stack([zero, -0.15 + 0.5 * (canonical[:, 1] > 0), zero - 1], 1)
            top = across * front[:, None] + back * (1 - front[:, None])
            return normalise(top * (1 - low[:, None]) + down * low[:, None])
        if kind == "back":
            return normalise(np.stack([0.15 * np.sign(point[:, 0]), zero + 1, zero - 0.35], 1))
        if kind == "forward":
            behind = smoothstep(-0.03, 0.03, canonical[:, 1])[:, None]
            x = 0.2 * np.sin(roots.point[:, 0] * 90 + self.identity.seed % 7)
            ahead, down = np.stack([x, zero - 1, zero - 0.35], 1), np.stack([0 * x, zero + 0.1, zero - 1], 1)
            return normalise(ahead * (1 - behind) + down * behind)
        if kind == "part":
            front = smoothstep(-0.06, -0.12, canonical[:, 1])
            spread = np.stack([roots.side, 0.10 + 0.45 * front, zero - 0.7], 1)
            # Below the widest part of the head it falls, and a little inwards to the neck.
            across = np.abs(point[:, 0]) / scalp.scale
            fall = np.stack([-0.9 * np.clip(across - 0.086, -0.02, 0.06) / 0.06 * roots.side, zero + 0.06, zero - 1], 1)
            low = smoothstep(0.815, 0.765, (point[:, 2] - scalp.centre[2]) / scalp.scale + 0.775)[:, None]
            return normalise(spread * (1 - low) + fall * low)
        if kind in ("bun", "tail"):
            return normalise(self.knots[0] - point)
        if kind == "plaits":
            return normalise(np.where((roots.side > 0)[:, None], self.knots[0], self.knots[1]) - point)
        if kind == "out":
            return normalise(normalise(point - scalp.centre) + np.array([0, 0, 0.1]))
        return roots.normal

    def grow(self, roots: Roots) -> Array:
        """Paths (count, points, 3) of guides."""
        style, scalp, count = self.style, self.scalp, len(roots.point)
        step = self.lengths(roots) / (style.points - 1)
        # Hair from higher up lies over hair from below.
        over = np.interp(roots.canonical[:, 2], [0.66, 0.76, 0.84], [0.25, 0.6, 1.0])
        layer = style.volume * scalp.scale * over * np.interp(roots.edge, [0, 0.03], [0.3, 1])
        lean = 1 - style.lift
        direction = normalise(roots.normal * (1 - lean) + lean * self.comb(roots.point, roots))
        point, path = roots.point.copy(), [roots.point.copy()]
        nearest = scalp.tree.query(point)[1]
        resting, self.stop = np.zeros(count), np.full(count, style.points - 1)
        for k in range(1, style.points):
            along = k / (style.points - 1)
            aim, normal = self.comb(point, roots), scalp.normal[nearest]
            height = ((point - scalp.skull[nearest]) * normal).sum(1)
            close = np.clip(1 - height / (0.02 * scalp.scale), 0, 1)[:, None]
            tangent = normalise(aim - close * normal * (aim * normal).sum(1, keepdims=True) + 1e-6)
            pull = style.gravity * 0.35 * (1.0 if style.cut is not None else along) * np.array([0, 0, -1.0])
            follow = 0.45 if style.comb not in ("none", "out") else 0.15
            direction = normalise(direction * (1 - follow) + follow * tangent + pull * (1 - close))
            point = point + direction * step[:, None]
            nearest = scalp.tree.query(point)[1]
            normal = scalp.normal[nearest]
            height = ((point - scalp.skull[nearest]) * normal).sum(1)
            floor = np.minimum(layer, 0.0012 + along * 3 * layer)
            if style.comb in ("none", "out"):
                floor = np.full(count, 0.001)
            point = point + normal * np.clip(floor - height, 0, 0.02)[:, None]
            if style.cut is not None:
                raised = self._off_shoulders(point, layer)
                resting += step * (np.abs(raised - point).sum(1) > 1e-9)
                point = self._off_face(raised, roots, step)
                self.stop = np.where((resting > 0.09 * scalp.scale) & (self.stop == style.points - 1), k, self.stop)
            path.append(point.copy())
        return np.stack(path, 1)

    def _off_shoulders(self, point: Array, layer: Array) -> Array:
        scalp = self.scalp
        distance, index = scalp.shoulder_tree.query(point, distance_upper_bound=0.05)
        close = np.isfinite(distance)
        index = np.minimum(index, len(scalp.shoulder) - 1)
        normal = scalp.shoulder_normal[index]
        height = ((point - scalp.shoulder[index]) * normal).sum(1)
        return np.asarray(point + normal * (np.clip(0.016 + layer * 0.4 - height, 0, 0.025) * close)[:, None])

    def _off_face(self, point: Array, roots: Roots, step: Array) -> Array:
        """Hair of a parting stays beside the face."""
        scalp = self.scalp
        relative = (point - scalp.centre) / scalp.scale
        on_face = (relative[:, 1] < -0.03) & (relative[:, 2] < 0.03) & (relative[:, 2] > -0.30)
        limit = 0.064 * scalp.scale
        inside = on_face & (np.abs(point[:, 0]) < limit)
        away = np.abs(point[:, 0]) + 0.5 * (limit - np.abs(point[:, 0]))
        point[:, 0] = np.where(inside, roots.side * away, point[:, 0])
        point[:, 1] = np.where(on_face, point[:, 1] + 0.15 * step, point[:, 1])
        return point

    def trim(self, paths: Array) -> Array:
        """Cut hanging hair at its height, spreading the points over what is left."""
        style, scalp = self.style, self.scalp
        if style.cut is None:
            return paths
        bottom = scalp.chin[2] + (style.cut - 0.05 * self.identity.hair_length) * scalp.scale
        below = paths[:, :, 2] < bottom
        last = np.where(below.any(1), below.argmax(1), paths.shape[1] - 1)
        return resample(paths, np.maximum(np.minimum(last, self.stop), 3))


def knots(scalp: Scalp, identity: Identity, style: Style) -> list[Array]:
    """Where gathered hair is tied."""
    back, scale = scalp.skull[:, 1].max(), scalp.scale
    if style.knot == "bun":
        return [np.array([0, scalp.centre[1] + 0.055 * scale, scalp.skull[:, 2].max() - 0.004 * scale])]
    if style.knot == "tail":
        return [np.array([0, back - 0.002, scalp.centre[2] + 0.025 * scale])]
    if style.knot == "plaits":
        return [
            np.array([s * 0.070 * scale, scalp.centre[1] + 0.035 * scale, scalp.chin[2] + 0.045 * scale])
            for s in (1, -1)
        ]
    return []


def resample(paths: Array, last: Array) -> Array:
    """Paths cut at (fractional) point `last`, with as many points as before."""
    points = paths.shape[1]
    place = np.linspace(0, 1, points)[None] * last[:, None]
    index = np.floor(place).astype(int).clip(0, points - 2)
    share = (place - index)[..., None]
    low = np.take_along_axis(paths, index[..., None], 1)
    return np.asarray(low * (1 - share) + np.take_along_axis(paths, index[..., None] + 1, 1) * share)


def lengthen(strands: Array, points: int) -> Array:
    """The same strands with more points."""
    if strands.shape[1] == points:
        return strands
    place = np.linspace(0, strands.shape[1] - 1, points)
    index = np.minimum(place.astype(int), strands.shape[1] - 2)
    share = (place - index)[None, :, None]
    return np.asarray(strands[:, index] * (1 - share) + strands[:, index + 1] * share)


def follow(guides: Array, guide_roots: Roots, roots: Roots) -> Array:
    """Strands from roots that run like their nearest guides on their side of the parting."""
    result = np.empty((len(roots.point), guides.shape[1], 3))
    for side in (-1.0, 1.0):
        mine, theirs = np.where(roots.side == side)[0], np.where(guide_roots.side == side)[0]
        if not len(mine):
            continue
        theirs = theirs if len(theirs) >= 4 else np.arange(len(guides))
        distance, index = cKDTree(guide_roots.point[theirs]).query(roots.point[mine], k=4)
        weight = 1 / (distance + 0.002) ** 2
        weight /= weight.sum(1, keepdims=True)
        shapes = guides[theirs] - guides[theirs][:, :1]
        result[mine] = roots.point[mine][:, None] + np.einsum("nk,nkpc->npc", weight, shapes[index])
    return result


def gather(strands: Array, roots: Roots, style: Style, scale: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Strands pulled into locks, and the number of each strand's lock."""
    count, points = strands.shape[:2]
    along = np.linspace(0, 1, points)
    leaders = rng.choice(count, max(30, count // style.lock_size), replace=False)
    lock = np.zeros(count, int)
    for side in (-1.0, 1.0):
        mine, theirs = np.asarray(roots.side == side), np.where(roots.side[leaders] == side)[0]
        if mine.any() and len(theirs):
            lock[mine] = theirs[cKDTree(strands[leaders[theirs], 0]).query(strands[mine, 0])[1]]
    lead = strands[leaders][lock]
    apart = np.linalg.norm(lead[:, points // 2] - strands[:, points // 2], axis=1)
    pull = style.lock * rng.uniform(0.55, 1.0, (count, 1, 1)) * (along**0.7)[None, :, None]
    stays = np.asarray(rng.random((count, 1, 1)) > style.stray)
    pull = pull * stays * np.clip(2 - apart / (0.035 * scale), 0, 1)[:, None, None]
    return strands * (1 - pull) + lead * pull, lock


def curl(strands: Array, lock: Array, style: Style, scale: float, rng: np.random.Generator) -> Array:
    """Strands wound around their paths: locks in step, each strand a little different."""
    count, points = strands.shape[:2]
    along = np.linspace(0, 1, points)
    if style.curl:
        arc = np.arange(points)[None] * np.linalg.norm(np.diff(strands, axis=1), axis=2).mean(1, keepdims=True)
        direction = normalise(np.gradient(strands, axis=1))
        first = normalise(np.cross(direction, np.array([0.3, 0.5, 0.81])))
        second = np.cross(direction, first)
        locks = int(lock.max()) + 1
        phase = rng.uniform(0, 2 * np.pi, locks)[lock] + rng.normal(0, 0.45, count)
        pitch = style.pitch * rng.uniform(0.75, 1.3, locks)[lock][:, None] * scale
        turn = 2 * np.pi * arc / pitch + phase[:, None]
        size = style.curl * scale * np.clip(along * 3, 0, 1)[None] * rng.uniform(0.6, 1.3, (count, 1))
        strands = strands + (size * np.cos(turn))[..., None] * first + (size * np.sin(turn))[..., None] * second
    wobble = rng.normal(0, 1, (count, 3, 3))
    waves = np.stack([np.sin(np.pi * (k + 1) * along / 1.3) / (k + 1) for k in range(3)])
    swing = 0.0016 * scale * (0.35 + 3.0 * (rng.random((count, 1)) < style.stray)) * along
    return np.asarray(strands + np.einsum("nkc,kp->npc", wobble, waves) * swing[..., None])


def grow(
    scalp: Scalp, identity: Identity, style: Style, guide_roots: Roots, roots: Roots, rng: np.random.Generator
) -> Array:
    """Strands of one style from roots."""
    grower = Grower(scalp, identity, style, rng)
    guides = grower.trim(grower.grow(guide_roots))
    strands = follow(guides, guide_roots, roots)
    if style.lock >= 1:
        return _ropes(strands, roots, style, scalp.scale, rng)
    strands = resample(strands, (style.points - 1) * (1 - 0.28 * rng.random(len(strands)) ** 2))
    strands, lock = gather(strands, roots, style, scalp.scale, rng)
    return curl(strands, lock, style, scalp.scale, rng)


def _ropes(strands: Array, roots: Roots, style: Style, scale: float, rng: np.random.Generator) -> Array:
    """All strands wound into ropes around a few of them."""
    leaders = rng.choice(len(strands), len(strands) // style.lock_size, replace=False)
    which = cKDTree(strands[leaders, 0]).query(strands[:, 0])[1]
    paths = resample(strands[leaders], (style.points - 1) * rng.uniform(0.75, 1.0, len(leaders)))
    sway = rng.normal(0, 0.006, (len(leaders), 1, 3)) * np.linspace(0, 1, style.points)[None, :, None] ** 1.5 * scale
    wound = rope(paths + sway, which, 0.0040 * scale, 5.0, rng)
    return wound + rng.normal(0, 0.0005, wound.shape) * scale


def _tied(scalp: Scalp, identity: Identity, style: Style, rng: np.random.Generator) -> list[Array]:
    """What hangs from the knots of a style."""
    places, scale, points = knots(scalp, identity, style), scalp.scale, style.points
    if style.knot == "bun":
        return [bun(places[0], normalise(places[0] - scalp.centre), scale, points, rng)]
    if style.knot == "tail":
        side = float(np.sign(identity.parting))
        return [tail(places[0], normalise(np.array([0, 1.0, 0.25])), 0.34 * scale, side, points, rng)]
    if style.knot == "plaits":
        ends = [
            np.array([s * 0.088, -0.055, -0.155 - 0.05 * identity.hair_length]) * scale + scalp.chin * [0, 0, 1]
            for s in (1, -1)
        ]
        ends = [end + np.array([0, scalp.centre[1], 0]) for end in ends]
        return [plait(place, end, points, scale, rng) for place, end in zip(places, ends, strict=True)]
    return []


def head_hair(
    template: Template, identity: Identity, body_rest: Array, density: float = 1.0
) -> tuple[list[Array], float]:
    """Bundles of strands (count, points, 3) on the resting head, and their radius; far heads take fewer and thicker."""
    style = STYLES[identity.hair_style]
    rng = np.random.default_rng([identity.seed, 81])
    scalp = scalp_of(template, body_rest)
    guide_roots = draw_roots(template, identity, body_rest, GUIDES, rng)
    roots = draw_roots(template, identity, body_rest, int(style.strands * density), rng)
    bundles = []
    if identity.hair_style == "fringe":
        ahead = [_in_fringe(part) for part in (guide_roots, roots)]
        bundles.append(grow(scalp, identity, FRINGE, guide_roots[ahead[0]], roots[ahead[1]], rng))
        guide_roots, roots = guide_roots[~ahead[0]], roots[~ahead[1]]
    bundles.append(grow(scalp, identity, style, guide_roots, roots, rng))
    bundles += [bundle[:: max(1, round(1 / density))] for bundle in _tied(scalp, identity, style, rng)]
    return bundles, style.radius * density**-0.6


def _in_fringe(roots: Roots) -> Array:
    """Which roots belong to a fringe."""
    x, y, z = roots.canonical.T
    return np.asarray((y < -0.068 - 0.25 * np.abs(x)) & (z > 0.785) & (np.abs(x) < 0.058))
