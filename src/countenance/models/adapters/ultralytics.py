"""Models of ultralytics (`YOLO("mine.pt")`, `RTDETR`): boxes, keypoints, masks or labels, whatever the model gives."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from countenance.answers import Boxes, Keypoints, Labels, Masks
from countenance.answers.libraries import shown_by
from countenance.files import file_hash
from countenance.models.adapters import base, networks

GIVES: dict[str, tuple[type[Any], ...]] = {"segment": (Boxes, Masks), "pose": (Boxes, Keypoints), "classify": (Labels,)}


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The model with the thresholds that `predict` has by default, called with pictures of one shape at a time."""
    kind = str(getattr(model, "task", ""))
    name = Path(str(getattr(model, "ckpt_path", None) or getattr(model, "model_name", None) or "model")).stem
    gives = GIVES.get(kind, (Boxes,))
    if request.answer not in gives:
        listed = " and ".join(item.__name__.lower() for item in gives)
        raise request.refusal(f"{type(model).__name__} {name} ({kind})", listed, "take another model or task")
    read, finds = _reader([str(word) for word in model.names.values()], request, name)

    def predict(images: list[base.Pixels]) -> list[Any]:
        options = {"verbose": False, "retina_masks": request.answer is Masks}  # masks of the picture's size
        return [read(result) for result in model.predict([base.bgr(image) for image in images], **options)]

    settings = {"imgsz": model.overrides["imgsz"]} if "imgsz" in (model.overrides or {}) else {}
    return base.AdaptedModel("ultralytics", name, base.by_shape(predict), finds, _content(model.model), settings)


def _reader(names: list[str], request: base.Request, name: str) -> tuple[Callable[[Any], Any], tuple[str, ...]]:
    """The function from a result to the answer, and what the model finds."""
    if request.answer is Labels:
        classes = base.Classifier.of(names, request, name)
        return lambda result: classes.labels(result.probs.data.tolist()), request.needs
    if request.answer is Boxes:
        keep = base.chosen_kinds(names, request, name)
        return lambda result: Boxes.from_ultralytics(result, keep), keep or ()
    return lambda result: _people(result, request.answer), request.needs


def _people(result: Any, answer: type[Any]) -> Any:
    """The masks or keypoints of the boxes that show people; all of them if no class name means a person."""
    shown = {number: shown_by(str(word)) for number, word in result.names.items()}
    numbers = [int(number) for number in result.boxes.cls.tolist()]
    chosen = [i for i, number in enumerate(numbers) if shown[number] == "person" or "person" not in shown.values()]
    parts = result.masks if answer is Masks else result.keypoints
    if parts is None or not chosen:
        return answer([])
    return answer(parts.data.cpu().numpy()[chosen], result.boxes.conf.cpu().numpy()[chosen])


def _content(network: Any) -> str:
    if hasattr(network, "state_dict"):
        return networks.torch_content(network)
    return file_hash(Path(str(network))) if Path(str(network)).is_file() else str(network)
