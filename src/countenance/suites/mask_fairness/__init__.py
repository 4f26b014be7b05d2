"""Room: suites. Mask fairness: do mask detectors find, and rightly judge, faces of every group alike?

The published rule (pooled z, p < .05, |h| > .2) is always reported to the digit; beside it stands the audit's own.
"""
