"""ERM: both heads are trained on the labels alone, and both learn the easier feature, the text."""

from countenance.suites.happyfaces.networks.heads import TogetherMethod


class ERM(TogetherMethod):
    """Empirical risk minimisation, the baseline."""

    name = "erm"
