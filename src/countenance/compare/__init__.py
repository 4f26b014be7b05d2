"""Which model is better, for whom it is worse, and which gaps moved: paired comparisons of runs and tables.

>>> from countenance.compare import compare
>>> rows = {"sample": list(range(400)), "sex": ["f", "m"] * 200}
>>> found = compare(rows | {"ok": [1, 0] * 200}, rows | {"ok": [1, 1] * 200}, by=["sex"], metrics=["ok"])
>>> found.overall[0].verdict
'better'
"""

import sys
from types import ModuleType
from typing import Any

from countenance.compare.compare import compare
from countenance.compare.leaderboard import leaderboard
from countenance.compare.result import Change, Comparison, Gap, GroupScore, Leaderboard, Standing

__all__ = ["Change", "Comparison", "Gap", "GroupScore", "Leaderboard", "Standing", "compare", "leaderboard"]


class _ComparePackage(ModuleType):
    """Makes `countenance.compare(...)` the function while `countenance.compare.NAME` stays in the package."""

    def __call__(self, *entries: Any, **settings: Any) -> Comparison | Leaderboard:
        """Compare two runs or tables (a `Comparison`), or rank more of them (a `Leaderboard`)."""
        if len(entries) == 2:
            return compare(*entries, **settings)
        return leaderboard(entries, against_first=True, **settings)


sys.modules[__name__].__class__ = _ComparePackage
