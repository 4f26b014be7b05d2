"""The YAML block at the top of a card on the Hugging Face hub."""

from __future__ import annotations

import re
from typing import Any

from countenance.run.licences import names_in

HUB_LICENCES = {
    "mit": "mit",
    "apache-2.0": "apache-2.0",
    "cc0": "cc0-1.0",
    "cc0-1.0": "cc0-1.0",
    "bsd-3-clause": "bsd-3-clause",
    "bsd-2-clause": "bsd-2-clause",
    "gpl-3.0": "gpl-3.0",
    "agpl-3.0": "agpl-3.0",
    "lgpl-3.0": "lgpl-3.0",
    "cc-by-4.0": "cc-by-4.0",
    "cc-by-sa-4.0": "cc-by-sa-4.0",
    "cc-by-nc-4.0": "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0": "cc-by-nc-sa-4.0",
    "cc-by-nc-nd-4.0": "cc-by-nc-nd-4.0",
    "cc-by-nd-4.0": "cc-by-nd-4.0",
    "boost": "bsl-1.0",
    "bsl-1.0": "bsl-1.0",
    "mpl-2.0": "mpl-2.0",
    "odbl": "odbl",
    "unlicense": "unlicense",
}


def licence_fields(text: str) -> dict[str, str]:
    """The hub's names for a licence; `other` with the text where the hub has no name for all of it.

    >>> licence_fields("MIT"), licence_fields("MIT at its root, training code GPL-3.0")["license"]
    ({'license': 'mit'}, 'other')
    """
    named = names_in(text)
    if len(named) == 1 and len(text) <= len(named[0]) + 2:
        known = HUB_LICENCES.get(re.sub(r"\s+", "-", named[0].lower()))
        if known:
            return {"license": known}
    return {"license": "other", "license_name": text}


def front_matter(fields: dict[str, Any], kind: str) -> str:
    """The block with its fences, written by `huggingface_hub` where it is installed and by PyYAML where it is not.

    Both give the same content; the library also checks `model-index` against the hub's rules.
    """
    try:
        from huggingface_hub import repocard_data
    except ImportError:
        import yaml

        text = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True)
    else:
        card_type = getattr(repocard_data, "ModelCardData" if kind == "model" else "DatasetCardData")
        text = card_type(**fields).to_yaml()
    return f"---\n{text.rstrip()}\n---\n"
