"""The page of a search: each slice with its numbers from the confirming half, and a contact sheet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.data import Dataset
from countenance.discovering.discover import Discovered, Slice
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


def write_page(found: Discovered, name: str, out: Path, dataset: Dataset | None = None, mode: str = "off") -> Path:
    """Write the page into a folder; `mode` says how pictures are shown: off, blurred or full."""
    rate = bool(np.isin(found.rows.values, (0.0, 1.0)).all())
    samples = {} if dataset is None or mode == "off" else {sample.id: sample for sample in dataset}
    shown = [
        ShownSlice(one, _sheet(found, number, samples, mode), "rate" if rate else "mean")
        for number, one in enumerate(found.slices)
    ]
    text = render.page(
        render.template(HERE / "templates", "discovered.html.j2"),
        name=name,
        found=found.to_dict(),
        slices=shown,
        pictures=bool(samples),
        level=found.alpha,
    )
    return render.write(out / "discovered.html", text)


def _sheet(found: Discovered, number: int, samples: dict[str, Any], mode: str) -> list[tuple[str, Markup, str]]:
    """Pictures of a slice from the confirming half, the worst first."""
    rows = found.rows
    places = np.flatnonzero(found.members[number].rows & rows.confirm)
    order = places[np.argsort(-rows.badness[places], kind="stable")]
    made: list[tuple[str, Markup, str]] = []
    for place in order:
        sample = samples.get(rows.samples[place] or "")
        if sample is None or any(one[0] == sample.id for one in made):
            continue
        try:
            pixels = sample.load()
        except InputError:
            continue
        shown = pictures.embedded(
            pixels, pictures.window(sample.width, sample.height), longest=160, blurred=mode == "blurred", quality=75
        )
        made.append((sample.id, shown, f"{found.rows.metric} {rows.values[place]:g}"))
        if len(made) == SHOWN:
            break
    return made
