"""From numpy to Mitsuba: meshes, curves, materials, and rays with numpy answers."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from countenance_people._backend import load_mitsuba
from countenance_people.mesh import Array, vertex_normals

Dict = dict[str, Any]


def rgb(colour: Any) -> Dict:
    return {"type": "rgb", "value": [float(value) for value in np.clip(colour, 0, None)]}


def principled(colour: Any, roughness: Any, specular: float = 0.4, **more: Any) -> Dict:
    return {"type": "principled", "base_color": colour, "roughness": roughness, "specular": specular, **more}


def bitmap(image: Array, repeat: float = 1.0) -> Dict:
    mi, _ = load_mitsuba()
    data = mi.Bitmap(np.ascontiguousarray(image, np.float32))
    return {
        "type": "bitmap",
        "bitmap": data,
        "raw": True,
        "to_uv": mi.ScalarTransform3f().scale([repeat, repeat]),
    }


def make_mesh(
    name: str,
    vertices: Array,
    triangles: Array,
    bsdf: Dict,
    normals: Array,
    attributes: dict[str, Array] | None = None,
    uv: Array | None = None,
) -> Any:
    """A Mitsuba mesh with vertex attributes."""
    mi, _ = load_mitsuba()
    properties = mi.Properties()
    properties["mesh_bsdf"] = mi.load_dict(bsdf)
    mesh = mi.Mesh(
        name,
        len(vertices),
        len(triangles),
        has_vertex_normals=True,
        has_vertex_texcoords=uv is not None,
        props=properties,
    )
    for key, values in (attributes or {}).items():
        mesh.add_attribute(key, values.shape[1], np.ascontiguousarray(values, np.float32).ravel())
    parameters = mi.traverse(mesh)
    parameters["vertex_positions"] = np.ascontiguousarray(vertices, np.float32).ravel()
    parameters["faces"] = np.ascontiguousarray(triangles, np.uint32).ravel()
    parameters["vertex_normals"] = np.ascontiguousarray(normals, np.float32).ravel()
    if uv is not None:
        parameters["vertex_texcoords"] = np.ascontiguousarray(uv, np.float32).ravel()
    parameters.update()
    return mesh


def hair_fibre(eumelanin: float, pheomelanin: float) -> Dict:
    """A hair that scatters light as melanin lets it."""
    melanin = {"eumelanin": float(eumelanin), "pheomelanin": float(pheomelanin)}
    return {"type": "hair", **melanin, "longitudinal_roughness": 0.28, "azimuthal_roughness": 0.32}


def make_curves(folder: Path, name: str, strands: Array, radius: float, bsdf: Dict, taper: float = 0.35) -> Any:
    """B-spline curves; ends are doubled so that they reach root and tip. `folder` is for the file the plugin wants."""
    mi, _ = load_mitsuba()
    first, last = 2 * strands[:, :1] - strands[:, 1:2], 2 * strands[:, -1:] - strands[:, -2:-1]
    points = np.concatenate([first, strands, last], 1)
    length = points.shape[1]
    thickness = radius * (1 - (1 - taper) * np.linspace(0, 1, length) ** 2)
    table = np.concatenate([points, np.broadcast_to(thickness[None, :, None], (*points.shape[:2], 1))], -1)
    # Mitsuba reads past the end of its buffers when a ray hits the last segment, which crashes now and then:
    # a last strand too small to be hit keeps those reads inside.
    speck = np.tile(np.r_[points.reshape(-1, 3).mean(0), 1e-6], (1, length, 1))
    speck[0, :, 2] += np.arange(length) * 2e-5
    table = np.concatenate([table, speck])
    seed = folder / "curve.txt"
    if not seed.exists():
        seed.write_text("".join(f"0 0 {k} 1\n" for k in range(5)))
    curves = mi.load_dict({"type": "bsplinecurve", "id": name, "filename": str(seed), "bsdf": bsdf})
    parameters = mi.traverse(curves)
    starts = np.arange(len(table))[:, None] * length + np.arange(length - 3)[None]
    parameters["control_points"] = mi.Float(np.ascontiguousarray(table, np.float32).ravel())
    parameters["segment_indices"] = mi.UInt32(np.ascontiguousarray(starts, np.uint32).ravel())
    parameters["control_point_count"] = table.shape[0] * length
    parameters.update()
    return curves


@dataclass
class ScenePart:
    """One Mitsuba shape with the truth of its primitives."""

    shape: Any
    label: Array  # per triangle, or one number for all
    body_part: Array
    colour: Array | None = None  # per triangle, for the skin filter


@dataclass
class MeshBuilder:
    """Collects a person's plain surfaces into one mesh: one shape compiles and traces faster than twenty."""

    vertices: list[Array] = field(default_factory=list)
    triangles: list[Array] = field(default_factory=list)
    normals: list[Array] = field(default_factory=list)
    colours: list[Array] = field(default_factory=list)
    rough: list[Array] = field(default_factory=list)
    coat: list[Array] = field(default_factory=list)
    labels: list[Array] = field(default_factory=list)
    body_parts: list[Array] = field(default_factory=list)
    specular: float = 0.26
    count: int = 0

    def add(
        self,
        vertices: Array,
        triangles: Array,
        colour: Any,
        label: Any,
        body_part: Any,
        roughness: Any = 0.8,
        coat: float = 0.0,
        normals: Array | None = None,
    ) -> None:
        if not len(triangles):
            return
        used, index = np.unique(triangles.ravel(), return_inverse=True)
        size = len(used)
        normals = vertex_normals(vertices, triangles) if normals is None else normals
        self.vertices.append(vertices[used])
        self.normals.append(normals[used])
        self.triangles.append(index.reshape(-1, 3) + self.count)
        colour = np.asarray(colour, float)
        self.colours.append(colour[used] if colour.ndim == 2 else np.tile(colour, (size, 1)))
        rough = np.asarray(roughness, float)
        self.rough.append(rough[used, None] if rough.ndim else np.full((size, 1), rough))
        self.coat.append(np.full((size, 1), coat))
        self.labels.append(np.broadcast_to(np.asarray(label, np.uint8), len(triangles)))
        self.body_parts.append(np.broadcast_to(np.asarray(body_part, np.uint8), len(triangles)))
        self.count += size

    def build(self, name: str) -> ScenePart:
        attribute = {"type": "mesh_attribute"}
        material = principled(
            {**attribute, "name": "vertex_color"},
            {**attribute, "name": "vertex_rough"},
            self.specular,
            clearcoat={**attribute, "name": "vertex_coat"},
            clearcoat_gloss=0.95,
            flatness=0.35,
            spec_tint=0.25,
        )
        colours, triangles = np.concatenate(self.colours), np.concatenate(self.triangles)
        shape = make_mesh(
            name,
            np.concatenate(self.vertices),
            triangles,
            {"type": "twosided", "bsdf": material},
            np.concatenate(self.normals),
            {
                "vertex_color": colours,
                "vertex_rough": np.concatenate(self.rough),
                "vertex_coat": np.concatenate(self.coat),
            },
        )
        face_colour = colours[triangles].mean(1).astype(np.float32)
        return ScenePart(shape, np.concatenate(self.labels), np.concatenate(self.body_parts), face_colour)


def workspace() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process alone: two processes that share one read each other's hair."""
    return tempfile.TemporaryDirectory(prefix=f"countenance_{os.getpid()}_")


@dataclass
class Hits:
    """First hits of rays: scene shape number (-1 for none), primitive, distance."""

    shape: Array
    primitive: Array
    distance: Array


def cast(scene: Any, names: list[str], origin: Array, directions: Array) -> Hits:
    """One ray per direction; shape numbers index `names`. The `aov` integrator mislabels shapes."""
    mi, dr = load_mitsuba()
    number = {name: index for index, name in enumerate(names)}
    if mi.variant().startswith("scalar"):
        return _cast_scalar(mi, scene, number, origin, directions)
    x, y, z = (mi.Float(np.ascontiguousarray(directions[:, i], np.float32)) for i in range(3))
    ray = mi.Ray3f(o=mi.Point3f(*[float(v) for v in origin]), d=mi.Vector3f(x, y, z))
    hit = scene.ray_intersect_preliminary(ray)
    handle = np.array(dr.reinterpret_array(mi.UInt32, hit.shape))
    primitive, distance = np.array(hit.prim_index), np.array(hit.t)
    registry = np.array(dr.reinterpret_array(mi.UInt32, scene.shapes_dr()))
    table = np.full(int(max(handle.max(), registry.max())) + 1, -1)
    for place, shape in zip(registry, scene.shapes(), strict=True):
        table[place] = number.get(shape.id(), -1)
    table[0] = -1
    missed = ~np.isfinite(distance)
    shape_number = np.where(missed, -1, table[handle])
    return Hits(shape_number, primitive, distance)


def _cast_scalar(mi: Any, scene: Any, number: dict[str, int], origin: Array, directions: Array) -> Hits:
    start = mi.Point3f(*[float(v) for v in origin])
    rows = []
    for direction in directions:
        hit = scene.ray_intersect_preliminary(mi.Ray3f(start, mi.Vector3f(*[float(v) for v in direction])))
        if hit.is_valid():
            rows.append((number.get(hit.shape.id(), -1), hit.prim_index, hit.t))
        else:
            rows.append((-1, 0, np.inf))
    shape, primitive, distance = (np.array(column) for column in zip(*rows, strict=True))
    return Hits(shape, primitive, distance)
