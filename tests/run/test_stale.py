"""Stored predictions are used again only for the same model."""

from pathlib import Path

import numpy as np
import pytest

from countenance.answers import Boxes, Embedding, LabelMap, Labels, Masks, Picture
from countenance.models.registry import ModelSpec, external_data
from countenance.run import Run, evaluate
from countenance.run.staleness import same_answer
from countenance.testing import DiscDetector, small_dataset

TASK = "face_localization"


class Shifted(DiscDetector):
    """A detector whose boxes depend on its state."""

    def __init__(self, by: float) -> None:
        super().__init__()
        self.by = by

    def __call__(self, images):  # type: ignore[no-untyped-def]
        return [Boxes(boxes.xyxy + self.by, boxes.scores) for boxes in super().__call__(images)]


def test_another_state_is_another_model(tmp_path: Path) -> None:
    lines: list[str] = []
    data = small_dataset(24)
    first = evaluate(Shifted(0), TASK, data, out=tmp_path / "run")
    second = evaluate(Shifted(30), TASK, data, out=tmp_path / "run", say=lines.append)
    mean = [float(np.nanmean(run.scores()["m.best_iou"].to_numpy())) for run in (second,)]
    assert mean[0] < 0.5
    assert "held another run" in lines[0] and "is not what the model predicts now" in lines[0]
    kept = Run(tmp_path / f"run-{first.manifest.key[:8]}")
    assert float(np.nanmean(kept.scores()["m.best_iou"].to_numpy())) == 1.0
    evaluate(Shifted(0), TASK, data, out=tmp_path / "run")
    assert len(list(tmp_path.glob("run-*"))) == 2  # neither of the older ones was lost


def test_the_same_model_is_not_evaluated_again(tmp_path: Path) -> None:
    lines: list[str] = []
    evaluate(Shifted(3), TASK, small_dataset(24), out=tmp_path / "run")
    evaluate(Shifted(3), TASK, small_dataset(24), out=tmp_path / "run", say=lines.append)
    assert lines == [f"{tmp_path / 'run'}: already complete, nothing to do"]


def test_rounding_is_no_difference(tmp_path: Path) -> None:
    evaluate(Shifted(0), TASK, small_dataset(24), out=tmp_path / "run")
    evaluate(Shifted(1e-5), TASK, small_dataset(24), out=tmp_path / "run")
    assert not list(tmp_path.glob("run-*"))


def test_a_model_that_differs_from_itself_is_called_so_and_goes_on(tmp_path: Path) -> None:
    random = np.random.default_rng(0)

    def noisy(images):  # type: ignore[no-untyped-def]
        return [Boxes(random.uniform(0, 20, (1, 2)).repeat(2, axis=1)[:, [0, 2, 1, 3]] + [0, 0, 9, 9]) for _ in images]

    lines: list[str] = []
    first = evaluate(noisy, TASK, small_dataset(24), out=tmp_path / "run")
    again = evaluate(noisy, TASK, small_dataset(24), out=tmp_path / "run", say=lines.append)
    assert "nondeterministic" in lines[0] and again.scores().equals(first.scores())


def test_code_that_opens_a_file_is_probed_in_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "opens.py").write_text(
        "from pathlib import Path\n"
        "from countenance.answers import Boxes\n"
        "from countenance.testing import DiscDetector\n"
        "by = float((Path(__file__).parent / 'weights.txt').read_text())\n"
        "def detect(images):\n"
        "    return [Boxes(boxes.xyxy + by, boxes.scores) for boxes in DiscDetector()(images)]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    lines: list[str] = []
    for content in ("0", "0", "25"):
        (tmp_path / "weights.txt").write_text(content)
        evaluate("opens:detect", TASK, small_dataset(24), out=tmp_path / "run", say=lines.append)
    assert "already complete" in lines[0] and "held another run" in lines[1] and len(lines) == 2


class Hesitant(DiscDetector):
    """A detector that is unsure of a few pictures; those below its threshold are left out."""

    def __init__(self, threshold: float) -> None:
        super().__init__()
        self.threshold = threshold

    def __call__(self, images):  # type: ignore[no-untyped-def]
        scores = [0.5 if image.sum() % 61 == 0 else 0.9 for image in images]
        found = super().__call__(images)
        return [
            Boxes(boxes.xyxy, [score] * len(boxes)) if score >= self.threshold else Boxes(np.zeros((0, 4)))
            for boxes, score in zip(found, scores, strict=True)
        ]


@pytest.mark.parametrize("thresholds", [(0.4, 0.6), (0.6, 0.4)])
def test_a_threshold_that_changes_few_predictions_is_another_model(tmp_path: Path, thresholds) -> None:  # type: ignore[no-untyped-def]
    data, found = small_dataset(120, 32), []
    for threshold in thresholds:
        run = evaluate(Hesitant(threshold), TASK, data, out=tmp_path / "run")
        found.append(float(np.nanmean(run.scores()["m.best_iou"].to_numpy())))
    assert found[0] != found[1] and 0.9 < min(found) < max(found) == 1


def test_external_weights_in_folders_below_are_part_of_a_network(tmp_path: Path) -> None:
    place = f"a/b/{'long' * 40}.bin"
    net, weights = tmp_path / "net.onnx", tmp_path / place
    weights.parent.mkdir(parents=True)
    size = len(place).to_bytes(1, "little") + b"\x01" if len(place) > 127 else bytes([len(place)])
    net.write_bytes(
        b"\x0a\x08location\x12" + size + place.encode() + b"\x12location\x12\xff\xff\xff\xff\xfflocation\x12"
    )
    assert external_data(net) == []
    weights.write_bytes(b"x")
    assert external_data(net) == [weights]


def test_external_weights_of_a_network_are_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"...location\x12\x0bweights.bin...")
    (tmp_path / "net.onnx.json").write_text(
        '{"input": {"size": [8, 8]}, "output": {"kind": "embedding", "vector": "v"}}'
    )
    found = []
    for content in (b"one", b"two"):
        (tmp_path / "weights.bin").write_bytes(content)
        (tmp_path / "notes.txt").write_bytes(content)
        card = ModelSpec(str(tmp_path / "net.onnx")).card()
        assert card.hashed
        found.append(card.content)
    assert found[0] != found[1]
    (tmp_path / "notes.txt").write_bytes(b"three")
    assert ModelSpec(str(tmp_path / "net.onnx")).card().content == found[1]


PIXELS = np.arange(300, dtype=np.uint8).reshape(10, 10, 3)
MASK = np.eye(40, dtype=bool)


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        (Boxes([[0, 0, 4, 4]]), Boxes([[0, 0, 4, 4]]), True),
        (Boxes([[0, 0, 4, 4]]), Boxes(np.zeros((0, 4))), False),
        (Boxes([[0, 0, 4, 4]], labels=["mask"]), Boxes([[0, 0, 4, 4]], labels=["no_mask"]), False),
        (Boxes([[0, 0, 4, 4]], [0.9]), Boxes([[0, 0, 4, 4]], [0.8]), False),
        (Boxes([[0, 0, 4, 4]]), Labels({"gender": "female"}), False),
        (Labels({"a": "x"}), Labels({"a": "y"}), False),
        (Labels({"a": "x"}, {"a": {"x": 0.5}}), Labels({"a": "x"}, {"a": {"x": 0.50001}}), True),
        (Labels({"a": "x"}, {"a": {"x": 0.5}}), Labels({"a": "x"}, {"a": {"x": 0.6}}), False),
        (Embedding(np.ones(4)), Embedding(np.ones(4) + 1e-6), True),
        (Embedding(np.ones(4)), Embedding(None), False),
        (Embedding(np.ones(4)), Embedding(np.ones(5)), False),
        (Picture(PIXELS // 2), Picture(PIXELS // 2 + 1), True),
        (Picture(PIXELS), Picture(PIXELS // 2), False),
        (LabelMap(PIXELS[:, :, 0] // 9), LabelMap(PIXELS[:, :, 0] // 9 + 1), False),
        (Masks(MASK), Masks(MASK), True),
        (Masks(MASK), Masks(~MASK), False),
    ],
)
def test_what_counts_as_the_same_prediction(one: object, two: object, same: bool) -> None:
    assert same_answer(one, two) is same and same_answer(two, one) is same
