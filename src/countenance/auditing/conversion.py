"""Converts values of an audit for JSON, Arrow and pandas."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel

from countenance.auditing.ratio import Ratio
from countenance.errors import optional


def plain(value: Any) -> Any:
    """A value in JSON's form: NaN and infinities become null.

    >>> plain({"p": float("nan"), "n": [1, float("inf")]})
    {'p': None, 'n': [1, None]}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "_asdict"):
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def unplain(model: type[BaseModel], row: dict[str, Any]) -> dict[str, Any]:
    """Plain values with NaN in place of null where a number is expected."""
    floats = {name for name, field in model.model_fields.items() if field.annotation is float}
    return {key: math.nan if value is None and key in floats else value for key, value in row.items()}


def arrow(model: type[BaseModel], rows: list[Any]) -> Any:
    """Rows of a model as a pyarrow Table."""
    import pyarrow as pa

    kinds: dict[Any, Any] = {
        int: pa.int64(),
        int | None: pa.int64(),
        float: pa.float64(),
        str: pa.string(),
        bool: pa.bool_(),
        Ratio | None: pa.struct([(name, pa.float64()) for name in Ratio._fields]),
    }
    columns = {}
    for name, field in model.model_fields.items():
        kind = kinds.get(field.annotation, pa.string())
        values = [getattr(row, name) for row in rows]
        columns[name] = pa.array([v._asdict() if isinstance(v, Ratio) else v for v in values], type=kind)
    return pa.table(columns)


def frame(model: type[BaseModel], rows: list[Any]) -> Any:
    """Rows of a model as a pandas DataFrame."""
    pd = optional("pandas", "findings as a DataFrame", "pandas")
    return pd.DataFrame([row.model_dump() for row in rows], columns=list(model.model_fields))
