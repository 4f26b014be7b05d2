"""docs/dependencies.md names every dependency, with the sizes that were measured."""

import json
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")


def test_every_dependency_is_explained() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name != "dev"}
    wanted = [*project["dependencies"], *(one for some in extras.values() for one in some)]
    names = {re.split(r"[<>=\[]", one)[0] for one in wanted} | set(extras)
    assert not [name for name in sorted(names) if f"`{name}`" not in PAGE]


def test_the_sizes_are_those_that_were_measured() -> None:
    found = json.loads((ROOT / "docs" / "results" / "dependencies.json").read_text(encoding="utf-8"))
    assert f"The core: {found['core']['mb']:.0f} MB" in PAGE
    for name in ("pyarrow", "scipy", "numpy", "onnxruntime", "pillow"):
        assert f"| `{name}` | {found['core']['packages'][name]:.0f} |" in PAGE
    for name, extra in found["extras"].items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", PAGE, re.MULTILINE)
        shown = int(re.match(r"\d+", row.split("|")[3].strip()).group())  # type: ignore[union-attr]
        assert abs(shown - extra["mb"]) <= 1, name
