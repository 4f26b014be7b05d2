"""How rows become a verdict: groups, intervals, tests, effects, power, multiplicity, findings.

>>> from countenance.auditing import audit, plan
>>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
>>> audit(rows, by=["sex"], metrics=["found"]).verdict
'disparity'
"""

from countenance.auditing.audit import audit, estimates
from countenance.auditing.estimates import bootstrap, wilson
from countenance.auditing.finding import Estimate, Finding
from countenance.auditing.pairs import paired_tables
from countenance.auditing.plan import Plan, plan, plan_for
from countenance.auditing.result import Audit

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
