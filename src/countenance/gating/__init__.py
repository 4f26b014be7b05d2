"""The gate: may this model ship? Rules of a policy, each decided by intervals of a run's numbers.

>>> from countenance.gating import read_policy
>>> policy = read_policy({"rules": [{"people": {"at_least": 100}, "insufficient": "fail"}]})
>>> policy.rules[0].name
'at least 100 people'
"""

from countenance.gating.judgement import gate
from countenance.gating.outcome import Gate, RuleCheck, RuleOutcome
from countenance.gating.policy import Policy, read_policy

__all__ = ["Gate", "Policy", "RuleCheck", "RuleOutcome", "gate", "read_policy"]
