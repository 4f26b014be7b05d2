"""The names under which tables, attribute files and annotations give a person's identity and age."""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

PERSON_COLUMNS = (
    "identity",
    "identity_id",
    "person",
    "person_id",
    "subject_id",
    "speaker",
    "patient",
    "patient_id",
    "participant",
    "participant_id",
    "user_id",
    "customer",
    "customer_id",
    "client_id",
    "applicant_id",
)
"""Whole names, the preferred one first. `subject` is not among them: it is the number of a person in a picture."""

GROUPS_OF = {"age": "age_group"}
"""Numbers of a person, each with the attribute that holds its groups where a source says no more than the group."""


def attribute_of(name: str, attributes: Collection[str]) -> str | None:
    """The attribute that a name means: itself, else the attribute with its groups; None if neither exists.

    >>> attribute_of("age", ["age", "age_group"]), attribute_of("age", ["age_group"]), attribute_of("age", ["sex"])
    ('age', 'age_group', None)
    """
    return next((known for known in (name, GROUPS_OF.get(name)) if known in attributes), None)


def person_column(names: Iterable[str]) -> str | None:
    """The column with the person of a row, or None; of several, the first of `PERSON_COLUMNS`.

    Capital letters, hyphens, spaces and the prefix `attr.` are ignored.

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
