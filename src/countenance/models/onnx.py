"""Networks in ONNX files: one way to open them, and an adapter for those whose pre- and post-processing is declared.

Beside `NET.onnx` lies `NET.onnx.json`, for example

    {"input": {"size": [320, 240], "scale": 0.0078125, "mean": [127, 127, 127], "colour": "RGB"},
     "output": {"kind": "boxes", "boxes": "boxes", "scores": "scores", "score_column": 1,
                "normalised": true, "min_score": 0.7, "nms": 0.3}}
"""

import atexit
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Age, Boxes, Embedding, Labels
from countenance.answers.libraries import LibraryBoxes
from countenance.answers.targets import to_finds
from countenance.data.record import read_record
from countenance.errors import ModelError
from countenance.metrics.boxes import suppress
from countenance.models import yolo
from countenance.models.inputs import InputSpec, Prepared, Strict, letterbox, normalised, prepare
from countenance.models.model import Images
from countenance.models.tflite import open_tflite

__all__ = ["InputSpec", "OnnxModel", "OnnxSpec", "OutputSpec", "open_session", "prepare"]

_OPEN: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""The sessions that are still in use."""
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def open_session(path: Path, device: str = "cpu", threads: int | None = None) -> Any:
    """An onnxruntime session on the wanted device; `threads` defaults to COUNTENANCE_THREADS or all cores."""
    import onnxruntime as ort

    if not path.is_file():
        raise ModelError(f"{path}: no such file; give the path of the ONNX weights with weights=")
    if path.suffix == ".tflite":
        return open_tflite(path, threads or int(os.environ.get("COUNTENANCE_THREADS", "0")))
    if device not in PROVIDERS:
        raise ModelError(f"device {device!r} is not known; there are {', '.join(PROVIDERS)}")
    if PROVIDERS[device] not in ort.get_available_providers():
        raise ModelError(f'device {device!r} is not available here; install onnxruntime-gpu or take device="cpu"')
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads or int(os.environ.get("COUNTENANCE_THREADS", "0"))
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = ort.InferenceSession(str(path), options, providers=[PROVIDERS[device]])
    except Exception as error:
        raise ModelError(f"{path}: onnxruntime cannot open it ({str(error).splitlines()[0]})") from error
    _OPEN.add(session)
    return session


@atexit.register
def _close_sessions() -> None:
    """End the threads of every session before the interpreter shuts down.

    Threads that still run when the process ends may abort it and so change its exit code.
    """
    for session in list(_OPEN):
        vars(session).clear()


class OutputSpec(Strict):
    """The conversion of the network's outputs to an answer."""

    kind: Literal["boxes", "labels", "embedding", "age", "yolo"]
    finds: str | None = None
    """kinds boxes, yolo: what the boxes are of, `face` or `person`; the network is not evaluated for the other."""
    names: tuple[str, ...] = ()
    """kind yolo: the classes in order."""
    head: yolo.Head | None = None
    """kind yolo: which output it has (`countenance.models.yolo`); by default its shape says it."""
    boxes: str | None = None
    scores: str | None = None
    score_column: int | None = None
    corners: Literal["xyxy", "xywh", "cxcywh"] = "xyxy"
    normalised: bool = False
    min_score: float = 0.5
    nms: float = 0.5
    heads: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - pydantic copies it
    """kind labels: output name → the classes in order; the attribute is the part of the name before ':'."""
    attributes: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it
    """kind labels: output name → attribute name (default: the output's own name)."""
    vector: str | None = None
    """kind embedding, age: the output to take (default: the first); an age is one number or a share for each year."""


class OnnxSpec(Strict):
    """The declaration beside an ONNX file."""

    name: str | None = None
    licence: str = "not stated"
    input: InputSpec
    output: OutputSpec

    def finds(self) -> tuple[str, ...]:
        """What the network finds: as declared, or by its kind."""
        if self.output.finds is not None:
            return to_finds(self.output.finds, self.name or "ONNX")
        return () if self.output.kind in ("boxes", "yolo") else (self.output.kind,)

    @classmethod
    def of(cls, network: Path) -> "OnnxSpec":
        """The declaration beside a network; a YOLO without one is recognised (`countenance.models.yolo`)."""
        beside = Path(f"{network}.json")
        if beside.is_file() or not network.is_file():
            return cls.read(beside)
        declared = yolo.declared_by(open_session(network), str(network))
        return cls.read(beside) if declared is None else cls.model_validate(declared)

    @classmethod
    def read(cls, path: Path) -> "OnnxSpec":
        """Read the declaration; a field that is missing or unknown is named."""
        return read_record(
            cls, path, missing="it declares the network's input and output (`countenance docs extend/model`)"
        )


class OnnxModel:
    """An ONNX network with declared pre- and post-processing."""

    leaves_input = True
    """It does not change the batch that it receives."""

    def __init__(self, weights: Path, spec: OnnxSpec, device: str = "cpu") -> None:
        self.spec = spec
        self.session = open_session(weights, device)
        self.input_name = self.session.get_inputs()[0].name
        names = [output.name for output in self.session.get_outputs()]
        out = spec.output
        for expected in (out.boxes, out.scores, out.vector, *out.heads):
            if expected is not None and expected not in names:
                raise ModelError(f"{weights}: has no output {expected!r}; it has {', '.join(names)}")

        self.input = spec.input

    def __call__(self, images: Images) -> list[Any]:
        return self.finish(self.begin(Prepared.of(images, self.input)))

    def begin(self, batch: Prepared) -> list[Any]:
        """The answers for a batch whose pictures have the network's size."""
        return [self._answer(batch, i) for i in range(len(batch))]

    def finish(self, begun: list[Any]) -> list[Any]:
        """The finished answers of `begin`; onnxruntime leaves nothing to wait for."""
        return begun

    def _answer(self, batch: Prepared, i: int) -> Any:
        pixels, scale, offset = normalised(batch.pixels[i], self.input), batch.scale[i], batch.offset[i]
        names = [output.name for output in self.session.get_outputs()]
        detections = dict(zip(names, self.session.run(None, {self.input_name: pixels}), strict=True))
        out = self.spec.output
        if out.kind == "embedding":
            return Embedding(np.asarray(detections[out.vector or names[0]], dtype=np.float64).reshape(-1))
        if out.kind == "age":
            values = np.asarray(detections[out.vector or names[0]], dtype=np.float64).reshape(-1)
            return Age(float(values[0])) if len(values) == 1 else Age.of(values)
        if out.kind == "labels":
            return _labels(detections, out)
        if out.kind == "yolo":
            return self._yolo(detections[out.boxes or names[0]], scale, offset, batch.shape[i])
        return self._boxes(detections, scale, offset, batch.shape[i])

    def _yolo(self, output: Any, scale: Any, offset: Any, shape: Sequence[int]) -> Boxes:
        out = self.spec.output
        words = out.model_fields_set  # ultralytics uses other limits than our declarations
        limits = out.min_score if "min_score" in words else yolo.MIN_SCORE, out.nms if "nms" in words else yolo.OVERLAP
        detections = yolo.yolo_boxes(output, out.names, out.head, *limits)
        if self.input.resize == "letterbox":  # ultralytics counts with the rounded size of the picture in its frame
            scale = np.array(letterbox(shape[1], shape[0], self.input)[1]) / [shape[1], shape[0]]
        remaining = LibraryBoxes(
            _in_picture(detections.xyxy, scale, offset, shape), detections.scores, detections.labels
        ).only(out.finds)
        return Boxes(*remaining)

    def _boxes(
        self,
        detections: dict[str, Any],
        scale: NDArray[np.float64],
        offset: NDArray[np.float64],
        shape: Sequence[int],
    ) -> Boxes:
        out = self.spec.output
        boxes = np.asarray(detections[out.boxes or "boxes"], dtype=np.float64).reshape(-1, 4)
        scores = np.asarray(detections[out.scores or "scores"], dtype=np.float64).reshape(len(boxes), -1)
        score = scores[:, out.score_column or 0]
        if out.corners == "xywh":
            boxes = np.hstack([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]])
        elif out.corners == "cxcywh":
            boxes = np.hstack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2])
        if out.normalised:
            boxes = boxes * np.tile(np.asarray(self.spec.input.size, dtype=np.float64), 2)
        keep = score >= out.min_score
        boxes, score = boxes[keep], score[keep]
        remaining = suppress(boxes / np.tile(scale, 2), score, out.nms)
        return Boxes(_in_picture(boxes[remaining], scale, offset, shape), np.clip(score[remaining], 0, 1))


def _in_picture(boxes: Any, scale: Any, offset: Any, shape: Sequence[int]) -> Any:
    """Boxes of the network's input as boxes of the picture, clipped to it."""
    limits = np.array([shape[1], shape[0], shape[1], shape[0]], dtype=np.float64)
    return np.clip((boxes - np.tile(offset, 2)) / np.tile(scale, 2), 0, limits)


def _labels(detections: dict[str, Any], out: OutputSpec) -> Labels:
    values, shares = {}, {}
    for name, classes in out.heads.items():
        logits = np.asarray(detections[name], dtype=np.float64).reshape(-1)
        if len(logits) != len(classes):
            raise ValueError(f"output {name!r} has {len(logits)} numbers for {len(classes)} classes")
        attribute = out.attributes.get(name, name)
        share = np.exp(logits - logits.max())
        share /= share.sum()
        values[attribute] = classes[int(np.argmax(logits))]
        shares[attribute] = dict(zip(classes, share.tolist(), strict=True))
    return Labels(values, shares)
