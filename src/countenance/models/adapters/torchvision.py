"""Models of torchvision: detectors (boxes, keypoints, masks) and classifiers.

A detector with COCO's 91 classes, or with one, needs nothing else. Others name their classes in an attribute:
`model.names = weights.meta["categories"]`. A classifier does too, and may set how its pictures are prepared:
`model.transforms = weights.transforms()` (otherwise ImageNet's usual way: shorter side 256, centre 224).
"""

from contextlib import suppress
from operator import attrgetter
from typing import Any

from countenance.answers import Boxes, Keypoints, Labels, Masks
from countenance.models.adapters import base, networks

COUNTS = (
    "roi_heads.box_predictor.cls_score.out_features",
    "head.classification_head.num_classes",
    "head.classification_head.num_columns",
)
"""Where detectors keep their number of classes, the background included."""


def adapt(model: Any, request: base.Request) -> base.AdaptedModel:
    """The model in evaluation mode; a detector is called with pictures of one shape at a time."""
    name, detector = type(model).__name__, any(".detection." in item.__module__ for item in type(model).__mro__)
    if request.answer not in ((Boxes, Keypoints, Masks) if detector else (Labels,)):
        raise request.refusal(name, "boxes" if detector else "one of some classes", "take another model or task")
    model.eval()
    names = [str(word) for word in getattr(model, "names", None) or (_usual_names(model) if detector else [])]
    content = networks.torch_content(model)
    if not detector:
        from torchvision.models import ResNet18_Weights as ImageNet

        transforms = getattr(model, "transforms", None) or ImageNet.DEFAULT.transforms()
        call = networks.classifier(model, transforms, base.Classifier.of(names, request, name))
        return base.AdaptedModel("torchvision", name, call, ("labels",), content)
    keep = base.chosen_kinds([word for word in names if "background" not in word], request, name)

    def read(output: dict[str, Any]) -> Any:
        if request.answer is Boxes:
            return Boxes.from_torchvision(output, names, keep)
        people = [i for i, number in enumerate(output["labels"].tolist()) if keep is None or names[number] == "person"]
        parts = output["keypoints"] if request.answer is Keypoints else output["masks"][:, 0] > 0.5
        return request.answer(parts.cpu().numpy()[people], output["scores"].cpu().numpy()[people])

    call = base.by_shape(lambda images: [read(output) for output in networks.outputs(model, images)])
    finds = keep or () if request.answer is Boxes else request.needs
    return base.AdaptedModel("torchvision", name, call, finds, content)


def _usual_names(model: Any) -> list[str]:
    """COCO's names for a detector of 91 classes; one name for a detector that tells one class from the background."""
    from torchvision.models.detection import FasterRCNN_ResNet50_FPN_Weights as Coco

    known = list(Coco.DEFAULT.meta["categories"])
    for path in COUNTS:
        with suppress(AttributeError):
            count = attrgetter(path)(model)
            return known if count == len(known) else ["background", "0"] if count == 2 else []
    return []
