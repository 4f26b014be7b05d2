"""RHF: Faster R-CNN on ResNet50-HDC-FPN for faces with, without and with badly worn masks. Weights by path (PyTorch).

The architecture is that of the published weights, so that their names fit; loading executes nothing from the file. HDC
(hybrid dilated convolution) means that the later stages halve the picture and are dilated as well.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.answers import Boxes
from countenance.metrics.boxes import suppress
from countenance.models.model import Images
from countenance.models.torch_model import import_torch, load_state

WIDTH, PYRAMID, HIDDEN = 64, 256, 1024
"""Channels of the first stage, of each map of the pyramid, and of the layers that judge a box."""
STAGES = ((3, 1, 1, 1), (4, 2, 1, 2), (6, 2, 2, 4), (3, 2, 4, 8))
"""Of each stage of ResNet50: blocks, stride and dilation of the first, dilation of the others."""
SIZES, RATIOS = (32, 64, 128, 256, 512), (0.5, 1.0, 2.0)
"""Anchors: a size for each map of the pyramid, in three shapes."""
LABELS = ("mask", "mask", "no_mask")
"""Of the classes after the background: with_mask, poor_mask (badly worn), none_mask."""
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
POOLED, SAMPLES = 7, 2
MOST_PROPOSALS, MOST_BOXES = 1000, 100
LARGEST_GROWTH = math.log(1000 / 16)
CANONICAL_SIZE, CANONICAL_LEVEL = 224, 4


def build(device: str = "meta") -> Any:
    """The network without weights; on the device `meta` even without memory for them, until they are loaded."""
    torch = import_torch()
    nn = torch.nn

    class Bottleneck(nn.Module):  # type: ignore[misc,name-defined]
        """Three convolutions beside a shortcut; the middle one may stride and be dilated."""

        def __init__(self, inputs: int, inner: int, stride: int, dilation: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner)
            self.conv2 = nn.Conv2d(inner, inner, 3, stride, dilation, dilation, bias=False)
            self.bn2 = nn.BatchNorm2d(inner)
            self.conv3, self.bn3 = nn.Conv2d(inner, 4 * inner, 1, bias=False), nn.BatchNorm2d(4 * inner)
            self.downsample = None
            if stride != 1 or inputs != 4 * inner:
                shortcut = nn.Conv2d(inputs, 4 * inner, 1, stride, bias=False)
                self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(4 * inner))

        def forward(self, x: Any) -> Any:
            y = self.bn1(self.conv1(x)).relu()
            y = self.bn2(self.conv2(y)).relu()
            beside = x if self.downsample is None else self.downsample(x)
            return (self.bn3(self.conv3(y)) + beside).relu()

    class Body(nn.Module):  # type: ignore[misc,name-defined]
        """ResNet50 with dilated stages; gives the maps of its four stages."""

        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False), nn.BatchNorm2d(WIDTH)
            inputs = WIDTH
            for k, (count, stride, first, others) in enumerate(STAGES):
                inner = WIDTH * 2**k
                blocks = [Bottleneck(inputs, inner, stride, first)]
                blocks += [Bottleneck(4 * inner, inner, 1, others) for _ in range(count - 1)]
                setattr(self, f"layer{k + 1}", nn.Sequential(*blocks))
                inputs = 4 * inner

        def forward(self, x: Any) -> list[Any]:
            x = nn.functional.max_pool2d(self.bn1(self.conv1(x)).relu(), 3, 2, 1)
            maps = []
            for k in range(len(STAGES)):
                x = getattr(self, f"layer{k + 1}")(x)
                maps.append(x)
            return maps

    class Pyramid(nn.Module):  # type: ignore[misc,name-defined]
        """The feature pyramid: each map adds the coarser one; a fifth is every second cell of the fourth."""

        def __init__(self) -> None:
            super().__init__()
            inputs = [4 * WIDTH * 2**k for k in range(len(STAGES))]
            self.inner_blocks = nn.ModuleList(nn.Conv2d(channels, PYRAMID, 1) for channels in inputs)
            self.layer_blocks = nn.ModuleList(nn.Conv2d(PYRAMID, PYRAMID, 3, padding=1) for _ in inputs)

        def forward(self, maps: list[Any]) -> list[Any]:
            top = self.inner_blocks[-1](maps[-1])
            results = [self.layer_blocks[-1](top)]
            for k in range(len(maps) - 2, -1, -1):
                here = self.inner_blocks[k](maps[k])
                top = here + nn.functional.interpolate(top, size=here.shape[-2:], mode="nearest")
                results.insert(0, self.layer_blocks[k](top))
            return [*results, nn.functional.max_pool2d(results[-1], 1, 2)]

    def holder(**parts: Any) -> Any:
        """A module that only names its parts."""
        module = nn.Module()
        for name, part in parts.items():
            module.add_module(name, part)
        return module

    with torch.device(device):
        shapes, classes = len(RATIOS), len(LABELS) + 1
        head = holder(
            conv=nn.Conv2d(PYRAMID, PYRAMID, 3, padding=1),
            cls_logits=nn.Conv2d(PYRAMID, shapes, 1),
            bbox_pred=nn.Conv2d(PYRAMID, 4 * shapes, 1),
        )
        judge = holder(fc6=nn.Linear(PYRAMID * POOLED**2, HIDDEN), fc7=nn.Linear(HIDDEN, HIDDEN))
        predictor = holder(cls_score=nn.Linear(HIDDEN, classes), bbox_pred=nn.Linear(HIDDEN, 4 * classes))
        return holder(
            backbone=holder(body=Body(), fpn=Pyramid()),
            rpn=holder(head=head),
            roi_heads=holder(box_head=judge, box_predictor=predictor),
        ).eval()


class Rhf:
    """Boxes labelled mask or no_mask, as the published `predict` makes them: proposals, then a judgement of each.

    The shorter side of a picture becomes `side` pixels, the longer one `longest` at most.
    """

    def __init__(
        self,
        weights: Path,
        device: str = "cpu",
        min_score: float = 0.6,
        nms: float = 0.5,
        side: int = 800,
        longest: int = 1333,
        min_proposal: float = 0.5,
    ) -> None:
        self.torch, self.device = import_torch(), device
        self.network = load_state(build(), weights, device)
        self.min_score, self.nms, self.side, self.longest = min_score, nms, side, longest
        self.min_proposal = min_proposal

    def __call__(self, images: Images) -> list[Boxes]:
        with self.torch.inference_mode():
            return [self._detect(np.asarray(image)) for image in images]

    def _detect(self, image: NDArray[np.uint8]) -> Boxes:
        torch = self.torch
        pixels, (height, width) = self._prepared(image)
        backbone = self.network.backbone
        maps = backbone.fpn(backbone.body(pixels))
        proposals = self._proposals(maps, tuple(pixels.shape[-2:]), (height, width))
        if not len(proposals):
            return Boxes(np.zeros((0, 4)), np.zeros(0), [])
        pooled = self._pooled(maps[:-1], proposals, (height, width))
        heads = self.network.roi_heads
        features = heads.box_head.fc7(heads.box_head.fc6(pooled.flatten(1)).relu()).relu()
        shares = torch.softmax(heads.box_predictor.cls_score(features), -1).cpu().double().numpy()
        moves = heads.box_predictor.bbox_pred(features).cpu().double().numpy().reshape(len(proposals), -1, 4)
        scale = np.array([image.shape[1] / width, image.shape[0] / height] * 2)
        boxes, scores, labels = self._judged(proposals, shares, moves, (height, width))
        return Boxes(boxes * scale, scores, labels)

    def _prepared(self, image: NDArray[np.uint8]) -> tuple[Any, tuple[int, int]]:
        """The picture in the network's size and colours, padded to whole cells; and its size without the padding."""
        torch = self.torch
        pixels = torch.from_numpy(np.ascontiguousarray(image)).to(self.device).permute(2, 0, 1)[None].float() / 255
        shift = torch.tensor([MEAN, STD], device=self.device)[:, None, :, None, None]
        height, width = image.shape[:2]
        scale = min(self.side / min(height, width), self.longest / max(height, width))
        size = (max(1, int(height * scale)), max(1, int(width * scale)))
        pixels = torch.nn.functional.interpolate(
            (pixels - shift[0]) / shift[1], size=size, mode="bilinear", align_corners=False
        )
        pad = (0, -size[1] % 32, 0, -size[0] % 32)
        return torch.nn.functional.pad(pixels, pad), size

    def _proposals(self, maps: list[Any], padded: tuple[int, int], size: tuple[int, int]) -> NDArray[np.float64]:
        """Candidate boxes, best first: the best of each map, without duplicates."""
        head = self.network.rpn.head
        boxes, scores = [], []
        for level, features in enumerate(maps):
            inner = head.conv(features).relu()
            logits = head.cls_logits(inner)[0].permute(1, 2, 0).reshape(-1).cpu().double().numpy()
            rows, columns = features.shape[-2:]
            moves = head.bbox_pred(inner)[0].reshape(len(RATIOS), 4, rows, columns).permute(2, 3, 0, 1)
            moves = moves.reshape(-1, 4).cpu().double().numpy()
            best = np.argsort(-logits, kind="stable")[:MOST_PROPOSALS]
            anchors = anchors_of(SIZES[level], rows, columns, padded)[best]
            moved = clipped(decoded(anchors, moves[best], (1, 1, 1, 1)), size)
            share = 1 / (1 + np.exp(-logits[best]))
            keep = np.flatnonzero(
                (share >= self.min_proposal) & (np.diff(moved.reshape(-1, 2, 2), axis=1) > 0).all((1, 2))
            )
            keep = keep[suppress(moved[keep], share[keep], 0.7)]
            boxes.append(moved[keep])
            scores.append(share[keep])
        order = np.argsort(-np.concatenate(scores), kind="stable")[:MOST_PROPOSALS]
        return np.concatenate(boxes)[order]

    def _pooled(self, maps: list[Any], proposals: NDArray[np.float64], size: tuple[int, int]) -> Any:
        """The features of each proposal, 7 × 7 cells of the map that suits its size."""
        area = np.prod(proposals[:, 2:] - proposals[:, :2], axis=1)
        ideal = np.floor(CANONICAL_LEVEL + np.log2(np.sqrt(area) / CANONICAL_SIZE) + 1e-6)
        levels = np.clip(ideal, 2, 1 + len(maps)).astype(int) - 2
        pooled = self.torch.zeros((len(proposals), maps[0].shape[1], POOLED, POOLED), device=self.device)
        for level, features in enumerate(maps):
            rows = np.flatnonzero(levels == level)
            if len(rows):
                scale = 2.0 ** round(math.log2(features.shape[-2] / size[0]))
                pooled[self.torch.from_numpy(rows)] = roi_align(self.torch, features[0], proposals[rows] * scale)
        return pooled

    def _judged(
        self,
        proposals: NDArray[np.float64],
        shares: NDArray[np.float64],
        moves: NDArray[np.float64],
        size: tuple[int, int],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
        """The boxes of every class above the score limit, without duplicates within a class."""
        rows: list[tuple[float, int, NDArray[np.float64]]] = []
        for kind in range(1, shares.shape[1]):
            boxes = clipped(decoded(proposals, moves[:, kind], (10, 10, 5, 5)), size)
            sure = np.flatnonzero((shares[:, kind] > self.min_score) & (boxes[:, 2:] - boxes[:, :2] > 0.01).all(axis=1))
            best = sure[suppress(boxes[sure], shares[sure, kind], self.nms)]
            rows += [(float(shares[i, kind]), kind, boxes[i]) for i in best]
        rows = sorted(rows, key=lambda row: -row[0])[:MOST_BOXES]
        if not rows:
            return np.zeros((0, 4)), np.zeros(0), []
        return (
            np.stack([box for *_, box in rows]),
            np.array([row[0] for row in rows]),
            [LABELS[k - 1] for _, k, _ in rows],
        )


def anchors_of(size: int, rows: int, columns: int, padded: tuple[int, int]) -> NDArray[np.float64]:
    """The anchors of a map, cell by cell, each in three shapes of one area.

    >>> anchors_of(32, 1, 2, (8, 16)).tolist()[:2]
    [[-23.0, -11.0, 23.0, 11.0], [-16.0, -16.0, 16.0, 16.0]]
    >>> anchors_of(32, 1, 2, (8, 16)).tolist()[4]
    [-8.0, -16.0, 24.0, 16.0]
    """
    tall = np.sqrt(np.array(RATIOS))
    half = np.stack([size / tall, size * tall], axis=1) / 2
    shapes = np.round(np.concatenate([-half, half], axis=1))
    y, x = np.meshgrid(
        np.arange(rows) * (padded[0] // rows), np.arange(columns) * (padded[1] // columns), indexing="ij"
    )
    places = np.stack([x, y, x, y], axis=-1).reshape(-1, 1, 4)
    return np.asarray(places + shapes, dtype=np.float64).reshape(-1, 4)


def decoded(boxes: NDArray[np.float64], moves: NDArray[np.float64], weights: tuple[int, ...]) -> NDArray[np.float64]:
    """Boxes moved and resized as a head says: shifts in units of the box, growth as logarithms.

    >>> decoded(np.array([[0.0, 0, 10, 20]]), np.array([[1.0, 0, 0, np.log(2)]]), (1, 1, 1, 1)).round(6).tolist()
    [[10.0, -10.0, 20.0, 30.0]]
    """
    moves = moves / weights
    size = boxes[:, 2:] - boxes[:, :2]
    centre = boxes[:, :2] + size / 2 + moves[:, :2] * size
    grown = size * np.exp(np.minimum(moves[:, 2:], LARGEST_GROWTH))
    return np.hstack([centre - grown / 2, centre + grown / 2])


def clipped(boxes: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.float64]:
    """Boxes within a picture of a height and a width."""
    return np.clip(boxes, 0, [size[1], size[0], size[1], size[0]])


def roi_align(torch: Any, features: Any, boxes: NDArray[np.float64]) -> Any:
    """Each box of a map (in its cells) as 7 × 7 means of four samples each, between cells by bilinear weights."""
    height, width = features.shape[-2:]
    corner = torch.as_tensor(boxes, dtype=features.dtype, device=features.device)
    extent = (corner[:, 2:] - corner[:, :2]).clamp(min=1)
    steps = (torch.arange(POOLED * SAMPLES, device=features.device) + 0.5) / (POOLED * SAMPLES)
    x, y = (corner[:, None, k] + extent[:, None, k] * steps for k in (0, 1))

    def between(places: Any, limit: int) -> tuple[Any, Any, Any, Any]:
        """The cells around positions, the weight of the upper one, and whether a position is inside the map."""
        inside = (places >= -1) & (places <= limit)
        lower = places.clamp(0, limit - 1)
        first = lower.floor().long()
        return first, (first + 1).clamp(max=limit - 1), lower - first, inside

    left, right, across, inside_x = between(x, width)
    above, below, down, inside_y = between(y, height)

    def at(rows: Any, columns: Any) -> Any:
        return features[:, rows[:, :, None], columns[:, None, :]]

    across, down = across[None, :, None, :], down[None, :, :, None]
    upper = at(above, left) * (1 - across) + at(above, right) * across
    lower = at(below, left) * (1 - across) + at(below, right) * across
    values = (upper * (1 - down) + lower * down) * (inside_y[None, :, :, None] & inside_x[None, :, None, :])
    cells = values.reshape(len(features), len(boxes), POOLED, SAMPLES, POOLED, SAMPLES).mean(dim=(3, 5))
    return cells.permute(1, 0, 2, 3)
