"""The bias bounty as a value: its data and its task; Score₁ and the disparities are results of the task."""

from countenance.data.adapters.bias_bounty import CITATION, CONSENT, LICENCE
from countenance.run.suite import Suite, SuiteTask

BIAS_BOUNTY = Suite(
    name="bias_bounty",
    question="Are skin tone, age and gender labelled equally well for everybody?",
    citation=CITATION,
    licence=LICENCE,
    consent=CONSENT,
    datasets=("bias_bounty",),
    tasks=(SuiteTask("bias_bounty"),),
    formats=("bias_bounty",),
)
