"""Running a model: the original's wrapper unchanged, or any of our models; its outputs go to model_outputs.json."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance.data.reading.entries import EntryStream
from countenance.errors import InputError
from countenance.metrics.keypoints import COCO_SIGMAS
from countenance.models.by_path import answers_by_path, blamed
from countenance.suites.fhibe.evaluation import Step
from countenance.suites.fhibe.outputs import ENCODINGS, FILE
from countenance.suites.fhibe.own_models import OwnModel
from countenance.suites.fhibe.table import FhibeTable
from countenance.suites.fhibe.truth import mask_path, usable
from countenance.suites.fhibe.wrapper_answers import embedding_of, entry_of, picture_of
from countenance.tasks.keypoint_estimation import KEYPOINTS

METHODS = {"face_encoding": "save_encoding", "face_super_resolution": "save_array", "face_verification": "align_faces"}
"""What a wrapper must have beside data_preprocessor and __call__."""
Entries = Iterator[tuple[str, Any]]


def run_model(
    task: str, model: Any, table: FhibeTable, folder: Path, options: Mapping[str, Any], step: Step, content: str = ""
) -> None:
    """Run the model on every image and store what it answers in the published form, image by image.

    A run that was stopped goes on where it stopped, unless the model (`content` is its hash, where it has one) answers
    its first image differently now. Pictures of face_encoding are made again.
    """
    if not hasattr(model, "data_preprocessor"):
        if not callable(model):
            raise InputError(
                f"model is a {type(model).__name__}; expected data_preprocessor and __call__ (FHIBE's wrapper), "
                "or something callable on a list of images"
            )
        # Such a model sees no boxes: its people are in the order of the table.
        model = OwnModel(task, model)
        table = table.take(sorted(range(len(table)), key=table.line.__getitem__))
    if task in METHODS and not callable(getattr(model, METHODS[task], None)):
        raise InputError(f"the model needs a method {METHODS[task]}() for this task")
    if task == "face_parsing" and not hasattr(model, "map_ears_to_skin"):
        raise InputError("the model must say map_ears_to_skin = True or False (FHIBE draws no ears)")
    if task == "face_verification":
        table = usable(table)
    folder.mkdir(parents=True, exist_ok=True)

    def entries(keep: Callable[[str], bool], step: Step = step) -> Entries:
        some = table.take([i for i, key in enumerate(keys) if keep(key)])
        if not len(some):
            return iter(())
        if task == "face_verification":
            return _verification_entries(model, some, step)
        return _entries(task, model, some, folder, options, step)

    keys = table.output_keys(task)
    if task == "face_encoding":
        for _ in entries(lambda key: True):
            pass
        return
    stream = EntryStream(
        folder / FILE, f"{task} {content} {sorted(options.items())} {len(keys)} {keys[:1] + keys[-1:]}"
    )
    first = list(stream.done.items())[:1]
    if first and list(entries(lambda key: key == first[0][0], lambda n: None)) != first:
        stream.done.clear()
    step(len(stream.done))
    stream.write(entries(lambda key: key not in stream.done))


def _entries(task: str, model: Any, table: FhibeTable, folder: Path, options: Mapping[str, Any], step: Step) -> Entries:
    """The answers of a wrapper in the stored form; each is checked as it comes."""
    paths = list(dict.fromkeys(table.keys()))
    by_person = task == "body_parts_detection" or (task == "keypoint_estimation" and not isinstance(model, OwnModel))
    lines = _by_image(table, table.line) if by_person else {}
    ears = task == "face_parsing" and bool(model.map_ears_to_skin)
    for path, answer in answers_by_path(model, paths, step=step, **_keywords(task, table, folder, options)):
        if task == "face_encoding":
            _save(model.save_encoding, picture_of(answer, path), _encoded(folder, path), path)
            yield path, {}
        elif task == "face_super_resolution":
            place = folder / f"super_{Path(path).name}"
            _save(model.save_array, answer, place, path)
            yield path, {"super_res_filename": str(place)}
        else:
            yield path, _with_rows(task, entry_of(task, answer, path, ears=ears), lines.get(path), path)


def _encoded(folder: Path, path: str) -> Path:
    return folder / ENCODINGS / Path(path).name


def _save(save: Callable[[Any, str], Any], answer: Any, path: Path, image: str) -> None:
    """Let the model write its picture, and see that it did."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with blamed(image):
        save(answer, str(path))
    if not path.is_file():
        raise InputError(f"{image}: {getattr(save, '__name__', 'the model')}() wrote no picture at {path}")


def _keywords(task: str, table: FhibeTable, folder: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the original passes to `data_preprocessor`."""
    if task in ("person_localization", "face_localization"):
        return {"gt_column_name": "person_bbox" if task == "person_localization" else "face_bbox"}
    if task == "person_parsing":
        return {"to_rle": True, "gt_column_name": "person_mask"}
    if task == "keypoint_estimation":
        names = options.get("custom_keypoints") or KEYPOINTS
        return {
            "img_filepath_gt_bboxes": _by_image(table, _boxes(table)),
            "gt_keypoint_column_name": "keypoints_coco_fmt",
            "gt_face_bbox_column_name": "face_bbox",
            "kpt_oks_sigmas": COCO_SIGMAS[[KEYPOINTS.index(name) for name in names]],
            "custom_keypoints": options.get("custom_keypoints"),
        }
    if task == "body_parts_detection":
        return {"gt_column_name": None, "img_filepath_gt_bboxes": _by_image(table, _boxes(table))}
    if task == "face_parsing":
        masks = [str(mask_path(table, i)) for i in range(len(table))]
        return {"mask_filepaths": masks, "prediction_change_map": {"l_ear": "skin", "r_ear": "skin"}}
    if task == "face_encoding":
        paths = list(dict.fromkeys(table.keys()))
        encoded = [str(_encoded(folder, path)) for path in paths]
        return {"aligned": True, "aligned_filepaths": paths, "encoded_filepaths": encoded}
    return {"aligned": True}


def _boxes(table: FhibeTable) -> list[list[float]]:
    boxes: list[list[float]] = table.boxes("person_bbox" if "person_bbox" in table.columns else "face_bbox").tolist()
    return boxes


def _by_image(table: FhibeTable, values: Sequence[Any]) -> dict[str, list[Any]]:
    """What the rows of each image have, in the order of the table."""
    out: dict[str, list[Any]] = {}
    for key, value in zip(table.keys(), values, strict=True):
        out.setdefault(key, []).append(value)
    return out


def _with_rows(task: str, entry: dict[str, Any], lines: list[int] | None, place: str) -> dict[str, Any]:
    """An entry with the row that each answer belongs to, where the model answered once for each person."""
    if lines is None:
        return entry
    if (answers := len(entry["detections"])) == len(lines):
        return entry | {"rows": lines}
    if task == "body_parts_detection" and answers < len(lines):
        raise InputError(f"{place}: {answers} answers for {len(lines)} people; one for each, in the order of the boxes")
    return entry


def _verification_entries(model: Any, table: FhibeTable, step: Step) -> Entries:
    paths, aligned = table.keys(), table.output_keys("face_verification")
    with blamed(paths[0]):
        asked = {"batch_size": 1, "num_workers": 0, "cuda": False}
        success = list(model.align_faces(img_filepaths=paths, aligned_img_filepaths=aligned, **asked))
    if len(success) != len(paths):
        raise InputError(f"align_faces said {len(success)} times whether it worked, for {len(paths)} images")
    found = [path for path, good in zip(aligned, success, strict=True) if good]
    keywords = {
        "aligned": True,
        "aligned_img_filepaths": aligned,
        "success": success,
        "success_aligned_img_filepaths": found,
    }
    answers = answers_by_path(model, paths, found, step, **keywords)
    for path, name, good in zip(paths, aligned, success, strict=True):
        vector = embedding_of(*reversed(next(answers))) if good else None
        yield name, {"detections": vector, "img_filepath": path}
    next(answers, None)  # a model that answers more often than it was asked is told so
