"""Mask fairness: measures whether mask detectors find, and correctly judge, faces of every group equally.

h| > .2) is always reported to the digit; the audit's own is reported beside it.|The published rule (pooled z, p < .05,
|h| > .2) is reproduced to the digit, and the audit's own verdict is beside it.|h| > .2) is always reported to the
digit; the audit's own is reported beside it.
"""
