"""Body parts in the shape of the published scripts: one dict for each box that the wrapper was given."""

import json
from pathlib import Path

from fhibe_eval_api.common.utils import open_image_with_pil
from fhibe_eval_api.evaluate import evaluate_task
from fhibe_eval_api.models.base_model import BaseModelWrapper
from fhibe_eval_api.reporting import BiasReport
from torch import nn
from torch.utils.data import DataLoader


class Crops:
    """Pictures with the boxes of their people, not derived from anything."""

    def __init__(self, image_paths, boxes):
        self.image_paths, self.boxes = image_paths, boxes

    def __len__(self):
        return len(self.image_paths)

    def __getitem__(self, index):
        path = self.image_paths[index]
        return {"images": open_image_with_pil(path, False), "image_paths": path, "boxes": self.boxes[path]}


def collate(batch):
    return {name: [item[name] for item in batch] for name in ("images", "image_paths", "boxes")}


class Network(nn.Module):
    """Sees a face everywhere, and hands only on the left half of a picture."""

    def forward(self, batch):
        pairs = zip(batch["images"], batch["boxes"], strict=True)
        return [[{"Face": 0.99, "Hand": 0.99 if b[0] < p.width / 2 else 0.01} for b in boxes] for p, boxes in pairs]


class PartsDetector(BaseModelWrapper):
    def data_preprocessor(self, img_filepaths, **kwargs):
        crops = Crops(img_filepaths, kwargs["img_filepath_gt_bboxes"])
        return DataLoader(crops, batch_size=4, shuffle=False, num_workers=0, collate_fn=collate)

    def __call__(self, batch):
        return self.model(batch)


def main() -> None:
    config = json.loads(Path("./body_parts_detection.yaml").read_text())  # JSON is YAML too
    evaluate_task(
        task_name=config["task_name"],
        dataset_name=config["dataset_name"],
        data_rootdir=config["data_rootdir"],
        model=PartsDetector(Network()),
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
