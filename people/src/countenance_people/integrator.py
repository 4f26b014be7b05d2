"""A path tracer that also returns what the finishing steps need: light that falls on the first surface, its albedo
and its normal; and that looks through lenses, which live in a scene of their own.

Lenses would block every shadow ray to the eyes behind them. So only camera rays meet them: they add the reflection
and colour what lies behind.

Import this module after a variant of mitsuba is set (`load_mitsuba`): its classes belong to one.
"""

from __future__ import annotations

from typing import Any

import drjit as dr
import mitsuba as mi

from countenance_people._backend import on_gpu
from countenance_people.palette import DARK_LENS

CHANNELS = ("light", "albedo", "normal")
COATED, UNCOATED = 0.006, 0.045
"""Reflectance of both faces of a lens at normal incidence: with a coating that keeps the eyes in sight, and that of
sunglasses without one."""


def make_integrator(max_depth: int, lenses: Any | None = None) -> Any:
    """An integrator for `mi.render` of up to `max_depth` edges.

    `lenses` is a scene; the diffuse colour of a shape in it is what that lens lets through.
    """
    integrator = People(mi.Properties("people"))
    integrator.max_depth, integrator.lenses = max_depth, lenses
    return integrator


def first_hit(scene: Any, ray: Any, active: Any) -> Any:
    """The first hit that is no lamp: lamps are not seen by the camera."""
    hit = scene.ray_intersect_preliminary(ray, active=active)
    for _ in range(2):
        lamp = hit.is_valid() & (hit.shape.emitter() != None) & active  # noqa: E711
        surface = hit.compute_surface_interaction(ray, mi.RayFlags.Minimal, lamp)
        hit[lamp] = scene.ray_intersect_preliminary(surface.spawn_ray(ray.d), active=lamp)
    return hit


class People(mi.SamplingIntegrator):
    """Path tracing with emitter sampling; channels after RGBA are those of `CHANNELS`."""

    max_depth = 4
    lenses: Any = None

    def aov_names(self) -> list[str]:
        return [f"{name}.{axis}" for name in CHANNELS for axis in "RGB"]

    @dr.syntax
    def sample(self, scene, sampler, ray, medium=None, active=True):  # type: ignore[no-untyped-def]
        context = mi.BSDFContext()
        ray = mi.Ray3f(ray)
        active = mi.Bool(active)
        radiance, irradiance = mi.Spectrum(0), mi.Spectrum(0)
        weight, light_weight = mi.Spectrum(1), mi.Spectrum(0)
        depth = mi.UInt32(0)
        previous = dr.zeros(mi.SurfaceInteraction3f)
        previous_pdf = mi.Float(1)
        if dr.hint(self.lenses is not None, mode="scalar"):
            lens = self.lenses.ray_intersect(ray, active)
            if dr.hint(on_gpu(), mode="scalar"):
                dr.eval(ray, lens)  # OptiX follows rays through one scene in a kernel
        hit = first_hit(scene, ray, active)
        valid = mi.Bool(active & hit.is_valid())
        if dr.hint(self.lenses is not None, mode="scalar"):
            worn = lens.is_valid() & (lens.t < dr.select(hit.is_valid(), hit.t, dr.inf))
            let_through = lens.bsdf().eval_diffuse_reflectance(lens, worn)
            straight = dr.select(dr.max(let_through) < DARK_LENS, UNCOATED, COATED)
            share = straight + (1 - straight) * (1 - dr.abs(dr.dot(ray.d, lens.n))) ** 5
            mirrored = lens.spawn_ray(lens.to_world(mi.reflect(lens.wi)))
            seen = scene.ray_intersect(mirrored, worn)
            radiance += dr.select(worn, share * seen.emitter(scene, worn).eval(seen, worn), 0)
            weight = dr.select(worn, (1 - share) * let_through, mi.Spectrum(1))
        first = hit.compute_surface_interaction(ray, mi.RayFlags.All, valid)
        albedo = first.bsdf().eval_diffuse_reflectance(first, valid)
        normal = mi.Normal3f(first.sh_frame.n)
        while dr.hint(active, max_iterations=self.max_depth):
            si = hit.compute_surface_interaction(ray, mi.RayFlags.All, active)
            bsdf = si.bsdf(ray)
            # Light that the last direction met by chance.
            ds = mi.DirectionSample3f(scene, si=si, ref=previous)
            chance = scene.pdf_emitter_direction(previous, ds, depth > 0)
            share = dr.select(depth > 0, previous_pdf / (previous_pdf + chance), 0)
            emitted = dr.select(depth > 0, share * ds.emitter.eval(si, active & (depth > 0)), 0)
            radiance += weight * emitted
            irradiance += light_weight * emitted
            further = active & si.is_valid() & (depth + 1 < self.max_depth)
            # Light that is sampled.
            ds, arriving = scene.sample_emitter_direction(si, sampler.next_2d(), True, further)
            lit = further & (ds.pdf != 0)
            out = si.to_local(ds.d)
            value, pdf = bsdf.eval_pdf(context, si, out, lit)
            arriving *= dr.select(ds.delta, 1, ds.pdf / (ds.pdf + pdf))
            radiance += dr.select(lit, weight * value * arriving, 0)
            falling = dr.maximum(out.z, 0) * dr.inv_pi * arriving
            irradiance += dr.select(lit, dr.select(depth == 0, falling, light_weight * value * arriving), 0)
            # The next direction.
            sampled, scale = bsdf.sample(context, si, sampler.next_1d(), sampler.next_2d(), further)
            slope = dr.maximum(sampled.wo.z, 0) * dr.inv_pi / dr.maximum(sampled.pdf, 1e-6)
            light_weight = dr.select(depth == 0, mi.Spectrum(slope), light_weight * scale)
            weight *= scale
            previous, previous_pdf = si, sampled.pdf
            active = further & (sampled.pdf > 0) & (dr.max(weight + light_weight) > 0)
            ray = si.spawn_ray(si.to_world(sampled.wo))
            hit = scene.ray_intersect_preliminary(ray, active=active)
            depth += 1
        aovs = [irradiance.x, irradiance.y, irradiance.z, albedo.x, albedo.y, albedo.z, normal.x, normal.y, normal.z]
        return dr.select(valid, radiance, 0), valid, [dr.select(valid, aov, 0) for aov in aovs]
