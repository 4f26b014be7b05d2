"""The page of a search: each slice with its numbers from the confirming half, and a contact sheet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.data import Dataset
from countenance.discovering.discovery import Discovered, Slice
from countenance.errors import InputError
from countenance.report import pictures, render

SHOWN = 18
HERE = Path(__file__).parent


@dataclass(frozen=True)
class ShownSlice:
    """A slice with the pictures of its sheet."""

    slice: Slice
    pictures: list[tuple[str, Markup, str]]
    kind: str


def write_page(discovered: Discovered, name: str, out: Path, dataset: Dataset | None = None, mode: str = "off") -> Path:
    """Write the page into a folder; `mode` says how pictures are shown: off, blurred or full."""
    rate = bool(np.isin(discovered.rows.values, (0.0, 1.0)).all())
    samples = {} if dataset is None or mode == "off" else {sample.id: sample for sample in dataset}
    shown = [
        ShownSlice(record, _sheet(discovered, number, samples, mode), "rate" if rate else "mean")
        for number, record in enumerate(discovered.slices)
    ]
    text = render.page(
        render.template(HERE / "templates", "discovered.html.j2"),
        name=name,
        discovery=discovered.to_dict(),
        slices=shown,
        pictures=bool(samples),
        level=discovered.alpha,
    )
    return render.write(out / "discovered.html", text)


def _sheet(discovered: Discovered, number: int, samples: dict[str, Any], mode: str) -> list[tuple[str, Markup, str]]:
    """Pictures of a slice from the confirming half, the worst first."""
    rows = discovered.rows
    places = np.flatnonzero(discovered.members[number].rows & rows.confirm)
    order = places[np.argsort(-rows.badness[places], kind="stable")]
    cells: list[tuple[str, Markup, str]] = []
    for place in order:
        sample = samples.get(rows.samples[place] or "")
        if sample is None or any(cell[0] == sample.id for cell in cells):
            continue
        try:
            pixels = sample.load()
        except InputError:
            continue
        shown = pictures.embedded(
            pixels, pictures.window(sample.width, sample.height), longest=160, blurred=mode == "blurred", quality=75
        )
        cells.append((sample.id, shown, f"{discovered.rows.metric} {rows.values[place]:g}"))
        if len(cells) == SHOWN:
            break
    return cells
