"""Mask fairness: do mask detectors find, and correctly judge, faces of every group alike?

The published rule (pooled z, p < .05, |h| > .2) is always reported to the digit; the audit's own is reported beside it.
"""
