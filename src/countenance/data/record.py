"""Models of JSON files: errors name the place, and fields can also be read as `record["name"]`."""

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from countenance.errors import DataError

Kind = TypeVar("Kind", bound=BaseModel)


def read_record(kind: type[Kind], path: Path, *, missing: str, wrong: str = "") -> Kind:
    """A JSON file as a model. The error names the first field that is wrong.

    `missing` is the remedy in the error for a missing file, `wrong` that for a wrong field.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file; {missing}")
    try:
        return kind.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise DataError(f"{path}: {place}: {first['msg']}{wrong}") from error


class Record(BaseModel):
    """A pydantic model that can be read like a mapping."""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def keys(self) -> list[str]:
        """The names of the fields."""
        return [*type(self).model_fields, *(self.model_extra or {})]

    def get(self, name: str, default: Any = None) -> Any:
        """A field, or the default when there is none."""
        result = getattr(self, name, None)
        return default if result is None else result
