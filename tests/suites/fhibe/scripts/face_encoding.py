"""Face encoding in the shape of the published scripts: small pictures, saved by the wrapper itself."""

import json
from pathlib import Path

import numpy as np
from fhibe_eval_api.common.loaders import image_data_loader_from_paths
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport
from PIL import Image


def shrink(picture):
    return np.array(picture.resize((32, 32), Image.Resampling.BOX))


class Encoder(BaseModelWrapper):
    def data_preprocessor(self, img_filepaths, **kwargs):
        there = [path for path in kwargs["aligned_filepaths"] if Path(path).is_file()]
        return image_data_loader_from_paths(image_paths_1=there, transform=shrink, batch_size=4, num_workers=0)

    def save_encoding(self, encoding, filepath):
        Image.fromarray(encoding).save(filepath)

    def __call__(self, batch):
        return [{"encoding": picture.numpy().astype("uint8")} for picture in batch["images"]]


def main() -> None:
    config = json.loads(Path("./face_encoding.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=Encoder(None),
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
