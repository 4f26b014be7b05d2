"""Face parsing in the shape of the published scripts: label maps, ears mapped to skin by the library."""

import json
from pathlib import Path

import numpy as np
import torch
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Faces(Dataset):
    def __init__(self, image_paths, mask_paths):
        self.image_paths, self.mask_paths = image_paths, mask_paths

    def __len__(self):
        return len(self.image_paths)

    def __getitem__(self, index):
        with Image.open(self.image_paths[index]) as picture, Image.open(self.mask_paths[index]) as mask:
            pixels = torch.from_numpy(np.asarray(picture, dtype=np.float32).copy())
            return pixels.permute(2, 0, 1), {"labels": torch.from_numpy(np.asarray(mask).copy())}


class FaceParser(BaseModelWrapper):
    """Knows every label but calls the upper half of the skin an ear, which FHIBE does not draw."""

    def __init__(self, model, map_ears_to_skin):
        super().__init__(model)
        self.map_ears_to_skin = map_ears_to_skin

    def data_preprocessor(self, img_filepaths, **kwargs):
        return DataLoader(Faces(img_filepaths, kwargs["mask_filepaths"]), batch_size=4, shuffle=False)

    def __call__(self, batch):
        _, about = batch
        results = []
        for labels in about["labels"].numpy():
            labels = labels.astype(np.uint8)
            top = labels[: len(labels) // 2]
            top[top == 1] = 8
            results.append({"detections": labels})
        return results


def main() -> None:
    config = json.loads(Path("./face_parsing.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=FaceParser(None, map_ears_to_skin=True),
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
