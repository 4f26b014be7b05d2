"""The pictures of a run, loaded once for everything on a page; real people are shown only on request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from markupsafe import Markup

from countenance.data import Sample
from countenance.errors import InputError
from countenance.report import pictures
from countenance.report.gallery import loaded, mode_for, why_off
from countenance.report.source import ReportSource

LEFT_OVER = 8
"""Pixels that a blurred face keeps: a thumbnail is cut close to the face."""
AROUND = 1.9
"""How much of the picture around a face a thumbnail shows, in sides of the face."""


@dataclass
class Album:
    """Thumbnails of people by sample; `sentence` says why there are none."""

    mode: str
    sentence: str = ""
    samples: Mapping[str, Sample] = field(default_factory=dict)
    _pixels: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, source: ReportSource, gallery: str) -> Album:
        """The pictures of a run as the gallery setting allows; nothing is loaded where none may be shown."""
        mode = mode_for(gallery, source.run.manifest.dataset.card.real_people)
        if mode == "off":
            return cls(mode, why_off(gallery))
        dataset, problem = loaded(source)
        if dataset is None:
            return cls(mode, f"No pictures: {problem}. Every number on this page is unaffected.")
        return cls(mode, samples={sample.id: sample for sample in dataset})

    @property
    def blurred(self) -> bool:
        """Whether faces are blurred beyond recognition."""
        return self.mode == "blurred"

    def has(self, sample: object) -> bool:
        """Whether a picture may and can be shown."""
        return str(sample) in self.samples

    def face(self, sample: object, subject: object, longest: int) -> Markup | None:
        """A square around somebody's face; None where it cannot be shown."""
        part = self._part(str(sample), subject)
        if part is None:
            return None
        pixels, window = part
        return pictures.uri(pictures.cut(pixels, window, longest, blurred=self.blurred, left_over=LEFT_OVER), 72)

    def sheet(self, faces: Iterable[tuple[object, object, bool]], size: int, across: int) -> Markup | None:
        """Faces (sample, subject, whether it went well) as one picture; failed people have a red edge and a cross."""
        from PIL import Image, ImageDraw

        parts = [(part, right) for sample, subject, right in faces if (part := self._part(str(sample), subject))]
        if not parts:
            return None
        down = -(-len(parts) // across)
        board = Image.new("RGB", (across * size, down * size), (246, 245, 240))
        for place, ((pixels, window), right) in enumerate(parts):
            face = pictures.cut(pixels, window, size - 2, blurred=self.blurred, left_over=LEFT_OVER).resize(
                (size - 2, size - 2)
            )
            x, y = (place % across) * size, (place // across) * size
            board.paste(face, (x + 1, y + 1))
            if not right:
                draw = ImageDraw.Draw(board)
                draw.rectangle((x + 1, y + 1, x + size - 2, y + size - 2), outline=(163, 33, 27), width=3)
                draw.line((x + 5, y + size - 12, x + 12, y + size - 5), fill=(255, 255, 255), width=3)
                draw.line((x + 12, y + size - 12, x + 5, y + size - 5), fill=(255, 255, 255), width=3)
        return pictures.uri(board, 70)

    def _part(self, sample: str, subject: object) -> tuple[Any, pictures.Window] | None:
        known = self.samples.get(sample)
        if known is None:
            return None
        if sample not in self._pixels:
            try:
                self._pixels[sample] = known.load()
            except (InputError, OSError):
                self._pixels[sample] = None
        pixels = self._pixels[sample]
        return None if pixels is None else (pixels, face_window(known, subject, pixels.shape[1], pixels.shape[0]))


def face_window(sample: Sample, subject: object, width: int, height: int) -> pictures.Window:
    """A square around a face, within the picture; the middle of the picture where the face is not known."""
    person = next((s for s in sample.subjects if s.id == subject), sample.people[0] if sample.people else None)
    box = None if person is None else person.face_box if person.face_box is not None else person.person_box
    most = float(min(width, height))
    if box is None:
        return pictures.Window((width - most) // 2, (height - most) // 2, most, most)
    x0, y0, x1, y1 = (float(v) for v in np.asarray(box, dtype=float))
    side = float(round(min(most, max(8.0, AROUND * max(x1 - x0, y1 - y0)))))
    left = min(max((x0 + x1 - side) / 2, 0.0), width - side)
    top = min(max((y0 + y1 - side) / 2, 0.0), height - side)
    return pictures.Window(float(round(left)), float(round(top)), side, side)
