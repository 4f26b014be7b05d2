"""Models of open_clip: embeddings of whole pictures, and attributes by sentences."""

from typing import Any

from countenance.answers import Embedding, Labels
from countenance.models.adapters import base, networks, sentences

CLIP_WORDS = 49408
"""The size of CLIP's own vocabulary; a model with another one has another tokenizer."""


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The model in evaluation mode, with pictures prepared as its configuration says."""
    from open_clip.transform import PreprocessCfg, image_transform_v2

    name = f"{type(model).__name__} of open_clip"
    if request.answer not in (Labels, Embedding) or not hasattr(model, "encode_image"):
        raise request.refusal(name, "embeddings of pictures and sentences", "take another model or task")
    model.eval()
    known = getattr(model.visual, "preprocess_cfg", None) or {"size": getattr(model.visual, "image_size", 224)}
    transform = image_transform_v2(PreprocessCfg(**known), is_train=False)
    settings: dict[str, Any] = {"size": known["size"]}

    def embed(image: base.Pixels) -> Any:
        return networks.vector(model, transform, image, lambda batch: model.encode_image(batch, normalize=True))

    call = base.each(lambda image: Embedding(embed(image)))
    if request.answer is Labels:
        question = sentences.sentences_of(request, name)
        texts = {
            sentence: _embedded(model, sentence, request, name)
            for own in question.values()
            for sentence in own.values()
        }
        settings["template"] = sentences.TEMPLATE
        scale = float(model.logit_scale.exp())

        def predict(image: base.Pixels) -> Labels:
            vector = embed(image)

            def shares(own: list[str]) -> list[float]:
                logits = [scale * float(texts[sentence] @ vector) for sentence in own]
                return [float(share) for share in networks.softmax(logits)]

            return sentences.labels_by_sentence(question, shares)

        call = base.each(predict)
    return base.AdaptedModel("open_clip", name, call, request.needs, networks.torch_content(model), settings)


def _embedded(model: Any, sentence: str, request: base.Request, name: str) -> Any:
    import torch
    from open_clip import SimpleTokenizer

    if getattr(model, "vocab_size", CLIP_WORDS) != CLIP_WORDS:
        raise request.refusal(name, "sentences in another vocabulary than CLIP's", "give it as a function of your own")
    tokens = SimpleTokenizer(context_length=model.context_length)([sentence])
    with torch.inference_mode():
        return model.encode_text(tokens.to(next(model.parameters()).device), normalize=True)[0].float().cpu().numpy()
