"""Two heads on two features: who is called what, and what EM makes of simulated items."""

import numpy as np
import pytest

from countenance.suites.happyfaces.formulas import two_views
from countenance.suites.happyfaces.formulas.kernel_ridge import fit_platt, fit_ridge, soft_targets
from countenance.suites.happyfaces.formulas.two_views import (
    assign_heads,
    disagreement,
    estimate_mix_rate,
    learn,
    posteriors,
    worst_head,
)


def test_em_estimates_the_mix_rate():
    rng = np.random.default_rng(4)
    for rate in (0.1, 0.3):
        face = rng.random(4000) < 0.5
        word = np.where(rng.random(4000) < rate, ~face, face)
        p = [1 / (1 + np.exp(-(np.where(truth, 2.0, -2.0) + 2.0 * rng.normal(size=4000)))) for truth in (face, word)]
        assert abs(estimate_mix_rate(p[0], p[1], 0.1) - rate) < 0.05


def test_the_estimate_is_where_the_implied_disagreement_is_the_rate_itself_and_stays_in_its_limits():
    first, second = np.array([0.9, 0.1, 0.95, 0.1]), np.array([0.8, 0.1, 0.1, 0.05])
    rate = estimate_mix_rate(first, second, 0.1)
    assert 0.1 < rate < 0.4 and posteriors(first, second, rate)[1] == pytest.approx(rate, abs=1e-5)
    same, opposite = np.array([0.99, 0.01]), np.array([0.01, 0.99])
    assert estimate_mix_rate(same, same, 0.1) == 0.005
    assert estimate_mix_rate(same, opposite, 0.1) == 0.5 and estimate_mix_rate(same, opposite, 0.1, 0.9) == 0.9


def test_posteriors_are_those_of_the_four_outcomes():
    q, apart = posteriors(np.array([0.7]), np.array([0.4]), 0.2)
    joint = {
        (f, t): (0.7 if f else 0.3) * (0.4 if t else 0.6) * (0.8 if f == t else 0.2) for f in (0, 1) for t in (0, 1)
    }
    whole = sum(joint.values())
    assert q[0] == pytest.approx([(joint[1, 0] + joint[1, 1]) / whole, (joint[0, 1] + joint[1, 1]) / whole])
    assert apart == pytest.approx((joint[1, 0] + joint[0, 1]) / whole)
    assert disagreement(np.array([[0.7, 0.4]])) == pytest.approx([0.7 * 0.6 + 0.3 * 0.4])


def test_heads_are_named_so_that_the_worse_one_is_as_good_as_can_be_then_both():
    truth = np.array([[1, 1], [1, 1], [0, 0], [0, 1]], bool)
    heads = np.array([[1, 1], [1, 0], [0, 0], [0, 0]], bool)
    assert assign_heads(heads, truth) == (1, 0), "three quarters twice, rather than all and a half"
    assert worst_head(heads, truth) == 0.75
    level = np.array([[1, 0], [1, 0], [0, 0], [0, 0]], bool)
    words = np.array([[1, 1], [0, 0], [1, 0], [0, 1]], bool)
    assert worst_head(level, words) == 0.5 and assign_heads(level, words) == (0, 1)
    assert np.isnan(worst_head(heads[:0], truth[:0]))


@pytest.fixture
def views():
    """Labelled items whose features agree, unlabelled ones of which 30 % do not, and a kernel for each view."""
    rng = np.random.default_rng(0)
    labels = np.arange(120) % 2
    first = rng.random(300) < 0.5
    second = np.where(rng.random(300) < 0.3, ~first, first)
    truths = [np.concatenate([labels == 1, own]) for own in (first, second)]
    seen = [np.where(truth, 2.5, -2.5) + rng.normal(size=420) for truth in truths]
    return labels, truths, seen, [np.outer(x, x) for x in seen]


def test_both_heads_learn_from_unlabelled_items(views):
    labels, truths, seen, kernels = views
    heads, rate = learn(kernels, [labels, labels], [0.1, 0.3])
    assert rate == pytest.approx(0.3, abs=0.07), "a little low: heads that learn from 120 items are not too sure"
    for head, truth, x, kernel in zip(heads, truths, seen, kernels, strict=True):
        assert ((head(kernel[120:]) > 0.5) == truth[120:]).mean() > 0.9
        assert head(np.outer([-3.0, 3.0], x))[0] < 0.05


def test_without_further_rounds_the_heads_are_those_of_the_labelled_items(views, monkeypatch):
    labels, _, _, kernels = views
    monkeypatch.setattr(two_views, "ROUNDS", 0)
    heads, _ = learn(kernels, [labels, labels], [0.1, 0.3])
    for head, kernel, ridge in zip(heads, kernels, (0.1, 0.3), strict=True):
        alone = fit_ridge(kernel[:120, :120], np.where(labels == 1, 1.0, -1.0), ridge)
        line = fit_platt(alone.left_out, soft_targets(labels))
        assert head(kernel[120:, :120]) == pytest.approx(line(alone.score(kernel[120:, :120])), abs=1e-12)


def test_a_round_takes_the_posteriors_of_left_out_scores_as_targets(views, monkeypatch):
    """One further round, written out."""
    labels, _, _, kernels = views
    monkeypatch.setattr(two_views, "ROUNDS", 1)
    heads, rate = learn(kernels, [labels, labels], [0.1, 0.3], most=0.45)
    hard, guessed = np.where(labels == 1, 1.0, -1.0), []
    for kernel, ridge in zip(kernels, (0.1, 0.3), strict=True):
        alone = fit_ridge(kernel[:120, :120], hard, ridge)
        guessed.append(fit_platt(alone.left_out, soft_targets(labels))(alone.score(kernel[120:, :120])))
    q, _ = posteriors(*guessed, estimate_mix_rate(*guessed, 0.1, 0.45))
    lines, left = [], []
    for k, (kernel, ridge) in enumerate(zip(kernels, (0.1, 0.3), strict=True)):
        both = fit_ridge(kernel, np.concatenate([hard, 2 * q[:, k] - 1]), ridge)
        lines.append(fit_platt(both.left_out[:120], soft_targets(labels)))
        left.append(lines[-1](both.left_out[120:]))
        assert heads[k](kernel) == pytest.approx(lines[-1](both.score(kernel)), abs=1e-12)
    assert rate == pytest.approx(estimate_mix_rate(*left, estimate_mix_rate(*guessed, 0.1, 0.45), 0.45), abs=1e-12)


def test_hard_items_that_were_asked_about_change_neither_the_scale_nor_the_mix_rate():
    """60 labelled items, 12 answered ones on which the first head's feature points the wrong way, 80 unlabelled."""
    rng = np.random.default_rng(0)
    labels = np.array([1, 0] * 30)
    hard = np.array([1, 0] * 6)
    others = rng.integers(0, 2, (80, 2))
    first = np.concatenate([labels, 1 - hard, others[:, 0]]) * 2.0 - 1 + rng.normal(0, 0.4, 152)
    second = np.concatenate([labels, 1 - hard, others[:, 1]]) * 2.0 - 1 + rng.normal(0, 0.4, 152)
    kernels = [np.exp(-np.square(x[:, None] - x[None])) for x in (first, second)]
    answered = [np.concatenate([labels, hard]), np.concatenate([labels, 1 - hard])]
    blind, _ = two_views.learn(kernels, answered, [0.1, 0.1])
    careful, rate = two_views.learn(kernels, answered, [0.1, 0.1], labelled_first=60)
    ends = np.exp(-np.square(np.array([-1.0, 1.0])[:, None] - first[None]))
    sure, flat = (abs(head[0](ends) - 0.5).min() for head in (careful, blind))
    assert sure > flat, "probabilities of clear items stay clear"
    assert two_views.estimate_mix_rate(np.full(9, 0.9), np.full(9, 0.9), 0.1, known=(6, 9)) > 0.2
    assert 0.3 < rate <= 0.5
