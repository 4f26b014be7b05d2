"""Comparing trees of numbers, evaluating a vector as published, running a command, reading a PDF."""

import json
import math
import re
from pathlib import Path
from typing import Any

from countenance.suites.fhibe import FhibeRun, evaluate_task

TOLERANCE = 1e-9


def assert_same(found: Any, expected: Any, place: str = "") -> None:
    """Equal structures, in the same order, with numbers within the tolerance; NaN equals NaN."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), place
        for key in expected:
            assert_same(found[key], expected[key], f"{place}/{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for i, (a, b) in enumerate(zip(found, expected, strict=True)):
            assert_same(a, b, f"{place}[{i}]")
    elif isinstance(expected, float) and math.isnan(expected):
        assert math.isnan(found), place
    elif isinstance(expected, (int, float)) and not isinstance(expected, bool):
        assert abs(found - expected) <= TOLERANCE, (place, found, expected)
    else:
        assert found == expected, place


def strict(root: Path, **changes: Any) -> FhibeRun:
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


def read(run: FhibeRun, name: str) -> Any:
    """One of the files beside the run directory."""
    return json.loads((run.path.parent / name).read_text())


def pdf_text(path) -> str:
    """What a PDF says, from its own table of places: a damaged file fails here."""
    import zlib

    content = path.read_bytes()
    assert content.startswith(b"%PDF-1.4")
    assert content.rstrip().endswith(b"%%EOF")
    start = int(content.rsplit(b"startxref", 1)[1].split()[0])
    table = content[start:].splitlines()
    count = int(table[1].split()[1])
    said = []
    for number in range(1, count):
        place = int(table[2 + number].split()[0])
        assert content[place:].startswith(f"{number} 0 obj".encode())
        body = content[place : content.index(b"endobj", place)]
        if b"FlateDecode" in body:
            stream = body.split(b"stream\n", 1)[1].rsplit(b"\nendstream", 1)[0]
            said += re.findall(r"\((.*)\) Tj", zlib.decompress(stream).decode("cp1252"))
    return " ".join(said).replace("\\(", "(").replace("\\)", ")")


def call(*arguments: object) -> tuple[int, str]:
    """Run `countenance fhibe …`: its exit code and what it said; an error of ours is raised."""
    import typer
    from typer.testing import CliRunner

    from countenance.cli import fhibe

    result = CliRunner().invoke(fhibe.app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, (SystemExit, typer.Exit)):
        raise result.exception
    return result.exit_code, result.output
