"""The reason why the two rules differ on a group, in one sentence: multiplicity, small cell, clustering, power …"""

import math
from typing import Literal

from countenance.auditing import Finding
from countenance.suites.mask_fairness.seed_rule import ALPHA, SeedRow

Cause = Literal["agree", "multiplicity", "small cell", "clustering", "other test", "power", "not testable"]
SMALLEST_EXPECTED = 5


def exact_p(row: SeedRow) -> float | None:
    """Fisher's exact p if an expected cell is below 5, where the z test is unreliable; else None.

    >>> from countenance.suites.mask_fairness.seed_rule import seed_row
    >>> round(exact_p(seed_row("more than 70", 17, 18, 1929, 1937)), 3)
    0.08
    >>> exact_p(seed_row("f", 120, 150, 400, 545)) is None
    True
    """
    from scipy import stats

    smallest = min(row.n, row.n_other) * min(row.pooled, 1 - row.pooled)
    if not smallest < SMALLEST_EXPECTED:
        return None
    cells = [[row.k, row.n - row.k], [row.k_other, row.n_other - row.k_other]]
    return float(stats.fisher_exact(cells)[1])


def why(row: SeedRow, finding: Finding | None) -> tuple[Cause, str]:
    """The cause and a sentence on the verdicts of the seed rule and the audit on one group."""
    if not row.tested or finding is None:
        return "not testable", finding.reason if finding else "no faces to compare"
    ours = finding.verdict == "disparity"
    if row.significant and ours:
        return _both(row, finding)
    if row.significant:
        return _only_seed(row, finding)
    if ours:
        return "clustering", (
            f"only the audit finds it (adjusted p {finding.p_adjusted:.2g}): faces of the same photographs stand on "
            "both sides, which makes the difference steadier than two independent samples would"
        )
    if finding.verdict == "untestable":
        return "not testable", f"no difference by the published rule; the audit does not test it: {finding.reason}"
    if finding.verdict == "insufficient evidence" and math.isnan(finding.mde_difference):
        return "power", (
            f"neither rule finds a difference, but {row.n} faces would show none with a power of 80 %, however large: "
            "that is not a proof of fairness"
        )
    if finding.verdict == "insufficient evidence":
        return "power", (
            f"neither rule finds a difference, but {row.n} faces would show only a gap of "
            f"{100 * finding.mde_difference:.0f} points (Cohen's h {finding.mde:.2f}) or more with a power of 80 %: "
            "that is not a proof of fairness"
        )
    return "agree", "neither rule finds a difference, and the audit shows that any is small"


def _both(row: SeedRow, finding: Finding) -> tuple[Cause, str]:
    severe = "severe" if row.severe else "not severe"
    own = finding.severity or "minor"
    return "agree", f"both rules find it ({severe} by the published rule, {own} by the audit)"


def _only_seed(row: SeedRow, finding: Finding) -> tuple[Cause, str]:
    """The cause where only the published p is below .05: the first step of the audit at which p rises above it."""
    if finding.verdict == "untestable":
        errors = min(row.n - row.k, row.k)
        return "small cell", (
            f"the audit does not test it ({finding.reason}): the published p of {row.p:.2g} rests on "
            f"{errors} of {row.n} faces"
        )
    exact = exact_p(row)
    if exact is not None and exact >= ALPHA:
        rare = row.n - row.k if row.pooled >= 0.5 else row.k
        what = "error" if row.pooled >= 0.5 else "success"
        plural = "" if rare == 1 else "es" if what == "success" else "s"
        return "small cell", (
            f"too few cases for a z test (p {row.p:.2g}): Fisher's exact test of the same counts gives p {exact:.2g}; "
            f"it rests on {rare} {what}{plural} among {row.n} faces"
        )
    if finding.p >= ALPHA:
        deff = max(value for value in (finding.deff, finding.deff_versus, 1.0) if not math.isnan(value))
        if f"{deff:.1f}" == "1.0":
            return "other test", (
                f"p is close to {ALPHA}: {row.p:.2g} by the z test, {finding.p:.2g} by the test of the audit, on the "
                "same faces"
            )
        return "clustering", (
            f"faces that share a photograph or a person are not independent (design effect {deff:.1f}): with that, "
            f"p rises from {row.p:.2g} to {finding.p:.2g}"
        )
    return "multiplicity", (
        f"alone it would count (p {finding.p:.2g}), but it is one of {finding.family_size} comparisons, of which "
        f"chance makes about {finding.family_size * ALPHA:.1f} significant; adjusted p is {finding.p_adjusted:.2g}"
    )
