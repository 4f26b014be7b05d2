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
from countenance.errors import InputError
from countenance.files import write_atomically
from countenance.models import ModelSpec
from countenance.report.pictures import annotated
from countenance.run.image_jobs import How, ImageJob, check, run_jobs
from countenance.suites.uccs.baseline.steps import DETECT
from countenance.suites.uccs.write import write_detections, write_v2

MOST = {2: None, 3: 50}
"""How many detections an image may have; version 3 asks for its 50 best."""
GREEN, RED = (0, 190, 60), (230, 30, 30)


@dataclass(frozen=True)
class Baseline:
    """What a baseline is asked for."""

    data: Path
    which: str = "validation"
    version: int | None = None
    """Of the challenge; default: the version of the data."""
    detector: str = "mtcnn"
    detector_weights: Path | None = None
    thresholds: tuple[float, ...] = (0.2, 0.2, 0.2)
    """Of MTCNN's three networks."""
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
    """A part only: so many images (detection) or identities (recognition); the result's name says so."""
    display: Path | None = None
    """A folder for annotated pictures."""

    def of_version(self) -> int:
        return self.version or detect_version(self.data, self.which)

    def out(self, task: str) -> Path:
        """Where the result goes; that of a part never replaces the result of the whole set.

        >>> Baseline(Path("uccs"), version=2, debug=5).out("detection").as_posix()
        'results/UCCS-v2-detection-baseline-validation-debug-5.txt'
        """
        if self.debug is not None and self.debug < 1:
            raise InputError(f"--debug is {self.debug}, expected 1 or more")
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
    """A protocol's images and what was found in each."""

    protocol: Protocol
    folder: Path
    images: tuple[str, ...]
    found: list[Arrays]

    def path(self, name: str) -> Path:
        return inside(self.folder, name, f"{self.protocol.path}: FILE")


def default_result_file(which: str, version: int, task: str) -> Path:
    """Where the seed writes its results.

    >>> default_result_file("validation", 2, "detection").as_posix()
    'results/UCCS-v2-detection-baseline-validation.txt'
    """
    return Path("results") / f"UCCS-v{version}-{task}-baseline-{which}.txt"


def find_faces(asked: Baseline, which: str, how: How, *, debug: int | None = None) -> Detections:
    """Detect the faces of a set's images (the first `debug` of them)."""
    version = asked.of_version()
    protocol = read_protocol(asked.data, which, version)
    found = Detections(protocol, asked.images or image_folder(asked.data, which, version), protocol.images[:debug], [])
    paths = [found.path(name) for name in found.images]
    if not any(path.is_file() for path in paths):
        where = f"{found.folder}: no image that {protocol.path} names is there"
        raise InputError(f"{where}; extract the {which} images there")
    made = run_jobs(DETECT, asked.face_detector(how), [ImageJob(path) for path in paths], how)
    most = asked.most or MOST[version]
    found.found.extend({name: array[:most] for name, array in one.items()} for one in made)
    return found


def detect(asked: Baseline, how: How) -> tuple[Path, Detections]:
    """Detect faces and write them as a score file."""
    out = asked.out("detection")
    check(how, asked.face_detector(how))
    found = find_faces(asked, asked.which, how, debug=asked.debug)
    pairs = list(zip(found.images, found.found, strict=True))
    if asked.of_version() == 2:
        rows = [
            (name, list(zip(one["box"].tolist(), one["score"].tolist(), [()] * len(one["box"]), strict=True)))
            for name, one in pairs
        ]
        write_v2(out, rows, recognition=False)
    else:
        tables = [(name, np.column_stack([one["score"], one["box"], one["landmarks"]]).tolist()) for name, one in pairs]
        write_detections(out, tables)
    show(asked, found)
    return out, found


def show(asked: Baseline, found: Detections) -> None:
    """Write annotated pictures where they are asked for: detections green, and over them truth red."""
    if asked.display is None:
        return
    protocol = found.protocol
    for k, (name, one) in enumerate(zip(found.images, found.found, strict=True)):
        try:
            pixels = LazyImage(found.path(name)).load()
        except InputError:
            continue  # it was told when it was to be detected
        boxes = [(box, GREEN, f"{score:.2f}") for box, score in zip(one["box"], one["score"], strict=True)]
        boxes += [(box, RED, "") for box in protocol.box[protocol.image == k]]
        path = inside(asked.display, f"{name.rsplit('.', 1)[0]}.png", "FILE")
        write_atomically(path, partial(annotated(pixels, boxes).save, format="PNG"))
