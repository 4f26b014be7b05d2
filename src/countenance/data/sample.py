"""The two basic types: a Sample is one image and all its data, a Subject one person in it."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from countenance.data.card import DatasetCard
from countenance.errors import DataError, InputError

Value = str | float | tuple[str, ...] | None
"""An attribute's value: a word, a number, several words, or not known."""

Floats = NDArray[np.float64]
IGNORED_WORDS = frozenset({"yes", "true", "1", "1.0"})
UNREADABLE = "unreadable"
"""The value in place of the hash of a picture that cannot be read."""


class Image(Protocol):
    """A picture, wherever it is."""

    def load(self) -> NDArray[np.uint8]:
        """The pixels as height × width × 3 RGB, upright."""

    def read_bytes(self) -> bytes:
        """The content of the picture's file."""

    def size(self) -> tuple[int, int]:
        """Width and height as `load()` will give them."""

    def format_problem(self) -> str | None:
        """A sentence if the content does not match the ending of the file name, else None."""


@dataclass(frozen=True)
class Rle:
    """A binary mask as COCO run lengths (column by column), decoded when needed.

    >>> Rle.encode(np.eye(3, dtype=bool)).decode().tolist()[0]
    [True, False, False]
    """

    height: int
    width: int
    counts: str

    def decode(self) -> NDArray[np.bool_]:
        """The mask as a height × width boolean array."""
        from pycocotools import mask as coco

        return np.asarray(coco.decode({"size": [self.height, self.width], "counts": self.counts.encode()}), dtype=bool)

    @classmethod
    def encode(cls, mask: NDArray[np.bool_]) -> "Rle":
        """Run lengths of a boolean array.

        >>> Rle.encode(np.eye(3, dtype=bool)).decode().sum()
        np.int64(3)
        """
        from pycocotools import mask as coco

        rle = coco.encode(np.asfortranarray(mask.astype(np.uint8)))
        return cls(mask.shape[0], mask.shape[1], rle["counts"].decode())


PLACES = ("person_box", "face_box", "keypoints", "landmarks")
"""The fields that say where a person is in an image; each becomes an array of numbers."""


@dataclass(frozen=True)
class Subject:
    """One person in an image. Boxes are x0, y0, x1, y1 in pixels from the top-left corner.

    >>> Subject("0", identity="ann", face_box=[10, 10, 40, 50], attributes={"gender": "woman"}).face_box
    array([10., 10., 40., 50.])
    """

    id: str
    identity: str | None = None
    person_box: Floats | None = None
    face_box: Floats | None = None
    keypoints: Floats | None = None
    """17 COCO keypoints as rows of x, y, visibility (0 outside, 1 hidden, 2 visible)."""
    landmarks: Floats | None = None
    """Right eye, left eye, nose, right and left mouth corner (the person's own right and left)."""
    mask: Rle | None = None
    face_parts: Mapping[str, Rle] = field(default_factory=dict)
    body_parts: tuple[str, ...] = ()
    attributes: Mapping[str, Value] = field(default_factory=dict)
    scored: bool = True
    """False: the person is in the picture but has no row; a box on them is not a false alarm."""

    def __post_init__(self) -> None:
        for name in PLACES:
            place = getattr(self, name)
            if place is not None and not isinstance(place, np.ndarray):
                try:
                    object.__setattr__(self, name, np.asarray(place, dtype=np.float64))
                except (TypeError, ValueError):
                    raise DataError(f"subject {self.id!r}: {name} {place!r:.60}, expected numbers") from None

    @property
    def ignored(self) -> bool:
        """Whether this is a region that is not counted (a crowd, a poster, a mirror): its attribute `ignore` says yes.

        People in such a region need not be found, and boxes in it are not false positives.

        >>> Subject("crowd", attributes={"ignore": "yes"}).ignored, Subject("ann").ignored
        (True, False)
        """
        word = self.attributes.get("ignore")
        return word is not None and str(word).casefold() in IGNORED_WORDS


class PictureSide:
    """Width or height of a sample: what was stated, else that of its picture, which is read when somebody asks."""

    def __init__(self, index: int) -> None:
        self.index = index

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    @overload
    def __get__(self, sample: None, owner: type) -> None: ...
    @overload
    def __get__(self, sample: "Sample", owner: type) -> int: ...
    def __get__(self, sample: "Sample | None", owner: type) -> int | None:
        if sample is None:
            return None  # the default of the field
        stated: int | None = sample.__dict__[self.name]
        return sample._measured()[self.index] if stated is None else stated

    def __set__(self, sample: "Sample", value: int | None) -> None:
        sample.__dict__[self.name] = value


@dataclass(frozen=True)
class Sample:
    """One image and everything known about it.

    Without `width` and `height` they are those of the picture: known once its pixels were loaded, and read from the
    file's header when somebody asks before (0 where it cannot be read). So a reader that has no sizes opens no picture.

    >>> pixels = np.zeros((48, 64, 3), dtype=np.uint8)
    >>> import countenance as ct
    >>> sample = ct.Sample("portrait", ct.ArrayImage(pixels), 64, 48, (ct.Subject("0", face_box=(10, 10, 40, 40)),))
    >>> sample.load().shape, len(sample.people)
    ((48, 64, 3), 1)
    >>> ct.Sample("portrait", ct.ArrayImage(pixels)).width
    64
    """

    id: str
    image: Image
    width: PictureSide = PictureSide(0)
    height: PictureSide = PictureSide(1)
    subjects: tuple[Subject, ...] = ()
    attributes: Mapping[str, Value] = field(default_factory=dict)
    sha256: str | None = None
    """The file's hash where the dataset stores one; otherwise computed when needed."""

    @property
    def people(self) -> tuple[Subject, ...]:
        """The subjects without regions that are not counted."""
        return tuple(subject for subject in self.subjects if not subject.ignored)

    @property
    def stated_size(self) -> tuple[int | None, int | None]:
        """Width and height as the dataset states them; None where it leaves them to the picture."""
        return self.__dict__["_width"], self.__dict__["_height"]

    @property
    def known_size(self) -> tuple[int, int] | None:
        """Width and height as far as they are known without opening the picture."""
        width, height = self.stated_size
        return self.__dict__.get("_size") if width is None or height is None else (width, height)

    def note_size(self, width: int, height: int) -> None:
        """Remember how large the picture was when it was decoded, so that it is not opened for that."""
        self.__dict__["_size"] = (width, height)

    def _measured(self) -> tuple[int, int]:
        if "_size" not in self.__dict__:
            try:
                self.note_size(*self.image.size())
            except InputError:  # `data check` and the run report it, image by image
                self.note_size(0, 0)
        size: tuple[int, int] = self.__dict__["_size"]
        return size

    def having(self, **changes: Any) -> "Sample":
        """This sample with other values; `dataclasses.replace` would open a picture whose size is not stated.

        >>> from countenance.data.image import ArrayImage
        >>> Sample("a", ArrayImage(np.zeros((2, 3, 3), np.uint8))).having(id="b").stated_size
        (None, None)
        """
        width, height = self.stated_size
        result = replace(self, **{"width": width, "height": height} | changes)
        if "_size" in self.__dict__ and result.image is self.image:
            result.note_size(*self.__dict__["_size"])
        return result

    def load(self) -> NDArray[np.uint8]:
        """The pixels, height × width × 3, RGB."""
        return self._noted(self.image.load())

    def _noted(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        if len(pixels.shape) == 3:
            self.note_size(pixels.shape[1], pixels.shape[0])
        return pixels

    def load_checked(self) -> "tuple[NDArray[np.uint8], str]":
        """The pixels and the hash of the picture's file; InputError when it is not the file that the dataset names."""
        content, digest = self.read_checked()
        return self.decoded(content), digest

    def decoded(self, content: bytes) -> NDArray[np.uint8]:
        """The pixels of a picture whose file has been read already."""
        from countenance.data.image import ArrayImage, decode

        return self._noted(self.image.load() if isinstance(self.image, ArrayImage) else decode(content, self.place))

    def read_checked(self) -> tuple[bytes, str]:
        """The picture's file and its hash; InputError when it is not the file that the dataset names."""
        from countenance.data.image import ArrayImage

        content = self.image.read_bytes()
        result = hashlib.sha256(content).hexdigest()
        if self.sha256 and self.sha256 != result and not isinstance(self.image, ArrayImage):
            raise DataError(f"{self.place}: the picture has changed since the dataset was made (its hash differs)")
        return content, result

    @property
    def place(self) -> str:
        """The name of the picture in messages: its path, or the sample's id."""
        return str(getattr(self.image, "path", None) or self.id)

    def content_hash(self) -> str:
        """The hash of the file of the picture; for a picture that cannot be read, a fixed word."""
        if self.sha256:
            return self.sha256
        try:
            return hashlib.sha256(self.image.read_bytes()).hexdigest()
        except InputError:
            return UNREADABLE


class Dataset(Sequence[Sample]):
    """A sequence of samples with a card.

    >>> data = Dataset(DatasetCard(name="empty"), [])
    >>> len(data), data.card.name
    (0, 'empty')
    """

    def __init__(
        self,
        card: DatasetCard,
        samples: Sequence[Sample],
        aliases: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
        categories: Mapping[Any, str] | None = None,
    ) -> None:
        self.card = card
        self.samples = tuple(samples)
        self.aliases = aliases or {}
        """Other names of images, such as a COCO image id, with the sample id of each."""
        self.notes = tuple(notes)
        """The reader's notes: what was left out, and how many."""
        self.categories = categories or {}
        """What each category number of its file shows: person, face, mask, no_mask, or the name of something else."""

    @property
    def name(self) -> str:
        """The name on its card."""
        return self.card.name

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> "Dataset": ...
    def __getitem__(self, index: int | slice) -> "Sample | Dataset":
        if isinstance(index, slice):
            return self.of(self.samples[index])
        return self.samples[index]

    def __iter__(self) -> Iterator[Sample]:
        return iter(self.samples)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}, {len(self)} samples)"

    def filter(self, keep: Callable[[Sample], bool]) -> "Dataset":
        """The samples for which `keep` is true, with the same card."""
        return self.of([sample for sample in self.samples if keep(sample)])

    def split(self, name: str | None) -> "Dataset":
        """The samples whose attribute `split` is `name`; all samples without a name.

        >>> Dataset(DatasetCard(name="mine"), []).split("test")
        Traceback (most recent call last):
        countenance.errors.DataError: dataset 'mine' has no split 'test'; it has no splits
        """
        if name is None:
            return self
        remaining = self.filter(lambda sample: sample.attributes.get("split") == name)
        if not len(remaining):
            known = sorted({str(sample.attributes.get("split")) for sample in self.samples} - {"None"})
            there = f"it has {', '.join(known)}" if known else "it has no splits"
            raise DataError(f"dataset {self.name!r} has no split {name!r}; {there}")
        return remaining

    def of(self, samples: Sequence[Sample], card: DatasetCard | None = None, notes: Sequence[str] = ()) -> "Dataset":
        """The same dataset with other samples, optionally with another card and further notes."""
        return Dataset(card or self.card, samples, self.aliases, (*self.notes, *notes), self.categories)

    def attribute_names(self) -> list[str]:
        """Every attribute of any sample or subject, in order of first appearance."""
        names: dict[str, None] = {}
        for sample in self.samples:
            names.update(dict.fromkeys(sample.attributes))
            for subject in sample.people:
                names.update(dict.fromkeys(subject.attributes))
        return list(names)

    def fingerprint(self) -> str:
        """A hash of every picture and every truth: datasets with the same hash are the same."""
        return self._digest(pictures=True)

    @property
    def hashed_when_read(self) -> bool:
        """Whether all pictures are files of which no hash is known yet: a run hashes them when it reads them."""
        from countenance.data.image import ArrayImage

        return not any(sample.sha256 or isinstance(sample.image, ArrayImage) for sample in self.samples)

    def truth_fingerprint(self) -> str:
        """A hash of every truth, and of the pictures unless they are hashed when a run reads them."""
        return self._digest(pictures=not self.hashed_when_read)

    def _digest(self, pictures: bool) -> str:
        digest = hashlib.sha256(self.card.model_dump_json().encode())
        for sample in self.samples:
            digest.update((sample.content_hash() if pictures else "").encode())
            digest.update(json.dumps(truth(sample, stated=True), sort_keys=True).encode())
        return digest.hexdigest()


def truth(sample: Sample, *, stated: bool = False) -> dict[str, Any]:
    """Everything known about a sample but its pixels, as plain JSON values; `stated`: the size that the dataset states.

    >>> from countenance.data.image import ArrayImage
    >>> truth(Sample("a", ArrayImage(np.zeros((2, 2, 3), np.uint8)), 2, 2))["id"]
    'a'
    """
    width, height = sample.stated_size if stated else (sample.width, sample.height)
    return {
        "id": sample.id,
        "width": width,
        "height": height,
        "attributes": _plain(sample.attributes),
        "subjects": [_subject_truth(subject) for subject in sample.subjects],
    }


def _subject_truth(subject: Subject) -> dict[str, Any]:
    def numbers(array: Floats | None) -> Any:
        return None if array is None else array.tolist()

    return {
        "id": subject.id,
        "identity": subject.identity,
        "person_box": numbers(subject.person_box),
        "face_box": numbers(subject.face_box),
        "keypoints": numbers(subject.keypoints),
        "landmarks": numbers(subject.landmarks),
        "mask": None if subject.mask is None else subject.mask.counts,
        "face_parts": {name: rle.counts for name, rle in subject.face_parts.items()},
        "body_parts": list(subject.body_parts),
        "attributes": _plain(subject.attributes),
    } | ({} if subject.scored else {"scored": False})


def _plain(attributes: Mapping[str, Value]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in attributes.items()}
