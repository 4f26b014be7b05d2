"""Sums over clusters equal a plain loop, also where a cluster has rows on both sides or a row is in several groups."""

import numpy as np
import pytest

from countenance.audit.groups import group
from countenance.audit.sides import Members, Sides
from countenance.audit.table import Attribute
from countenance.audit.tests import covariance


def direct(rows, values, clusters):
    names = np.unique(clusters[rows])
    n = np.array([(clusters[rows] == c).sum() for c in names], float)
    y = np.array([values[rows][clusters[rows] == c].sum() for c in names])
    return len(rows), values[rows].sum(), len(names), n @ n, y @ n, y @ y


def residuals(rows, values, clusters, size):
    mean = values[rows].mean()
    return np.bincount(clusters[rows], values[rows] - mean, minlength=size) / len(rows)


@pytest.mark.parametrize("lists", [False, True], ids=["one group a row", "several groups a row"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "with nulls"])
@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_sums_equal_a_plain_loop(lists, missing, kind):
    rng = np.random.default_rng(0)
    total = 200
    values = rng.integers(0, 2, total).astype(float) if kind == "rate" else rng.normal(3, 1, total)
    if missing:
        values[rng.random(total) < 0.2] = np.nan
    clusters = rng.integers(0, 30, total)
    codes = rng.integers(-1, 4, total)
    if lists:
        table = rng.random((total, 4)) < 0.4
        where = np.nonzero(table)
        one = Attribute("a", list("wxyz"), where[1].astype(np.int32), where[0])
    else:
        table = codes[:, None] == np.arange(4)
        one = Attribute("a", list("wxyz"), codes.astype(np.int32))
    [grouping] = group([one], [values], [kind], 1, 100)
    members = Members.of(grouping, [one], total, clusters)
    sides = Sides(members, values, kind, (grouping.n[0], grouping.k[0]))
    valid = ~np.isnan(values)
    known = table.any(axis=1) & valid
    centred = values - sides.centre
    for g in range(4):
        inside, outside = np.flatnonzero(table[:, g] & valid), np.flatnonzero(known & ~table[:, g])
        for side, rows in ((sides.cell(g), inside), (sides.rest(g), outside)):
            found = (side.n, side.total, side.clusters, side.nn, side.yn, side.yy)
            assert found == pytest.approx(direct(rows, centred, clusters), abs=1e-8)
            assert side.mean == pytest.approx(values[rows].mean())
            assert side.spread == pytest.approx(values[rows].var())
        assert sorted(sides.members(g)) == sorted(inside) and (sides.others(g) == outside).all()
        e1, e2 = (residuals(rows, values, clusters, 30) for rows in (inside, outside))
        assert covariance(sides.cell(g), sides.rest(g), sides.cross_rest(g)) == pytest.approx(e1 @ e2, abs=1e-10)
        other = (g + 1) % 4
        e3 = residuals(np.flatnonzero(table[:, other] & valid), values, clusters, 30)
        assert covariance(sides.cell(g), sides.cell(other), sides.cross(g, other)) == pytest.approx(e1 @ e3, abs=1e-10)
