"""ERM: both heads are trained on the labels alone, and both learn the easier feature, the text."""

from typing import Any

from countenance.suites.happyfaces.interface import Heads, Labels, Pictures


class ERM:
    """Empirical risk minimisation, the baseline."""

    name = "erm"

    def __init__(self, seed: int = 0, settings: Any = None) -> None:
        self.seed, self.settings = seed, settings

    def fit(self, labelled: Pictures, labels: Labels, unlabelled: Pictures) -> Heads:
        """Two heads on one network; the unlabelled photos are not looked at."""
        from countenance.suites.happyfaces.networks.fitting import fit_network

        return fit_network(labelled, labels, unlabelled, None, self.settings, self.seed)
