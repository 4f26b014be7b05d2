"""The mask detectors on real photographs: counts against a plain loop written apart from the adapters."""

from pathlib import Path

import numpy as np
import pytest

from countenance.data.image import LazyImage
from countenance.errors import InputError
from countenance.models.registry import ModelSpec
from countenance.models.zoo.aizoo import anchors

PHOTOS = 60


def photos(shared: Path) -> list[Path]:
    return [shared / "data" / "fairface" / "val" / f"{i}.jpg" for i in range(1, PHOTOS + 1)]


def weights(shared: Path, name: str) -> Path:
    path = shared / "weights" / name
    if not path.is_file():
        pytest.skip(f"../shared/weights/{name} is not here")
    return path


def answers(shared: Path, name: str, file: str) -> list:
    model = ModelSpec(name, str(weights(shared, file))).load()
    return model([LazyImage(path).load() for path in photos(shared)])


def session(path: Path):
    import onnxruntime as ort

    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def read_rgb(path: Path):
    import cv2

    return cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)


def test_wearmask_counts_match_a_plain_loop(shared):
    import cv2

    net = session(weights(shared, "wearmask_yolo_fastest.onnx"))
    localised = unmasked = 0
    for path in photos(shared):
        image = read_rgb(path)
        scale = min(512 / image.shape[1], 320 / image.shape[0])
        w, h = round(image.shape[1] * scale), round(image.shape[0] * scale)
        canvas = np.full((320, 512, 3), 114, np.uint8)
        top, left = (320 - h) // 2, (512 - w) // 2
        canvas[top : top + h, left : left + w] = cv2.resize(image, (w, h))
        rows = net.run(None, {"images": canvas.transpose(2, 0, 1)[None].astype(np.float32) / 255})[0][0]
        shares = 1 / (1 + np.exp(-rows[:, 4:]))
        best = shares[:, 1:].argmax(axis=1)
        sure = shares[:, 0] * shares[:, 1:].max(axis=1) >= 0.3
        localised += bool(sure.any())
        unmasked += bool((sure & (best == 0)).any())
    found = answers(shared, "wearmask", "wearmask_yolo_fastest.onnx")
    assert abs(sum(len(boxes) > 0 for boxes in found) - localised) <= 1
    assert abs(sum("no_mask" in boxes.labels for boxes in found) - unmasked) <= 1
    assert localised > PHOTOS / 2


def test_rfb320_and_yunet_counts_match_a_plain_loop(shared):
    import cv2

    rfb, yunet = session(weights(shared, "rfb320.onnx")), session(weights(shared, "yunet.onnx"))
    count = {"rfb320": 0, "yunet": 0}
    names = [output.name for output in yunet.get_outputs()]
    for path in photos(shared):
        image = read_rgb(path)
        small = (cv2.resize(image, (320, 240)).astype(np.float32) - 127) / 128
        scores, _ = rfb.run(["scores", "boxes"], {"input": small.transpose(2, 0, 1)[None]})
        count["rfb320"] += bool((scores[0, :, 1] >= 0.7).any())
        h, w = (-(-side // 32) * 32 for side in image.shape[:2])
        padded = np.zeros((1, 3, h, w), np.float32)
        padded[0, :, : image.shape[0], : image.shape[1]] = image[:, :, ::-1].transpose(2, 0, 1)
        out = dict(zip(names, yunet.run(None, {"input": padded}), strict=True))
        count["yunet"] += any(
            (np.sqrt(np.clip(out[f"cls_{s}"], 0, 1) * np.clip(out[f"obj_{s}"], 0, 1)) >= 0.6).any() for s in (8, 16, 32)
        )
    for name, expected in count.items():
        found = answers(shared, name, f"{name}.onnx")
        assert abs(sum(len(boxes) > 0 for boxes in found) - expected) <= 1
        assert all(boxes.labels is None for boxes in found)


def test_aizoo_finds_nearly_every_face_and_no_masks(shared):
    weights(shared, "face_mask_detection.prototxt")
    found = answers(shared, "aizoo", "face_mask_detection.caffemodel")
    assert sum(len(boxes) > 0 for boxes in found) >= 0.95 * PHOTOS
    assert sum("mask" in boxes.labels for boxes in found) <= 2
    centres = np.array([boxes.xyxy[0].reshape(2, 2).mean(axis=0) for boxes in found if len(boxes)])
    assert np.abs(centres.mean(axis=0) - 112).max() < 20  # FairFace has its faces in the middle


def test_anchors_cover_the_picture_cell_by_cell():
    found = anchors()
    assert len(found) == 4 * (33**2 + 17**2 + 9**2 + 5**2 + 3**2)
    assert np.allclose(found[:4, :2], 0.5 / 33) and np.allclose(found[0, 2:], 0.04) and np.allclose(found[1, 2:], 0.056)
    assert np.allclose(found[2, 2] / found[2, 3], 0.62)


def test_weights_without_their_layout_are_refused(tmp_path):
    (tmp_path / "net.caffemodel").write_bytes(b"x")
    with pytest.raises(InputError, match=r"net.prototxt: no such file; the .prototxt lies beside"):
        ModelSpec("aizoo", str(tmp_path / "net.caffemodel")).load()


def test_another_network_is_not_taken_for_wearmask(shared):
    with pytest.raises(InputError, match="not WearMask's"):
        ModelSpec("wearmask", str(weights(shared, "rfb320.onnx"))).load()


def test_our_own_detector_ships_and_knows_people_it_has_never_seen():
    from countenance.data import load_dataset
    from countenance.models.zoo.countenance_mask import WEIGHTS
    from countenance.tasks import load_task

    assert WEIGHTS.stat().st_size <= 3_000_000
    model, task = ModelSpec("countenance-mask").load(), load_task("mask_detection")
    held_out = load_dataset("people:portraits").filter(lambda sample: sample.attributes["split"] == "test")
    rows = [row for sample in held_out for row in task.score(sample, model([sample.load()])[0])]
    rates = {}
    for name in ("localised", "true_positive", "true_negative"):
        values = [row[f"m.{name}"] for row in rows if row[f"m.{name}"] is not None]
        rates[name] = sum(values) / len(values)
    assert len(rows) == 320
    assert rates["localised"] >= 0.95 and rates["true_positive"] >= 0.95 and rates["true_negative"] >= 0.95


def test_our_own_detector_finds_no_faces_where_there_are_no_people():
    from countenance.data import load_dataset

    scenes = load_dataset("people:objects").filter(lambda sample: sample.attributes["split"] == "test")
    found = ModelSpec("countenance-mask").load()([sample.load() for sample in scenes])
    assert sum(len(boxes) for boxes in found) <= 3


def test_our_own_detector_on_photographs_as_reported(shared):
    found = ModelSpec("countenance-mask").load()([LazyImage(path).load() for path in photos(shared)])
    localised = [boxes for boxes in found if len(boxes)]
    assert len(localised) >= 0.8 * PHOTOS
    assert sum("no_mask" in boxes.labels for boxes in localised) >= 0.85 * len(localised)


def test_weights_trained_like_ours_are_taken_and_a_changed_file_is_refused(tmp_path):
    import shutil

    from countenance.models.zoo.countenance_mask import WEIGHTS
    from countenance.suites.mask_fairness.detectors import weights_and_settings

    mine = tmp_path / "mine.onnx"
    shutil.copyfile(WEIGHTS, mine)
    weights, settings = weights_and_settings("countenance-mask", mine)
    assert weights is None
    assert ModelSpec("countenance-mask", settings=settings).load() is not None
    with pytest.raises(InputError, match="is not the file that the run began with"):
        ModelSpec("countenance-mask", settings={**settings, "sha256": "0"}).load()
