"""The dataset card: what a dataset is, on what basis it may be used, and who assigned which attributes."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from countenance.data.record import Record, read_record

RENDERED_LICENCE = "Apache-2.0; geometry derived from MakeHuman (CC0)"
"""The licence of the embedded people, and of data in a published layout that was made from them."""
RENDERED_CONSENT = "not needed: nobody in these pictures exists"
AssignedBy = Literal["self-reported", "annotated", "rendered", "predicted", "unknown"]


class AttributeCard(BaseModel):
    """One attribute: who assigned it, what it means, and the values it may take in their order.

    >>> AttributeCard(assigned_by="annotated", ordered=("small", "medium", "large")).ordered
    ('small', 'medium', 'large')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    assigned_by: AssignedBy = "unknown"
    meaning: str = ""
    values: tuple[str, ...] | None = None
    ordered: tuple[str, ...] | None = None
    """The values from the first to the last, where the attribute is ordered: an audit then also compares "up to" with
    "above". Tone scales, age groups and bins of numbers need not be named."""
    role: Literal["person", "condition"] | None = None
    """Whether it describes the person or the conditions; None: as its name says (tone, age, gender … are person)."""


class DatasetCard(Record):
    """Name, version, licence, consent basis, citation, and the attributes with who assigned them.

    >>> DatasetCard(name="mine").licence
    'not stated'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    version: str = "1"
    description: str = ""
    licence: str = "not stated"
    consent: str = "not stated"
    citation: str = ""
    warning: str = ""
    """A warning that every report made from this dataset shows."""
    real_people: bool = True
    """Whether the pictures show people who exist; faces of real people are hidden unless they are requested."""
    attributes: dict[str, AttributeCard] = Field(default_factory=dict)
    paired_by: dict[Literal["base", "change"], str] | None = None
    """For twins: the attribute that names the base picture, and the attribute that names the change."""

    @field_validator("paired_by")
    @classmethod
    def _both(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        if value is not None and set(value) != {"base", "change"}:
            raise ValueError("paired_by needs both base and change, each with the name of an attribute")
        return value

    @classmethod
    def read(cls, path: Path) -> "DatasetCard":
        """Read a card from JSON; a field that is missing or unknown is named."""
        return read_record(
            cls,
            path,
            missing="a dataset card (`countenance docs data`)",
            wrong=" (a dataset card: `countenance docs data`)",
        )
