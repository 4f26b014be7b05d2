"""Models of JSON files whose fields can also be read as `record["name"]`, as they stand in the file."""

from typing import Any

from pydantic import BaseModel


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
        found = getattr(self, name, None)
        return default if found is None else found
