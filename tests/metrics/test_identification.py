"""Searching a gallery, against loops over every probe and candidate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.metrics.identification import open_set_curve, search, threshold_at


def slow(probes, person, gallery, owner, similarity):
    found = []
    for probe, who in zip(probes, person, strict=True):
        best: dict[int, float] = {}
        for face, mine in zip(gallery, owner, strict=True):
            if similarity == "cosine":
                length = np.linalg.norm(probe) * np.linalg.norm(face)
                score = float(probe @ face / length) if length else 0.0
            else:
                score = -float(((probe - face) ** 2).sum())
            best[int(mine)] = max(best.get(int(mine), -np.inf), score)
        own = best.pop(int(who), -np.inf)
        other = max(best.values(), default=-np.inf)
        rank = 0 if own == -np.inf else 1 + sum(score >= own for score in best.values())
        found.append((own, other, rank))
    return np.array(found).T


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 12), st.sampled_from(["cosine", "euclidean"]))
def test_every_probe_finds_what_a_loop_finds(seed, people, pictures, similarity):
    random = np.random.default_rng(seed)
    gallery, owner = random.normal(size=(pictures, 3)), random.integers(0, people, pictures)
    probes, person = random.normal(size=(9, 3)), random.integers(0, people + 2, 9)
    found = search(probes, person, gallery, owner, similarity)
    own, other, rank = slow(probes, person, gallery, owner, similarity)
    np.testing.assert_allclose(found.own, own, atol=1e-12)
    np.testing.assert_allclose(found.other, other, atol=1e-12)
    assert (found.rank == rank).all()
    assert (found.candidate[np.isfinite(other)] >= 0).all()


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.9, -np.inf]), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_a_threshold_keeps_its_rate_and_no_lower_one_does(scores, rate):
    alarms = np.array(scores)
    threshold = threshold_at(alarms, rate)
    assert (alarms >= threshold).mean() <= rate + 1e-9
    below = alarms[alarms < threshold]
    if len(below) and np.isfinite(below.max()):
        assert (alarms >= below.max()).mean() > rate


def test_equal_scores_count_against_the_model():
    found = search(np.ones((1, 2)), np.array([0]), np.ones((2, 2)), np.array([0, 1]))
    assert found.rank[0] == 2


def test_the_band_of_a_curve_covers_the_rate_behind_it():
    """Known people have their own chance of being found, so that pictures of one person are not independent."""
    covered = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        own = np.repeat(random.normal(1.0, 1.0, 60), 4) + random.normal(0, 0.5, 240)
        alarms = np.repeat(random.normal(0, 0.8, 80), 3) + random.normal(0, 0.6, 240)
        band = open_set_curve(own, np.arange(240) // 4, alarms, np.arange(240) // 3, np.array([0.1]), seed=seed)
        from scipy.stats import norm

        true = norm.cdf((norm.ppf(0.9) * 1.0 - 1.0) / np.hypot(1, 0.5))
        covered += bool(band.low[0] <= true <= band.high[0])
    assert covered >= 52


@pytest.mark.parametrize("similarity", ["cosine", "euclidean"])
def test_blocks_do_not_change_the_result(monkeypatch, similarity):
    import countenance.metrics.identification as module

    random = np.random.default_rng(1)
    data = (
        random.normal(size=(40, 5)),
        random.integers(0, 9, 40),
        random.normal(size=(20, 5)),
        random.integers(0, 7, 20),
    )
    whole = search(*data, similarity)
    monkeypatch.setattr(module, "BLOCK", 7)
    for one, two in zip(whole, search(*data, similarity), strict=True):
        np.testing.assert_allclose(one, two, atol=1e-12)
