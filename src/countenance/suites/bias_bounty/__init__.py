"""Suite: bias bounty. Predicts skin tone, age, gender; scored on accuracy, disparity, randomness on non-faces, speed.

>>> from countenance.suites.bias_bounty import CLASSES
>>> CLASSES["skin_tone"][-1]
'monk_10'
"""

from countenance.data.adapters.bias_bounty import read_challenge
from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES, COLUMNS
from countenance.suites.bias_bounty.scoring import Score, score_files

__all__ = ["ATTRIBUTES", "CLASSES", "COLUMNS", "Score", "read_challenge", "score_files"]
