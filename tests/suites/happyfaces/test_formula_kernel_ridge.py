"""Kernel ridge regression and Platt scaling against scikit-learn, and leave-one-out against leaving one out."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.suites.happyfaces.formulas.kernel_ridge import distances, fit_platt, fit_ridge, soft_targets


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), ridge=st.floats(0.05, 5))
def test_closed_form_leave_one_out_is_leaving_one_out(seed: int, ridge: float):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(12, 4)), np.where(rng.random(12) < 0.5, -1.0, 1.0)
    kernel = x @ x.T
    whole = fit_ridge(kernel, y, ridge)
    for i in range(12):
        rest = np.arange(12) != i
        again = fit_ridge(kernel[np.ix_(rest, rest)], y[rest], ridge).score(kernel[[i]][:, rest])
        assert np.isclose(whole.left_out[i], again[0], atol=1e-6)


def test_kernel_ridge_agrees_with_scikit_learn():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    new = rng.normal(size=(7, 5))
    expected = Ridge(alpha=0.7).fit(x, y).predict(new)
    np.testing.assert_allclose(fit_ridge(x @ x.T, y, 0.7).score(new @ x.T), expected, atol=1e-8)


def test_platt_scaling_agrees_with_scikit_learn():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    score = rng.normal(size=300)
    labels = (rng.random(300) < 1 / (1 + np.exp(-2 * score + 0.5))).astype(np.int64)
    reference = LogisticRegression(C=np.inf, tol=1e-10).fit(score[:, None], labels)
    ours = fit_platt(score, labels.astype(np.float64))
    assert np.isclose(ours.slope, reference.coef_[0, 0], atol=1e-3)
    assert np.isclose(ours.offset, reference.intercept_[0], atol=1e-3)


def test_separable_scores_do_not_give_infinite_slopes():
    labels = np.array([1] * 10 + [0] * 10)
    platt = fit_platt(np.where(labels == 1, 1.0, -1.0), soft_targets(labels))
    assert 0 < platt.slope < 10


def test_distances_are_squared_differences():
    a, b = (np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32) for seed, n in ((0, 4), (1, 5)))
    np.testing.assert_allclose(distances(a, b), ((a[:, None] - b[None]) ** 2).sum(axis=2), atol=1e-5)
