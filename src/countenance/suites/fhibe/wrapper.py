"""Running a model: the original's wrapper unchanged, or any of our models; its outputs go to model_outputs.json."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.metrics.keypoints import COCO_SIGMAS
from countenance.metrics.masks import compress, mask_runs
from countenance.suites.fhibe.literals import literal
from countenance.suites.fhibe.outputs import FILE, write_entries
from countenance.suites.fhibe.scoring.keypoints import check_custom_keypoints
from countenance.suites.fhibe.scoring.verification import keys_of, usable
from countenance.suites.fhibe.table import Table
from countenance.suites.fhibe.vocabulary import EARS_TO_SKIN, KEYPOINTS
from countenance.suites.fhibe.writers import WRITERS, picture_names, save_picture

Step = Callable[[int], None]


def run_model(task: str, model: Any, table: Table, folder: Path, options: dict[str, Any], step: Step) -> None:
    """Ask the model about every image and store what it answers in the published form."""
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(model, "data_preprocessor"):
        _run_wrapper(task, model, table, folder, options, step)
    elif callable(model):
        _run_callable(task, model, table, folder, step)
    else:
        raise InputError(
            f"model is a {type(model).__name__}; expected data_preprocessor and __call__ (FHIBE's wrapper), "
            "or something callable on a list of images"
        )


def rle_of(mask: Any) -> dict[str, Any]:
    """A boolean mask as {"size": [height, width], "counts": text}.

    >>> rle_of(np.ones((2, 2), bool))
    {'size': [2, 2], 'counts': '04'}
    """
    array = np.asarray(mask).astype(bool)
    return {"size": [int(n) for n in array.shape], "counts": compress(mask_runs(array))}


def _no_gradients() -> AbstractContextManager[Any]:
    torch = sys.modules.get("torch")
    return torch.no_grad() if torch is not None else nullcontext()


def _unique(keys: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(keys))


def _run_wrapper(task: str, model: Any, table: Table, folder: Path, options: dict[str, Any], step: Step) -> None:
    if task == "face_verification":
        _run_verification(model, table, folder, step)
        return
    paths = _unique(table.keys())
    keywords = _keywords(task, table, folder, options)
    results = _ask(model, paths, keywords, step)
    if task == "face_encoding":
        _need(model, "save_encoding")
        for path, result in zip(keywords["encoded_filepaths"], results, strict=True):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            model.save_encoding(_either(result, "encoding", "encodings"), str(path))
        return
    if task == "face_super_resolution":
        _need(model, "save_array")
        names = picture_names(table, folder)
        entries = []
        for path, name, array in zip(paths, names, results, strict=True):
            model.save_array(array, str(name))
            entries.append((path, {"super_res_filename": str(name)}))
        write_entries(folder / FILE, entries)
        return
    ears = _ears(model) if task == "face_parsing" else False
    write_entries(folder / FILE, ((path, _entry(task, r, ears)) for path, r in zip(paths, results, strict=True)))


def _ask(model: Any, paths: list[str], keywords: dict[str, Any], step: Step) -> list[Any]:
    results: list[Any] = []
    with _no_gradients():
        for batch in model.data_preprocessor(paths, **keywords):
            answers = list(model(batch))
            results.extend(answers)
            step(len(answers))
    if len(results) != len(paths):
        raise InputError(f"the model answered {len(results)} times for {len(paths)} images; one answer for each")
    return results


def _need(model: Any, name: str) -> None:
    if not hasattr(model, name):
        raise InputError(f"the model needs a method {name}() for this task")


def _either(result: Any, *names: str) -> Any:
    for name in names:
        if isinstance(result, dict) and name in result:
            return result[name]
    raise InputError(f"the model returned {type(result).__name__}, expected a dict with {names[0]!r}")


def _ears(model: Any) -> bool:
    if not hasattr(model, "map_ears_to_skin"):
        raise InputError("the model must say map_ears_to_skin = True or False (FHIBE draws no ears)")
    return bool(model.map_ears_to_skin)


def _keywords(task: str, table: Table, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    """What the original passes to `data_preprocessor`."""
    if task in ("person_localization", "face_localization"):
        return {"gt_column_name": "person_bbox" if task == "person_localization" else "face_bbox"}
    if task == "person_parsing":
        return {"to_rle": True, "gt_column_name": "person_mask"}
    if task == "keypoint_estimation":
        names = check_custom_keypoints(options.get("custom_keypoints"))
        return {
            "img_filepath_gt_bboxes": _boxes_by_image(table),
            "gt_keypoint_column_name": "keypoints_coco_fmt",
            "gt_face_bbox_column_name": "face_bbox",
            "kpt_oks_sigmas": COCO_SIGMAS[[KEYPOINTS.index(name) for name in names]],
            "custom_keypoints": options.get("custom_keypoints"),
        }
    if task == "body_parts_detection":
        return {"gt_column_name": None, "img_filepath_gt_bboxes": _boxes_by_image(table)}
    if task == "face_parsing":
        masks = []
        for i, cell in enumerate(table.text("CelebA")):
            names = literal(cell, table.place(i, "CelebA"))
            masks.append(str(table.root / next(name for name in names if "combined" in name)))
        return {"mask_filepaths": masks, "prediction_change_map": {"l_ear": "skin", "r_ear": "skin"}}
    if task == "face_encoding":
        encoded = [str(folder / "face_encodings" / Path(name).name) for name in table.text("filepath")]
        return {"aligned": True, "aligned_filepaths": table.keys(), "encoded_filepaths": encoded}
    return {"aligned": True}


def _boxes_by_image(table: Table) -> dict[str, list[list[float]]]:
    out: dict[str, list[list[float]]] = {}
    boxes = table.boxes("person_bbox") if "person_bbox" in table.columns else table.boxes("face_bbox")
    for key, box in zip(table.keys(), boxes.tolist(), strict=True):
        out.setdefault(key, []).append(box)
    return out


def _entry(task: str, result: Any, ears: bool) -> dict[str, Any]:
    """One answer of a wrapper in the stored form."""
    if task == "person_localization":
        return _kept(result, "bboxes", lambda box: [float(v) for v in box])
    if task == "person_parsing":
        return _kept(result, "masks", rle_of)
    if task == "keypoint_estimation":
        return {"detections": _plain(result.get("keypoints") or []), "scores": _plain(result.get("scores") or [])}
    if task == "face_localization":
        return {"detections": _plain(result.get("detections") or []), "scores": _plain(result.get("scores") or [])}
    if task == "body_parts_detection":
        return {"detections": _plain(result)}
    labels = np.array(_either(result, "detections")).astype(np.uint8)
    if ears:
        for old, new in EARS_TO_SKIN.items():
            labels[labels == old] = new
    return {"detections_rle": {str(int(v)): rle_of(labels == v) for v in np.unique(labels)}}


def _kept(result: dict[str, Any], name: str, convert: Callable[[Any], Any]) -> dict[str, Any]:
    """Detections of people (label 0) only; none at all is null, as published."""
    values, scores, labels = (result.get(field) or [] for field in (name, "scores", "labels"))
    kept = [i for i in range(len(values)) if int(labels[i]) == 0]
    if not kept:
        return {"detections": None, "scores": None}
    return {"detections": [convert(values[i]) for i in kept], "scores": [float(scores[i]) for i in kept]}


def _plain(value: Any) -> Any:
    """Lists, dicts and numbers of plain Python, from arrays and tensors."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def _run_verification(model: Any, table: Table, folder: Path, step: Step) -> None:
    used = usable(table)
    paths, aligned = used.keys(), keys_of(used)
    _need(model, "align_faces")
    success = list(
        model.align_faces(img_filepaths=paths, aligned_img_filepaths=aligned, batch_size=1, num_workers=0, cuda=False)
    )
    if len(success) != len(paths):
        raise InputError(f"align_faces said {len(success)} times whether it worked, for {len(paths)} images")
    found = [path for path, good in zip(aligned, success, strict=True) if good]
    keywords = {
        "aligned": True,
        "aligned_img_filepaths": aligned,
        "success": success,
        "success_aligned_img_filepaths": found,
    }
    vectors: list[Any] = []
    with _no_gradients():
        for batch in model.data_preprocessor(paths, **keywords):
            answers = model(batch)
            new = [_vector(answer) for answer in answers]
            vectors.extend(new)
            step(len(new))
    if len(vectors) != len(found):
        raise InputError(f"the model gave {len(vectors)} embeddings for {len(found)} aligned faces")
    rest = iter(vectors)
    write_entries(
        folder / FILE,
        (
            (name, {"detections": next(rest) if good else None, "img_filepath": path})
            for path, name, good in zip(paths, aligned, success, strict=True)
        ),
    )


def _vector(answer: Any) -> list[float]:
    value = answer.get("embeddings", answer.get("detections")) if isinstance(answer, dict) else answer
    return [float(v) for v in np.asarray(_plain(value), dtype=np.float64).ravel()]


def _run_callable(task: str, model: Any, table: Table, folder: Path, step: Step, batch: int = 8) -> None:
    """One of our models: a list of pictures in, one answer for each out."""
    rows = usable(table) if task == "face_verification" else table
    names = keys_of(rows) if task == "face_verification" else rows.keys()
    first = {name: i for i, name in reversed(list(enumerate(names)))}
    chosen = sorted(first.values())
    pictures = picture_names(rows, folder) if task == "face_super_resolution" else []
    of = {name: i for i, name in enumerate(_unique(rows.keys()))}

    def entries() -> Iterator[tuple[str, Any]]:
        for a in range(0, len(chosen), batch):
            part = chosen[a : a + batch]
            answers = list(model([LazyImage(rows.image_path(i)).load() for i in part]))
            if len(answers) != len(part):
                raise InputError(f"the model returned {len(answers)} answers for {len(part)} images")
            for i, answer in zip(part, answers, strict=True):
                if task == "face_encoding":
                    save_picture(folder / "face_encodings" / Path(rows.text("filepath")[i]).name, answer)
                elif task == "face_super_resolution":
                    place = pictures[of[rows.keys()[i]]]
                    save_picture(place, answer)
                    yield names[i], {"super_res_filename": str(place)}
                else:
                    yield names[i], WRITERS[task](answer)
            step(len(part))

    if task == "face_encoding":
        for _ in entries():
            pass
        return
    write_entries(folder / FILE, entries())
