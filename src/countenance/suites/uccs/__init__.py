"""UCCS: open-set face detection and recognition, versions 2 and 3 (the watchlist challenge).

`evaluate_detector` and `evaluate_recognizer` give the challenge's own curves from the challenge's own files;
`check_file` names the errors of a submission and their places.
"""

from countenance.data.adapters.uccs_protocol import Protocol, read_protocol
from countenance.suites.uccs.evaluation import CurveSettings, UccsEvaluation
from countenance.suites.uccs.score_curves import evaluate_detector, evaluate_recognizer
from countenance.suites.uccs.submission_problems import Check, check_file

Evaluation, Settings = UccsEvaluation, CurveSettings  # former names, which stay importable

__all__ = [
    "Check",
    "CurveSettings",
    "Evaluation",
    "Protocol",
    "Settings",
    "UccsEvaluation",
    "check_file",
    "evaluate_detector",
    "evaluate_recognizer",
    "read_protocol",
]
