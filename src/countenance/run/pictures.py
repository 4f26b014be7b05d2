"""The hashes of pictures that a run read: computed when they are evaluated, and again before shards are reused."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from countenance.data.image import LazyImage
from countenance.data.sample import UNREADABLE, Dataset, Image, Sample
from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.run.manifest import DatasetRecord
    from countenance.run.marker import Marker
    from countenance.run.plan import RunPlan
    from countenance.run.run import Run
    from countenance.run.store import RunStore

_SIZE = 1 << 256


def sum_of(pictures: Mapping[str, str]) -> str:
    """A hash of pictures, from the hash of each by the sample's id: a sum, so it does not depend on their order.

    >>> whole = sum_of({"a": "1", "b": "2"})
    >>> whole == total([sum_of({"b": "2"}), sum_of({"a": "1"})]), whole == sum_of({"a": "1", "b": "3"})
    (True, False)
    """
    parts = (hashlib.sha256(f"{name} {picture}".encode()).digest() for name, picture in pictures.items())
    return f"{sum(int.from_bytes(part) for part in parts) % _SIZE:064x}" if pictures else ""


def total(parts: Iterable[str]) -> str:
    """The sum over shards; empty where a shard has read no picture or its sum is not known."""
    sums = list(parts)
    return f"{sum(int(part, 16) for part in sums) % _SIZE:064x}" if sums and all(sums) else ""


def without(whole: str, pictures: Mapping[str, str]) -> str:
    """A hash of pictures, as `sum_of` computes it, without some of them; empty where either is not known.

    >>> without(sum_of({"a": "1", "b": "2"}), {"b": "2"}) == sum_of({"a": "1"})
    True
    >>> without(sum_of({"a": "1"}), {"a": "1"}), without("", {"a": "1"}), without("ff", {"a": UNREADABLE})
    ('', '', '')
    """
    if not whole or UNREADABLE in pictures.values():
        return ""
    remaining = (int(whole, 16) - int(sum_of(pictures) or "0", 16)) % _SIZE
    return f"{remaining:064x}" if remaining else ""


def changed_picture(plan: "RunPlan", store: "RunStore", markers: Mapping[int, "Marker"]) -> str | None:
    """The first sample of a stored shard whose picture is not the one that was evaluated, or a sample of that shard.

    A picture that was unreadable then and is readable now counts as changed.
    """
    if plan.samples.fingerprint_has_pictures:
        return None
    for piece in plan.pieces():
        marker = markers.get(piece.number)
        if marker is None or not marker.pictures:
            continue
        samples = {sample.id: sample for sample in plan.read(piece) if plan.task.asks(sample)}
        failed: set[str] = {row["sample"] for row in store.shard_failures(piece.number) if row["kind"] == "image"}
        for name in failed & set(samples):
            if _is_readable(samples[name]):
                return name
        hashes = {name: sample.content_hash() for name, sample in samples.items() if name not in failed}
        if sum_of(hashes) != marker.pictures:
            gone = (name for name, digest in hashes.items() if digest == UNREADABLE)
            return next(gone, next(iter(samples), None))
    return None


def is_dataset_of(run: "Run", dataset: Dataset) -> bool:
    """Whether a dataset is the one that a run has evaluated, by its truth and by the pictures that were evaluated.

    Pictures that this process has read for the run, and that nobody has written since, are not read again.
    """
    record = run.manifest.dataset
    if not has_truth_of(record, dataset):
        return False
    if not record.pictures or not dataset.hashed_when_read:
        return True
    since = run.read_since if dataset is run.loaded else None
    if since is not None and all(_is_older(sample.image, since) for sample in dataset):
        return True
    names = run.evaluated()
    return sum_of({sample.id: sample.content_hash() for sample in dataset if sample.id in names}) == record.pictures


def has_truth_of(record: "DatasetRecord", dataset: Dataset) -> bool:
    """Whether a dataset has the truth that a run has evaluated, with the images that a purge removed or without."""
    return dataset.truth_fingerprint() in {record.fingerprint, *record.remaining}


def _is_older(image: Image, moment: float) -> bool:
    """Whether a picture is a file that was last changed before a moment; file systems count in steps of some ms."""
    if not isinstance(image, LazyImage):
        return False
    try:
        status = image.path.stat()
    except OSError:
        return False
    return max(status.st_ctime, status.st_mtime) < moment - 0.01


def _is_readable(sample: Sample) -> bool:
    try:
        sample.load()
    except InputError:
        return False
    return True
