"""Which model is better, for whom it is worse, and which gaps moved: paired comparisons of runs and tables.

>>> from countenance.comparing import compare
>>> rows = {"sample": list(range(400)), "sex": ["f", "m"] * 200}
>>> old, new = rows | {"correct": [1, 0] * 200}, rows | {"correct": [1, 1] * 200}
>>> comparison = compare(old, new, by=["sex"], metrics=["correct"])
>>> comparison.overall[0].verdict
'better'
"""

from countenance.comparing.comparison import compare
from countenance.comparing.leaderboard import leaderboard
from countenance.comparing.result import Change, Comparison, Gap, GroupScore, Leaderboard, Standing

__all__ = ["Change", "Comparison", "Gap", "GroupScore", "Leaderboard", "Standing", "compare", "leaderboard"]
