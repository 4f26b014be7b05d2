"""The formats that exist, and the recognition of a file's format."""

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

from countenance.answers.formats.base import Format, PredictionRequest, Predictions
from countenance.data.tables import near
from countenance.errors import ModelError
from countenance.loading import is_code, load_code, plugins

_HOME = {
    "coco": "countenance.answers.formats.coco:COCO",
    "fhibe": "countenance.answers.formats.fhibe:OUTPUTS",
    "pictures": "countenance.answers.formats.fhibe:PICTURES",
    "records": "countenance.answers.formats.records:RECORDS",
    "yolo": "countenance.answers.formats.yolo_texts:YOLO_TEXTS",
    "table": "countenance.answers.formats.table:TABLE",
}
GENERAL = "table"
"""A file is tried in the particular formats first, those of plugins included, and last as a plain table."""


def _plugins() -> dict[str, EntryPoint]:
    """The formats of other packages; the search is slow, so callers do it once for a file."""
    return {name: point for name, point in plugins("format").items() if name not in _HOME}


def format_names() -> list[str]:
    """The names of the formats."""
    return _names(_plugins())


def _names(others: Mapping[str, EntryPoint]) -> list[str]:
    return [*(name for name in _HOME if name != GENERAL), *sorted(others), GENERAL]


def load_format(name: str, others: Mapping[str, EntryPoint] | None = None) -> Format:
    """A format by its name, or `module:attr` or `path.py:attr` for a custom one."""
    others = _plugins() if others is None else others
    if name in _HOME:
        module, _, attribute = _HOME[name].partition(":")
        result = getattr(import_module(module), attribute)
    elif name in others:
        result = others[name].load()
    elif is_code(name):
        result = load_code("format", name)
    else:
        known = _names(others)
        raise ModelError(
            f"no format {name!r}{near(name, known)}; there are {', '.join(known)}, or give module:attr or path.py:attr"
        )
    if not isinstance(result, Format):
        raise ModelError(f"format {name!r}: that is a {type(result).__name__}, expected a Format")
    return result


def _formats() -> list[Format]:
    others = _plugins()
    return [load_format(name, others) for name in _names(others)]


def read_predictions(source: Any, request: PredictionRequest, name: str | None = None) -> Predictions:
    """Predictions from a file, a DataFrame, an Arrow table or a mapping of columns.

    The format is recognised from the file; `name` gives the format where recognition fails.
    """
    result = _of_file(Path(source), request, name) if isinstance(source, str | Path) else _of_columns(source, request)
    elsewhere = request.names.other_folders(result.place)
    return result if elsewhere is None else replace(result, notes=(*result.notes, elsewhere))


def _of_columns(source: Any, request: PredictionRequest) -> Predictions:
    from countenance.answers.formats.table import TABLE, read_rows, rows_of_columns

    rows = rows_of_columns(source)
    for form in _formats():
        if form.read_rows is not None and request.kind in form.kinds and (result := form.read_rows(rows, request)):
            return result
    if request.kind not in TABLE.kinds:
        raise ModelError(f"predictions: a table holds no {request.kind.__name__.lower()}; give a file or a model")
    return read_rows(rows, request)


def _of_file(path: Path, request: PredictionRequest, name: str | None) -> Predictions:
    if not path.exists():
        raise ModelError(f"{path}: no such file; predictions:FILE names a file of saved predictions")
    chosen = load_format(name) if name else _recognised(path, request)
    if request.kind not in chosen.kinds:
        holds = ", ".join(kind.__name__.lower() for kind in chosen.kinds)
        raise ModelError(f"{path}: {chosen.name} holds {holds}; the task needs {request.kind.__name__.lower()}")
    unknown = [option for option in request.options if option not in chosen.options]
    if unknown:
        has = ", ".join(chosen.options) or "none"
        raise ModelError(f"{path}: format {chosen.name} has no option {unknown[0]!r}; it has {has}")
    return chosen.read(path, request)


def _recognised(path: Path, request: PredictionRequest) -> Format:
    formats = _formats()
    fitting = [result for result in formats if result.detects(path)]
    of_kind = [result for result in fitting if request.kind in result.kinds]
    if of_kind or fitting:
        return (of_kind or fitting)[0]
    known = "; ".join(f"{result.name}: {result.meaning}" for result in formats if request.kind in result.kinds)
    raise ModelError(
        f"{path}: in none of the formats that hold {request.kind.__name__.lower()} ({known}); "
        'a format of your own is named by settings={"format": "module:attr"} (`countenance docs answers`)'
    )
