"""Names and values of the original's constants, made from the vocabularies of this package."""

from countenance.data.adapters.fhibe.places import REGIONS
from countenance.data.adapters.fhibe.table import MINI_SEED
from countenance.data.adapters.fhibe.words import (
    ATTRIBUTES,
    BODY_TASKS,
    DATASETS,
    FACE_TASKS,
    MEANINGS,
    MULTIPLE,
    NOT_ON_FACES,
)
from countenance.data.vocabulary import FITZPATRICK, KEYPOINTS
from countenance.suites.fhibe.settings import FILE
from countenance.suites.fhibe.vocabulary import DATASET_TEXTS, EXPLAINED, METRICS
from countenance.tasks.thresholds import PUBLISHED

EVALUATE: dict[str, object] = {
    "DEFAULT_RANDOM_STATE": MINI_SEED,
    "MODEL_OUTPUT_FILENAME": FILE,
    "RESULTS_IOU_FILENAME": "results_iou_threshold.json",
    "RESULTS_F1_FILENAME": "results_f1.json",
    "VALID_DATASET_NAMES": list(DATASETS),
    "FHIBE_ATTRIBUTE_LIST": list(ATTRIBUTES),
    "FHIBE_FACE_ATTRIBUTE_LIST": [name for name in ATTRIBUTES if name not in NOT_ON_FACES],
    "MULTI_SELECTION_ATTRIBUTES": [name for name in ATTRIBUTES if name in MULTIPLE],
    "ATTRIBUTES_DESCRIPTION_DICT": dict(MEANINGS),
    "TASK_DICT": {"fhibe": list(BODY_TASKS), "fhibe_face": list(FACE_TASKS)},
    "TASK_DESCRIPTION_DICT": dict(EXPLAINED),
    "DATASET_DESCRIPTION_DICT": dict(DATASET_TEXTS),
    "FITZPATRICK_TYPE_DICT": {colour: name.split(" ")[0] for colour, name in FITZPATRICK.items()},
    "FITZPATRICK_RGB_DICT": {name.split(" ")[0]: colour for colour, name in FITZPATRICK.items()},
    "ATTRIBUTE_CONSOLIDATION_DICT": {
        "ancestry": {name: [part for part in parts if part != name] for name, parts in REGIONS.items()}
    },
}
METRIC_NAMES: dict[str, object] = {
    "TASK_METRIC_LOOKUP_DICT": {task: list(names) for task, names in METRICS.items()},
    "METRIC_THRESHOLDS_DEFAULTS": {name: levels.copy() for name, levels in PUBLISHED.items()},
}
DATASET_NAMES: dict[str, object] = {"FHIBE_COMMON_KEYPOINTS": list(KEYPOINTS)}
