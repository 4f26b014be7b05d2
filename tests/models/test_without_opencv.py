"""OpenCV is an extra: the demo's detector runs without it, and what needs it says which extra to install."""

import sys
from pathlib import Path

import numpy as np
import pytest

from countenance.data import jpeg, load_dataset
from countenance.data.adapters.fhibe.truth import person_runs
from countenance.data.image import LazyImage, decoder
from countenance.errors import InputError, MissingExtra
from countenance.metrics.pairs import tail
from countenance.models import ModelSpec
from countenance.models.zoo import ZOO
from countenance.models.zoo.mtcnn import Mtcnn

SOURCE = Path(__file__).resolve().parents[2] / "src" / "countenance"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)


def test_only_one_place_imports_opencv():
    assert [path.name for path in SOURCE.rglob("*.py") if "import cv2" in path.read_text(encoding="utf-8")] == []


def test_pictures_are_decoded_by_pillow(without, tmp_path):
    jpeg.same_as_pillow.cache_clear()
    try:
        (tmp_path / "a.jpg").write_bytes(jpeg.sample_file())
        assert jpeg.fast_pixels(jpeg.sample_file()) is None
        assert LazyImage(tmp_path / "a.jpg").load().shape == (23, 37, 3)
        assert decoder().startswith("pillow")
    finally:
        jpeg.same_as_pillow.cache_clear()


def test_scores_are_counted_alike(monkeypatch):
    scores = np.random.default_rng(0).uniform(-1, 0.99, 1000).astype(np.float32)
    counts = []
    for _ in range(2):
        made = tail._Histogram((-1.0, 1.0))
        made.add(scores)
        counts.append(made.counts)
        monkeypatch.setitem(sys.modules, "cv2", None)
    np.testing.assert_array_equal(*counts)
    assert counts[0].sum() == 1000


def test_the_demos_detector_finds_a_face(without):
    picture = load_dataset("people:portraits")[0]
    (found,) = Mtcnn()([picture.load()])
    assert found.scores.max() > 0.9
    x0, y0, x1, y1 = picture.subjects[0].face_box
    assert x0 < found.xyxy[0, [0, 2]].mean() < x1 and y0 < found.xyxy[0, [1, 3]].mean() < y1


def test_the_embedded_mask_detector_runs(without):
    picture = load_dataset("people:portraits")[0]
    model = ModelSpec("countenance-mask").load()
    assert len(model([picture.load()])) == 1


@pytest.mark.parametrize("name", [name for name, entry in ZOO.items() if entry.package == "cv2"])
def test_a_detector_that_needs_it_names_the_extra(without, name, tmp_path):
    with pytest.raises(InputError, match=rf"model '{name}' is not installed: pip install 'countenance\[opencv\]'"):
        ModelSpec(name).load()
    with pytest.raises(MissingExtra, match=r"pip install 'countenance\[opencv\]'"):
        ZOO[name].build(tmp_path / "net.weights", "cpu", {})


def test_fhibes_polygons_name_the_extra(without):
    with pytest.raises(MissingExtra, match=r"FHIBE's polygons needs an optional part: .*opencv"):
        person_runs([], 4, 4, "row 1")


def test_training_names_the_extra_before_it_starts(without, tmp_path):
    from countenance.suites.mask_fairness.train import TrainSettings, train_and_export

    pytest.importorskip("torch")
    with pytest.raises(MissingExtra, match="opencv"):
        train_and_export(tmp_path / "net.onnx", TrainSettings(minutes=1))


def test_mtcnn_predicts_what_it_predicted_with_opencv(monkeypatch):
    cv2 = pytest.importorskip("cv2")

    def resize(image, width, height):
        return cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)

    pictures = [sample.load() for sample in load_dataset("people:portraits")[:4]]
    ours = Mtcnn()(pictures)
    monkeypatch.setattr("countenance.models.zoo.mtcnn.resize_area", resize)
    for mine, theirs in zip(ours, Mtcnn()(pictures), strict=True):
        np.testing.assert_array_equal(mine.xyxy, theirs.xyxy)
        np.testing.assert_array_equal(mine.scores, theirs.scores)
