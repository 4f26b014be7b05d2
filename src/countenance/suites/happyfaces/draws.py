"""The draw of a run: the unlabelled photos on which a method is fitted, their order, and the method's input."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from countenance.data.adapters.happyfaces_layout import CROSS, TAGS, HappyFaces
from countenance.errors import InputError
from countenance.files import write_text
from countenance.suites.happyfaces.interface import Labels, Pictures


@dataclass(frozen=True)
class Draw:
    """The unlabelled photos that a run uses, in order, and those that it leaves out."""

    drawn: Labels
    not_drawn: Labels


def draw(tags: tuple[str, ...], mix_rate: float, seed: int) -> Draw:
    """round(m·r) photos of each cross type and m − that of each matched type, m being a type's number of photos.

    In the benchmark m is 150 and the draw always has 300. All of it depends on `seed` alone.

    >>> tags = tuple(tag for tag in TAGS for _ in range(150))
    >>> d = draw(tags, 0.1, seed=3)
    >>> len(d.drawn), len(d.not_drawn), [sum(tags[i] == tag for i in d.drawn) for tag in TAGS]
    (300, 300, [135, 15, 15, 135])
    """
    if not 0 <= mix_rate <= 1:
        raise InputError(f"mix rate {mix_rate:g} is outside 0 … 1")
    of_type = {tag: np.nonzero(np.asarray(tags) == tag)[0] for tag in TAGS}
    size = min(len(photos) for photos in of_type.values())
    crossed = round(size * mix_rate)
    rng = np.random.default_rng(seed)
    counts = {tag: crossed if tag in CROSS else size - crossed for tag in TAGS}
    chosen = np.concatenate([rng.choice(of_type[tag], counts[tag], replace=False) for tag in TAGS]).astype(np.int64)
    rng.shuffle(chosen)
    return Draw(chosen, np.setdiff1d(np.arange(len(tags)), chosen))


def method_input(data: HappyFaces, drawn: Labels, seed: int) -> tuple[Pictures, Labels, Pictures]:
    """The only three inputs of a method: labelled pixels, their labels, unlabelled pixels; fresh, shuffled copies."""
    order = np.random.default_rng([seed, 1]).permutation(len(data.labelled))
    labels = data.labelled.truth()[:, 0].astype(np.int64)
    labelled, unlabelled = (
        np.array(photos.pixels[some], dtype=np.uint8, order="C")
        for photos, some in ((data.labelled, order), (data.unlabelled, drawn))
    )
    return labelled, labels[order], unlabelled


def write_draw(data: HappyFaces, mix_rate: float, seed: int, out: Path) -> tuple[int, str]:
    """Write the photos of a draw in the order of a method's input; returns their number, and the list's sha256.

    Each line has the photo's number, its name, and the sha256 of its pixels (height × width × 3, RGB, 8 bits): decoding
    the same photo gives the same sum.
    """
    drawn = draw(data.unlabelled.tags, mix_rate, seed).drawn
    names = data.unlabelled.ids("unlabelled")
    lines = ["number,photo,sha256"]
    for number, index in enumerate(drawn, 1):
        lines.append(
            f"{number},{_cell(names[index])},{hashlib.sha256(data.unlabelled.pixels[index].tobytes()).hexdigest()}"
        )
    text = "\n".join(lines) + "\n"
    write_text(out, text)
    return len(drawn), hashlib.sha256(text.encode()).hexdigest()


def _cell(name: str) -> str:
    """A name as a cell of a CSV file.

    >>> _cell("a.png"), _cell('odd, "name".png')
    ('a.png', '"odd, ""name"".png"')
    """
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n\r') else name
