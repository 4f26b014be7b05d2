"""Sums over clusters equal a plain loop: whole and split clusters, rows in several groups, nulls, shuffled labels."""

import numpy as np
import pytest

from countenance.auditing import audit, permutations
from countenance.auditing.estimates import bootstrap
from countenance.auditing.groups import group, subsets
from countenance.auditing.layout import Column
from countenance.auditing.permutations import Permutations
from countenance.auditing.row_labels import ComparisonRequest
from countenance.auditing.row_sums import RowSums
from countenance.auditing.sums import covariance
from countenance.auditing.table import Attribute
from countenance.auditing.units import Units

FIELDS = ("n", "total", "clusters", "nn", "yn", "yy", "squares", "nnn", "ynn", "yyn")


def direct(rows, values, clusters):
    """The sums of a side, one cluster after the other."""
    names = np.unique(clusters[rows])
    n = np.array([(clusters[rows] == c).sum() for c in names], float)
    y = np.array([values[rows][clusters[rows] == c].sum() for c in names])
    squares = (values[rows] ** 2).sum()
    cubes = (n**3).sum(), (n * n) @ y, (y * y) @ n
    return len(rows), values[rows].sum(), len(names), n @ n, y @ n, y @ y, squares, *cubes


def numbers(side, g=None):
    found = [getattr(side, name) for name in FIELDS]
    return [None if part is None else float(np.asarray(part)[g] if g is not None else part) for part in found]


def residuals(rows, values, clusters, size):
    mean = values[rows].mean()
    return np.bincount(clusters[rows], values[rows] - mean, minlength=size) / len(rows)


def make(seed, sizes, *, varying, lists, missing, kind):
    """A table with two attributes: one of four values, one of two (or a list of up to three)."""
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(len(sizes)), sizes)
    n, count = len(codes), len(sizes)

    def some(k):
        return (rng.integers(-1, k, n) if varying else rng.integers(-1, k, count)[codes]).astype(np.int32)

    first, second = Attribute("a", list("wxyz"), some(4)), Attribute("b", ["u", "v"], some(2))
    if lists:
        inside = rng.random((n, 3)) < 0.4 if varying else (rng.random((count, 3)) < 0.4)[codes]
        where = np.nonzero(inside)
        second = Attribute("b", list("pqr"), where[1].astype(np.int32), where[0])
    values = rng.integers(0, 2, n).astype(float) if kind == "rate" else rng.lognormal(0, 1, n)
    if missing:
        values[rng.random(n) < 0.2] = np.nan
    return [first, second], codes, Column.of("m", kind, values)


def table_of(one, total):
    inside = np.zeros((total, len(one.levels)), dtype=bool)
    rows = np.arange(total) if one.rows is None else one.rows
    inside[rows[one.codes >= 0], one.codes[one.codes >= 0]] = True
    return inside


SIZES = {"equal": [3] * 30, "alone": [1] * 70, "mixed": [1, 2, 3, 4, 5] * 8, "one giant": [60] + [2] * 30}


@pytest.mark.parametrize("lists", [False, True], ids=["one group a row", "several groups a row"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "with nulls"])
@pytest.mark.parametrize("varying", [False, True], ids=["whole", "split"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["rate", "mean"])
def test_sums_equal_a_plain_loop(lists, missing, kind, varying, sizes):
    attributes, codes, column = make(0, SIZES[sizes], varying=varying, lists=lists, missing=missing, kind=kind)
    total, values = len(codes), column.values
    units = Units(() if sizes == "alone" else (codes,), ("identity",))
    sums = RowSums(attributes, units, total)
    for grouping in group(attributes, subsets([0, 1], 2), set(), total, 100):
        members = grouping.members(attributes, total)
        found = sums.of(grouping, members, column, pairs=True)
        inside = np.ones((total, 1), dtype=bool)
        for index in grouping.attributes:
            inside = (inside[:, :, None] & table_of(attributes[index], total)[:, None, :]).reshape(total, -1)
        inside = inside[:, inside.any(axis=0)]
        valid = ~np.isnan(values)
        known = inside.any(axis=1) & valid
        for g in range(len(grouping.cells)):
            here, there = np.flatnonzero(inside[:, g] & valid), np.flatnonzero(known & ~inside[:, g])
            for side, rows in ((found.cells, here), (found.rests, there)):
                expected = direct(rows, values, codes)
                for name, ours, theirs in zip(FIELDS, numbers(side, g), expected, strict=True):
                    assert ours is None or ours == pytest.approx(theirs, abs=1e-7), name
                assert np.asarray(side.mean)[g] == pytest.approx(values[rows].mean() + column.centre)
                assert np.asarray(side.spread)[g] == pytest.approx(values[rows].var())
            if sizes == "alone" or not (len(here) and len(there)):
                continue
            e1, e2 = (residuals(rows, values, codes, len(SIZES[sizes])) for rows in (here, there))
            one, rest = found.cells.take(g), found.rests.take(g)
            assert covariance(one, rest, found.against_rest.take(g)) == pytest.approx(e1 @ e2, abs=1e-10)
            if lists:
                continue
            other = (g + 1) % len(grouping.cells)
            e3 = residuals(np.flatnonzero(inside[:, other] & valid), values, codes, len(SIZES[sizes]))
            cross = found.between(np.array([g]), np.array([other])).take(0)
            assert covariance(one, found.cells.take(other), cross) == pytest.approx(e1 @ e3, abs=1e-10)


def test_two_ways_have_the_sums_of_each_and_of_both_together():
    attributes, codes, column = make(1, [4] * 40, varying=True, lists=False, missing=False, kind="mean")
    images = np.random.default_rng(5).integers(0, 30, len(codes))
    both = np.unique(codes * 100 + images, return_inverse=True)[1]
    sums = RowSums(attributes, Units((codes, images), ("identity", "sample")), len(codes))
    [grouping] = group(attributes, [(0,)], set(), len(codes), 100)
    found = sums.of(grouping, grouping.members(attributes, len(codes)), column)
    for g in range(len(grouping.cells)):
        here = np.flatnonzero(attributes[0].codes == g)
        for way, clusters in zip([w for _, w in found.cells.ways], (codes, images, both), strict=True):
            expected = direct(here, column.values, clusters)
            got = [float(np.asarray(part)[g]) for part in (way.clusters, way.nn, way.yn, way.yy)]
            assert got == pytest.approx(expected[2:6])
        side = found.cells.take(g)
        parts = [way_variance(here, column.values, clusters) for clusters in (codes, images, both)]
        assert float(side.variance) == pytest.approx(parts[0] + parts[1] - parts[2])


def way_variance(rows, values, clusters):
    count = len(np.unique(clusters[rows]))
    e = residuals(rows, values, clusters, clusters.max() + 1)
    return count / (count - 1) * (e**2).sum()


@pytest.mark.parametrize("reference", [-1, 0], ids=["rest", "a named group"])
@pytest.mark.parametrize("lists", [False, True], ids=["one group a row", "several groups a row"])
@pytest.mark.parametrize("missing", [False, True], ids=["complete", "with nulls"])
@pytest.mark.parametrize("varying", [False, True], ids=["whole", "split"])
@pytest.mark.parametrize("sizes", SIZES)
def test_sums_of_shuffled_labels_equal_those_of_a_table_with_these_labels(sizes, varying, missing, lists, reference):
    if (reference == 0 and lists) or (varying and sizes == "alone"):
        pytest.skip("does not occur")
    attributes, codes, column = make(2, SIZES[sizes], varying=varying, lists=lists, missing=missing, kind="rate")
    other = Column.of("other", "mean", np.random.default_rng(9).normal(5, 2, len(codes)))
    total, alone = len(codes), sizes == "alone"
    units = Units(() if alone else (codes,), ("identity",))
    sums = RowSums(attributes, units, total)
    groupings = group(attributes, subsets([0, 1], 2), set(), total, 100)
    wanted = [wanted_of(one, groupings, reference) for one in (column, other)]
    drawn = Permutations(sums, groupings, wanted, seed=1)
    rows = record_rows(drawn, codes, alone)
    samples = next(drawn.draw(4))
    for b in range(min(4, drawn.batch)):
        shuffled = [relabelled(one, rows[0][b], total) for one in attributes]
        again = RowSums(shuffled, units, total)
        for one, sample in zip(wanted, samples, strict=True):
            for place, grouping in enumerate(groupings):
                here = one.place == place
                cells = one.g[here]
                found = again.of(grouping, grouping.members(shuffled, total), one.column, pairs=True)
                two = found.rests.take(cells)
                if reference >= 0:
                    two = found.cells.take(np.full(len(cells), reference))
                for side, expected in ((sample.first, found.cells.take(cells)), (sample.second, two)):
                    for name in FIELDS:
                        ours, theirs = getattr(side, name), getattr(expected, name)
                        if ours is not None and theirs is not None:
                            assert ours[b][here] == pytest.approx(theirs, abs=1e-7), name


def wanted_of(column, groupings, reference):
    place = np.concatenate([np.full(len(one.cells), i) for i, one in enumerate(groupings)])
    cells = np.concatenate([np.arange(len(one.cells)) for one in groupings])
    keep = cells != reference
    return ComparisonRequest(column, place[keep], cells[keep], np.full(int(keep.sum()), reference))


def record_rows(drawn, codes, alone):
    """Whose label each row takes, as the permutations draw it."""
    kept = []
    if drawn.rows:
        whole = drawn._row_labels
        drawn._row_labels = lambda donors: kept.append(whole(donors)) or kept[-1]
        return kept
    first = np.arange(len(codes)) if alone else np.searchsorted(codes, np.arange(codes.max() + 1))
    plain = drawn._shuffled

    def shuffled(values, size):
        donors = plain(np.arange(drawn.count), size)
        kept.append(first[donors][:, codes])
        return values[donors]

    drawn._shuffled = shuffled
    return kept


def relabelled(one, rows, total):
    if one.rows is None:
        return Attribute(one.name, one.levels, one.codes[rows])
    where = np.nonzero(table_of(one, total)[rows])
    return Attribute(one.name, one.levels, where[1].astype(np.int32), where[0])


def test_a_bootstrap_without_a_finite_value_has_limits_of_nothing() -> None:
    low, high, drawn = bootstrap(np.ones((3, 2)), lambda sums: np.full((len(sums), 4), np.nan), replicates=7)
    assert low.shape == high.shape == (4,) and np.isnan(low).all() and np.isnan(high).all() and drawn.shape == (7, 4)


@pytest.mark.parametrize("strata", [False, True], ids=["whole", "few people"])
def test_all_columns_in_one_pass_give_the_sums_of_single_columns(monkeypatch: pytest.MonkeyPatch, strata: bool) -> None:
    rng = np.random.default_rng(8)
    person = np.repeat(np.arange(150), rng.integers(1, 6, 150))
    group = rng.choice(["a", "b", "c"], 150)
    group = np.where(np.arange(150) < 8, "few", group) if strata else group
    rows = {
        "identity": person,
        "g": group[person],
        "ok": (rng.random(len(person)) < 0.8) * 1.0,
        "ms": rng.lognormal(0, 1, len(person)),
    }
    one_by_one = audit(rows, ["g"], ["ok", "ms"])
    monkeypatch.setattr(permutations, "MANY", 1)
    together = audit(rows, ["g"], ["ok", "ms"])
    assert one_by_one.settings["adjust"] == "minp"
    assert [(f.p, f.p_adjusted) for f in together.findings] == [(f.p, f.p_adjusted) for f in one_by_one.findings]
