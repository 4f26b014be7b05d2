"""The names under which tables, attribute files and annotations say who a person is."""

import re
from collections.abc import Iterable
from functools import lru_cache

PERSON_COLUMNS = (
    "identity",
    "identity_id",
    "person",
    "person_id",
    "subject_id",
    "speaker",
    "patient",
    "participant",
    "user_id",
)
"""Whole names, the preferred one first. `subject` is not among them: it is the number of a person in a picture."""


def person_column(names: Iterable[str]) -> str | None:
    """The column that says who a row is about, None where there is none; of several, the first of `PERSON_COLUMNS`.

    Capital letters, hyphens, spaces and the prefix `attr.` make no difference.

    >>> person_column(["file", "Person ID", "age"]), person_column(["subject", "person_box"])
    ('Person ID', None)
    >>> person_column(["user_id", "attr.identity"])
    'attr.identity'
    """
    known = {_plain(name): name for name in reversed(list(names))}
    return next((known[name] for name in PERSON_COLUMNS if name in known), None)


@lru_cache(4096)
def _plain(name: str) -> str:
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip().removeprefix("attr."))
    return re.sub(r"[\s_-]+", "_", split).casefold()
