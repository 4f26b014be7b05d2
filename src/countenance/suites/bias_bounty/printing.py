"""Scores and tables in words: what `score` and `leaderboard` print."""

import itertools

from countenance.comparing import Change, Comparison
from countenance.report.numbers import probability
from countenance.suites.bias_bounty.board import Board
from countenance.suites.bias_bounty.rules import HONEST_PASS, MAXIMUM
from countenance.suites.bias_bounty.scoring import Score
from countenance.tasks.results import Number

TITLES = {"skin_tone": "skin tone", "age": "age", "gender": "gender"}


def number(value: float, digits: int = 3) -> str:
    """A number, or the words "no units" for NaN.

    >>> number(0.5), number(float("nan"))
    ('0.500', 'no units')
    """
    return "no units" if value != value else f"{value:.{digits}f}"


def _with_interval(estimate: Number, width: int = 0) -> str:
    return f"{number(estimate.value, 4):>{width}} [{number(estimate.low)}, {number(estimate.high)}]"


def score_lines(score: Score) -> list[str]:
    """The breakdown with intervals, the chance disparity, and the randomness tests."""
    every = list(score.attributes.values())
    bare = [TITLES[attribute.name] for attribute in every if not attribute.accuracy.n]
    value = f"{number(score.score1, 4)} of {MAXIMUM:.0f}   [{number(score.first.low)}, {number(score.first.high)}]"
    if bare:
        value = f"not measured: no row has a label of {', '.join(bare)}"
    over = "identities" if score.clustered else "rows"
    lines = [
        f"Score₁     {value}   {score.first.n} rows, 95 % intervals over {score.clusters} {over}",
        f"{'':10} {'accuracy':>26}   {'disparity':>26}   by chance, if fair (mean, 95 %)",
    ]
    lines += [
        f"{TITLES[attribute.name]:10} {_with_interval(attribute.accuracy)} n={attribute.accuracy.n:<5}"
        f"  {_with_interval(attribute.disparity, 8)}      {number(attribute.fair[0])}, {number(attribute.fair[1])}"
        for attribute in every
    ]
    lines += [f"left out   {TITLES[o.name]}: no truth rows of {', '.join(o.left_out)}" for o in every if o.left_out]
    lines += [f"note       {note}" for note in score.notes]
    if not score.nonfaces:
        return [*lines, "randomness not applicable (no non-faces named), multiplier 1"]
    if score.faces_alone == score.faces_alone:
        lines.append(f"faces alone, without the {score.nonfaces} non-faces: Score₁ {score.faces_alone:.4f}")
    lines.append(
        f"randomness multiplier {score.multiplier:.4g} over {score.nonfaces} non-faces "
        f"(an honest uniform guesser passes all three {HONEST_PASS:.1%} of the time)"
    )
    for attribute in every:
        test = attribute.randomness
        flag = "; too even to be random (p > .999)" if test.too_even else ""
        lines.append(
            f"  {TITLES[attribute.name]:10} {'passed' if test.passed else 'failed'}, p {test.p:.4g} ({test.method}), "
            f"×{test.multiplier:g}{flag}"
        )
    return lines


def against_lines(change: Change, compared: Comparison | None) -> list[str]:
    """How Score₁ and the accuracies changed, in words."""
    if change.difference != change.difference:
        return [f"difference not measured against {change.a}: an attribute has no labels"]
    difference = f"{change.difference:+.4f} [{change.low:+.3f}, {change.high:+.3f}], p {change.p:.2g}, paired"
    lines = [
        f"difference {difference}, against {change.estimate_a:.4f} of {change.a}: Score₁ {_VERDICTS[change.verdict]}"
    ]
    return lines + ([] if compared is None else [f"{'':10} {sentence}" for sentence in compared.decisions])


_VERDICTS = {"better": "is better", "worse": "is worse", "cannot tell": "cannot be told apart"}


def table_lines(board: Board) -> list[str]:
    """The leaderboard's tables, prizes and notes in words."""
    lines = []
    titles = {"public": "public: Score₁ on the test", "private": "private: Score₂ on the holdout"}
    for which, group in itertools.product(titles, ("supervised", "unsupervised")):
        places = board.places(which, group)
        if places:
            lines.append(f"{titles[which]}, {group}")
        for p in places:
            extra = ""
            if which == "private" and p.standing.private is not None:
                extra = f"   randomness ×{p.standing.private.multiplier:.4g}, efficiency ×{p.standing.efficiency:g}"
            if b := p.behind:
                extra += f"   {b.better} − {b.worse} {b.difference:+.3f} [{b.low:+.3f}, {b.high:+.3f}]"
                extra += f", adjusted p {probability(b.adjusted)}"
            score = f"{p.score.value:8.4f} [{p.score.low:.3f}, {p.score.high:.3f}]"
            lines.append(f"  {p.rank:>3}{'=' if p.tied else ' '} {p.standing.name:24} {score}{extra}")
            if p.standing.handed.labels_used:
                lines.append(f"       {'':24} labels: {p.standing.handed.labels_used}")
    lines += [f"prize    {prize.line()}" for prize in board.prizes]
    lines += [f"rejected {name}: {why}" for name, why in board.rejected.items()]
    return lines + [f"note     {note}" for note in board.notes]
