"""Person localisation in the shape of the published scripts: PIL pictures from the library's loader."""

import json
from pathlib import Path

from fhibe_eval_api.common.data import pil_image_collate_function
from fhibe_eval_api.common.loaders import image_data_loader_from_paths
from fhibe_eval_api.common.utils import get_project_root
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport
from torch import nn

project_root = get_project_root()


class Network(nn.Module):
    """Sees two people and, under another label, something in the corner."""

    def forward(self, pictures):
        boxes = [[10.0, 20.0, 40.0, 80.0], [55.0, 20.0, 85.0, 80.0], [0.0, 0.0, 5.0, 5.0]]
        return [{"boxes": boxes, "confidence": [0.9, 0.8, 0.7], "classes": [0, 0, 3]} for _ in pictures]


class Detector(BaseModelWrapper):
    def data_preprocessor(self, img_filepaths, **kwargs):
        return image_data_loader_from_paths(
            image_paths_1=img_filepaths,
            image_paths_2=None,
            transform=None,
            num_workers=8,
            batch_size=4,
            collate_fn=pil_image_collate_function,
        )

    def __call__(self, batch):
        actual = self.model(batch["images"])
        return [{"bboxes": item["boxes"], "scores": item["confidence"], "labels": item["classes"]} for item in actual]


def main() -> None:
    config = json.loads(Path("./person_localization.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=Detector(Network()),
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
