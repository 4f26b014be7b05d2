"""The model protocol, adapters for what users bring, and the zoo of real baselines."""

from countenance.models.model import Model, ModelCard
from countenance.models.registry import ModelSpec, card_of_callable, model_names

__all__ = ["Model", "ModelCard", "ModelSpec", "card_of_callable", "model_names"]
