"""What the comparison page says."""

from collections.abc import Sequence
from typing import Any

from countenance.view.site import Site


def compare_context(site: Site, parameters: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Not yet."""
    return {"title": "Compare", "runs": [], "site": site}
