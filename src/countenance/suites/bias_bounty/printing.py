"""A score in words: the breakdown that `score` prints."""

from countenance.metrics.bounty import HONEST_PASS, MAXIMUM
from countenance.suites.bias_bounty.files import ATTRIBUTES
from countenance.suites.bias_bounty.scoring import Score

TITLES = {"skin_tone": "skin tone", "age": "age", "gender": "gender"}


def number(value: float, digits: int = 3) -> str:
    """A number, or the words "no units" where there is none.

    >>> number(0.5), number(float("nan"))
    ('0.500', 'no units')
    """
    return "no units" if value != value else f"{value:.{digits}f}"


def score_lines(score: Score) -> list[str]:
    """The breakdown with intervals, the chance disparity, and the randomness tests."""
    low, high = score.score1_interval
    over = "identities" if score.clustered else "rows"
    bare = [TITLES[name] for name in ATTRIBUTES if not score.labelled[name]]
    told = f"{number(score.score1, 4)} of {MAXIMUM:.0f}   [{number(low)}, {number(high)}]"
    if bare:
        told = f"not measured: no row has a label of {', '.join(bare)}"
    lines = [
        f"Score₁     {told}   {score.rows} rows, 95 % intervals over {score.clusters} {over}",
        f"{'':10} {'accuracy':>26}   {'disparity':>26}   by chance, if fair (mean, 95 %)",
    ]
    for name in ATTRIBUTES:
        a, (a_low, a_high) = score.accuracy[name], score.accuracy_interval[name]
        d, (d_low, d_high) = score.disparity[name], score.disparity_interval[name]
        mean, most = score.fair[name]
        lines.append(
            f"{TITLES[name]:10} {number(a, 4)} [{number(a_low)}, {number(a_high)}] n={score.labelled[name]:<5}"
            f"  {number(d, 4):>8} [{number(d_low)}, {number(d_high)}]      {number(mean)}, {number(most)}"
        )
    lines += [
        f"left out   {TITLES[name]}: no truth rows of {', '.join(score.left_out[name])}"
        for name in ATTRIBUTES
        if score.left_out[name]
    ]
    lines += [f"note       {note}" for note in score.notes]
    if not score.nonfaces:
        return [*lines, "randomness not applicable (no non-faces named), multiplier 1"]
    lines.append(
        f"randomness multiplier {score.multiplier:.4g} over {score.nonfaces} non-faces "
        f"(an honest uniform guesser passes all three {HONEST_PASS:.1%} of the time)"
    )
    for name in ATTRIBUTES:
        test = score.randomness[name]
        flag = "; too even to be random (p > .999)" if test.too_even else ""
        lines.append(
            f"  {TITLES[name]:10} {'passed' if test.passed else 'failed'}, p {test.p:.4g} ({test.method}), "
            f"×{test.multiplier:g}{flag}"
        )
    return lines
