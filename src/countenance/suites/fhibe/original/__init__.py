"""Makes FHIBE's published API importable by its names, so that scripts written for it run unchanged.

Importing this module makes a module tree `fhibe_eval_api` importable. A script either begins with that import, or runs
unchanged with `python -m countenance.suites.fhibe.original SCRIPT [ARGS]`.

>>> import countenance.suites.fhibe.original
>>> from fhibe_eval_api.evaluate import evaluate_task
>>> from fhibe_eval_api.reporting import BiasReport
"""

import sys
from types import ModuleType

from countenance.data.adapters.fhibe.places import country
from countenance.data.vocabulary import FACE_LABELS
from countenance.suites.fhibe.disparity import process_pair, significant_pairs
from countenance.suites.fhibe.original import constants, helpers, measures, preparation, published

NAME, MARK = "fhibe_eval_api", "__names_of_the_original__"
MODULES: dict[str, dict[str, object]] = {
    "": {},
    "evaluate": {"evaluate_task": published.evaluate_task},
    "evaluate.evaluate": {"evaluate_task": published.evaluate_task},
    "reporting": {"BiasReport": published.BiasReport},
    "reporting.reporting": {"BiasReport": published.BiasReport},
    "models": {},
    "models.base_model": {"BaseModelWrapper": helpers.BaseModelWrapper},
    "evaluate.constants": constants.EVALUATE,
    "metrics": {},
    "metrics.constants": constants.METRIC_NAMES,
    "metrics.face_parsing": {},
    "metrics.face_parsing.utils": {"CELEBA_MASK_LABELS": list(FACE_LABELS)},
    "datasets": {},
    "datasets.fhibe": constants.DATASET_NAMES
    | {
        "FHIBEPublicEval": preparation.FHIBEPublicEval,
        "validate_custom_keypoints": preparation.validate_custom_keypoints,
    },
    "datasets.fhibe_face": {"FHIBEFacePublicEval": preparation.FHIBEFacePublicEval},
    "datasets.utils": {"fix_location_country": country},
    "reporting.utils": {"process_pair": process_pair, "find_significant_pairs": significant_pairs},
    "common": {},
    "common.metrics": {
        name: function
        for name, function in vars(measures).items()
        if callable(function) and function.__module__ == measures.__name__
    },
    "common.loggers": {"setup_logging": helpers.setup_logging},
    "common.loaders": {"image_data_loader_from_paths": helpers.image_data_loader_from_paths},
    "common.data": {
        "ImageDataset": helpers.ImageDataset,
        "pil_image_collate_function": helpers.pil_image_collate_function,
    },
    "common.utils": {
        name: getattr(helpers, name)
        for name in (
            "check_list_lengths",
            "create_folders",
            "get_project_root",
            "open_image_with_pil",
            "read_json_file",
            "save_json_file",
        )
    },
}


def install() -> None:
    """Make the tree importable; a real `fhibe_eval_api` that was imported before is never replaced."""
    there = sys.modules.get(NAME)
    if there is not None:
        if not hasattr(there, MARK):
            raise ImportError(f"{NAME} is imported already; import {__name__} before it")
        return
    for name, content in MODULES.items():
        full = f"{NAME}.{name}".rstrip(".")
        module = ModuleType(full, __doc__)
        module.__path__ = []  # every level may hold others
        vars(module).update(content, **{MARK: True})
        sys.modules[full] = module
        parent, _, last = full.rpartition(".")
        if parent:
            setattr(sys.modules[parent], last, module)


install()
