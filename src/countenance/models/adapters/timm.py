"""Models of timm: classifiers, whose classes are `model.names` or timm's own, and embeddings of whole pictures."""

from typing import Any

from countenance.answers import Embedding, Labels
from countenance.models.adapters import base, networks


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The model in evaluation mode, with pictures prepared as its configuration says."""
    from timm import data

    configuration = getattr(model, "pretrained_cfg", None) or {}
    name = str(configuration.get("architecture") or type(model).__name__)
    if request.answer not in (Labels, Embedding):
        raise request.refusal(name, "one of some classes, or an embedding", "take another model or task")
    model.eval()
    prepared = data.resolve_model_data_config(model)
    transform = data.create_transform(**prepared, is_training=False)
    if request.answer is Labels:
        names = getattr(model, "names", None) or configuration.get("label_names") or ()
        call = networks.classifier(model, transform, base.Classifier.of([str(word) for word in names], request, name))
    else:
        call = base.each(
            lambda image: Embedding(networks.vector(model, transform, image, lambda x: _features(model, x)))
        )
    settings = {key: prepared[key] for key in ("input_size", "interpolation", "crop_pct")}
    return base.AdaptedModel("timm", name, call, request.needs, networks.torch_content(model), settings)


def _features(model: Any, batch: Any) -> Any:
    """The numbers before the last layer."""
    return model.forward_head(model.forward_features(batch), pre_logits=True)
