"""Tables with predictions in users' own form, prepared for an audit: `audit(…, truth=, pred=, score=)`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from countenance.auditing.computed_groups import ComputedGroups
from countenance.auditing.predictions import computed_groups, prediction_columns
from countenance.auditing.source import Source
from countenance.data.labels.files import table_suffix
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.person_columns import person_column
from countenance.table_files import RECORDS, TEXTS, table_columns, write_columns

MOST_NAMED = 12
"""An error about a missing column lists at most this many of the columns that are there."""
MOST_VALUES = 30
"""Columns of text with more different values are not groups, unless they are named."""


@dataclass
class PredictionTable:
    """The input of an audit: the table with a column for each measure, and the settings that these need."""

    columns: dict[str, Any]
    by: list[str]
    metrics: list[str]
    computed: list[ComputedGroups]
    settings: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def write(self, path: Path) -> Path:
        """Write the table as Parquet, for the page of an audit."""
        return write_columns(self.columns, path)


def prediction_table(
    source: Any,
    by: Sequence[str] | str | None,
    metrics: Sequence[str] | str | None,
    *,
    truth: str | None,
    pred: str | None,
    score: str | None,
    positive: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> PredictionTable:
    """The table of a source with the measures of its predictions.

    >>> rows = {"sex": ["f", "m"] * 30, "hired": ["yes", "no", "no"] * 20, "p": [0, 1] * 30}
    >>> table = prediction_table(rows, "sex", None, truth="hired", pred="p", score=None)
    >>> table.metrics[-1], [number.metric for number in table.computed], table.settings["denominators"]["precision"]
    ('selection_rate', ['selection_ratio'], 'predicted_positive')
    """
    notes: list[str] = []
    columns = _columns(source, notes)
    known = Source(columns, label=str(source) if isinstance(source, str | Path) else "table")
    roles = _roles(known, {"truth": truth, "pred": pred, "score": score}, [by] if isinstance(by, str) else by or ())
    rates = prediction_columns(
        *(_cells(columns, roles.get(role)) for role in ("truth", "pred", "score")), positive=positive
    )
    names = [by] if isinstance(by, str) else list(by) if by is not None else _groups(columns, set(roles.values()))
    if not names:
        raise InputError(f'{known.label}: no column of text has 2 to {MOST_VALUES} values; say by="COLUMN"')
    chosen = dict(settings or {})
    where = chosen.get("where")
    person = person_column(columns)
    attributes = {name: _list(columns[name]) for name in names if name in columns and not _is_binned(known, name)}
    computed = [] if where else computed_groups(rates, attributes, _cells(columns, person))
    named = [metrics] if isinstance(metrics, str) else list(metrics) if metrics is not None else None
    offered = [*rates.metrics, *dict.fromkeys(number.metric for number in computed)]
    for name in named or ():
        if name not in offered:
            raise InputError(f"no metric {name!r} of these predictions; there are {', '.join(offered)}")
    clash = next((name for name in rates.columns if name in columns), None)
    if clash is not None:
        columns = {(f"{name}_column" if name in rates.columns else name): cells for name, cells in columns.items()}
    own = [name for name in rates.metrics if named is None or name in named]
    if not own:  # ratios and the AUC need a measure of rows beside them
        own = rates.metrics[:1]
    among = {name: column for name, column in rates.denominators.items() if name in own}
    chosen["denominators"] = among | dict(chosen.get("denominators") or {})
    chosen["better"] = _better({name: rates.better[name] for name in own}, chosen.get("better"))
    return PredictionTable(
        {**columns, **{name: _nullable(cells) for name, cells in rates.columns.items()}},
        names,
        own,
        [number for number in computed if named is None or number.metric in named],
        chosen,
        notes + rates.notes,
    )


def _roles(source: Source, columns: Mapping[str, str | None], by: Sequence[str]) -> dict[str, str]:
    """The column of each role; all names without a column, also those of groups, are refused at once."""
    roles: dict[str, str] = {}
    problems: list[str] = []
    for role, name in columns.items():
        try:
            roles |= {role: source.resolve(name)} if name else {}
        except InputError as error:
            problems.append(str(error).removeprefix(f"{source.label}: "))
    groups = [name.partition(":")[0] for name in by if problems]
    known = {*source.names, *(name.removeprefix("attr.") for name in source.names)}
    problems += [f"no column {name!r}{near(name, source.names)}" for name in groups if name not in known]
    if problems:
        raise InputError(f"{source.label}: {'; '.join(problems)}; there are {', '.join(source.names[:MOST_NAMED])}")
    return roles


def _better(own: Mapping[str, str | None], stated: Any) -> Any:
    """Which way each measure is better; the user's setting comes first."""
    from countenance.auditing.settings import parse_better

    return {**own, **parse_better(stated)} if stated else dict(own)


def _nullable(cells: Any) -> Any:
    import pyarrow as pa

    return pa.array(cells, from_pandas=True)  # NaN is null: the row has no value


def _list(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _cells(columns: Mapping[str, Any], name: str | None) -> list[Any] | None:
    return None if name is None else _list(columns[name])


def _is_binned(source: Source, name: str) -> bool:
    return source.kind(name) not in ("text", "boolean")


def _groups(columns: Mapping[str, Any], others: set[str]) -> list[str]:
    """The columns of text with a few values that are neither truth nor prediction, and no person."""
    source = Source(dict(columns))
    person = person_column(columns)
    names = [name for name in source.names if name not in others and name != person]
    return [
        name for name in names if source.kind(name) in ("text", "boolean") and 2 <= source.distinct(name) <= MOST_VALUES
    ]


def _columns(source: Any, notes: list[str]) -> dict[str, Any]:
    """The columns of a table; text files are read with any separator, decimal comma and words for missing cells."""
    if isinstance(source, str | Path) and table_suffix(Path(source)) in (*TEXTS, *RECORDS):
        return table_columns(Path(source), notes)
    opened = source if isinstance(source, Source) else Source(source)
    return dict(opened.read([], opened.names))
