"""The project's addresses in the wheel's metadata: a build hook of hatchling.

Whoever releases knows them; this repository does not. `COUNTENANCE_REPOSITORY` and `COUNTENANCE_SITE` name them when
the wheel is built (.github/workflows/release.yml sets both). A wheel that is built without them has no addresses.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


def address(variable: str) -> str:
    """An address of the environment, without a slash at its end; empty where there is none."""
    text = os.environ.get(variable, "").strip().rstrip("/")
    if text and not re.fullmatch(r"https?://[^\s,]+", text):
        raise ValueError(f"{variable} is {text!r}, expected an address such as https://example.org/countenance")
    return text


def addresses(repository: str, site: str) -> dict[str, str]:
    """The project's addresses by their labels."""
    labelled = {"Homepage": site or repository, "Documentation": site}
    if repository:
        labelled["Source"] = repository
        labelled["Issues"] = f"{repository}/issues"
        labelled["Changelog"] = f"{repository}/blob/HEAD/CHANGELOG.md"
    return {label: place for label, place in labelled.items() if place}


def readme(text: str, repository: str, tag: str) -> str:
    """The README for the package index, where a link to a file of the repository would lead nowhere."""
    if not repository:
        return text

    def absolute(match: re.Match[str]) -> str:
        kind = "raw" if match[1].endswith((".webp", ".svg", ".png")) else "blob"
        return f"]({repository}/{kind}/{tag}/{match[1]})"

    return re.sub(r"\]\((?![a-z]+:|#)([^)\s]+)\)", absolute, text)


class ProjectAddresses(MetadataHookInterface):
    """Fills the fields that pyproject.toml lists as dynamic; those of a source archive stay as they are."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the addresses and the README."""
        repository = address("COUNTENANCE_REPOSITORY")
        metadata.setdefault("urls", addresses(repository, address("COUNTENANCE_SITE")))
        page = readme((Path(self.root) / "README.md").read_text("utf-8"), repository, f"v{metadata['version']}")
        metadata.setdefault("readme", {"content-type": "text/markdown", "text": page})
