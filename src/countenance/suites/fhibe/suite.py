"""FHIBE as a value: its datasets, its nine tasks, its section of the report, its files."""

from countenance.data.adapters.fhibe import CITATION, CONSENT, LICENCE
from countenance.data.adapters.fhibe.words import TASKS
from countenance.run.suite import Suite, SuiteTask
from countenance.suites.fhibe.purge import files_again, related, rescore
from countenance.suites.fhibe.report import sections, write_bias_report

FHIBE = Suite(
    name="fhibe",
    question="Does a model serve everybody alike in nine tasks on consented photographs of people?",
    citation=CITATION,
    licence=LICENCE,
    consent=CONSENT,
    datasets=("fhibe",),
    formats=("fhibe",),
    tasks=tuple(SuiteTask(name) for name in TASKS),
    sections=sections,
    report=write_bias_report,
    files=files_again,
    rescore=rescore,
    related=related,
)
