"""supervision has no models: its `Detections` are an answer, which any function may return."""

from typing import Any

from countenance.models.adapters import base


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """Raise: the detections of one picture are not a model."""
    remedy = "give the function that makes them; it may return a list of Detections, one for each picture"
    raise request.refusal(f"supervision.{type(model).__name__}", "the detections of one picture", remedy)
