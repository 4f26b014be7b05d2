"""How a fuzz case damages one input file or one option of a command line."""

import csv
import io
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

DEEP: Any = []
for _ in range(400):
    DEEP = [DEEP]
VALUES: Sequence[Any] = (
    None,
    True,
    -1,
    0,
    1e308,
    -1e308,
    10**30,
    float("nan"),
    float("inf"),
    "",
    "text",
    "\x1b[31m",
    "a\x00b",
    "\ud800",
    "../../etc",
    "nan",
    "1e999",
    [],
    {},
    [[]],
    [None],
    {"a": 1},
    [1, 2, 3],
    "ü" * 300,
    DEEP,
)
CELLS = (
    "",
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "1e999",
    "99999999999999999999",
    "-1",
    "0",
    "0.5",
    "text",
    "\x1b[2J",
    "a\x00b",
    "../../x",
    '"',
    "=1+1",
    "[1,2",
    "{'a': 1}",
    "None",
    "true",
    "\u202e",
    "x" * 140_000,
    " ",
    "1,2",
    "\r",
)
OPTIONS = ("", "nan", "inf", "-1", "0", "1e308", "text", "\x1b[31m", "1,2", ",", "a=b", "=", "{in}", "/nowhere/x", "é")


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8", "surrogateescape"))


def _bytes(path: Path, draw: random.Random) -> str:
    data = bytearray(path.read_bytes())
    where = draw.randrange(len(data) + 1)
    kind = draw.choice(("truncated", "empty", "flipped", "inserted", "repeated", "utf-16", "zeros", "random"))
    if kind == "truncated":
        data = data[:where]
    elif kind == "empty":
        data = bytearray()
    elif kind == "flipped":
        for _ in range(draw.choice((1, 1, 5, 50))):
            if data:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    elif kind == "inserted":
        data[where:where] = draw.choice((b"\x00", b"\xff\xfe", b"\x1b[31m", b"\xef\xbb\xbf", b"\n\n", b'"', b"\r"))
    elif kind == "repeated":
        data = data + data[where:]
    elif kind == "utf-16":
        data = bytearray(bytes(data).decode("latin-1").encode("utf-16"))
    elif kind == "zeros":
        data = bytearray(len(data))
    else:
        data = bytearray(draw.randbytes(min(len(data), 5000) + 1))
    path.write_bytes(bytes(data))
    return f"{kind} at {where}"


def _place(path: Path, draw: random.Random) -> str:
    """Something else, or nothing, where the file was."""
    kind = draw.choice(
        ("missing", "a folder", "a link to nothing", "a link to itself", "/dev/null", "a link to a folder")
    )
    path.unlink()
    if kind == "a folder":
        path.mkdir()
    elif kind == "a link to nothing":
        path.symlink_to("nothing-here")
    elif kind == "a link to itself":
        path.symlink_to(path.name)
    elif kind == "/dev/null":
        path.symlink_to("/dev/null")
    elif kind == "a link to a folder":
        path.symlink_to(".")
    return kind


def _csv(path: Path, draw: random.Random) -> str:
    rows = list(csv.reader(io.StringIO(_text(path).replace("\0", ""))))
    if not rows or not rows[0]:
        return _bytes(path, draw)
    column, row = draw.randrange(len(rows[0])), draw.randrange(len(rows))
    kind = draw.choice(
        ("cell", "cell", "cell", "no column", "renamed", "doubled", "no header", "ragged", "no rows", "all")
    )
    note = kind
    if kind == "cell":
        value = draw.choice(CELLS)
        if column < len(rows[row]):
            rows[row][column] = value
        note = f"line {row + 1} column {column}: {value[:20]!r}"
    elif kind == "all":
        value = draw.choice(CELLS[:-6])
        for one in rows[1:]:
            if column < len(one):
                one[column] = value
        note = f"column {rows[0][column]!r:.30} all {value[:20]!r}"
    elif kind == "no column":
        rows = [one[:column] + one[column + 1 :] for one in rows]
        note = f"no column {column}"
    elif kind == "renamed":
        rows[0][column] = draw.choice(("", "x", rows[0][0], "image"))
    elif kind == "doubled":
        rows.insert(row, list(rows[row]))
    elif kind == "no header":
        rows = rows[1:]
    elif kind == "ragged":
        rows[row] = draw.choice((rows[row][:1], [*rows[row], "1", "2"], []))
    else:
        rows = rows[:1]
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    _write(path, stream.getvalue())
    return note


def _node(value: Any, draw: random.Random) -> tuple[Any, str]:
    """The value with one part of it damaged."""
    if isinstance(value, dict) and value and draw.random() < 0.93:
        key = draw.choice(list(value))
        if draw.random() < 0.15:
            return {name: part for name, part in value.items() if name != key}, f"no {key!r}"
        changed, note = _node(value[key], draw)
        return {**value, key: changed}, f"{key}.{note}"
    if isinstance(value, list) and value and draw.random() < 0.93:
        i = draw.randrange(len(value))
        if draw.random() < 0.1:
            return [*value[:i], *value[i + 1 :]], f"[{i}] gone"
        changed, note = _node(value[i], draw)
        return [*value[:i], changed, *value[i + 1 :]], f"[{i}].{note}"
    new = draw.choice(VALUES)
    return new, f"= {new!r:.30}"


def _json(path: Path, draw: random.Random) -> str:
    text = _text(path)
    try:
        if path.suffix == ".jsonl":
            lines = text.splitlines()
            i = draw.randrange(len(lines))
            value, note = _node(json.loads(lines[i]), draw)
            lines[i] = json.dumps(value)
            _write(path, "\n".join(lines))
            return f"line {i + 1} {note}"
        value, note = _node(json.loads(text), draw)
        _write(path, json.dumps(value))
        return note
    except (ValueError, IndexError):
        return _bytes(path, draw)


def _yaml(path: Path, draw: random.Random) -> str:
    import yaml

    value, note = _node(yaml.safe_load(_text(path)), draw)
    try:
        _write(path, yaml.safe_dump(value, allow_unicode=True))
    except (yaml.YAMLError, RecursionError):
        return _bytes(path, draw)
    return note


def _parquet(path: Path, draw: random.Random) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    if not table.num_columns:
        return _bytes(path, draw)
    i = draw.randrange(table.num_columns)
    name, rows = table.column_names[i], table.num_rows
    kind = draw.choice(("no column", "text", "nulls", "nan", "empty", "renamed", "numbers", "doubled", "control"))
    if kind == "no column":
        table = table.drop_columns([name])
    elif kind == "empty":
        table = table.slice(0, 0)
    elif kind == "doubled":
        table = pa.concat_tables([table, table])
    elif kind == "renamed":
        table = table.rename_columns([f"{n}?" if n == name else n for n in table.column_names])
    else:
        value = {"text": "x", "nulls": None, "nan": float("nan"), "numbers": -(2**62), "control": "\x1b[31m"}[kind]
        table = table.set_column(i, name, pa.array([value] * rows))
    pq.write_table(table, path)
    return f"{kind}: {name}"


STRUCTURE: dict[str, Callable[[Path, random.Random], str]] = {
    ".csv": _csv,
    ".json": _json,
    ".jsonl": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
    ".parquet": _parquet,
}


def damage_one_file(folder: Path, targets: Sequence[str], draw: random.Random) -> str:
    """Damage one file below a folder, small kinds of files as often as numerous ones; say how."""
    files = sorted({path for pattern in targets for path in folder.glob(pattern) if path.is_file()})
    kinds = sorted({(path.suffix, path.parent) for path in files})
    kind = draw.choice(kinds)
    path = draw.choice([path for path in files if (path.suffix, path.parent) == kind])
    shape = STRUCTURE.get(path.suffix) or (_csv if path.suffix == ".txt" and draw.random() < 0.5 else None)
    chance = draw.random()
    if shape is not None and chance < 0.6:
        note = shape(path, draw)
    elif chance < 0.88:
        note = _bytes(path, draw)
    else:
        note = _place(path, draw)
    return f"{path.relative_to(folder)}: {note}"


def damage_options(arguments: list[str], draw: random.Random, folder: Path) -> tuple[list[str], str]:
    """Another value for one option, or an option more, as a user might type it."""
    import typer

    from countenance.cli.app import app

    found: Any = typer.main.get_command(app)
    for part in arguments:
        if part in getattr(found, "commands", {}):
            found = found.commands[part]
    known = [
        one.opts[-1] for one in found.params if one.param_type_name == "option" and not getattr(one, "is_flag", False)
    ]
    known = [name for name in known if name not in SLOW]
    value = draw.choice(OPTIONS).replace("{in}", str(folder))
    places = [
        i for i, part in enumerate(arguments[:-1]) if part.startswith("-") and not arguments[i + 1].startswith("-")
    ]
    if places and draw.random() < 0.5:
        i = draw.choice(places)
        changed = [*arguments[: i + 1], value, *arguments[i + 2 :]]
        return changed, f"{arguments[i]} {value!r}"
    if not known:
        return [*arguments, value], f"one more argument {value!r}"
    option = draw.choice(known)
    return [*arguments, option, value], f"{option} {value!r}"


SLOW = ("--epochs", "--passes", "--minutes", "--address", "--workers", "--jobs", "-P", "--interactive", "--engine")
"""Options whose right values alone may take long, or that start clusters."""
