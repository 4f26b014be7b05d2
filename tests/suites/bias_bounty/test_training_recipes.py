"""How the entries are trained: losses, weights, steps and batches, computed a second time with numpy."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES

torch = pytest.importorskip("torch")

from countenance.suites.bias_bounty.training import EntryTraining, baseline, better, unsupervised  # noqa: E402
from countenance.suites.bias_bounty.training.images import TrainImages  # noqa: E402

COUNTS = {name: len(CLASSES[name]) for name in ATTRIBUTES}


def some_images(count: int, side: int = 16) -> TrainImages:
    """Noise with labels; the first picture has none."""
    rng = np.random.default_rng(2)
    pixels = tuple(rng.integers(0, 256, (side, side, 3), dtype=np.uint8) for _ in range(count))
    codes = {name: np.where(np.arange(count) == 0, -1, rng.integers(0, k, count)) for name, k in COUNTS.items()}
    return TrainImages(tuple(f"{i}.png" for i in range(count)), pixels, codes)


class Fixed(torch.nn.Module):
    """Says the same of every picture, whatever it sees, and notes what it saw."""

    def __init__(self, outputs: tuple[int, ...]) -> None:
        super().__init__()
        draw = torch.Generator().manual_seed(len(outputs))
        self.said = torch.nn.ParameterList([torch.randn(n, generator=draw) for n in outputs])
        self.seen: list[Any] = []

    def forward(self, images: Any) -> tuple[Any, ...]:
        self.seen.append(images.detach().clone())
        return tuple(one.expand(len(images), -1) for one in self.said)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What the recipes hand to torch and to the shared steps, instead of training."""
    found = SimpleNamespace(losses=[], clips=[], kept=[], optimisers=[], schedules=[], stepped=0, batches=[])

    def optimiser(parameters: Any, rate: float, *, weight_decay: float) -> Any:
        found.optimisers.append((rate, weight_decay))
        return torch.optim.SGD(parameters, rate)

    class Schedule:
        def __init__(self, *given: Any, **named: Any) -> None:
            found.schedules.append((given[1:], named))

        def step(self) -> None:
            found.stepped += 1

    def descend(optimiser: Any, loss: Any, clip: float | None = None) -> None:
        found.losses.append(float(loss.detach()))
        found.clips.append(clip)

    def batches(count: int, size: int, generator: Any, device: str) -> list[Any]:
        found.batches.append((count, size))
        return list(torch.arange(count).split(size))

    monkeypatch.setattr(torch.optim, "AdamW", optimiser)
    monkeypatch.setattr(torch.optim.lr_scheduler, "OneCycleLR", Schedule)
    monkeypatch.setattr(torch.optim.lr_scheduler, "CosineAnnealingLR", Schedule)
    for module in (baseline, better):
        monkeypatch.setattr(module, "descend", descend)
        monkeypatch.setattr(module, "batches", batches)
    monkeypatch.setattr(better, "follow", lambda average, network, keep: found.kept.append(keep))
    return found


def log_softmax(values: np.ndarray) -> np.ndarray:
    return values - np.log(np.exp(values).sum())


def test_the_baseline_descends_the_cross_entropy_of_labelled_rows(
    noted: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Fixed] = []
    monkeypatch.setattr(baseline, "Plain", lambda classes: made.append(Fixed((classes,))) or made[-1])
    monkeypatch.setattr(baseline, "SIZE", 16)
    images, steps = some_images(34), []
    card, nets = baseline.train(images, EntryTraining(epochs=3), lambda: steps.append(1))
    assert (noted.batches, len(steps), noted.stepped) == ([(34, 32)] * 3, 3, 9), "three schedules a round"
    assert noted.optimisers == [(0.002, 0.001)] * 3 and noted.schedules == [((3,), {})] * 3
    expected = []
    for rows in (slice(0, 32), slice(32, 34)):
        for name, network in zip(ATTRIBUTES, made, strict=True):
            codes = images.codes[name][rows]
            said = log_softmax(network.said[0].detach().numpy())
            expected.append(-np.mean([said[code] for code in codes if code >= 0]))
    assert noted.losses == pytest.approx(expected * 3, rel=1e-5)
    assert nets == made and [network.file for network in card.networks] == [f"{name}.onnx" for name in ATTRIBUTES]
    assert made[0].seen[0].shape == (31, 3, 16, 16), "the picture without a label is left out"
    made.clear()
    baseline.train(images, EntryTraining(epochs=20, seed=1), lambda: None)
    draw, plain = torch.Generator().manual_seed(1), images.tensor(16, "cpu").float()[1:32]
    for k in range(40):  # about half of the batches are mirrored, as the generator's numbers say
        flip = float(torch.rand(1, generator=draw)) < 0.5
        assert k % 2 or torch.equal(made[0].seen[k], plain.flip(3) if flip else plain)


def test_a_batch_with_a_single_label_is_left_out(noted: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "Plain", lambda classes: Fixed((classes,)))
    monkeypatch.setattr(baseline, "SIZE", 16)
    images = some_images(3)
    images.codes["age"][1] = -1
    baseline.train(images, EntryTraining(), lambda: None)
    assert len(noted.losses) == 2, "two labels of tone and gender, one of age; one round where none is named"


def test_the_better_entry_descends_the_weighted_losses(noted: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Fixed] = []
    monkeypatch.setattr(better, "Shared", lambda *given: made.append(Fixed((*COUNTS.values(), 1))) or made[-1])
    monkeypatch.setattr(better, "portrait_features", lambda pixels: torch.zeros(len(pixels), 2))
    face = torch.linspace(0.1, 0.9, 10)
    monkeypatch.setattr(better, "meant_labels", lambda *given: face)
    monkeypatch.setattr(better, "vary", lambda pixels, generator, **how: noted.batches.append(how) or pixels)
    images, steps = some_images(10), []
    chosen = better.BetterSettings(size=16, answer_size=16, batch=4)
    card, _ = better.train(images, EntryTraining(epochs=2, better=chosen), lambda: steps.append(1))
    assert noted.optimisers == [(0.003, 0.02)] and len(steps) == 2 and noted.clips == [2.0] * 6
    assert noted.schedules == [((0.003,), {"total_steps": 6, "pct_start": 0.15})] and noted.stepped == 5
    assert noted.kept == pytest.approx([2 / 11, 3 / 12, 4 / 13, 5 / 14, 6 / 15, 7 / 16])
    assert [one for one in noted.batches if isinstance(one, dict)] == [
        {"geometry": 1.0, "light": 1.0, "erase": 0.5}
    ] * 6
    said = [one.detach().numpy().astype(float) for one in made[0].said]
    rows, probability = np.arange(4), face[:4].numpy().astype(float)
    z = said[3][0]
    expected = 0.3 * np.mean([np.log1p(np.exp(-z)) * p + np.log1p(np.exp(z)) * (1 - p) for p in probability])
    for name, weight, values in zip(ATTRIBUTES, (1.0, 0.8, 0.7), said, strict=False):
        codes = images.codes[name]
        counts = np.bincount(codes[codes >= 0], minlength=COUNTS[name])
        own = [row for row in rows if codes[row] >= 0]
        losses = {row: -(targets(COUNTS[name])[codes[row]] * log_softmax(values)).sum() for row in own}
        running = np.ones(COUNTS[name])
        for code in range(COUNTS[name]):
            here = [row for row in own if codes[row] == code]
            if (seen := probability[here].sum()) > 0.5:
                running[code] = 0.95 + 0.05 * sum(losses[row] * probability[row] for row in here) / seen
        hard = np.clip((running / running.mean()) ** 0.7, 0.5, 2)
        scale = {row: hard[codes[row]] / max(counts[codes[row]], 1) * probability[row] for row in own}
        expected += weight * sum(losses[row] * scale[row] for row in own) / sum(scale.values())
    assert noted.losses[0] == pytest.approx(expected, rel=1e-5)
    assert card.face_threshold == 0 and card.networks[0].size == 16
    better.train(images, EntryTraining(better=chosen), lambda: steps.append(1))
    assert len(steps) == 3, "one round where none is named"
    assert (better.FACE, better.AVERAGE) == (0.3, 0.995), "how much the face head weighs; the last average"


def targets(classes: int) -> np.ndarray:
    """A fifth of the weight of a class on each neighbour, rows summing to 1; two classes have no neighbours."""
    made = np.eye(classes)
    for i in range(classes - 1):
        if classes > 2:
            made[i, i + 1] = made[i + 1, i] = 0.2
    return made / made.sum(axis=1, keepdims=True)


def test_ordered_classes_share_their_target_with_neighbours() -> None:
    for classes in (2, 3, 4, 10):
        np.testing.assert_allclose(better.ordered_targets(classes, 0.2).numpy(), targets(classes), rtol=1e-6)
        assert torch.equal(better.ordered_targets(classes, 0.0), torch.eye(classes))


def test_classes_weigh_by_rarity_and_running_loss() -> None:
    """Four steps, in numpy: rarity is rows / (classes × rows of the class), hardship lies between a half and two."""
    codes = torch.tensor([0, 0, 0, 0, 1, 1, 2, -1])
    rarity = 7 / np.array([4, 2, 1, 1]) / 4
    weights = better.ClassWeights(codes, 4, strength=3.0)
    assert weights.rarity.numpy() == pytest.approx(rarity)
    running = np.ones(4)
    batch, faces = np.array([0, 0, 1, 2]), np.array([1.0, 0.5, 0.9, 0.4])
    for losses in ([9.0, 9, 0.1, 2], [9.0, 9, 0.1, 2], [20.0, 20, 0.0, 1], [0.0, 0, 0, 1]):
        found = float(weights(torch.tensor(losses), torch.from_numpy(batch), torch.from_numpy(faces).float()))
        for code in (0, 1, 2):
            own = batch == code
            if faces[own].sum() > 0.5:  # not class 2: nearly nothing of it is a face
                mean = (np.array(losses)[own] * faces[own]).sum() / faces[own].sum()
                running[code] = 0.95 * running[code] + 0.05 * mean
        hard = np.clip((running / running.mean()) ** 3, 0.5, 2)
        scale = (rarity * hard)[batch] * faces
        assert found == pytest.approx((np.array(losses) * scale).sum() / scale.sum(), rel=1e-5)
    assert hard.min() == 0.5 and hard.max() == 2
    assert float(weights(torch.ones(2), torch.tensor([0, 1]), torch.zeros(2))) == 0, "no face at all is no loss"
    assert float(weights(torch.tensor([3.0]), torch.tensor([0]), torch.tensor([1e-4]))) == pytest.approx(3.0)


def test_clusters_are_named_by_the_nearness_of_prototypes(monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.tensor([[0.0], [1.0], [4.0], [5.0], [50.0]])
    codes, centres = torch.tensor([0, 0, 1, 1, -1]), torch.tensor([[0.0], [3.0]])
    found = unsupervised.name_clusters(values, centres, codes, 3, torch.Generator().manual_seed(0)).numpy()
    squares = (centres.numpy() - values.numpy()[:4].T) ** 2
    near = np.exp(-squares / (0.7 * squares.min(axis=1).mean()))
    expected = np.stack([near[:, :2].sum(1), near[:, 2:].sum(1), np.zeros(2)], 1) / near.sum(1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-7)
    many = torch.arange(40.0)[:, None]
    chosen: list[Any] = []
    monkeypatch.setattr(torch, "cdist", lambda a, b: chosen.append(b) or torch.ones(len(a), len(b)))
    unsupervised.name_clusters(many, centres, torch.arange(40) % 2, 2, torch.Generator().manual_seed(0))
    assert len(chosen[0]) == 16 and sorted(int(v) % 2 for v in chosen[0]) == [0] * 8 + [1] * 8


def test_the_unsupervised_entry_is_fitted_to_the_bulk_of_the_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    images, rounds = some_images(100, 64), []
    monkeypatch.setattr(unsupervised, "CLUSTERS", 5)
    card, (network,) = unsupervised.train(images, EntryTraining(epochs=1), rounds.append)
    assert rounds == [1] and (card.networks[0].size, card.kind) == (64, "unsupervised")
    with torch.no_grad():
        pixels = images.tensor(64, "cpu").float()
        *_, face = network(pixels)
        spaces = network.spaces(pixels)
    usual = face[:, 0] >= card.face_threshold
    assert card.face_threshold == pytest.approx(float(np.quantile(face[:, 0].numpy(), 0.2)), rel=1e-4)
    assert abs(int(usual.sum()) - 80) <= 1, "four fifths"
    assert network.around_axes.shape == (21, 10) and network.shape_axes.shape == (512, 12)
    assert network.edge_axes.shape == (512, 40) and torch.equal(network.shape_axes, network.edge_axes[:, :12])
    for name in ATTRIBUTES:
        space, centres = spaces[name][usual].numpy(), getattr(network, f"{name}_centres").numpy()
        least = ((space[:, None] - centres[None]) ** 2).sum(2).min(1).mean()
        assert float(getattr(network, f"{name}_width")) == pytest.approx(0.7 * least, rel=1e-2)
        assert getattr(network, f"{name}_names").shape == (5, COUNTS[name])
    monkeypatch.undo()
    _, (few,) = unsupervised.train(some_images(12, 64), EntryTraining(epochs=1), rounds.append)
    assert float(few.age_width) == pytest.approx(1e-3), "as many clusters as pictures: none lies apart from its centre"
