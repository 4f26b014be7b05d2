"""Results: values of a whole run rather than of one row, in four types; pages and comparisons depend on the type."""

import json
import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter

from countenance.files import to_json

NAN = math.nan


def _number(value: Any) -> Any:
    return NAN if value is None else value


Real = Annotated[float, BeforeValidator(_number)]
"""A float; JSON stores what is not finite as null."""


class Result(BaseModel):
    """The fields that every result has."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null")
    name: str
    meaning: str = ""
    note: str = ""
    """A note on its use: too few pairs, a bound instead of an estimate."""


class AuditedRatio(BaseModel):
    """The further fields with which an audit compares a number of one group with that of others, as a ratio.

    For numbers that rows do not give, such as the false match rate of a group's pairs: the metric under which an audit
    names it, the standard error of its logarithm, how many people it rests on, how much it weighs where groups are put
    together (default: n), and the smallest ratio that matters. Groups must not share people.
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null")
    metric: str
    log_error: Real = NAN
    people: int = 0
    weight: Real = NAN
    ratio: float = 2.0


class Number(Result):
    """One number with its interval.

    >>> Number(name="EER", value=0.02, low=0.01, high=0.03, n=500).text()
    '0.020 [0.010, 0.030]'
    """

    type: Literal["number"] = "number"
    value: Real
    low: Real = NAN
    high: Real = NAN
    n: int = 0
    """What it was computed from; `unit` names it."""
    unit: str = ""
    level: float = 0.95
    better: Literal["higher", "lower", ""] = ""
    attribute: str | None = None
    group: str | None = None
    """The group that the number is about; everybody where there is no group."""
    published: str = ""
    """The name that a protocol published it under."""
    bound: Literal["", "<", ">"] = ""
    """The value is a bound: no error was seen in n trials, so the rate is below 3/n."""
    audited: AuditedRatio | None = None
    """For a group's number: how an audit compares it with those of other groups."""

    def text(self) -> str:
        """The number as text: three decimals, or three significant digits if it is very small."""
        value = f"{self.bound}{' ' if self.bound else ''}{_decimals(self.value)}"
        return value if math.isnan(self.low) else f"{value} [{_decimals(self.low)}, {_decimals(self.high)}]"


def _decimals(value: float) -> str:
    """A number as text.

    >>> _decimals(0.02), _decimals(0.000123), _decimals(0.0)
    ('0.020', '0.000123', '0.000')
    """
    return f"{value:.3g}" if 0 < abs(value) < 0.0095 else f"{value:.3f}"


class Line(BaseModel):
    """One line of a curve, with a band where there is one.

    >>> Line(label="everyone", x=[0, 1], y=[0.5, 1]).y
    [0.5, 1.0]
    """

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="null")
    label: str = ""
    x: list[Real]
    y: list[Real]
    low: list[Real] = []
    high: list[Real] = []


def above_zero(rates: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Rates for a logarithmic axis: 0 of n trials becomes the bound 3 / n, or the smallest positive rate if lower.

    >>> above_zero(np.array([0.2, 0.01, 0.0]), 100).tolist(), above_zero(np.array([0.2, 0.0]), 100).tolist()
    ([0.2, 0.01, 0.01], [0.2, 0.03])
    """
    seen = rates[rates > 0]
    return np.where(rates > 0, rates, min(3 / n, float(seen.min())) if seen.size else 3 / n)


class Axis(BaseModel):
    """The meaning and scale of an axis.

    >>> Axis(label="false match rate", log=True).log
    True
    """

    model_config = ConfigDict(frozen=True)
    label: str
    log: bool = False


class Curve(Result):
    """Lines on common axes; `marks` are named positions on the horizontal axis.

    >>> roc = Curve(name="ROC", x=Axis(label="FMR"), y=Axis(label="TMR"), lines=[Line(x=[0, 1], y=[0.5, 1])])
    >>> roc.x.label, len(roc.lines)
    ('FMR', 1)
    """

    type: Literal["curve"] = "curve"
    x: Axis
    y: Axis
    lines: list[Line]
    attribute: str | None = None
    marks: list[Real] = []


class Matrix(Result):
    """Numbers by two lists of names, with the count behind each.

    >>> Matrix(name="confusion", rows=["yes"], columns=["yes", "no"], values=[[9, 1]]).values
    [[9.0, 1.0]]
    """

    type: Literal["matrix"] = "matrix"
    rows: list[str]
    columns: list[str]
    values: list[list[Real]]
    counts: list[list[int]] = []
    low: list[list[Real]] = []
    high: list[list[Real]] = []
    row_label: str = ""
    column_label: str = ""
    attribute: str | None = None


class Table(Result):
    """A table; cells are text, numbers or null.

    >>> Table(name="Prizes", columns=["crew", "score"], rows=[["red", 7.5]]).rows
    [['red', 7.5]]
    """

    type: Literal["table"] = "table"
    columns: list[str]
    rows: list[list[str | int | float | bool | None]]


AnyResult = Annotated[Number | Curve | Matrix | Table, Field(discriminator="type")]
_LIST: TypeAdapter[list[Number | Curve | Matrix | Table]] = TypeAdapter(list[AnyResult])


def results_to_json(results: Iterable[Result]) -> str:
    """The content of `results.json`: a list of objects, each with its `type` and `name`.

    >>> print(results_to_json([Number(name="EER", value=0.5)]))
    [
      {
        "name": "EER",
        ...
    """
    return to_json([result.model_dump() for result in results])


def results_from_json(content: bytes | str) -> list[Result]:
    """The results of a `results.json`; ValueError when it is damaged."""
    return list(_LIST.validate_python(json.loads(content)))


def numbers(results: Sequence[Result]) -> list[Number]:
    """The numbers among results."""
    return [result for result in results if isinstance(result, Number)]
