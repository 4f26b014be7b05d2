"""`run.json`: what was evaluated, on what, with which versions. Validated once, when a run is opened."""

import shlex
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import countenance
from countenance.data.card import DatasetCard
from countenance.data.record import Record
from countenance.decoding import json_of
from countenance.errors import InputError, RunError
from countenance.files import exists
from countenance.models.model import ModelCard
from countenance.storage import is_url

FORMAT = 2
"""The version of the layout of a run; others are refused by name."""


class Part(Record):
    """A part of the manifest."""

    model_config = ConfigDict(extra="allow", validate_assignment=True)


class DatasetRecord(Part):
    """The dataset as it was when it was evaluated."""

    card: DatasetCard
    source: str | None = None
    """The source that loads it again, as the user named it but without the path; None for a dataset made in a
    program."""
    fingerprint: str = ""
    pictures: str = ""
    """A hash of the hashes of the pictures that the workers read; a manifest's fingerprint need not cover them."""
    remaining: list[str] = Field(default_factory=list)
    """For each purge, the fingerprint of the dataset without the images that were removed from the run until then."""
    images: int = 0
    skipped: int = 0
    categories: str | None = None
    """The categories of a COCO file that were chosen, as the user named them."""
    reading: dict[str, Any] = Field(default_factory=dict)
    """How its labels were read: the names of the label files, and what the user said of their columns and boxes."""
    notes: list[str] = Field(default_factory=list)
    """The reader's notes, such as what it left out."""

    @property
    def label(self) -> str:
        """The dataset as pages call it: its name, with its part if one was named, without options of its reading.

        >>> card = DatasetCard(name="people")
        >>> DatasetRecord(card=card, source="people:portraits").label, DatasetRecord(card=card).label
        ('people:portraits', 'people')
        >>> DatasetRecord(card=DatasetCard(name="happyfaces"), source="happyfaces:faces?held_back=more").label
        'happyfaces:faces'
        """
        named = (self.source or "").partition("?")[0]
        return named if named.startswith(f"{self.card.name}:") else self.card.name


class MetricRecord(Part):
    """A metric as the task described it."""

    name: str
    meaning: str = ""
    better: Literal["higher", "lower"] | None = None
    headline: bool = False
    delta: float | None = None
    answered: str | None = None
    among: tuple[str, tuple[str, ...]] | None = None
    of_groups: bool = False
    published: str | None = None
    bounded: bool | None = None


class Manifest(Part):
    """The whole of `run.json`."""

    format: int = FORMAT
    countenance: str = countenance.__version__
    key: str = ""
    """A hash of what was evaluated: equal keys mean that stored shards may be used again."""
    suite: str | None = None
    task: str
    task_source: str | None = None
    """`module:attr`, for a task that is not registered by name."""
    question: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    """The task's options, where it has some."""
    answer: str = ""
    """The kind of the task's answers, such as Boxes: a page draws them without the task's code."""
    curve_of: str | None = None
    """The metric that says which of several metrics a row's single value belongs to."""
    metrics: list[MetricRecord] | None = None
    model: ModelCard
    dataset: DatasetRecord
    status: Literal["running", "complete"] = "complete"
    boxes: dict[str, str] = Field(default_factory=dict)
    """What the four numbers of the model's boxes were (form and units)."""
    batch: int | None = None
    shard: int | None = None
    """Images in a shard."""
    seed: int = 0
    limit: int | None = None
    decoder: str = ""
    """What turned files into pixels; runs whose pixels differ are not comparable image by image."""
    engine: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    command: str = ""
    finished: str | None = None
    failed: int = 0
    max_failures: float = 0.05
    seconds: float | None = None
    images_per_second: float | None = None
    cores: int | None = None
    notes: list[str] = Field(default_factory=list)
    """Notes on the numbers, which the report shows."""
    purged: int = 0
    """Images that were removed because somebody in them withdrew."""
    withdrawn: list[str] = Field(default_factory=list)
    """Salted hashes of the ids of those images, so that they are left out when the run is repaired."""
    by: list[str] | None = None
    """The attributes by which results are computed, if the user named some."""
    about: dict[str, Any] = Field(default_factory=dict)
    """Facts that a suite stores about its protocol."""

    def plain(self) -> dict[str, Any]:
        """The manifest as nested dicts, without unknown values."""
        return {name: value for name, value in self.model_dump().items() if value is not None}

    def to_bytes(self) -> bytes:
        """The manifest as it is stored."""
        from countenance.files import to_json

        return to_json(self.model_dump(mode="json", exclude_none=False)).encode()


class Place(BaseModel):
    """`local.json`: where things are on this machine. It is not a part of the run and is never published."""

    model_config = ConfigDict(extra="ignore")
    source: str | None = None
    command: str = ""
    paths: dict[str, str] = Field(default_factory=dict)
    """Further places that a suite needs to make its files again, and the folders of label files."""
    code: str | None = None
    """The folder that the code of a custom task was imported from."""
    salt: str = ""
    """The secret with which the ids of withdrawn images are hashed."""
    mark: str = ""
    """A keyed hash which shows that this user made the run here (`countenance.run.trust`)."""

    def claims(self, manifest: Manifest) -> dict[str, Any]:
        """The content that the mark covers: everything that is imported or followed."""
        dataset = manifest.dataset
        return {
            "key": manifest.key,
            "task": [manifest.task, manifest.task_source, manifest.options],
            "suite": [manifest.suite, manifest.about],
            "dataset": [dataset.source, dataset.categories, *([dataset.reading] if dataset.reading else [])],
            "local": [self.source, self.paths, self.code],
        }


class DamagedManifest(RunError):
    """The manifest of a run was changed after it was written."""


def read_manifest(content: bytes, place: str) -> Manifest:
    """The manifest in `content`; `place` names the file in messages.

    >>> read_manifest(b'{"format": 99}', "run.json")
    Traceback (most recent call last):
    countenance.errors.RunError: run.json: made by a newer version (format 99, this one reads up to 2); update ...
    """
    try:
        parsed = json_of(content, place)
    except InputError as error:
        raise DamagedManifest(str(error)) from None
    if not isinstance(parsed, dict):
        raise DamagedManifest(f"{place}: not a run's manifest; `countenance run` makes one")
    version = parsed.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise RunError(
            f"{place}: made by a newer version (format {version}, this one reads up to {FORMAT}); update countenance"
        )
    if version != FORMAT:
        problem = "not a run's manifest" if version is None else f"format {version!r:.20}, expected {FORMAT}"
        raise DamagedManifest(f"{place}: {problem}; `countenance run` makes one")
    try:
        return Manifest.model_validate(parsed)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DamagedManifest(f"{place}: not a run's manifest ({where}: {first['msg']})") from None


EMBEDDED = "people"
"""The dataset whose parts have names; a folder of the same name is not meant."""


def published_command() -> str:
    """The command line with the folders of this machine left out.

    >>> import sys
    >>> sys.argv, before = ["/usr/bin/countenance", "run", "--data", "/home/me/faces"], sys.argv
    >>> published_command()
    'countenance run --data faces'
    >>> sys.argv = before
    """
    words = sys.argv or ["python"]
    return shlex.join([Path(word).name if Path(word).is_absolute() else word for word in words])


def located(source: str | None) -> str | None:
    """A dataset's source with an absolute path, so that it is found from any folder.

    >>> located("people:portraits"), located(None)
    ('people:portraits', None)
    """
    if source is None or is_url(source):
        return source
    head, colon, rest = source.partition(":")
    path, mark, options = (rest if colon else head).partition("?")
    if exists(source):
        return str(Path(source).absolute())
    if colon and path and head != EMBEDDED and exists(path):
        return f"{head}:{Path(path).absolute()}{mark}{options}"
    return source
