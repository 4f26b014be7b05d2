"""The settings of a network method's training."""

from dataclasses import dataclass


@dataclass(frozen=True)
class NetworkSettings:
    """Trunk, local layer, heads; the methods differ in the last group. All are chosen without validation labels."""

    backbone: str = "auto"
    """`efficientnet`, `resnet`, or the first of the two whose weights are installed."""
    size: int = 224
    """Side of the photo that the pretrained trunk sees; the small ResNet sees half of it."""
    blocks: int = 8
    """How many blocks of EfficientNet-Lite0 make the trunk."""
    window: int = 2
    """A unit of the local layer sees this many cells of the trunk's map in each direction."""
    folds: int = 5
    """A labelled photo's evidence comes from units that were not trained on its fold."""
    local_steps: int = 30
    local_rate: float = 0.12
    local_decay: float = 0.003
    resnet_steps: int = 60
    ceiling: float = 3.0
    """The largest log-odds from the evidence of one place."""

    weight: float = 1.0
    """The weight of the unlabelled loss."""
    decay: float = 0.1
    """The weight of the heads' squared weights in the loss."""
    smoothing: float = 0.0
    """Share of the label that is given to the other answer."""
    warm: float = 0.1
    """Share of training before the unlabelled loss begins."""
    steps: int = 300
    rate: float = 0.02
    start: float = 0.1
    """Size of the random weights that the heads start from."""
    restarts: int = 8
    """Trained from this many starts; the one with the lowest training objective stays."""
    device: str = "auto"
