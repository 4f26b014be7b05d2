"""The settings of version 3's scripts: the original's keys and defaults."""

from collections.abc import Mapping
from typing import Any, ClassVar

from countenance.data.adapters.uccs_protocol import SETS
from countenance.data.settings_file import SettingsFile

_DETECTIONS = "{result_directory}/UCCS-detection-baseline-{which_set}.txt"
_SCORES = "{result_directory}/UCCS-scoring-baseline-{which_set}.txt"
_EMBEDDINGS = "{result_directory}/{which_set}_embeddings"
EMBEDDING = "dlib"
_DEFAULTS: Mapping[str, Any] = {
    "data_directory": "data",
    "result_directory": "results",
    "image_directory": "{data_directory}/{which_set}_images",
    "which_set": "validation",
    "gpu": -1,
    "detection": {"thresholds": [0.2, 0.2, 0.2], "results": _DETECTIONS, "max_detections": 50, "parallel": 0},
    "recognition": {
        "detection_file": _DETECTIONS,
        "result_dir": _EMBEDDINGS,
        "workers": 1,
        "batch_size_perImg": 1,
        "embedding_size": 512,
        "arch": EMBEDDING,
    },
    "scoring": {"gallery": "{result_directory}/gallery_embeddings", "probe": _EMBEDDINGS, "results": _SCORES},
    "eval": {
        "exclude_gallery": "{data_directory}/exclude_gallery_{which_set}.txt",
        "iou": 0.5,
        "linear": False,
        "detection": {
            "files": [_DETECTIONS],
            "labels": [],
            "froc": "{result_directory}/UCCS-FROC-{which_set}.pdf",
            "plot_numbers": False,
        },
        "recognition": {
            "files": [_SCORES],
            "rank": 1,
            "labels": [],
            "oroc": "{result_directory}/UCCS-OROC-{which_set}.pdf",
            "plot_numbers": False,
        },
    },
}
"""The original's keys and defaults; `arch` names our embedding, since the original's network is not shipped."""


class Config(SettingsFile):
    """The settings of a script of version 3.

    >>> Config.from_values({"data_directory": "uccs"}, {"which_set": "test"})["image_directory"]
    'uccs/test_images'
    """

    defaults: ClassVar[Mapping[str, Any]] = _DEFAULTS
    least: ClassVar[Mapping[str, int]] = {"gpu": -1, "detection.max_detections": 1, "eval.recognition.rank": 1}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"which_set": SETS}
