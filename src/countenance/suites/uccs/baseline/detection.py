"""The detection baseline: MTCNN with its thresholds lowered, so that the faint faces of a crowd are found too."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from countenance.answers.formats.uccs_scores import MOST_LABELS
from countenance.data.adapters.uccs_protocol import Protocol, detect_version, image_folder, read_protocol
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.data.reading.arrays import Arrays
from countenance.errors import InputError, OptionError
from countenance.files import write_atomically
from countenance.models import ModelSpec
from countenance.report.pictures import annotated
from countenance.run.image_jobs import How, ImageJob, check, run_jobs
from countenance.suites.uccs.baseline.steps import DETECT
from countenance.suites.uccs.score_writer import write_detections, write_v2

MOST = {2: None, 3: 50}
"""How many detections an image may have; version 3 asks for its 50 best."""
GREEN, RED = (0, 190, 60), (230, 30, 30)


@dataclass(frozen=True)
class Baseline:
    """The settings of a baseline."""

    data: Path
    which: str = "validation"
    version: int | None = None
    """The version of the challenge; default: that of the data."""
    detector: str = "mtcnn"
    detector_weights: Path | None = None
    thresholds: tuple[float, ...] = (0.2, 0.2, 0.2)
    """The thresholds of MTCNN's three networks."""
    most: int | None = None
    """Detections an image may have; default: 50 in version 3, any number in version 2."""
    images: Path | None = None
    """Where the images are, when not below the data directory."""
    embedding: str = "dlib"
    embedding_weights: Path | None = None
    labels: int = MOST_LABELS
    """Version 2: identities listed for a face."""
    result_file: Path | None = None
    debug: int | None = None
    """A part only: this many images (detection) or identities (recognition); the result's name says so."""
    display: Path | None = None
    """A folder for annotated pictures."""

    def of_version(self) -> int:
        return self.version or detect_version(self.data, self.which)

    def out(self, task: str) -> Path:
        """The file for the result; the result of a part never replaces that of the whole set.

        >>> Baseline(Path("uccs"), version=2, debug=5).out("detection").as_posix()
        'results/UCCS-v2-detection-baseline-validation-debug-5.txt'
        """
        if self.debug is not None and self.debug < 1:
            raise OptionError("debug", f"debug is {self.debug}, expected 1 or more")
        path = self.result_file or default_result_file(self.which, self.of_version(), task)
        return path.with_stem(path.stem + self.suffix)

    @property
    def suffix(self) -> str:
        return "" if self.debug is None else f"-debug-{self.debug}"

    def face_detector(self, how: How) -> ModelSpec:
        settings = {"thresholds": self.thresholds} if self.detector == "mtcnn" else {}
        return ModelSpec(self.detector, _text(self.detector_weights), how.device(), settings)

    def face_embedding(self, how: How) -> ModelSpec:
        return ModelSpec(self.embedding, _text(self.embedding_weights), how.device())


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


@dataclass(frozen=True)
class Detections:
    """A protocol's images and the detections in each."""

    protocol: Protocol
    folder: Path
    images: tuple[str, ...]
    faces: list[Arrays]

    @property
    def count(self) -> int:
        return sum(len(faces["score"]) for faces in self.faces)

    def path(self, name: str) -> Path:
        return inside(self.folder, name, f"{self.protocol.path}: FILE")


def default_result_file(which: str, version: int, task: str) -> Path:
    """The place where the original writes its results.

    >>> default_result_file("validation", 2, "detection").as_posix()
    'results/UCCS-v2-detection-baseline-validation.txt'
    """
    return Path("results") / f"UCCS-v{version}-{task}-baseline-{which}.txt"


def find_faces(baseline: Baseline, which: str, how: How, *, debug: int | None = None) -> Detections:
    """Detect the faces of a set's images (the first `debug` of them)."""
    version = baseline.of_version()
    protocol = read_protocol(baseline.data, which, version)
    detections = Detections(
        protocol, baseline.images or image_folder(baseline.data, which, version), protocol.images[:debug], []
    )
    paths = [detections.path(name) for name in detections.images]
    if not any(path.is_file() for path in paths):
        where = f"{detections.folder}: no image that {protocol.path} names is there"
        raise InputError(f"{where}; extract the {which} images there")
    faces = run_jobs(DETECT, baseline.face_detector(how), [ImageJob(path) for path in paths], how)
    most = baseline.most or MOST[version]
    detections.faces.extend({name: array[:most] for name, array in arrays.items()} for arrays in faces)
    return detections


def detect(baseline: Baseline, how: How) -> tuple[Path, Detections]:
    """Detect faces and write them as a score file."""
    out = baseline.out("detection")
    check(how, baseline.face_detector(how))
    detections = find_faces(baseline, baseline.which, how, debug=baseline.debug)
    pairs = list(zip(detections.images, detections.faces, strict=True))
    if baseline.of_version() == 2:
        rows = [
            (name, list(zip(faces["box"].tolist(), faces["score"].tolist(), [()] * len(faces["box"]), strict=True)))
            for name, faces in pairs
        ]
        write_v2(out, rows, recognition=False)
    else:
        tables = [
            (name, np.column_stack([faces["score"], faces["box"], faces["landmarks"]]).tolist())
            for name, faces in pairs
        ]
        write_detections(out, tables)
    show(baseline, detections)
    return out, detections


def show(baseline: Baseline, detections: Detections) -> None:
    """Write annotated pictures if requested: detections green, with the truth over them in red."""
    if baseline.display is None:
        return
    protocol = detections.protocol
    for k, (name, faces) in enumerate(zip(detections.images, detections.faces, strict=True)):
        try:
            pixels = LazyImage(detections.path(name)).load()
        except InputError:
            continue  # it was reported when it was to be detected
        boxes = [(box, GREEN, f"{score:.2f}") for box, score in zip(faces["box"], faces["score"], strict=True)]
        boxes += [(box, RED, "") for box in protocol.box[protocol.image == k]]
        path = inside(baseline.display, f"{name.rsplit('.', 1)[0]}.png", "FILE")
        write_atomically(path, partial(annotated(pixels, boxes).save, format="PNG"))
