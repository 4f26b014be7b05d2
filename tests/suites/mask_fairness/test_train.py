"""Training our own detector: targets, augmentation, and that it learns and is exported as it was trained."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from countenance.learning.augmentation import random_window
from countenance.suites.mask_fairness.train.augmented_pictures import TrainingPicture, augmented, draw_mask
from countenance.suites.mask_fairness.train.loss import SMALLEST, targets
from countenance.suites.mask_fairness.train.network import SIDE, STRIDE

FACE = np.array([60.0, 50, 160, 190])
LANDMARKS = np.array([[85.0, 105], [135, 105], [110, 130], [92, 155], [128, 155]])


def portrait(masked: float = 0.0, colour: int = 200) -> TrainingPicture:
    import cv2

    pixels = np.full((256, 256, 3), 60, np.uint8)
    cv2.ellipse(pixels, (110, 120), (50, 70), 0, 0, 360, (colour, colour - 30, colour - 60), -1)
    return TrainingPicture(pixels, FACE[None], np.array([masked]), LANDMARKS[None])


boxes = st.lists(
    st.tuples(st.floats(0, 150), st.floats(0, 150), st.floats(2, 100), st.floats(2, 100)).map(
        lambda b: [b[0], b[1], min(b[0] + b[2], SIDE), min(b[1] + b[3], SIDE)]
    ),
    max_size=4,
)


@given(boxes)
def test_every_face_large_enough_has_a_cell_that_answers_for_it_or_for_a_smaller_one(found):
    array = np.array(found).reshape(-1, 4)
    wanted = targets(array, np.zeros(len(array)))
    assert set(np.unique(wanted[0])) <= {-1.0, 0.0, 1.0}
    large = [box for box in found if min(box[2] - box[0], box[3] - box[1]) >= SMALLEST]
    assert (wanted[0] == 1).any() == bool(large)
    for y, x in np.argwhere(wanted[0] == 1):
        x0, y0, x1, y1 = wanted[2:, y, x]
        assert x0 - STRIDE < (x + 0.5) * STRIDE < x1 + STRIDE and y0 - STRIDE < (y + 0.5) * STRIDE < y1 + STRIDE


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_a_window_keeps_boxes_inside_and_on_the_face(seed):
    picture = portrait()
    pixels, found, kept = random_window(picture.pixels, picture.boxes, np.random.default_rng(seed), SIDE)
    assert pixels.shape == (SIDE, SIDE, 3) and len(found) == len(kept)
    assert ((found >= 0) & (found <= SIDE)).all()
    for x0, y0, x1, y1 in found:
        if min(x1 - x0, y1 - y0) > 12:  # the middle of the box is face, which is brighter than the background
            assert pixels[int((y0 + y1) / 2), int((x0 + x1) / 2)].mean() > 100


def answer_of(boxes, side: int, face: float, mask: float):
    """A network's output that gives these boxes at every cell, with these logits."""
    import torch

    cells = side // STRIDE
    at = (torch.arange(cells) + 0.5) * STRIDE
    x, y = torch.meshgrid(at, at, indexing="xy")
    x0, y0, x1, y1 = boxes
    reach = torch.stack([x - x0, y - y0, x1 - x, y1 - y]).clamp(min=1e-3) / STRIDE
    return torch.cat([torch.full((1, cells, cells), face), torch.full((1, cells, cells), mask), reach.log()])[None]


def test_the_loss_of_boxes_is_one_minus_the_generalised_overlap():
    torch = pytest.importorskip("torch")
    from countenance.suites.mask_fairness.train.loss import loss

    truth = np.array([[40.0, 40, 120, 120]])
    wanted = torch.from_numpy(targets(truth, np.array([1.0])))[None]
    for found, expected in (((40, 40, 120, 120), 0.0), ((40, 40, 160, 120), 1 / 3), ((20, 40, 120, 120), 1 / 5)):
        _, parts = loss(answer_of(found, SIDE, -4.0, 2.0), wanted)
        assert parts["boxes"] == pytest.approx(expected, abs=1e-4)
    smaller = answer_of((40, 40, 100, 100), SIDE, -4.0, 2.0)
    assert loss(smaller, wanted)[1]["boxes"] == pytest.approx(1 - 60 * 60 / 6400, abs=0.05)


def test_a_batch_without_faces_has_a_loss_of_its_cells_alone():
    torch = pytest.importorskip("torch")
    from countenance.suites.mask_fairness.train.loss import loss

    nobody = torch.from_numpy(targets(np.zeros((0, 4)), np.zeros(0)))[None]
    total, parts = loss(answer_of((40, 40, 120, 120), SIDE, -4.0, 0.0), nobody)
    assert parts["masks"] == parts["boxes"] == 0 and float(total) == pytest.approx(2 * parts["faces"])
    unsure = loss(answer_of((40, 40, 120, 120), SIDE, 0.0, 0.0), nobody)[1]["faces"]
    cells = (SIDE // STRIDE) ** 2
    assert unsure == pytest.approx(cells * 0.6 * 0.25 * np.log(2), rel=1e-5)  # focal: weight × distance² × entropy


def test_what_nobody_knows_about_a_mask_is_not_learned():
    torch = pytest.importorskip("torch")
    from countenance.suites.mask_fairness.train.loss import loss

    box = np.array([[40.0, 40, 120, 120]])
    for masked, expected in ((-1.0, 0.0), (1.0, np.log1p(np.exp(-2))), (0.0, 2 + np.log1p(np.exp(-2)))):
        wanted = torch.from_numpy(targets(box, np.array([masked])))[None]
        assert loss(answer_of(box[0], SIDE, 1.0, 2.0), wanted)[1]["masks"] == pytest.approx(expected, rel=1e-5)


def test_a_drawn_mask_covers_the_mouth_and_leaves_the_eyes():
    for seed in range(20):
        picture = portrait()
        pixels = picture.pixels.copy()
        draw_mask(pixels, FACE, LANDMARKS, np.random.default_rng(seed))
        changed = np.abs(pixels.astype(int) - picture.pixels).max(axis=2) > 2
        assert not changed[100:107, 83:88].any()
        assert changed[150:160, 100:120].mean() > 0.5


def test_the_same_seed_makes_the_same_example():
    one, two = (augmented(portrait(), [portrait().pixels], np.random.default_rng(7)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_it_learns_and_the_exported_file_answers_alike(tmp_path):
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from countenance.learning.export import export_onnx
    from countenance.models.onnx import open_session
    from countenance.models.zoo.countenance_mask import CountenanceMask, decode
    from countenance.suites.mask_fairness.train import EXPORTED, TrainSettings, train

    said: list[str] = []
    pictures = [portrait(colour=colour) for colour in (140, 180, 220)]
    network = train(pictures, [], TrainSettings(steps=12, batch=4, seed=1), said.append)
    assert "step 12/12" in said[-1]
    export_onnx(network, tmp_path / "net.onnx", EXPORTED)
    assert (tmp_path / "net.onnx").stat().st_size < 3_000_000
    pixels = np.random.default_rng(0).random((1, 3, 96, 128), dtype=np.float32)
    (found,) = open_session(tmp_path / "net.onnx").run(None, {"pixels": pixels})
    with torch.no_grad():
        expected = network(torch.from_numpy(pixels)).numpy()
    assert found.shape == (1, 6, 12, 16) and np.allclose(found, expected, atol=1e-4)
    boxes, faces, _ = decode(found[0].astype(float))
    assert len(boxes) == 12 * 16 and ((faces > 0) & (faces < 1)).all()
    sure = CountenanceMask(tmp_path / "net.onnx", min_score=0.0)([pictures[0].pixels])[0]
    assert len(sure) and set(sure.labels) <= {"mask", "no_mask"} and (sure.xyxy <= 256).all()
