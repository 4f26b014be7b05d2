"""Two heads on two features: what EM estimates of simulated items."""

import numpy as np

from countenance.metrics.two_views import estimate_mix_rate


def test_em_estimates_the_mix_rate():
    rng = np.random.default_rng(4)
    for rate in (0.1, 0.3):
        face = rng.random(4000) < 0.5
        word = np.where(rng.random(4000) < rate, ~face, face)
        p = [1 / (1 + np.exp(-(np.where(truth, 2.0, -2.0) + 2.0 * rng.normal(size=4000)))) for truth in (face, word)]
        assert abs(estimate_mix_rate(p[0], p[1], 0.1) - rate) < 0.05
