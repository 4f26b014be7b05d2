"""UCCS as a value: its data and its tasks; the curves on the report are results of the tasks."""

from countenance.run.suite import Suite

UCCS = Suite(
    name="uccs",
    question="Who is found and recognised in a crowd, and how many false alarms does it take?",
    datasets=("uccs",),
    tasks=("uccs_detection", "uccs_recognition"),
)
