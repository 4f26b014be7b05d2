"""Face verification in the shape of the published scripts: faces are aligned first, embeddings come as a tensor."""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
from fhibe_eval_api.common.data import pil_image_collate_function
from fhibe_eval_api.common.loaders import image_data_loader_from_paths
from fhibe_eval_api.common.utils import create_folders, get_project_root
from fhibe_eval_api.evaluate.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting.reporting import BiasReport
from torch import nn

project_root = get_project_root()


class Network(nn.Module):
    def forward(self, images):
        small = nn.functional.adaptive_avg_pool2d(images, 4).flatten(1)
        return small - small.mean(dim=1, keepdim=True)


def standardised(picture):
    return (torch.from_numpy(np.float32(picture)).permute(2, 0, 1) - 127.5) / 128


class Verifier(BaseModelWrapper):
    def align_faces(self, img_filepaths, aligned_img_filepaths, batch_size, num_workers, cuda):
        loader = image_data_loader_from_paths(
            image_paths_1=img_filepaths,
            transform=None,
            batch_size=batch_size,
            num_workers=num_workers,
            collate_fn=pil_image_collate_function,
        )
        success = []
        for batch in loader:
            for path in batch["image_paths"]:
                aligned = aligned_img_filepaths[len(success)]
                create_folders(filepath=aligned)
                shutil.copyfile(path, aligned)
                success.append(True)
        return success

    def data_preprocessor(self, img_filepaths, **kwargs):
        actual = kwargs["success_aligned_img_filepaths"]
        return image_data_loader_from_paths(image_paths_1=actual, transform=standardised, batch_size=4, num_workers=0)

    def __call__(self, batch):
        return nn.functional.normalize(self.model(batch["images"]), p=2, dim=1)


def main() -> None:
    config = json.loads(Path("./face_verification.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=Verifier(Network()),
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
