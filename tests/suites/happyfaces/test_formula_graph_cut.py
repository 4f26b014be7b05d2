"""The normalised cut of graphs whose groups are known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from countenance.suites.happyfaces.spatial.regions import normalised_cut


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(3, 8), st.integers(3, 8))
def test_the_cut_finds_two_planted_groups(seed: int, first: int, second: int):
    rng = np.random.default_rng(seed)
    n = first + second
    affinity = rng.uniform(0, 0.05, (n, n))
    affinity[:first, :first] += 0.8
    affinity[first:, first:] += 0.8
    affinity = (affinity + affinity.T) / 2
    np.fill_diagonal(affinity, 1)
    side, cut = normalised_cut(affinity)
    assert len(set(side[:first])) == len(set(side[first:])) == 1 and side[0] != side[-1]
    across = affinity[side][:, ~side].sum()
    assert np.isclose(cut, across / affinity[side].sum() + across / affinity[~side].sum())


def test_a_weak_group_is_told_from_a_strong_one_as_by_trying_all_cuts():
    """Eigenvectors of the affinities themselves would follow the strong group alone."""
    rng = np.random.default_rng(1)
    affinity = rng.uniform(0, 0.004, (8, 8))
    affinity[:4, :4] += 5.0
    affinity[4:, 4:] += 0.05
    affinity = (affinity + affinity.T) / 2
    side, cut = normalised_cut(affinity)

    def value(some: np.ndarray) -> float:
        across = affinity[some][:, ~some].sum()
        return across / affinity[some].sum() + across / affinity[~some].sum()

    cuts = [np.array([bool(code >> k & 1) for k in range(8)]) for code in range(1, 255)]
    assert cut == min(map(value, cuts)) or np.isclose(cut, min(map(value, cuts)))
    assert len(set(side[:4])) == len(set(side[4:])) == 1


@pytest.mark.parametrize("seed", range(6))
def test_the_cut_is_the_best_along_the_second_generalised_eigenvector(seed):
    random = np.random.default_rng(seed)
    strength = random.uniform(0.1, 3, 9)  # nodes of very different degree
    affinity = random.uniform(0, 1, (9, 9)) * strength[:, None] * strength[None]
    affinity = affinity + affinity.T
    degree = np.diag(affinity.sum(axis=1))
    order = np.argsort(linalg.eigh(degree - affinity, degree)[1][:, 1])

    def value(side):
        across = affinity[np.ix_(side, ~side)].sum()
        return across / affinity[side].sum() + across / affinity[~side].sum()

    sides = [np.isin(np.arange(9), order[:k]) for k in range(1, 9)]
    side, cut = normalised_cut(affinity)
    assert cut == pytest.approx(min(map(value, sides))) == pytest.approx(value(side))
