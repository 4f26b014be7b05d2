"""Predictions that other programs saved: one file per format, one function that reads them all.

A format says which files it recognises and reads them into predictions by image name. Whose image a name means is
decided in one place (`countenance.data.names`), and what was not matched is counted and named.
"""

from countenance.answers.formats.base import Format, PredictionRequest, Predictions
from countenance.answers.formats.registry import format_names, read_predictions

__all__ = ["Format", "PredictionRequest", "Predictions", "format_names", "read_predictions"]
