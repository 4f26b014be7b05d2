"""Drawing the table of kinds by labels equals shuffling the labels, in distribution."""

import numpy as np
import pytest

from countenance.auditing import audit, contingency
from countenance.auditing.contingency import Contingency


def test_tables_have_the_moments_of_shuffled_labels():
    rng = np.random.default_rng(1)
    kinds, labels = np.repeat([0, 1, 2], [5, 20, 75]), np.repeat([0, 1, 2, 3], [10, 20, 30, 40])
    table = Contingency(np.array([0, 5, 25]), np.bincount(kinds), np.bincount(labels))
    drawn = table.draw(rng, 20_000)
    assert (drawn.sum(axis=2) == table.units).all() and (drawn.sum(axis=1) == table.labels).all()
    shuffled = np.zeros((4000, 3, 4))
    for b in range(len(shuffled)):
        np.add.at(shuffled[b], (kinds, rng.permutation(labels)), 1)
    assert drawn.mean(axis=0) == pytest.approx(np.outer(table.units, table.labels) / 100, abs=0.08)
    assert drawn.reshape(20_000, 12).std(axis=0) == pytest.approx(shuffled.reshape(4000, 12).std(axis=0), rel=0.06)
    near = [np.corrcoef(one.reshape(len(one), 12).T)[np.triu_indices(12, 1)] for one in (drawn, shuffled)]
    assert near[0] == pytest.approx(near[1], abs=0.08)


def test_units_of_many_kinds_are_shuffled():
    codes = np.tile([0, 1], 3000)
    assert Contingency.of([np.arange(6000.0)], codes, 2) is None
    assert Contingency.of([np.ones(100)], codes[:100], 2) is None
    late = np.r_[np.zeros(3000), np.arange(3000.0)]  # the first units look alike
    assert Contingency.of([late], codes, 2) is None


@pytest.mark.parametrize("rows", [1, 4])
def test_adjusted_p_agrees_with_shuffling(rows, monkeypatch):
    rng = np.random.default_rng(rows)
    people = 3000
    person = np.repeat(np.arange(people), rows)
    g, h = rng.integers(0, 4, people)[person].astype(str), rng.integers(0, 3, people)[person].astype(str)
    ok = (rng.random(len(person)) < np.where(g == "2", 0.87, 0.9)).astype(float)
    table = {"identity": person, "g": g, "h": h, "ok": ok}
    drawn = audit(table, ["g", "h"], ["ok"], adjust="minp")
    monkeypatch.setattr(contingency, "SAMPLE", 10**9)
    shuffled = audit(table, ["g", "h"], ["ok"], adjust="minp")
    assert drawn.settings["adjust"] == shuffled.settings["adjust"] == "minp"
    one, two = (np.array([f.p_adjusted for f in found.findings]) for found in (drawn, shuffled))
    assert (one != two).any()  # the draws differ
    assert one == pytest.approx(two, abs=0.05, nan_ok=True)
