"""Every number that the audit names: what verdicts rest on, and how much is worked on at once."""

from tests.listed_numbers import constants, defaults

METHOD = {
    "settings.DELTA": 0.05,
    "cautions.FEW_UNITS": 40, "cautions.MOST_UNLIKE": 9, "cautions.MOST_SKEWED": 3, "cautions.WORTH_FEW": 10,
    "tests.SMALLEST_EXPECTED": 5, "tests.SMALLEST_EXPECTED_FAR_OUT": 20, "tests.CLOSEST": 0.9999,
    "estimates.TRUSTED": 0.3, "ranks.EXACT_UP_TO": 8, "power.FEW_CASES": 12, "layout.UNEQUAL": 4,
    "minp.PERMUTATIONS": 2000, "minp.MORE_PERMUTATIONS": 10_000, "minp.FEWEST_UNITS": 20,
    "equity.DRAWS": 1000, "equity.FEWEST": 200, "ranking.DRAWS": 2000, "change.STEPS": 14,
    "plan.NEAR": 0.02, "plan.CLOSE": 0.002, "plan.WIDER": 1.5,
    "table.MAX_NUMERIC": 20, "attributes.MOST_VALUES": 30,
    "minp.NEAR": 1 + 1e-9, "codes.ROUNDING": 1e-9,
}  # fmt: skip
"""Limits, draws and roundings: verdicts move with them, so they are changed on purpose only."""

NAMED = {"cautions.MOST_NAMED": 4, "verdict.MOST_NAMED": 4}
"""How many groups a sentence names."""

AT_ONCE = {
    "blocks.CHUNK": 400_000, "blocks.SPARSE": 3, "exact.BLOCK": 2_000_000, "groups.DENSE": 4_000_000,
    "permute.CELLS": 1_000_000, "permute_rows.CACHED": 100_000, "rows.MOST_ORDERED": 500_000,
    "condensed.LARGE": 2_000_000, "condensed.MOST_SHUFFLED": 2_000_000, "large_columns.MOST_DISTINCT": 2_000_000,
    "contingency.SAMPLE": 2000, "contingency.SAVING": 4, "tests.LARGEST_EXACT": 50_000,
    "minp.MOST_CLUSTER_STEPS": 10**9, "minp.MOST_ROW_STEPS": 3 * 10**8, "minp.MOST_VALUES": 2 * 10**8,
    "equity.MOST_STEPS": 2 * 10**8, "spread.MOST_STEPS": 2 * 10**9,
    "work.MOST_COMPARISONS": 50_000, "plan.MOST_ROWS": 10**9,
}  # fmt: skip
"""Where memory or time would be too much and another way is taken; tests elsewhere make them small."""


def test_numbers_of_the_audit() -> None:
    assert constants("audit") == {**METHOD, **NAMED, **AT_ONCE}


def test_what_functions_do_when_nothing_is_said() -> None:
    found = defaults("audit")
    assert found.pop("groups") == {"Audit.to_dict": False, "Audit.to_json": False, "plan": 2}
    assert found == {
        "alpha": 0.05, "h0": 0.2, "r0": 0.2, "power": 0.8, "min_n": 20, "max_groups": 1000, "replicates": 2000,
        "draws": 2000, "seed": 0, "depth": 1, "numeric": 20, "cells": 200_000,
        "baseline": 0.95, "sd": 1.0, "share": 0.5, "rows_per_unit": 1.0, "units_per_group": 0,
        "rho": 0.0, "icc": 0.0, "iccs": 0.0, "kurtosis": 3.0, "centre": 0.0, "further": 0.0, "floor": 0.0, "row": 0.0,
        "weight": 1.0, "least": 5, "most": 12, "quantiles": 0, "clusters_versus": 0, "family_size": 0,
        "equity": False, "exact": False, "alarming": False, "named": True, "pairs": False, "sign": False,
        "smaller": False, "untested": False,
    }  # fmt: skip
