"""Face localisation in the shape of the published scripts: tensors from a transform, batched by torch."""

import json
from pathlib import Path

import numpy as np
import torch
from fhibe_eval_api.common.loaders import image_data_loader_from_paths
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport


def to_tensor(picture):
    return torch.from_numpy(np.asarray(picture, dtype=np.float32)).permute(2, 0, 1) / 255


class FaceFinder(BaseModelWrapper):
    """Finds the face on the left well and the other one ten pixels too low."""

    def data_preprocessor(self, img_filepaths, **kwargs):
        return image_data_loader_from_paths(to_tensor, img_filepaths, batch_size=4, num_workers=0)

    def __call__(self, batch):
        assert batch["images"].shape[1:] == (3, 96, 96)
        faces = [[15.0, 20.0, 35.0, 40.0], [60.0, 30.0, 80.0, 50.0]]
        return [{"detections": faces, "scores": [0.9, 0.5]} for _ in batch["image_paths"]]


def main() -> None:
    config = json.loads(Path("./face_localization.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=FaceFinder(None),
        model_name=config["model_name"],
        metrics=config["metrics"],
        attributes=config["attributes"],
        results_rootdir=config["results_basedir"],
        use_mini_dataset=config["use_mini_dataset"],
        mini_dataset_size=config["mini_dataset_size"],
        downsampled=config["downsampled"],
    )
    report = BiasReport(
        model_name=config["model_name"],
        task_name=config["task_name"],
        data_rootdir=config["data_rootdir"],
        dataset_version=config["dataset_version"],
        results_base_dir=config["results_basedir"],
        dataset_name=config["dataset_name"],
        downsampled=config["downsampled"],
        use_mini_dataset=config["use_mini_dataset"],
    )
    report.generate_pdf_report(attributes=config["attributes"])


if __name__ == "__main__":
    main()
