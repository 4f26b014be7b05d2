"""Predictions that other programs saved: one file per format, one function that reads them all.

A format says which files it recognises and reads them into predictions by image name. Names are matched to images in
one place (`countenance.data.names`); names that match no image are counted and listed.
"""

from countenance.answers.formats.base import Format, PredictionRequest, Predictions
from countenance.answers.formats.registry import format_names, read_predictions

__all__ = ["Format", "PredictionRequest", "Predictions", "format_names", "read_predictions"]
