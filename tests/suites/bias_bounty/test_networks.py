"""The networks in the code are the ones that are shipped: with the shipped weights they give the shipped numbers."""

import itertools
import json
from typing import Any

import numpy as np
import pytest

from countenance.data.adapters.bias_bounty_files import ATTRIBUTES, CLASSES
from countenance.models.onnx import open_session
from countenance.suites.bias_bounty.entry import SHIPPED, EntryCard

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")


from countenance.suites.bias_bounty import training  # noqa: E402
from countenance.suites.bias_bounty.training import baseline, better, networks, unsupervised  # noqa: E402


def stored(path: Any) -> dict[str, Any]:
    """The weights in a file of ONNX by name."""
    graph = onnx.load(path).graph
    return {one.name: torch.from_numpy(onnx.numpy_helper.to_array(one).copy()) for one in graph.initializer}


def with_weights(network: Any, given: dict[str, Any]) -> Any:
    """The network with stored weights; a normalisation that was folded into the convolution before it only shifts."""
    state = dict(network.state_dict())
    modules = list(network.named_modules())
    for (name, module), (after, norm) in itertools.pairwise(modules):
        if isinstance(module, torch.nn.Conv2d) and isinstance(norm, torch.nn.BatchNorm2d):
            count = norm.num_features
            state |= {f"{after}.running_mean": torch.zeros(count), f"{after}.weight": torch.ones(count)}
            state |= {f"{after}.running_var": torch.full((count,), 1 - norm.eps)}
            state |= {f"{after}.bias": given[f"{name}.weight_bias"]}
    network.load_state_dict(state | {name: value for name, value in given.items() if name in state})
    return network.eval()


def compare(network: Any, path: Any, size: int, outputs: tuple[str, ...]) -> None:
    images = torch.rand(3, 3, size, size, generator=torch.Generator().manual_seed(5)) * 255
    images[1, :, size // 4 : size // 2] = torch.tensor([200.0, 120, 70])[:, None, None]  # skin in the middle
    with torch.no_grad():
        ours = network(images)
    theirs = open_session(path, threads=1).run(list(outputs), {"images": images.numpy()})
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.numpy(), other, atol=2e-4, rtol=2e-4)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_the_baseline_is_the_shipped_network(name: str) -> None:
    path = SHIPPED / "baseline" / f"{name}.onnx"
    compare(with_weights(networks.Plain(len(CLASSES[name])), stored(path)), path, 256, (name,))


def test_the_better_entry_is_the_shipped_network() -> None:
    path = SHIPPED / "better" / "better.onnx"
    network = with_weights(networks.Shared(128, dropout=0.5), stored(path))
    assert network.heads["age"].weight.shape == (4, 192)
    compare(network, path, 128, (*ATTRIBUTES, "face"))


def test_the_unsupervised_entry_is_the_shipped_network() -> None:
    path = SHIPPED / "unsupervised" / "unsupervised.onnx"
    given = stored(path)
    centres = dict(zip(ATTRIBUTES, ("permute", "permute_1", "permute_2"), strict=True))
    parts = {f"{name}_centres": given[place].T for name, place in centres.items()}
    kinds = (*ATTRIBUTES, "around_", "shape_", "edge_", "face_")
    parts |= {name: value for name, value in given.items() if name.startswith(kinds)}
    compare(unsupervised.Clusters(parts).eval(), path, 64, (*ATTRIBUTES, "face"))
    assert (len(given["age_names"]), given["edge_axes"].shape[1]) == (unsupervised.CLUSTERS, unsupervised.EDGES)


def test_a_spread_that_rounding_makes_negative_counts_as_none() -> None:
    """One colour everywhere: the mean of squares less the square of the mean may come out below 0."""
    network = networks.Shared(16)
    linear = torch.full((1, 3, 8, 8), 0.3333)
    read = network.read_colours(linear, torch.randn(1, 12, 8, 8, generator=torch.Generator().manual_seed(0)))
    assert read.shape == (1, 12, 4)
    assert read[..., 3] == pytest.approx(torch.full((1, 12), np.log(0.001 + 0.01)), abs=0.02)
    assert read[..., :3] == pytest.approx(torch.full((1, 12, 3), np.log(0.3333 + 0.003)), abs=1e-4)


def test_what_is_dropped_while_training() -> None:
    def dropped(network: Any) -> list[float]:
        return [module.p for module in network.modules() if isinstance(module, torch.nn.Dropout)]

    assert dropped(networks.Plain(2)) == [0.2]
    assert dropped(networks.Shared(32, dropout=0.6)) == [0.6, pytest.approx(0.2)], "a third of it for colours"
    assert dropped(networks.Shared(32)) == [0.3, pytest.approx(0.1)]
    assert all(one.inplace for one in networks.Plain(2).modules() if isinstance(one, torch.nn.ReLU))


def test_the_settings_are_those_with_which_the_shipped_entries_were_trained() -> None:
    said = {name: json.loads((SHIPPED / name / "entry.json").read_text()) for name in training.EPOCHS}
    assert {name: one["training"]["epochs"] for name, one in said.items()} == training.EPOCHS
    assert vars(better.BetterSettings()) == said["better"]["training"]["settings"]
    assert EntryCard.read(SHIPPED / "baseline").networks[0].size == baseline.SIZE
    assert said["unsupervised"]["labels_used"].startswith(f"{unsupervised.PROTOTYPES} labelled pictures")
    assert {one["training"]["seed"] for one in said.values()} == {training.EntryTraining().seed}
