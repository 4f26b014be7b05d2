"""Mesh maths: what subdivision, clipping and splitting must keep."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from countenance_people import mesh

CUBE_POINTS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
CUBE = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
SQUARE_POINTS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
SQUARE = np.array([[0, 1, 2], [0, 2, 3]])


def area(points: mesh.Array, triangles: mesh.Array) -> float:
    a, b, c = (points[triangles[:, i]] for i in range(3))
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def test_subdivision_weights_sum_to_one() -> None:
    operator, quads = mesh.catmull_clark(CUBE, 8)
    assert operator.shape == (8 + 12 + 6, 8)
    assert len(quads) == 24
    assert np.allclose(np.asarray(operator.sum(1)), 1)


def test_a_subdivided_cube_shrinks_towards_a_ball() -> None:
    operator, quads = mesh.catmull_clark(CUBE, 8)
    points = operator @ CUBE_POINTS
    radius = np.linalg.norm(points - 0.5, axis=1)
    assert radius.max() < np.sqrt(3) / 2
    assert quads.max() == len(points) - 1


def test_subdivision_keeps_a_straight_border() -> None:
    operator, _ = mesh.catmull_clark(np.array([[0, 1, 2, 3]]), 4)
    points = operator @ SQUARE_POINTS
    assert points.min() >= 0 and points.max() <= 1
    assert np.allclose(points[:, 2], 0)


def test_clipping_cuts_along_the_line_and_not_along_triangles() -> None:
    field = 0.3 - SQUARE_POINTS[:, 0]
    triangles, [points] = mesh.clip(SQUARE, field, [SQUARE_POINTS])
    assert points[:, 0].max() == pytest.approx(0.3)
    assert area(points, triangles) == pytest.approx(0.3)


def test_clipping_everything_or_nothing() -> None:
    triangles, [points] = mesh.clip(SQUARE, np.ones(4), [SQUARE_POINTS])
    assert area(points, triangles) == pytest.approx(1)
    triangles, [points] = mesh.clip(SQUARE, -np.ones(4), [SQUARE_POINTS])
    assert len(triangles) == 0


def test_splitting_keeps_the_area_and_orientation() -> None:
    triangles, [points] = mesh.split(SQUARE, np.array([True, False]), [SQUARE_POINTS])
    assert len(triangles) == 5
    assert area(points, triangles) == pytest.approx(1)
    assert np.all(mesh.vertex_normals(points, triangles)[:, 2] > 0.99)


def test_noise_is_smooth_bounded_and_repeatable() -> None:
    points = np.random.default_rng(0).uniform(0, 1, (500, 3))
    first = mesh.noise(points, 5, 1)
    assert np.array_equal(first, mesh.noise(points, 5, 1))
    assert np.abs(first).max() < 2.5
    assert np.abs(first - mesh.noise(points + 1e-5, 5, 1)).max() < 0.01


def test_a_noise_bank_differs_by_seed_but_not_by_call() -> None:
    bank = mesh.NoiseBank(np.random.default_rng(0).uniform(0, 1, (100, 3)))
    assert np.array_equal(bank(10, 3), bank(10, 3))
    assert not np.allclose(bank(10, 3), bank(10, 4))


def test_sphere_fit_finds_centre_and_radius() -> None:
    direction = mesh.normalise(np.random.default_rng(1).normal(size=(60, 3)))
    centre, radius = mesh.fit_sphere(np.array([1.0, 2, 3]) + 0.5 * direction)
    assert np.allclose(centre, [1, 2, 3])
    assert radius == pytest.approx(0.5)


def test_colour_coding_returns() -> None:
    values = np.linspace(0, 1, 11)
    assert np.allclose(mesh.linear_to_srgb(mesh.srgb_to_linear(values)), values)
