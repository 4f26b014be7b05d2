"""The published classes that prepare a table of annotations for a task, under their names and with their columns.

They take and return pandas data frames, as scripts for the original expect; nothing here imports pandas. Cells are read
as literals, never run. Knees and ankles make no leg, as published.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.adapters.fhibe.places import country
from countenance.data.adapters.fhibe.truth import coco_keypoints, person_runs, visible_parts
from countenance.data.adapters.fhibe.words import AGE_BINS, DEFAULT_ATTRIBUTES, age_bin
from countenance.data.reading.columns import literal
from countenance.data.vocabulary import KEYPOINTS
from countenance.metrics.keypoints import COCO_SIGMAS
from countenance.metrics.masks import area, compress, fill

Frame = Any
"""A data frame of pandas."""


def validate_custom_keypoints(custom_keypoints: Sequence[str]) -> None:
    """Refuse keypoints that FHIBE does not have, an empty list, or an order other than the published one.

    >>> validate_custom_keypoints(["Nose", "Left eye"])
    """
    unknown = [name for name in custom_keypoints if name not in KEYPOINTS]
    if not custom_keypoints or unknown:
        raise ValueError(f"custom_keypoints {unknown or custom_keypoints!r}: expected some of {', '.join(KEYPOINTS)}")
    if list(custom_keypoints) != [name for name in KEYPOINTS if name in custom_keypoints]:
        raise ValueError(f"custom_keypoints: expected the order of {', '.join(KEYPOINTS)}")


class _Prepared:
    """The shared parts of both classes: the table, the attributes, bins of ages and spellings of countries."""

    def __init__(
        self, dataframe: Frame, intersectional_column_names: Sequence[str] | None = None, age_buckets: bool = True
    ) -> None:
        self.dataframe, self.age_buckets = dataframe, age_buckets
        self.intersectional_column_names = tuple(intersectional_column_names or DEFAULT_ATTRIBUTES)
        self.age_map = dict(enumerate(AGE_BINS))

    def _start(self, *literals: str) -> Frame:
        """A copy of the table with these columns parsed, ages in bins, and uniform spellings of countries."""
        frame = self.dataframe.copy(deep=True)
        for name in literals:
            frame[name] = [literal(cell, name) if isinstance(cell, str) else cell for cell in frame[name]]
        if self.age_buckets:
            frame["age"] = [age_bin(float(age)) for age in frame["age"]]
        if "location_country" in frame:
            frame["location_country"] = [country(cell) for cell in frame["location_country"]]
        return frame


class FHIBEPublicEval(_Prepared):
    """FHIBE's pictures of whole people, prepared for a task."""

    def prepare_person_localization(self) -> tuple[Frame, list[str], str]:
        """The table with boxes as corners, the pictures, the column of the truth."""
        frame = self._start("person_bbox")
        _corners(frame, "person_bbox")
        return frame, _pictures(frame), "person_bbox"

    def prepare_face_localization(self) -> tuple[Frame, list[str], str]:
        """The same as `prepare_person_localization`, for faces; `face_area` is the size of the box in five steps."""
        frame = self._start("face_bbox")
        _corners(frame, "face_bbox")
        areas = [(x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in frame["face_bbox"]]
        frame["face_area"] = [str(sum(size >= least for least in (50, 300, 900, 1500))) for size in areas]
        return frame, _pictures(frame), "face_bbox"

    def prepare_keypoint_estimation(
        self,
        keypoints_fmt: str = "keypoints_coco_fmt",
        precomputed_areas: Sequence[int] | None = None,
        custom_keypoints: Sequence[str] | None = None,
    ) -> tuple[Frame, list[str], dict[str, list[Any]], str, str, NDArray[np.float64]]:
        """The table, the pictures, the boxes of each, the columns of keypoints and face boxes, and OKS's deviations."""
        if custom_keypoints is not None:
            validate_custom_keypoints(custom_keypoints)
        names = tuple(KEYPOINTS if custom_keypoints is None else custom_keypoints)
        frame = self._start("person_bbox", "face_bbox", "keypoints", "segments")
        _corners(frame, "person_bbox", "face_bbox")
        frame["keypoints_coco_fmt"] = [
            np.array(coco_keypoints(points, names, "keypoints"), dtype=np.float64) for points in frame["keypoints"]
        ]
        frame["area"] = [area(runs) for runs in _masks(frame)] if precomputed_areas is None else list(precomputed_areas)
        sigmas = COCO_SIGMAS[[KEYPOINTS.index(name) for name in names]]
        if keypoints_fmt != "keypoints_coco_fmt":
            count = len(frame["keypoints"].iloc[0])
            sigmas = np.ones(count) / count
        return frame, _pictures(frame), _boxes_of_pictures(frame), keypoints_fmt, "face_bbox", sigmas

    def prepare_person_parsing(
        self, to_rle: bool, precomputed_masks: Sequence[Any] | None = None
    ) -> tuple[Frame, list[str], str]:
        """The table with each person's mask, as run lengths (`size`, `counts`) or as an array."""
        frame = self._start("segments")
        sizes = list(zip(frame["image_height"], frame["image_width"], strict=True))
        if precomputed_masks is None:
            runs = zip(_masks(frame), sizes, strict=True)
            precomputed_masks = [
                {"size": [int(height), int(width)], "counts": compress(lengths).encode()}
                if to_rle
                else fill(lengths, int(height), int(width)).astype(np.uint8)
                for lengths, (height, width) in runs
            ]
        frame["person_mask"] = list(precomputed_masks)
        return frame, _pictures(frame), "person_mask"

    def prepare_body_parts_detection(self) -> tuple[Frame, list[str], dict[str, list[Any]], None]:
        """The table with `visible_body_parts`, the pictures, the boxes of each as written; no column."""
        frame = self._start("person_bbox", "keypoints", "segments")
        pairs = zip(frame["keypoints"], frame["segments"], strict=True)
        frame["visible_body_parts"] = [
            visible_parts(points, [segment["class_name"] for segment in segments], "strict")
            for points, segments in pairs
        ]
        return frame, _pictures(frame), _boxes_of_pictures(frame), None


class FHIBEFacePublicEval(_Prepared):
    """FHIBE's pictures of faces, prepared for a task."""

    def __init__(
        self,
        dataframe: Frame,
        aligned: bool,
        data_dir: str,
        processed_data_dir: str,
        intersectional_column_names: Sequence[str] | None = None,
        age_buckets: bool = True,
    ) -> None:
        super().__init__(dataframe, intersectional_column_names, age_buckets)
        self.is_aligned, self.data_dir, self.processed_data_dir = aligned, data_dir, processed_data_dir

    def prepare_face_parsing(
        self, mask_fmt: str = "CelebA"
    ) -> tuple[Frame, list[str], list[str], dict[str, str] | None]:
        """The table, the pictures, the label maps, and which labels are mapped to others (ears have no truth)."""
        frame = self._start(mask_fmt)
        masks = [next(name for name in names if "combined" in name) for names in frame[mask_fmt]]
        changed = {"l_ear": "skin", "r_ear": "skin"} if mask_fmt == "CelebA" else None
        return frame, list(frame["filepath"]), [str(Path(self.data_dir, name)) for name in masks], changed

    def prepare_face_verification(self, drop_two_subjects: bool = True) -> tuple[Frame, list[str]]:
        """The rows of people with at least two pictures, by person; pictures of several people left out."""
        frame = self._start()
        if drop_two_subjects:
            frame = frame.loc[[str(cell).lower() not in ("true", "1", "1.0") for cell in frame["multiple_subjects"]]]
        frame = frame.assign(person=frame["subject_id"]).reset_index(drop=True).sort_values(by="person")
        frame = frame[frame.groupby("person")["person"].transform("count") > 1]
        return self._with_aligned(frame)

    def prepare_face_encoding(self) -> tuple[Frame, list[str]]:
        """The table and the pictures."""
        return self._with_aligned(self._start())

    def prepare_face_super_resolution(self) -> tuple[Frame, list[str]]:
        """The table and the pictures."""
        return self._with_aligned(self._start())

    def _with_aligned(self, frame: Frame) -> tuple[Frame, list[str]]:
        """The table, with `aligned_filepath` if the pictures are not aligned yet, and the pictures."""
        paths = list(frame["filepath"])
        if not self.is_aligned:
            frame = frame.assign(
                aligned_filepath=[path.replace(self.data_dir, self.processed_data_dir) for path in paths]
            )
        return frame, paths


def _corners(frame: Frame, *columns: str) -> None:
    """Boxes from corner, width and height to two corners."""
    for name in columns:
        frame[name] = [[x, y, x + width, y + height] for x, y, width, height in frame[name]]


def _pictures(frame: Frame) -> list[str]:
    return list(dict.fromkeys(frame["filepath"]))


def _boxes_of_pictures(frame: Frame) -> dict[str, list[Any]]:
    boxes: dict[str, list[Any]] = {}
    for name, box in zip(frame["filepath"], frame["person_bbox"], strict=True):
        boxes.setdefault(name, []).append(box)
    return boxes


def _masks(frame: Frame) -> list[Any]:
    """The run lengths of each row's person."""
    cells = zip(frame["segments"], frame["image_height"], frame["image_width"], strict=True)
    return [person_runs(segments, int(height), int(width), "segments") for segments, height, width in cells]
