"""Mask fairness: measures whether mask detectors find, and correctly judge, faces of every group equally.

The published rule (pooled z, p < .05, |h| > .2) is always reproduced to the digit; the audit's own verdict is reported
beside it.
"""
