"""UCCS as a value: its data, its tasks, its sections of the report."""

from countenance.data.adapters.uccs import CITATION, CONSENT, LICENCE
from countenance.run.suite import Suite, SuiteTask
from countenance.suites.uccs.sections import sections

UCCS = Suite(
    name="uccs",
    question="Who is found and recognised in a crowd, and how many false alarms does it take?",
    citation=CITATION,
    licence=LICENCE,
    consent=CONSENT,
    datasets=("uccs",),
    tasks=(SuiteTask("uccs_detection"), SuiteTask("uccs_recognition")),
    formats=("uccs",),
    sections=sections,
)
