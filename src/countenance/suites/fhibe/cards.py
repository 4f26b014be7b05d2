"""The dataset cards of FHIBE and FHIBE-Face, with who assigned each attribute."""

from collections.abc import Sequence
from pathlib import Path

from countenance.data.card import AssignedBy, AttributeCard, DatasetCard
from countenance.suites.fhibe.vocabulary import MEANINGS

CARD = "card.json"
ANNOTATED = ("head_pose",)
DERIVED = ("camera_distance", "apparent_skin_color_hue_lum", "user_hour_captured")


def dataset_card(root: Path, dataset: str, attributes: Sequence[str]) -> DatasetCard:
    """The card beside the table where there is one (data that we made ourselves), else FHIBE's own."""
    for middle in ("data/processed", "processed"):
        own = root / middle / dataset / CARD
        if own.is_file():
            return DatasetCard.read(own)
    return DatasetCard(
        name=dataset,
        version="not stated",
        description="Fair Human-Centric Image Benchmark (Sony AI): people photographed with their consent",
        licence="FHIBE terms of use (registration with Sony AI; no redistribution)",
        consent="informed and revocable: people may withdraw at any time, and their pictures must then be deleted",
        citation="Xiang et al., Fair human-centric image dataset for ethical AI benchmarking, Nature 2025",
        warning=(
            "A report that was sent cannot be recalled. When a person withdraws, `countenance purge RUN --subjects "
            "FILE` removes them from this run; copies elsewhere must be deleted by hand."
        ),
        real_people=True,
        attributes={name: AttributeCard(assigned_by=_by(name), meaning=MEANINGS[name]) for name in attributes},
    )


def _by(name: str) -> AssignedBy:
    if name in ANNOTATED:
        return "annotated"
    return "predicted" if name in DERIVED else "self-reported"
