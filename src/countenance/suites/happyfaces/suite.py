"""HappyFaces as a value: its data, its section of the report, its results."""

from countenance.run.suite import Suite
from countenance.suites.happyfaces.runs import QUESTION, rescore, sections

HAPPYFACES = Suite(name="happyfaces", question=QUESTION, datasets=("happyfaces",), sections=sections, rescore=rescore)
