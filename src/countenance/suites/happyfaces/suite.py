"""HappyFaces as a value: its data and its results."""

from countenance.run.suite import Suite
from countenance.suites.happyfaces.runs import QUESTION, rescore

HAPPYFACES = Suite(name="happyfaces", question=QUESTION, datasets=("happyfaces",), rescore=rescore)
