"""How a case of `tools/fuzz_content.py` changes the content of a file by the file's own grammar."""

import csv
import io
import json
import random
import struct
import tarfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ODD: Sequence[Any] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**53 + 1,
    2**63,
    -(2**63),
    10**400,
    1e-320,
    1e308,
    1.5,
    "",
    " ",
    "0",
    "a" * 70_000,
    "../outside/victim.txt",
    "/etc/hostname",
    "pwn:x",
    "./pwn.py:x",
    "run/../pwn:x",
    "s3://bucket/run",
    "file:///etc",
    "s3://KEY:SECRET@bucket/x",
    "\u202egnp",
    "\ud800",
    "e\u0301",
    "\x00",
    "\x1b]0;x\x07",
    "<img src=x onerror=alert(1)>",
    "{{7*7}}",
    "%s%n",
    "=1+1",
    "nan",
    "Infinity",
    [],
    {},
    [[]],
    [None],
    [0] * 3,
    {"": None},
    {"a": {"b": []}},
    ["a", 1, None],
    [["a", "b"], ["c"]],
    "2026-11-18",
    "true",
    "complete",
    "running",
    "higher",
    "face_localization",
    "face_verification",
    "person_parsing",
    "fhibe",
    "uccs",
    "happyfaces",
    "mask_fairness",
    "bias_bounty",
)
NAMES = ("sample", "subject", "identity", "attr.gender", "m.recall@0.5", "attr.", "m.", "kind", "", "attr.gender × age")


def change_value(value: Any, draw: random.Random) -> tuple[Any, str]:
    """The value with a part of it replaced, removed, repeated, moved or renamed."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        kind = draw.random()
        if kind < 0.1:
            return {name: part for name, part in value.items() if name != key}, f"without {key!r:.30}"
        if kind < 0.18:
            other = str(draw.choice(ODD))
            return {(other if name == key else name): part for name, part in value.items()}, f"{key!r:.30} renamed"
        if kind < 0.26:
            return value | {key: value[draw.choice(list(value))]}, f"{key!r:.30} as another"
        changed, note = change_value(value[key], draw)
        return value | {key: changed}, f"{key!s:.30}.{note}"
    if isinstance(value, list) and value and draw.random() < 0.9:
        place, kind = draw.randrange(len(value)), draw.random()
        if kind < 0.08:
            return value[:place], f"cut at {place}"
        if kind < 0.16:
            return value + value * draw.choice((1, 50)), "repeated"
        if kind < 0.22:
            return value[::-1], "reversed"
        changed, note = change_value(value[place], draw)
        return [*value[:place], changed, *value[place + 1 :]], f"[{place}].{note}"
    if isinstance(value, int | float) and not isinstance(value, bool) and draw.random() < 0.3:
        changed = draw.choice((-value, value + 1, value * 10**9, float("nan"), float("inf")))
        return changed, f"= {changed!r:.40}"
    changed = draw.choice(ODD)
    return changed, f"= {changed!r:.40}"


def change_json(path: Path, draw: random.Random) -> str:
    """Change a value of a JSON file, or its text where the same key may stand twice."""
    try:
        value = json.loads(path.read_text(encoding="utf-8", errors="surrogatepass"))
    except ValueError:
        return "left as it is"
    if draw.random() < 0.05 and isinstance(value, dict) and value:
        key = draw.choice(list(value))
        text = json.dumps(value)
        path.write_text(f"{text[:-1]}, {json.dumps(key)}: {json.dumps(draw.choice(ODD))}}}")
        return f"{key!r:.30} twice"
    changed, note = change_value(value, draw)
    path.write_text(json.dumps(changed))
    return note


def change_csv(path: Path, draw: random.Random) -> str:
    """Change cells, columns or rows of a table of text."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    rows = list(csv.reader(io.StringIO(text.replace("\0", ""))))
    if not rows or not rows[0]:
        return "left as it is"
    column, row = draw.randrange(len(rows[0])), draw.randrange(len(rows))
    kind = draw.choice(("cell", "cell", "cell", "column", "head", "twice", "order", "delimiter", "quote", "rows"))
    value = str(draw.choice(ODD)).encode("utf-8", "replace").decode()
    if kind == "cell" and column < len(rows[row]):
        rows[row][column] = value
    elif kind == "column":
        rows = [
            [*cells[:column], value if number else cells[column], *cells[column + 1 :]]
            if column < len(cells)
            else cells
            for number, cells in enumerate(rows)
        ]
    elif kind == "head":
        rows[0][column] = draw.choice((*NAMES, value))
    elif kind == "twice":
        rows = [[*cells, *cells[column : column + 1]] for cells in rows]
    elif kind == "order":
        draw.shuffle(rows)
    elif kind == "rows":
        rows = rows + rows[1:] * draw.choice((1, 200))
    stream = io.StringIO()
    writer = csv.writer(
        stream,
        delimiter=draw.choice(";\t|") if kind == "delimiter" else ",",
        quotechar="'" if kind == "quote" else '"',
        quoting=csv.QUOTE_ALL if kind == "quote" else 0,
    )
    writer.writerows(rows)
    path.write_bytes(stream.getvalue().encode("utf-8", "surrogateescape"))
    return f"{kind} {row},{column}: {value!r:.40}"


def _columns(rows: int) -> dict[str, Callable[[], Any]]:
    """Columns of every type that a table may have."""
    import pyarrow as pa

    def typed(value: Any, kind: Any = None) -> Callable[[], Any]:
        return lambda: pa.array([value] * rows, kind)

    return {
        "null": typed(None, pa.null()),
        "boolean": typed(True),
        "small": typed(7, pa.int8()),
        "unsigned": typed(2**64 - 1, pa.uint64()),
        "half": typed(0.5, pa.float16()),
        "huge": typed(1e308),
        "tiny": typed(5e-324),
        "nan": typed(float("nan")),
        "infinite": typed(float("-inf")),
        "long": typed("x" * 5_000),
        "acting": typed("\x1b[2J\u202e<b>=1+1"),
        "empty": typed(""),
        "bytes": typed(b"\xff\x00", pa.binary()),
        "large text": typed("a", pa.large_string()),
        "view": typed("a", pa.string_view()),
        "decimal": lambda: pa.array([1] * rows).cast(pa.decimal128(25, 2)),
        "date": typed(2**31 - 1, pa.date32()),
        "time": typed(2**62, pa.timestamp("ns", tz="UTC")),
        "duration": typed(-1, pa.duration("s")),
        "list": typed([1.0, None, float("nan")]),
        "list of text": typed(["a", None, ""]),
        "empty lists": typed([], pa.list_(pa.float64())),
        "nested": typed([[["a"]]]),
        "struct": typed({"a": 1, "b": {"c": None}}),
        "map": typed([("a", 1)], pa.map_(pa.string(), pa.int64())),
        "fixed list": typed([1.0, 2.0], pa.list_(pa.float32(), 2)),
        "dictionary": lambda: pa.array(["a"] * rows).dictionary_encode(),
        "dictionary of numbers": lambda: pa.array([0.25] * rows).dictionary_encode(),
        "different": lambda: pa.array([f"v{number}" for number in range(rows)]),
        "halves": lambda: pa.array([None if number % 2 else 1.0 for number in range(rows)]),
    }


def change_parquet(path: Path, draw: random.Random) -> str:
    """Change a column's type, name or values, or the rows of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.ParquetFile(path).read()
    if not table.num_columns:
        return "left as it is"
    place = draw.randrange(table.num_columns)
    name = table.column_names[place]
    kind = draw.choice(("type", "type", "type", "drop", "rename", "more", "rows", "twice", "none", "cells"))
    note = kind
    if kind == "type":
        columns = _columns(table.num_rows)
        note = draw.choice(list(columns))
        table = table.set_column(place, name, columns[note]())
    elif kind == "drop":
        table = table.remove_column(place)
    elif kind == "rename":
        other = draw.choice((*NAMES, table.column_names[0]))
        table = table.rename_columns([other if number == place else n for number, n in enumerate(table.column_names)])
        note = f"renamed {other!r}"
    elif kind == "more":
        columns = _columns(table.num_rows)
        note = draw.choice(list(columns))
        other = draw.choice((*NAMES, "attr.extra", "m.extra", "attr.\x1b[31m", "m.</script>"))
        table = table.append_column(other, columns[note]())
        note = f"another {other!r} {note}"
    elif kind == "rows":
        rows = table.num_rows
        parts = [table.slice(draw.randrange(rows), 1) for _ in range(draw.choice((1, 2, 40)))] if rows else [table]
        table = pa.concat_tables(parts)
    elif kind == "twice":
        table = pa.concat_tables([table] * draw.choice((2, 30)))
    elif kind == "none":
        table = table.slice(0, 0)
    elif table.num_rows:
        cells = table.column(place).to_pylist()
        cells[draw.randrange(len(cells))] = None
        table = table.set_column(place, name, pa.array(cells, table.column(place).type))
    pq.write_table(table, path)
    return f"{name} {note}"


def change_png(path: Path, draw: random.Random) -> str:
    """Another head, or other chunks, with right sums."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    width, height = draw.choice((0, 1, 32, 65_535, 2**31 - 1)), draw.choice((0, 1, 32, 2**31 - 1))
    depth, colour = draw.choice((1, 2, 4, 8, 16, 3)), draw.choice((0, 2, 3, 4, 6, 1))
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, draw.choice((0, 1)))
    data = zlib.compress(draw.randbytes(draw.choice((0, 10, 5_000))))
    extra = draw.choice(
        (
            b"",
            chunk(b"tEXt", b"a\0" + b"x" * 100),
            chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**7))),
            chunk(b"iCCP", b"a\0\0" + zlib.compress(bytes(10**6))),
            chunk(b"PLTE", b"\0" * 7),
            chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0)),
            chunk(b"eXIf", draw.randbytes(60)),
        )
    )
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + extra + chunk(b"IDAT", data) + chunk(b"IEND", b""))
    return f"PNG {width}x{height}, {depth} bits, colour {colour}"


CHANGES: dict[str, Callable[[Path, random.Random], str]] = {
    ".json": change_json,
    ".csv": change_csv,
    ".parquet": change_parquet,
    ".png": change_png,
}


def change_archive(path: Path, folder: Path, draw: random.Random) -> str:
    """A tar of the dataset with a member of another kind, name, size or head in it, or one archive in another."""
    odd = draw.choice(
        (
            "../outside/victim.txt",
            "/tmp/countenance-fuzz",
            "a/../../x",
            "a\\..\\..\\x",
            "C:/x",
            "",
            ".",
            "./",
            "a" * 300,
            "a/" * 150 + "x",
            "e\u0301.png",
            "\udc80.png",
            "labels.csv",
            "images",
            "con",
            "x\n.png",
            ".countenance.part",
            "images/s00001.png/x",
            "run.json",
            "dataset.json",
            "\u2028",
        )
    )
    kind = draw.choice(
        (
            tarfile.REGTYPE,
            tarfile.DIRTYPE,
            tarfile.SYMTYPE,
            tarfile.LNKTYPE,
            tarfile.FIFOTYPE,
            tarfile.CHRTYPE,
            tarfile.CONTTYPE,
            tarfile.GNUTYPE_SPARSE,
            b"Z",
        )
    )
    made = tarfile.TarInfo(odd)
    made.type, made.linkname = kind, draw.choice(("../outside", "/etc/hostname", "labels.csv", odd))
    made.mode, made.mtime = draw.choice((0, 0o7777)), draw.choice((0, -1, 2**33))
    content = draw.randbytes(draw.choice((0, 5, 4_000)))
    made.size = len(content) if kind == tarfile.REGTYPE else 0
    first = draw.random() < 0.5
    try:
        with tarfile.open(path, draw.choice(("w", "w:gz", "w:bz2", "w:xz"))) as archive:
            if not first:
                archive.add(folder, "set")
            archive.addfile(made, io.BytesIO(content))
            if first:
                archive.add(folder, draw.choice(("set", ".", "labels.csv")))
            if draw.random() < 0.2:
                archive.add(__file__, "inner.tar.gz")
    except (ValueError, UnicodeError, OSError) as error:
        return f"no archive could be made of {odd!r:.30}: {error}"
    data = bytearray(path.read_bytes())
    if draw.random() < 0.4:
        for _ in range(draw.choice((1, 3, 20))):
            data[draw.randrange(min(len(data), 2_000))] = draw.randrange(256)
    if draw.random() < 0.2:
        data = data[: draw.randrange(len(data))]
    path.write_bytes(bytes(data))
    return f"member {odd!r:.40} of type {kind!r}, {'first' if first else 'last'}"


RULES = ("estimate", "gap", "ratio", "spread", "failures", "regression", "licence", "agreement", "findings", "worst")
WORDS = ("metric", "by", "at_least", "at_most", "group", "groups", "delta", "margin", "level", "adjust", "than", "on")


def change_policy(path: Path, draw: random.Random) -> str:
    """A policy drawn from its own words, with odd values, anchors, merges, tags and keys."""
    import yaml

    def value(depth: int = 0) -> Any:
        if depth < 2 and draw.random() < 0.3:
            return {draw.choice(WORDS): value(depth + 1) for _ in range(draw.randrange(4))}
        if depth < 2 and draw.random() < 0.2:
            return [value(depth + 1) for _ in range(draw.randrange(4))]
        return draw.choice((*ODD[:18], "recall@0.5", "gender", "female", 0.5, "higher", "holm"))

    rules = []
    for _ in range(draw.randrange(1, 4)):
        body = {"metric": "recall@0.5", "at_least": 0.1} if draw.random() < 0.5 else {}
        body |= {draw.choice(WORDS): value() for _ in range(draw.randrange(4))}
        rules.append({draw.choice((*RULES, "estimate")): body if draw.random() < 0.9 else value()})
    policy: Any = {"insufficient": draw.choice(("warn", "fail", "pass", None, 3)), "rules": rules}
    if draw.random() < 0.3:
        policy[draw.choice(("alpha", "name", "adjust", "by", "seed", "version"))] = value()
    text = yaml.safe_dump(policy, allow_unicode=True)
    text += draw.choice(
        (
            "",
            "",
            "",
            "\n<<: *nothing\n",
            "\nx: &a {<<: *a}\n",
            "\nx: &a [*a]\n",
            "\n? [a, b]\n: 1\n",
            "\n!!binary x: 1\n",
            "\nx: !!set {a, b}\n",
            "\nx: !!timestamp 2026-13-45\n",
            "\nx: !!int zz\n",
            "\nx: !!python/name:os.system\n",
            "\n---\nrules: []\n",
            "\nx: 1_000:60:60\n",
            "\nx: 0b2\n",
            "\n\tx: 1\n",
            "\nx: &a {b: &b {<<: [{c: 1}, {d: 2}]}}\n",
            "\nx: !!omap [a: 1]\n",
            "\n%YAML 9.9\n",
            "\nrules: []\n",
            "\nx: .inf\ny: 1e999999\n",
            "\n? {a: 1}\n: 2\n",
        )
    )
    path.write_text(text, encoding="utf-8", errors="replace")
    return text[-200:]
