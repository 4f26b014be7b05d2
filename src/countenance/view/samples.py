"""The pictures of a run: its dataset loaded again, truth and predictions drawn, thumbnails made once."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from countenance.answers import Answer, Embedding, Picture
from countenance.data import Sample
from countenance.data.image import EncodedImage, LazyImage, UrlImage, decode_small
from countenance.data.manifest import StoredImage
from countenance.errors import InputError
from countenance.report import drawing, pictures
from countenance.report.gallery import about_row, window_of
from countenance.run.file_names import thumbnails_of
from countenance.run.pictures import is_dataset_of
from countenance.storage import Missing
from countenance.view.dataset import Indexed, ViewedSamples, samples_of
from countenance.view.open_run import OpenRun, Unknown
from countenance.view.predictions import StoredPredictions
from countenance.view.privacy import BLURRED

FILES = (LazyImage, UrlImage, EncodedImage, StoredImage)
"""Pictures whose bytes are a file in a known format."""
THUMBNAIL = 320
LARGE = 1600


@dataclass(frozen=True)
class Item:
    """One row in the form that a page shows."""

    place: int
    sample: str
    window: pictures.Window | None
    overlay: Markup
    about: list[tuple[str, str]]
    scores: list[tuple[str, Any]]
    prediction: str
    true: str = ""
    """The true words, if the answers are words."""
    is_picture: bool = False
    """Whether the model's answer is itself a picture."""
    loading: bool = False
    """Whether the dataset is still being read."""

    @property
    def facts(self) -> list[str]:
        """The facts for a row's caption: the prediction, the person, a score other than 0 or 1."""
        predicted = f"predicted {self.prediction or 'nothing'}, true {self.true}" if self.true else self.prediction
        scores = [f"{value:.2f}" for _, value in self.scores if isinstance(value, float) and value not in (0.0, 1.0)]
        return [part for part in (predicted, *(" ".join(pair).strip() for pair in self.about), *scores[:1]) if part]


def captions(items: Sequence[Item]) -> list[str]:
    """One line for each picture: how it differs from the others on the page."""
    shared = set.intersection(*(set(item.facts) for item in items)) if len(items) > 1 else set()
    return [" · ".join(fact for fact in item.facts if fact not in shared) or "like the others" for item in items]


class RunGallery:
    """The pictures of one run. They are shown only if they are unchanged since the evaluation.

    The dataset lies outside the run, at a place that the run names. The run has a hash of every picture that it read,
    so it can show only pictures whose content it already knew.
    """

    def __init__(self, opened: OpenRun, mode: str) -> None:
        self.opened, self.mode = opened, mode
        self.problem = ""
        self.predictions = StoredPredictions(opened.run.store)
        self._samples: ViewedSamples | None = None
        self._ready = threading.Event()
        self._lock = threading.Lock()
        self._started = False

    def start(self) -> None:
        """Begin to load the dataset; a page says "loading" until that is done, however long it takes."""
        with self._lock:
            if not self._started:
                self._started = True
                threading.Thread(target=self._load, daemon=True).start()

    @property
    def state(self) -> str:
        """loading, ready or off."""
        return "loading" if not self._ready.is_set() else "off" if self.problem else "ready"

    def wait(self) -> bool:
        """Wait until the state is known; returns whether there are pictures."""
        self.start()
        self._ready.wait()
        return not self.problem

    def _load(self) -> None:
        try:
            dataset = self.opened.run.dataset()
            run = self.opened.run
            if not is_dataset_of(run, dataset):
                self.problem = "the dataset has changed since this run"
            else:
                self._samples = samples_of(dataset)
        except InputError as error:
            self.problem = f"the dataset cannot be loaded again ({error})"
        except OSError as error:
            self.problem = f"the dataset cannot be read again ({error.strerror or error})"
        except Exception as error:  # a third party's reader failed; the page is shown without pictures
            self.problem = f"the dataset cannot be loaded again ({type(error).__name__})"
        finally:
            self._ready.set()

    def sample(self, name: str) -> Sample | None:
        """A sample by its id; None without the dataset."""
        return self.some([name]).get(name)

    def some(self, names: Iterable[str]) -> dict[str, Sample]:
        """Samples by their ids; empty without the dataset."""
        try:
            return {} if self._samples is None else self._samples.some(names)
        except InputError:  # a manifest that was damaged or removed since
            return {}

    def answer(self, name: str) -> Answer | None:
        """The model's prediction for a sample."""
        return self.predictions.of(name)

    def items(self, rows: Sequence[dict[str, Any]], by: Sequence[str], metrics: Sequence[str]) -> list[Item]:
        """Rows of the score table in the form that a page shows."""
        self.some(str(row.get("sample")) for row in rows)  # one query of the manifest for all of them
        return [self.item(row, by, metrics) for row in rows]

    def item(self, row: dict[str, Any], by: Sequence[str], metrics: Sequence[str], *, whole: bool = False) -> Item:
        """One row: the picture with truth and prediction drawn over it, the person, the prediction and the scores."""
        name = str(row.get("sample"))
        loading = self.state == "loading"  # before the sample is looked up, which may arrive in between
        sample = self.sample(name)
        try:
            answer = self.answer(name)
        except InputError:  # with a damaged file of answers the drawing is left out
            answer = None
        window, overlay, true = None, Markup(""), ""
        about = about_row(row, [name for name in by if f"attr.{name}" in row])
        prediction = drawing.answer_words(answer)
        width, height = _size(sample)
        if sample is not None and width:
            window = pictures.window(width, height) if whole else self._window(row, sample)
            true = drawing.true_words(self.opened.task, sample, row.get("subject"))
            size = max(window.width, window.height)
            person = ", ".join(f"{name} {value}".strip() for name, value in about)
            label = "; ".join(part for part in (name, person, f"predicted {prediction}" if prediction else "") if part)
            drawn = drawing.truth_of(sample, drawing.truth_kinds(self.opened.task), size)
            drawn += drawing.answer_of(answer, size)
            overlay = drawing.overlay(drawn, window.view_box, label) if drawn else Markup("")
        scores = [(name, row.get(f"m.{name}")) for name in metrics if f"m.{name}" in row]
        return Item(
            int(row["place"]),
            name,
            window,
            overlay,
            about,
            scores,
            prediction,
            true,
            isinstance(answer, Picture),
            loading,
        )

    def _pixels(self, sample: Sample, least: float = 1.0) -> Any:
        """The picture, reduced to no less than `least` of its size.

        From a manifest only pictures with its stored hash, since its fingerprint does not cover pictures.
        """
        checked = isinstance(self._samples, Indexed)
        if not isinstance(sample.image, FILES):
            return sample.load_checked()[0] if checked else sample.load()
        content = sample.read_checked()[0] if checked else sample.image.read_bytes()
        return decode_small(content, least, sample.place)

    def _jpeg(self, sample: Sample, window: pictures.Window, longest: int, quality: int = 80) -> bytes:
        """A window of a picture as JPEG."""
        pixels = self._pixels(sample, longest / max(window.width, window.height))
        scale = pixels.shape[1] / _size(sample)[0]
        shown = pictures.Window(*(scale * part for part in _numbers(window)))
        return pictures.jpeg(pixels, shown, longest=longest, blurred=self.mode == BLURRED, quality=quality)

    def _window(self, row: dict[str, Any], sample: Sample) -> pictures.Window:
        return window_of(row, sample, *_size(sample), task=self.opened.task)

    def thumbnail(self, row: dict[str, Any]) -> bytes:
        """The small picture of a row, made once and stored in the run; unblurred real people are never stored."""
        sample = self._known(row)
        window = self._window(row, sample)
        name = f"{thumbnails_of(sample.id)}-{self.mode}-{'-'.join(f'{v:g}' for v in _numbers(window))}.jpg"
        keep = self.mode == BLURRED or not self.opened.run.manifest.dataset.card.real_people
        if keep:
            with contextlib.suppress(Missing, InputError, OSError):  # a link is replaced by what it should be
                return self.opened.storage.read(name)
        content = self._jpeg(sample, window, THUMBNAIL)
        if keep:
            with contextlib.suppress(OSError):  # a read-only run is shown without a cache
                self.opened.storage.keep(name, content)
        return content

    def picture(self, row: dict[str, Any]) -> bytes:
        """The whole picture of a row, large."""
        sample = self._known(row)
        window = pictures.window(*_size(sample))
        return self._jpeg(sample, window, LARGE, quality=88)

    def predicted_picture(self, row: dict[str, Any]) -> bytes:
        """The picture that the model made."""
        answer = self.answer(str(row.get("sample")))
        if not isinstance(answer, Picture):
            raise InputError("the prediction is not a picture")
        window = pictures.window(answer.pixels.shape[1], answer.pixels.shape[0])
        return pictures.jpeg(answer.pixels, window, longest=LARGE, blurred=self.mode == BLURRED, quality=88)

    def embedding(self, name: str) -> Any:
        """The vector of a sample, or None."""
        answer = self.answer(name)
        return answer.vector if isinstance(answer, Embedding) else None

    def _known(self, row: dict[str, Any]) -> Sample:
        if not self.wait():
            raise InputError(f"no pictures: {self.problem}")
        sample = self.sample(str(row.get("sample")))
        if sample is None or not _size(sample)[0]:
            raise Unknown("the dataset has no picture of that name any more")
        return sample


class SamplesByName(Mapping[str, Sample]):
    """The samples of a loaded gallery, in the form that a report's album takes."""

    def __init__(self, gallery: RunGallery) -> None:
        self.gallery = gallery

    def __getitem__(self, name: str) -> Sample:
        sample = self.gallery.sample(name)
        if sample is None:
            raise KeyError(name)
        return sample

    def __iter__(self) -> Iterator[str]:
        raise TypeError("samples are looked up by name")

    def __len__(self) -> int:
        return int(self.gallery.opened.run.manifest.dataset.images)


def _size(sample: Sample | None) -> tuple[int, int]:
    """Width and height; read from the file if the dataset lacks them, 0 if unreadable."""
    if sample is None:
        return 0, 0
    if sample.width and sample.height:
        return sample.width, sample.height
    try:
        return sample.image.size()
    except (InputError, OSError):
        return 0, 0


def _numbers(window: pictures.Window) -> tuple[float, float, float, float]:
    return window.x, window.y, window.width, window.height
