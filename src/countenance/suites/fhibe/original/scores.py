"""The scores of one model and task, read from the files that the original writes."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.data.adapters.fhibe.attributes import check_attributes
from countenance.data.adapters.fhibe.places import is_largest
from countenance.data.reading.columns import literal
from countenance.report.names import value_label
from countenance.suites.fhibe.disparity import calculate_disparity
from countenance.suites.fhibe.vocabulary import METRICS


class ReportScores:
    """The methods of `BiasReport` that read and compare scores, for figures and reports."""

    task_name: str
    dataset_base: str
    results_dir: Path

    @property
    def evaluated_body_parts(self) -> list[str]:
        """The body parts that were evaluated."""
        first = next(iter(self._grouped_results("AR_DET").values()))
        return [name for name in next(iter(first.values())) if name != "All"]

    def validate_metric(self, metric_name: str) -> str:
        """The metric in capitals; ValueError if the task lacks it."""
        if metric_name.upper() not in METRICS[self.task_name]:
            raise ValueError(f"{metric_name} is not a valid metric for task: {self.task_name}")
        return metric_name.upper()

    def _grouped_results(self, metric: str) -> dict[str, Any]:
        path = self.results_dir / f"intersectional_results_{metric}.json"
        grouped: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return grouped

    def get_attr_scores(
        self,
        intersectional_results: Mapping[str, Any],
        metric_name: str,
        attr_name: str,
        group_largest_regions: bool,
    ) -> list[dict[str, Any]]:
        """A row for each score of each group of an attribute, the groups by their plain names."""
        rows: list[dict[str, Any]] = []
        for values, entry in intersectional_results[str([attr_name])].items():
            (value,) = literal(values, "results")
            if group_largest_regions and not is_largest([attr_name], [value]):
                continue
            group = {attr_name: value_label(attr_name, str(value))}
            if self.task_name == "face_verification":
                error = f"{metric_name}_Error"
                numbers = {metric_name: entry[metric_name], error: entry.get(error), "class_size": entry["Class_Size"]}
                rows.append(group | numbers)
                continue
            parts = entry.items() if self.task_name == "body_parts_detection" else ((None, entry),)
            for part, scored in parts:
                named = group if part is None else group | {"Body Part": part}
                rows += [named | {metric_name: score} for score in scored["scores"]]
        return rows

    def calculate_disparity(
        self,
        intersectional_results: Mapping[str, Any],
        attributes_to_consider: Sequence[str],
        metric_name: str,
        group_largest_regions: bool = True,
        k: int = 0,
        min_group_size: int | None = 20,
    ) -> list[list[Any]]:
        """The published table of disparities (`countenance.suites.fhibe.disparity`)."""
        return calculate_disparity(
            intersectional_results,
            check_attributes(attributes_to_consider, self.dataset_base == "fhibe_face"),
            group_largest_regions=group_largest_regions,
            k=k,
            min_group_size=min_group_size,
            parts=self.evaluated_body_parts if self.task_name == "body_parts_detection" else None,
        )
