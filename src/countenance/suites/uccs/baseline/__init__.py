"""The challenge's baselines, with networks that run here: MTCNN finds faces, an embedding recognises them."""

from countenance.suites.uccs.baseline.detection import Baseline, detect
from countenance.suites.uccs.baseline.recognition import recognize
from countenance.suites.uccs.baseline.score import score

__all__ = ["Baseline", "detect", "recognize", "score"]
