"""The settings of an audit: what is compared, how it is judged, and which differences matter."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import SkipValidation

from countenance.settings.base import SettingsModel, setting

Words = SkipValidation[Mapping[str, str] | None]
"""A word for each name; `countenance.auditing.settings` checks them."""


class AuditFields(SettingsModel):
    """The audit."""

    cluster: SkipValidation[str | Sequence[str] | None] = setting(
        "auto",
        "Column(s) that say which rows belong to one person or picture, such as identity or identity,scene; 'none' "
        "for independent rows (default: columns of people and pictures, else a column whose rows resemble each other).",
    )
    comparison: str = setting("rest", "How groups are compared: rest, pairs, reference, spread or paired.")
    reference: Any = setting(None, "The group to compare with: its name, 'best' or 'largest'.")
    depth: SkipValidation[int | None] = setting(
        None, "The most attributes that are crossed (default: 2 where attributes are named, 1 in a comparison)."
    )
    alpha: SkipValidation[float] = setting(0.05, "Significance level of the tests.")
    delta: SkipValidation[float | Mapping[str, float] | str | None] = setting(
        None,
        "Smallest difference that matters, for all metrics (.05) or by metric (correct=.01,latency_ms=5); default "
        ".05 for rates and metrics between 0 and 1.",
    )
    better: SkipValidation[Mapping[str, str | None] | str | None] = setting(
        None,
        "Which values are better: higher, lower, or by metric latency_ms=lower,size=none (default: taken from the "
        "metric's name: lower for error, wer, missed …, higher for correct, found, recall …; else not known).",
    )
    h0: SkipValidation[float] = setting(0.2, "Cohen's h above which a disparity of rates is called severe.")
    r0: SkipValidation[float] = setting(
        0.2,
        "Rank-biserial r above which a disparity of a metric that is not a rate is called severe.",
        python_only=True,
    )
    min_n: SkipValidation[int] = setting(
        20, "Fewest people (or images, or rows) that each side of a comparison must have."
    )
    adjust: str = setting("minp", "Adjustment for many comparisons: minp, holm or bh.")
    families: Any = setting(
        None, "Adjust within smaller families: metric, attribute, depth, or safety=recall,missed;speed=latency_ms."
    )
    seed: SkipValidation[int] = setting(0, "Seed of everything random.")
    replicates: SkipValidation[int] = setting(2000, "Permutations of a min-p adjustment.", python_only=True)
    pair: SkipValidation[str | Sequence[str] | None] = setting(
        None, "Column(s) that say which rows belong together (default when runs are compared: sample,subject)."
    )
    denominators: Words = setting(
        None,
        "The 0/1 column that says which rows count for a metric: true_positive=masked (may be repeated).",
        flag="--denominator",
        repeated=True,
    )
    answered: Words = setting(
        None,
        "By metric, the 0/1 column that is 0 where a row has no score although it should have one; other rows without "
        "a score are outside the metric's denominator (an empty name: all are). For a metric that is not named, every "
        "row of its denominator without a score is missing.",
        python_only=True,
    )
    ordered: SkipValidation[Mapping[str, Sequence[str]] | None] = setting(
        None, "An ordered attribute with its values: size=small,medium,large (may be repeated).", repeated=True
    )
    roles: Words = setting(
        None,
        "By attribute, person or condition (default: by the attribute's name).",
        python_only=True,
    )
    paired_by: Words = setting(
        None,
        "The columns base and change of twins: pictures that differ from their base in one thing.",
        python_only=True,
    )
    poor: SkipValidation[float] = setting(
        0.2, "Share of failures above which the summary begins with the failures of everyone."
    )
    where: Any = setting(None, "Only rows with these values: change=none,mask (may be repeated).", repeated=True)
    given: SkipValidation[str | Sequence[str] | None] = setting(
        None,
        "At most six conditions to hold equal, with commas: light,img.size_px:quantiles4,masked. The gap is measured "
        "again between rows in which they are the same.",
    )
    max_groups: SkipValidation[int] = setting(1000, "The most groups that an attribute may have.", python_only=True)
    power: SkipValidation[float] = setting(0.8, "Power at which the smallest visible gap is computed.")
    kinds: Words = setting(
        None, "The kind of metrics that are differences of two scores: change, bounded or mean.", python_only=True
    )
    filled: Words = setting(
        None,
        "For metrics that are differences of two scores, the column in which missing scores count as wrong.",
        python_only=True,
    )
    progress: SkipValidation[Callable[[int, int], None] | None] = setting(
        None, "Called with the steps done and their number; not stored.", python_only=True
    )
