"""Face super-resolution in the shape of the published scripts: arrays that the wrapper writes with OpenCV."""

import json
from pathlib import Path

import cv2
import numpy as np
import torch
from fhibe_eval_api.common.loaders import image_data_loader_from_paths
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport
from torch import nn


def to_tensor(picture):
    return torch.from_numpy(np.asarray(picture, dtype=np.float32)).permute(2, 0, 1) / 255


class Network(nn.Module):
    """Restores every picture perfectly."""

    def forward(self, batch):
        restored = []
        for image in batch["images"]:
            pixels = (image.detach().cpu().permute(1, 2, 0) * 255).round().byte().numpy()
            restored.append(cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR))
        return restored


class Restorer(BaseModelWrapper):
    def data_preprocessor(self, img_filepaths, **kwargs):
        return image_data_loader_from_paths(
            image_paths_1=img_filepaths, transform=to_tensor, batch_size=4, num_workers=0
        )

    def save_array(self, array, filepath):
        cv2.imwrite(filepath, array)

    def __call__(self, batch):
        return list(self.model(batch))


def main() -> None:
    config = json.loads(Path("./face_super_resolution.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=Restorer(Network()),
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
