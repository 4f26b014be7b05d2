"""What libraries really returned, as plain data with their versions, for the tests that run without them.

`COUNTENANCE_RECORD=1 pytest tests/models/adapters/test_installed_*.py`, where a library is installed, writes it again.
"""

import json
import os
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("recorded.json")


def record(library: str, version: str, **outputs: Any) -> None:
    """Write outputs of a library where that is asked for."""
    if os.environ.get("COUNTENANCE_RECORD"):
        known = json.loads(FILE.read_text()) if FILE.exists() else {}
        known.setdefault(library, {}).update(
            {name: {"version": version, "output": plain(value)} for name, value in outputs.items()}
        )
        FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


def recorded(library: str, name: str) -> Any:
    """An output of a library."""
    return json.loads(FILE.read_text())[library][name]["output"]


def plain(value: Any) -> Any:
    """Values that JSON holds, numbers with six digits."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
