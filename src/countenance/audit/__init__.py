"""How rows become a verdict: groups, intervals, tests, effects, power, multiplicity, findings.

>>> from countenance.audit import audit, plan
>>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
>>> audit(rows, by=["sex"], metrics=["found"]).verdict
'disparity'
"""

import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from countenance.audit.audit import audit, estimates
from countenance.audit.estimates import bootstrap, wilson
from countenance.audit.finding import Audit, Estimate, Finding
from countenance.audit.paired import paired_tables
from countenance.audit.plan import Plan, plan, plan_for

__all__ = [
    "Audit",
    "Estimate",
    "Finding",
    "Plan",
    "audit",
    "bootstrap",
    "estimates",
    "paired_tables",
    "plan",
    "plan_for",
    "wilson",
]


class _Package(ModuleType):
    """Makes `countenance.audit(...)` the function while `countenance.audit.NAME` stays in the package."""

    def __call__(
        self, source: Any, by: Sequence[str] | None = None, metrics: Sequence[str] | None = None, **settings: Any
    ) -> Audit:
        """Audit a run (by default, its headline metrics), or any table of rows."""
        own = getattr(source, "audit", None)
        if callable(own):
            found: Audit = own(by=by, metrics=metrics, **settings)
            return found
        return audit(source, by=by, metrics=metrics, **settings)


sys.modules[__name__].__class__ = _Package
