"""Licences of data and weights: their names, and whether a policy allows them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from countenance.errors import InputError

if TYPE_CHECKING:
    from countenance.data import DatasetCard
    from countenance.models import ModelCard
    from countenance.run.manifest import Manifest

NOT_STATED = "not stated"
_NAMES = re.compile(
    r"""(?<![\w-])(
    MIT(?:-0|-CMU)? | ISC | Zlib | Unlicense | WTFPL | MPL-?\s?[\d.]+ | EPL-?\s?[\d.]+ | 0?BSD(?:-\d-Clause)?
    | PSF(?:-[\d.]+)? | Python\sSoftware\sFoundation\sLicense | CNRI-Python
    | Apache(?:[- ]?(?:License,?\s)?(?:Version\s)?v?2(?:\.0)?)?
    | (?:A|L)?GPL(?:-?v?\d(?:\.\d)?)?(?:-only|-or-later|\+)?
    | CC0(?:-1\.0)? | CC[- ]BY(?:-(?:NC|ND|SA))*(?:[- ]\d\.\d)?
    | BSL-1\.0 | Boost | ODbL(?:-[\d.]+)? | PDDL(?:-[\d.]+)?
    | OpenRAIL(?:[+\w-]*) | CreativeML[\w-]* | Llama[\w. -]*licen[cs]e | \w+'s\slicen[cs]e
    )(?![\w-])""",
    re.VERBOSE | re.IGNORECASE,
)
_SAME = {
    "cc0-1.0": "cc0",
    "boost": "bsl-1.0",
    "apache": "apache-2.0",
    "apache2": "apache-2.0",
    "apache-2": "apache-2.0",
    "python-software-foundation-licence": "psf-2.0",
    "psf": "psf-2.0",
}


def of_manifest(manifest: Manifest) -> dict[str, str]:
    """The licences of what made a run: its data and its model.

    Everything that is made from the run names them.
    """
    return {
        f"data: {manifest.dataset.card.name}": manifest.dataset.card.licence,
        f"model: {manifest.model.name}": manifest.model.licence,
    }


def in_words(licences: Mapping[str, str]) -> str:
    """Licences on one line.

    >>> in_words({"data: people": "Apache-2.0", "model: mtcnn": "MIT"})
    'data: people (Apache-2.0); model: mtcnn (MIT)'
    """
    return "; ".join(f"{what} ({licence})" for what, licence in licences.items())


def _plain(name: str) -> str:
    text = re.sub(r"\s+", "-", name.strip().lower()).replace("license", "licence")
    text = re.sub(r"^apache.*2(\.0)?$", "apache-2.0", text)
    return _SAME.get(text, text)


def names_in(text: str) -> list[str]:
    """The licences that a text names.

    >>> names_in("Apache-2.0; geometry derived from MakeHuman (CC0)"), names_in("ask the author")
    (['Apache-2.0', 'CC0'], [])
    """
    return list(dict.fromkeys(_NAMES.findall(text)))


@dataclass(frozen=True)
class Allowed:
    """Licences that may be used, by name (`MIT`, `CC-BY-*`) or as the whole text of a card.

    Every licence that a card names must be allowed. A text without a known name must be allowed as it is.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, texts: Sequence[str] | None) -> Allowed | None:
        """The licences in the words of a command line, where each may hold several with commas; None allows everything.

        >>> Allowed.of(["MIT, CC0", "not stated"]).names
        ('MIT', 'CC0', 'MIT, CC0', 'not stated')
        """
        if not texts:
            return None
        names: list[str] = []
        for text in texts:
            names += [part.strip() for part in text.split(",") if part.strip()]
            names += [text] if "," in text else []
        return cls(tuple(names))

    def refused(self, text: str) -> str | None:
        """The reason why a licence is not allowed; None if it is allowed.

        >>> Allowed(("MIT",)).refused("MIT at its root, training code GPL-3.0")
        'GPL-3.0 is not allowed'
        >>> Allowed(("MIT",)).refused("not stated"), Allowed(("CC-BY*",)).refused("CC-BY-4.0")
        ('it is not stated', None)
        """
        whole = text.strip().casefold()
        if whole in (name.strip().casefold() for name in self.names):
            return None
        if whole in (NOT_STATED, ""):
            return "it is not stated"
        names = names_in(text)
        if not names:
            return "it names no licence that is known here"
        for name in names:
            if not any(fnmatchcase(_plain(name), _plain(pattern)) for pattern in self.names):
                return f"{name} is not allowed"
        return None

    def check(self, cards: Sequence[tuple[str, DatasetCard | ModelCard]]) -> None:
        """Refuse data or weights before anything starts.

        >>> from countenance.models import ModelCard
        >>> Allowed(("CC0",)).check([("model", ModelCard(name="net", licence="GPL-3.0"))])
        Traceback (most recent call last):
        countenance.errors.InputError: model net: licence 'GPL-3.0' (GPL-3.0 is not allowed); allowed: CC0. Use ...
        """
        for what, card in cards:
            why = self.refused(card.licence)
            if why is not None:
                raise InputError(
                    f"{what} {card.name}: licence {card.licence!r} ({why}); allowed: {', '.join(self.names)}. "
                    f"Use other {'weights' if what == 'model' else 'data'}, or allow it: "
                    f'allow_licence=["{card.licence}"]'
                )


def allowances(allowed: Sequence[str | Allowed] | None) -> list[Allowed]:
    """The licences that a caller allows, by names or as ready checks; all checks must allow a licence.

    >>> [allowance.names for allowance in allowances(["MIT", "CC0"])]
    [('MIT', 'CC0')]
    """
    named = Allowed.of([allowance for allowance in allowed or () if isinstance(allowance, str)])
    ready = [allowance for allowance in allowed or () if isinstance(allowance, Allowed)]
    return ready if named is None else [named, *ready]
