"""Person parsing in the shape of the published scripts: binary masks as arrays of 0 and 1."""

import json
from pathlib import Path

import numpy as np
from fhibe_eval_api.common.data import pil_image_collate_function
from fhibe_eval_api.common.loaders import image_data_loader_from_paths
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport
from torch import nn


class Network(nn.Module):
    def forward(self, batch):
        results = []
        for picture in batch["images"]:
            masks = []
            for left in (10, 55):
                mask = np.zeros((picture.height, picture.width), dtype=np.uint8)
                mask[20:80, left : left + 30] = 1
                masks.append(mask)
            results.append({"masks": masks, "scores": [0.9, 0.8], "labels": [0, 0]})
        return results


class Parser(BaseModelWrapper):
    def data_preprocessor(self, img_filepaths, **kwargs):
        return image_data_loader_from_paths(
            image_paths_1=img_filepaths,
            transform=None,
            num_workers=0,
            batch_size=4,
            collate_fn=pil_image_collate_function,
        )

    def __call__(self, batch):
        return self.model(batch)


def main() -> None:
    config = json.loads(Path("./person_parsing.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=Parser(Network()),
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
