"""Writes people in the layout of another tool or dataset: faces, pictures, tables and cards."""

import csv
import io
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countenance.data.card import DatasetCard
from countenance.data.image import LazyImage, encode_png
from countenance.data.paths import inside
from countenance.data.sample import Dataset, Sample, Subject
from countenance.errors import DataError

Corners = tuple[int, int, int, int]


@dataclass(frozen=True)
class ListedFace:
    """A face with a box, its place among those of its picture, and the picture's file.

    >>> from countenance.data.image import ArrayImage
    >>> sample = Sample("a", ArrayImage(np.zeros((10, 10, 3), np.uint8)), 10, 10)
    >>> face = ListedFace(sample, Subject("0", face_box=np.array([1.0, 2, 5, 8])), 0, "a.png")
    >>> face.sized, face.centre
    ([1.0, 2.0, 4.0, 6.0], [0.3, 0.5, 0.4, 0.6])
    """

    sample: Sample
    subject: Subject
    index: int
    file: str

    @property
    def corners(self) -> list[float]:
        """Left, top, right, bottom."""
        return [float(value) for value in ([] if self.subject.face_box is None else self.subject.face_box)]

    @property
    def sized(self) -> list[float]:
        """Left, top, width, height."""
        x0, y0, x1, y1 = self.corners
        return [x0, y0, x1 - x0, y1 - y0]

    @property
    def centre(self) -> list[float]:
        """Centre and size, normalised."""
        x0, y0, x1, y1 = self.corners
        w, h = self.sample.width, self.sample.height
        return [(x0 + x1) / 2 / w, (y0 + y1) / 2 / h, (x1 - x0) / w, (y1 - y0) / h]

    def about(self, names: Iterable[str]) -> dict[str, Any]:
        """Attributes of these names as cells of a table; None for what is not known."""
        known = {**self.sample.attributes, **self.subject.attributes}
        return {name: "|".join(v) if isinstance(v := known.get(name), tuple) else v for name in names}


def listed_faces(samples: Iterable[Sample], file: Callable[[Sample], str]) -> Iterator[ListedFace]:
    """The faces of some pictures that have a box; `file` is called once for each picture with such a face."""
    for sample in samples:
        boxed = [subject for subject in sample.subjects if subject.face_box is not None]
        name = file(sample) if boxed else ""
        yield from (ListedFace(sample, subject, i, name) for i, subject in enumerate(boxed))


@dataclass(frozen=True)
class FolderWriter:
    """A folder to fill; the names of files are relative to it, and their folders are made.

    >>> import tempfile
    >>> layout = FolderWriter(Path(tempfile.mkdtemp()))
    >>> layout.picture("a/b.png", np.zeros((4, 4, 3), np.uint8), side=2)
    >>> layout.table("t.csv", [{"file": "a/b.png", "age": 3}])
    >>> (layout.root / "t.csv").read_text()
    'file,age\\na/b.png,3\\n'
    """

    root: Path
    step: Callable[[], None] = lambda: None
    """Called after each picture, for a progress bar."""

    def picture(
        self,
        name: str,
        pixels: NDArray[np.uint8],
        *,
        crop: Corners | None = None,
        side: int | None = None,
        how: str = "LANCZOS",
        form: str = "PNG",
        **options: Any,
    ) -> None:
        """Write pixels in a format and with its options; cut out (left, top, right, bottom) and scaled, if asked."""
        from PIL import Image

        output = Image.fromarray(pixels)
        output = output if crop is None else output.crop(crop)
        if side is not None and output.size != (side, side):
            output = output.resize((side, side), Image.Resampling[how])
        content = io.BytesIO()
        output.save(content, form, **options)
        self._place(name).write_bytes(content.getvalue())
        self.step()

    def text(self, name: str | Path, lines: Iterable[str]) -> None:
        """Write lines of text."""
        self._place(name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")

    def table(self, name: str | Path, rows: Sequence[Mapping[str, Any]], line_end: str = "\n") -> None:
        """Write rows as CSV with the columns of the first one."""
        with self._place(name).open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator=line_end)
            writer.writeheader()
            writer.writerows(rows)

    def card(self, card: DatasetCard, folder: str = "", **changes: Any) -> None:
        """Write the card of the people, with what differs, as `card.json`."""
        self.text(Path(folder, "card.json"), [card.model_copy(update=changes).model_dump_json(indent=2)])

    def _place(self, name: str | Path) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def whole_people(dataset: Dataset, pictures: int) -> Dataset:
    """About this many pictures that show one person: all pictures of each person who is chosen, at even distances."""
    by_person: dict[str, list[Sample]] = {}
    for sample in dataset:
        if len(sample.people) == 1:
            by_person.setdefault(sample.people[0].identity or sample.id, []).append(sample)
    names = list(by_person)
    each = max(1, round(len(dataset) / max(len(names), 1)))
    expected = min(len(names), max(2, round(pictures / each)))
    chosen = [names[int(i * len(names) / expected)] for i in range(expected)] if names else []
    return Dataset(dataset.card, [sample for name in chosen for sample in by_person[name]])


def face_crop(box: NDArray[np.float64], width: int, height: int) -> Corners:
    """A square around the face, 1.6 times its larger side, kept inside the picture where it fits.

    >>> face_crop(np.array([40.0, 40, 60, 60]), 100, 100)
    (34, 34, 66, 66)
    """
    x0, y0, x1, y1 = (float(v) for v in box)
    half = min(0.8 * max(x1 - x0, y1 - y0), width / 2, height / 2)
    x = min(max((x0 + x1) / 2, half), width - half)
    y = min(max((y0 + y1) / 2, half), height - half)
    return round(x - half), round(y - half), round(x + half), round(y + half)


def copy_image(sample: Sample, out: Path) -> str:
    """Copy a sample's picture under `out/images/`, byte for byte, and return its name relative to `out`."""
    if isinstance(sample.image, LazyImage) and sample.image.length is None:
        suffix = sample.image.path.suffix
        stem = sample.id.removesuffix(suffix)
        file = f"images/{stem}{suffix}"
        target = _new_file(out, file, sample)
        if not sample.image.path.exists():
            raise DataError(f"{sample.image.path}: no such image")
        shutil.copyfile(sample.image.path, target)
        return file
    file = f"images/{sample.id.removesuffix('.png')}.png"
    target = _new_file(out, file, sample)
    target.write_bytes(encode_png(sample.load()))
    return file


def _new_file(out: Path, file: str, sample: Sample) -> Path:
    target = inside(out, file, f"sample {sample.id}")
    if target.exists():
        raise DataError(f"sample {sample.id}: {file} is already another sample's picture; ids must be unique")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target
