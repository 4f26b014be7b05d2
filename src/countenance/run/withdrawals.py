"""Images of people who withdrew: recorded so that they are never evaluated again, without naming the people.

A hash of an image's name would reveal the person to anyone who has the list of files. So it is salted with a secret
that is in `local.json`, which is never published. Without that file the images cannot be recognised, and a resumed run
asks for the list of people again.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from countenance.data import Sample
from countenance.errors import RunError
from countenance.run.manifest import Manifest
from countenance.run.store import RunStore

if TYPE_CHECKING:
    from countenance.run.plan import RunPlan


def hashed_id(sample: str, salt: str) -> str:
    """A sample's id in the record: which salt it was hashed with (not the salt itself), and the hash.

    >>> hashed_id("a.png", "x") == hashed_id("a.png", "x") != hashed_id("a.png", "y")
    True
    """
    code = hmac.new(salt.encode(), sample.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return f"{_salt_id(salt)}:{code.hexdigest()[:32]}"


def _salt_id(salt: str) -> str:
    return hashlib.sha256(salt.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Withdrawn:
    """The images that people withdrew from a run."""

    salt: str = ""
    hashes: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hashes)

    def __contains__(self, sample: str) -> bool:
        return hashed_id(sample, self.salt) in self.hashes

    def present(self, samples: list[Sample]) -> list[Sample]:
        """The samples that were not withdrawn."""
        return [sample for sample in samples if sample.id not in self] if self else samples


NOBODY = Withdrawn()


def new_salt() -> str:
    """A new salt, for a run without one."""
    return secrets.token_hex(16)


def withdrawn_from(store: RunStore, plan: "RunPlan", people: Iterable[str] | None) -> Withdrawn:
    """The images that were withdrawn from a stored run; `people` is the list of people who withdrew, if needed.

    InputError if neither the run nor `people` tells which images these are, so that nothing is evaluated.
    """
    manifest, salt = store.manifest(), store.salt()
    if not manifest.withdrawn and people:
        raise RunError(f"{store.place}: nobody was withdrawn from this run yet; `countenance purge` removes people")
    if not manifest.withdrawn:
        return NOBODY
    if salt and all(entry.startswith(f"{_salt_id(salt)}:") for entry in manifest.withdrawn):
        return Withdrawn(salt, frozenset(manifest.withdrawn))
    count = len(manifest.withdrawn)
    images = "1 image was" if count == 1 else f"{count} images were"
    if people is None:
        raise RunError(
            f"{store.place}: {images} withdrawn from this run, and the secret that says which is not here "
            '(local.json of the machine that it came from); name the people again: withdrawn="FILE", as for purge'
        )
    gone = _shown(plan, set(people))
    _refuse_wrong_list(store, manifest, gone)
    if not salt:
        salt = new_salt()
        store.write_salt(salt)
    return Withdrawn(salt, frozenset(hashed_id(name, salt) for name in gone))


def _shown(plan: "RunPlan", people: set[str]) -> set[str]:
    """The images of a plan that show some of the people."""
    return {
        sample.id
        for piece in plan.pieces()
        for sample in plan.samples.read(piece)
        if sample.id in people or any({subject.identity, subject.id} & people for subject in sample.subjects)
    }


def _refuse_wrong_list(store: RunStore, manifest: Manifest, gone: set[str]) -> None:
    count = len(manifest.withdrawn)
    if len(gone) < count:
        raise RunError(
            f"{store.place}: the people of withdrawn= are in {len(gone)} of the {count} images that were withdrawn; "
            "name all who left"
        )
    if next(store.answers(gone), None) is not None:
        raise RunError(
            f"{store.place}: people on the list of withdrawn= are still in this run; "
            "`countenance purge` removes them first"
        )
