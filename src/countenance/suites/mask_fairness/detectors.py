"""The algorithms of the published assessment and further detectors: status, licence, source of weights."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from countenance.data.tables import near
from countenance.errors import InputError
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
        """Whether it runs here, and for which use."""
        if self.zoo is None:
            return "predictions only"
        return "runs here with --weights" if ZOO[self.zoo].weights_by_path else "runs here"


FURTHER = {
    "AIZOO FaceMaskDetection": "aizoo",
    "YuNet": "yunet",
    "RFB-320": "rfb320",
    "countenance-mask": "countenance-mask",
}
"""Detectors that the published assessment does not have: their names, and those of the zoo."""
_ASSESSED = json.loads((Path(__file__).parent / "algorithms.json").read_text(encoding="utf-8"))
ALGORITHMS = (
    *(Algorithm(**row) for row in _ASSESSED),
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
RECIPES = Path(__file__).parent / "recipes"


def recipe_of(name: str) -> str:
    """The container file of an assessed algorithm: where its weights come from, its licence, and how to run it.

    >>> print("\\n".join(recipe_of("rhf").splitlines()[:2]))
    # RHF: Faster R-CNN on ResNet50-HDC-FPN, three classes (mask, badly worn, none)
    # Licence: none stated in its repository: ask the authors
    """
    assessed = {slug(row.name): row for row in ALGORITHMS if row.assessed}
    row = assessed.get(slug(name))
    if row is None:
        names = [row.name for row in assessed.values()]
        raise InputError(f"no recipe for {name!r}{near(name, names)}; there are {', '.join(names)}")
    image = slug(row.name)
    header = (
        f"{row.name}: {row.what}",
        f"Licence: {row.licence}",
        f"Weights: {row.weights}",
        "Neither weights nor data are in this file: fetch them yourself, under their own terms.",
        f"Build: podman build -f {image}.Containerfile -t {image} .",
        f"Run:   podman run --rm --network none -v DATA:/data:ro -v OUT:/out {image} \\",
        f"         --dataset fairface --data-directory /data --out /out/{image}",
    )
    body = (RECIPES / f"{image}.Containerfile").read_text(encoding="utf-8")
    return "".join(f"# {line}\n" for line in header) + body


def slug(name: str) -> str:
    """A name for files and images.

    >>> slug("MOXA YOLOv3-tiny")
    'moxa_yolov3_tiny'
    """
    return re.sub(r"\W+", "_", name.lower())


def weights_and_settings(model: Any, weights: Path | None) -> tuple[Path | None, dict[str, Any]]:
    """The weights and the settings to pass to a model: for our own detector, which comes with weights, a file of others
    is a setting.

    The file's hash is part of the setting, so that a newly trained file starts a new run.

    >>> weights_and_settings("rfb320", Path("rfb320.onnx"))
    (PosixPath('rfb320.onnx'), {})
    """
    if model != OWN or weights is None:
        return weights, {}
    from countenance.files import file_hash

    if not weights.is_file():
        raise InputError(f"{weights}: no such file; `countenance mask-fairness train` writes one")
    return None, {"weights": str(weights), "sha256": file_hash(weights)}
