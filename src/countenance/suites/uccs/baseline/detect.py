"""The detection baseline: MTCNN with its thresholds lowered, so that the faint faces of a crowd are found too."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from countenance.data.paths import inside
from countenance.errors import InputError
from countenance.models import ModelSpec
from countenance.suites.uccs.baseline.cache import Arrays
from countenance.suites.uccs.baseline.work import How, Job, check, run_jobs
from countenance.suites.uccs.protocol import Protocol, detect_version, image_folder, read_protocol
from countenance.suites.uccs.write import write_detections, write_v2

THRESHOLDS = (0.2, 0.2, 0.2)
MOST = {2: None, 3: 50}
"""How many detections an image may have; version 3 asks for its 50 best."""


@dataclass(frozen=True)
class Tuning:
    """What version 3's configuration may set of the baseline."""

    thresholds: tuple[float, ...] = THRESHOLDS
    most: int | None = None
    """Detections an image may have; default: 50 in version 3, any number in version 2."""
    images: Path | None = None
    """Where the images are, when not below the data directory."""


@dataclass(frozen=True)
class Detections:
    """A protocol's images and what was found in each."""

    protocol: Protocol
    folder: Path
    images: tuple[str, ...]
    found: list[Arrays]


def default_result_file(which: str, version: int, task: str) -> Path:
    """Where the seed writes its results.

    >>> default_result_file("validation", 2, "detection").as_posix()
    'results/UCCS-v2-detection-baseline-validation.txt'
    """
    return Path("results") / f"UCCS-v{version}-{task}-baseline-{which}.txt"


def partly(path: Path, debug: int | None) -> Path:
    """The name of a result of a part only, so that it never replaces the result of the whole set.

    >>> partly(Path("results/r.txt"), 5).as_posix()
    'results/r-debug-5.txt'
    """
    if debug is not None and debug < 1:
        raise InputError(f"--debug is {debug}, expected 1 or more")
    return path if debug is None else path.with_stem(f"{path.stem}-debug-{debug}")


def detector(
    model: str, how: How, weights: Path | None = None, thresholds: tuple[float, ...] = THRESHOLDS
) -> ModelSpec:
    """The detector by name; MTCNN with lowered thresholds."""
    settings = {"thresholds": thresholds} if model == "mtcnn" else {}
    return ModelSpec(model, None if weights is None else str(weights), how.device(), settings)


def find_faces(
    data: Path,
    which: str,
    version: int,
    how: How,
    *,
    spec: ModelSpec,
    debug: int | None = None,
    tuning: Tuning | None = None,
) -> Detections:
    """Detect the faces of a set's images (the first `debug` of them)."""
    protocol = read_protocol(data, which, version)
    tuning = tuning or Tuning()
    folder = tuning.images or image_folder(data, which, version)
    images = protocol.images[:debug]
    paths = [inside(folder, name, f"{protocol.path}: FILE") for name in images]
    if not any(path.is_file() for path in paths):
        raise InputError(f"{folder}: no image that {protocol.path} names is there; extract the {which} images there")
    most = tuning.most or MOST[version]
    settings = {} if most is None else {"most": most}
    nothing = {"box": np.zeros((0, 4)), "score": np.zeros(0), "landmarks": np.zeros((0, 10))}
    jobs = [Job(path, settings=settings) for path in paths]
    found = run_jobs("detections", spec, jobs, how, instead=nothing)
    return Detections(protocol, folder, images, found)


def detect(
    data: Path,
    *,
    how: How,
    which: str = "validation",
    version: int | None = None,
    model: str = "mtcnn",
    weights: Path | None = None,
    result_file: Path | None = None,
    debug: int | None = None,
    display: Path | None = None,
    tuning: Tuning | None = None,
) -> tuple[Path, Detections]:
    """Detect faces and write them as a score file; `display` is a folder for annotated pictures."""
    version = version or detect_version(data, which)
    out = partly(result_file or default_result_file(which, version, "detection"), debug)
    spec = detector(model, how, weights, tuning.thresholds if tuning else THRESHOLDS)
    check(how, spec)
    found = find_faces(data, which, version, how, spec=spec, debug=debug, tuning=tuning)
    if version == 2:
        rows = [
            (name, [(box.tolist(), float(score), ()) for box, score in zip(one["box"], one["score"], strict=True)])
            for name, one in zip(found.images, found.found, strict=True)
        ]
        write_v2(out, rows, recognition=False)
    else:
        table = [
            (name, np.column_stack([one["score"], one["box"], one["landmarks"]]).tolist())
            for name, one in zip(found.images, found.found, strict=True)
        ]
        write_detections(out, table)
    if display is not None:
        from countenance.suites.uccs.baseline.display import write_pictures

        write_pictures(found, display)
    return out, found
