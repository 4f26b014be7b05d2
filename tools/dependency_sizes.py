"""Installed size of every dependency of the core and what each extra adds, written to docs/results/dependencies.json.

    python tools/dependency_sizes.py [--out docs/results/dependencies.json]

Sizes are those of the files that pip recorded, in MB of 10⁶ bytes. What is not installed here is null.
"""

import argparse
import datetime
import importlib.metadata
import json
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
INSTALLED = {canonicalize_name(one.metadata["Name"]): one for one in importlib.metadata.distributions()}


def size(name: str) -> float | None:
    """Megabytes of a distribution's files; None when it is not installed."""
    if name not in INSTALLED:
        return None
    places = [Path(str(file.locate())) for file in INSTALLED[name].files or []]
    return round(sum(place.stat().st_size for place in places if place.is_file()) / 1e6, 1)


def needed(requirements: list[str]) -> dict[str, float | None]:
    """Every distribution that these requirements install, with its size."""
    found: dict[str, float | None] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in found or (one.marker and not one.marker.evaluate({"extra": ""})):
            continue
        found[name] = size(name)
        waiting += [Requirement(text) for text in (INSTALLED[name].requires if name in INSTALLED else None) or []]
    return found


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "results" / "dependencies.json")
    options = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = needed(project["dependencies"])
    extras = {}
    for name, wanted in project["optional-dependencies"].items():
        if name != "dev":
            more = {key: value for key, value in needed(wanted).items() if key not in core}
            extras[name] = {"mb": round(sum(value or 0 for value in more.values()), 1), "packages": more}
    total = round(sum(value or 0 for value in core.values()), 1)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    found = {"date": today, "core": {"mb": total, "packages": core}, "extras": extras}
    options.out.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"core {total} MB;", ", ".join(f"{name} +{extra['mb']}" for name, extra in extras.items()))


if __name__ == "__main__":
    main()
