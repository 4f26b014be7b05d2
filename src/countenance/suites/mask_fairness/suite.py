"""Mask fairness as a value: its datasets, its tasks, its section of the report, its tables."""

from countenance.run.suite import Suite
from countenance.suites.mask_fairness.assessment import tables_again
from countenance.suites.mask_fairness.report import sections

MASK_FAIRNESS = Suite(
    name="mask_fairness",
    question="Do mask detectors find and judge faces of every group alike?",
    datasets=("fairface", "bafmd", "bafmd-yolo", "bafmd-voc", "folder", "people"),
    tasks=("mask_detection", "mask_detection_one_face"),
    sections=sections,
    files=tables_again,
)
