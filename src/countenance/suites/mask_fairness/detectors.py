"""The algorithms of the published assessment and the further detectors here: status, licence, where weights are."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from countenance.models.zoo import ZOO

Status = Literal["runs here", "runs here with --weights", "predictions only"]


@dataclass(frozen=True)
class Algorithm:
    """One row of the table."""

    name: str
    what: str
    licence: str
    weights: str
    predictions: str
    zoo: str | None = None
    """Its name here; None: it does not run here."""
    assessed: bool = True
    """Whether the published assessment has it."""

    @property
    def status(self) -> Status:
        """Whether it runs here, and what for."""
        if self.zoo is None:
            return "predictions only"
        return "runs here with --weights" if ZOO[self.zoo].weights_by_path else "runs here"


FORM_1, FORM_3 = "image_name,image_path,class,confidence,x,y,w,h", "path,class,x,y,w,h"
FURTHER = {
    "AIZOO FaceMaskDetection": "aizoo",
    "YuNet": "yunet",
    "RFB-320": "rfb320",
    "countenance-mask": "countenance-mask",
}
"""Detectors that the published assessment does not have: their names, and those of the zoo."""
ALGORITHMS = (
    Algorithm(
        name="RHF",
        what="Faster R-CNN on ResNet50-HDC-FPN, three classes (mask, badly worn, none)",
        licence="none stated in its repository: ask the authors",
        weights="links in the README of shiningxy/RHF (Dropbox, Google Drive); runs with its own code and torchvision",
        predictions="image_id,class,confidence,x,y,x2,y2 (predict.py)",
    ),
    Algorithm(
        name="Facemask_Detection",
        what="res10 SSD for the face, then a CNN",
        licence="MIT",
        weights="techyhoney/Facemask_Detection: the res10 .caffemodel and, beside it, the Keras .h5 as ONNX (tf2onnx)",
        predictions=f"{FORM_1} (inference.py)",
        zoo="res10",
    ),
    Algorithm(
        name="Face-Mask-Detection",
        what="res10 SSD for the face, then MobileNetV2",
        licence="MIT",
        weights="chandrikadeb7/Face-Mask-Detection: the res10 .caffemodel and, beside it, the .model as ONNX (tf2onnx)",
        predictions=FORM_1,
        zoo="res10",
    ),
    Algorithm(
        name="WearMask",
        what="YOLO-Fastest",
        licence="MIT at its root, training code GPL-3.0: measure with it, do not ship it",
        weights="waittim/mask-detector, modeling/weights; its notebook 20-PyTorch2ONNX writes the ONNX file",
        predictions=FORM_3,
        zoo="wearmask",
    ),
    *(
        Algorithm(
            name=f"MOXA {network}",
            what=f"darknet {network}",
            licence="none stated on its site: ask the authors",
            weights="shitty-bots-inc.github.io/MOXA (.cfg and .weights side by side, classes in a .names file)",
            predictions=FORM_3,
            zoo="darknet",
        )
        for network in ("YOLOv3", "YOLOv3-tiny")
    ),
    *(
        Algorithm(
            name=name,
            what=ZOO[zoo].description + (": localisation rate only" if "mask" not in ZOO[zoo].finds else ""),
            licence=ZOO[zoo].licence,
            weights=ZOO[zoo].source,
            predictions="any of the formats",
            zoo=zoo,
            assessed=False,
        )
        for name, zoo in FURTHER.items()
    ),
)


OWN = "countenance-mask"


def weights_and_settings(model: Any, weights: Path | None) -> tuple[Path | None, dict[str, Any]]:
    """Where given weights go: our own detector ships its weights, and others trained like it come as a setting.

    The file's hash is part of the setting, so that a file that was trained again starts a new run.

    >>> weights_and_settings("rfb320", Path("rfb320.onnx"))
    (PosixPath('rfb320.onnx'), {})
    """
    if model != OWN or weights is None:
        return weights, {}
    from countenance.errors import InputError
    from countenance.models.model import file_hash

    if not weights.is_file():
        raise InputError(f"{weights}: no such file; `countenance mask-fairness train` writes one")
    return None, {"weights": str(weights), "sha256": file_hash(weights)}


def detector_names() -> list[str]:
    """What `--detector` takes by name.

    >>> detector_names()
    ['res10', 'wearmask', 'darknet', 'aizoo', 'yunet', 'rfb320', 'countenance-mask']
    """
    return list(dict.fromkeys(row.zoo for row in ALGORITHMS if row.zoo is not None))
