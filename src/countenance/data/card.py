"""The dataset card: what a dataset is, by what right it is used, and who said what about whom."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from countenance.data.record import Record, read_record

AssignedBy = Literal["self-reported", "annotated", "rendered", "predicted", "unknown"]


class AttributeCard(BaseModel):
    """One attribute: who assigned it, what it means, and the values it may take in their order."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    assigned_by: AssignedBy = "unknown"
    meaning: str = ""
    values: tuple[str, ...] | None = None


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
    """Said on every report made from this dataset."""
    real_people: bool = True
    """Whether the pictures show people who exist; faces of real people are not shown unless asked for."""
    attributes: dict[str, AttributeCard] = Field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "DatasetCard":
        """Read a card from JSON; a field that is missing or unknown is named."""
        return read_record(
            cls, path, missing="a dataset card, see docs/data.md", wrong=" (a dataset card, see docs/data.md)"
        )
