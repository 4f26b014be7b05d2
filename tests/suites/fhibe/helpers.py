"""Comparing trees of numbers, evaluating a vector as published, running a command, reading a PDF."""

import json
import math
import re
from pathlib import Path
from typing import Any

from countenance import Run
from countenance.suites.fhibe import evaluate_task

TOLERANCE = 1e-9


def assert_same(actual: Any, expected: Any, place: str = "") -> None:
    """Equal structures, in the same order, with numbers within the tolerance; NaN equals NaN."""
    if isinstance(expected, dict):
        assert list(actual) == list(expected), place
        for key in expected:
            assert_same(actual[key], expected[key], f"{place}/{key}")
    elif isinstance(expected, list):
        assert len(actual) == len(expected), place
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            assert_same(a, b, f"{place}[{i}]")
    elif isinstance(expected, float) and math.isnan(expected):
        assert math.isnan(actual), place
    elif isinstance(expected, (int, float)) and not isinstance(expected, bool):
        assert abs(actual - expected) <= TOLERANCE, (place, actual, expected)
    else:
        assert actual == expected, place


def strict(root: Path, **changes: Any) -> Run:
    """Evaluate a vector in strict mode, as its README says it was run."""
    about = json.loads((root / "expected" / "expected.json").read_text())
    settings: dict[str, Any] = {
        "metrics": list(about["metrics"]),
        "attributes": ["pronoun", "age", "apparent_skin_color", "ancestry"],
        "reuse_model_outputs": True,
        "results_rootdir": str(root / "results-in"),
        "compat": "strict",
        "fhibe_layout": True,
    }
    if about.get("custom_keypoints"):
        settings["custom_keypoints"] = about["custom_keypoints"]
    return evaluate_task(
        str(root), about["dataset_name"], None, about["model_name"], about["task"], **(settings | changes)
    )


def people(run: Run) -> list[dict[str, Any]]:
    """The rows of people, in the order of the table."""
    rows = [row for row in run.scores().to_pylist() if row["subject"] is not None]
    return sorted(rows, key=lambda row: int(row["subject"]))


def problems(run: Run) -> list[str]:
    """What a reader of the numbers should know, of the data and of the answers."""
    return [*run.manifest.dataset.notes, *run.notes]


def read(run: Run, name: str) -> Any:
    """One of the files beside the run directory."""
    return json.loads((run.path.parent / name).read_text())


def pdf_text(path) -> str:
    """The text of a PDF, of its figures (outlines) what they say to screen readers; a damaged file fails here."""
    import zlib

    content = path.read_bytes()
    assert content.startswith(b"%PDF-1.")
    assert content.rstrip().endswith(b"%%EOF")
    actual = re.findall(rb"\n(\d+) 0 obj\n(.*?)\nendobj", content, re.S)
    objects = {int(number): body for number, body in actual}
    fonts = b"\n".join(body for body in objects.values() if b"/Font <<" in body)
    signs = {}
    for name, number in re.findall(rb"/(F\d+) (\d+) 0 R", fonts):
        table = objects[int(re.search(rb"/ToUnicode (\d+)", objects[int(number)])[1])]
        pairs = re.findall(rb"<([0-9A-Fa-f]{4})> <([0-9A-Fa-f]+)>", table)
        signs[name] = {int(code, 16): bytes.fromhex(sign.decode()).decode("utf-16-be") for code, sign in pairs}
    text, font = [], b""
    pages = [int(re.search(rb"/Contents (\d+)", body)[1]) for body in objects.values() if b"/Type /Page\n" in body]
    for number in pages:
        stream = objects[number].split(b"stream\n", 1)[1].rsplit(b"\nendstream", 1)[0]
        shown = re.finditer(rb"/(F\d+) [\d.]+ Tf|\(((?:\\.|[^\\()])*)\) Tj", zlib.decompress(stream), re.S)
        for token in shown:
            font = token[1] or font
            if token[2] is not None:
                codes = re.sub(rb"\\(.)", lambda m: {b"r": b"\r", b"n": b"\n"}.get(m[1], m[1]), token[2], flags=re.S)
                pairs = zip(codes[::2], codes[1::2], strict=True)
                text.append("".join(signs[font].get(256 * high + low, "?") for high, low in pairs))
    text += [
        bytes.fromhex(message.decode()).decode("utf-16") for message in re.findall(rb"/Alt <([0-9A-Fa-f]+)>", content)
    ]
    text += [message.decode("latin-1") for message in re.findall(rb"/Alt \(((?:\\.|[^\\()])*)\)", content)]
    return " ".join(" ".join(text).split())


def call(*arguments: object) -> tuple[int, str]:
    """Run `countenance fhibe …`: its exit code and what it said; an error of ours is raised."""
    import typer
    from typer.testing import CliRunner

    from countenance.cli import fhibe

    result = CliRunner().invoke(fhibe.app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, (SystemExit, typer.Exit)):
        raise result.exception
    return result.exit_code, result.output
