"""The challenge's baselines, with networks that run here: MTCNN finds faces, an embedding recognises them."""

from countenance.suites.uccs.baseline.detect import Baseline, detect
from countenance.suites.uccs.baseline.recognize import recognize
from countenance.suites.uccs.baseline.score import score

__all__ = ["Baseline", "detect", "recognize", "score"]
