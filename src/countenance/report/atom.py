"""An Atom feed of a board: an entry for each model or submission, the latest first."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree import ElementTree

from countenance.report.names import clean

INDEX, FEED = "index.html", "feed.xml"
ATOM = "http://www.w3.org/2005/Atom"
NO_DATE = "1970-01-01T00:00:00+00:00"
"""The date of a board that is not a file: Atom requires one, and the same board must give the same bytes."""


@dataclass(frozen=True)
class FeedEntry:
    """One model of a board."""

    name: str
    date: str
    """When it was made, with its zone; empty if unknown."""
    address: str
    """Its page, beside the index."""
    summary: str


def atom_feed(title: str, entries: Sequence[FeedEntry]) -> bytes:
    """The feed of a board; a name with a new date is a new entry.

    >>> entry = FeedEntry("mine", "2026-11-15T12:00:00+00:00", "models/001.html", "Score 3.")
    >>> b"<updated>2026-11-15T12:00:00+00:00</updated>" in atom_feed("A board", [entry])
    True
    """
    identity = uuid.uuid5(uuid.NAMESPACE_OID, f"countenance board {title}")
    latest = sorted(entries, key=lambda entry: (moment(entry.date or NO_DATE), entry.name), reverse=True)
    root = ElementTree.Element("feed", xmlns=ATOM)
    _add(root, "id", identity.urn)
    _add(root, "title", title)
    _add(root, "updated", (latest[0].date if latest else "") or NO_DATE)
    _add(ElementTree.SubElement(root, "author"), "name", "countenance")
    ElementTree.SubElement(root, "link", rel="self", href=FEED)
    ElementTree.SubElement(root, "link", rel="alternate", type="text/html", href=INDEX)
    for entry in latest:
        date = entry.date or NO_DATE
        element = ElementTree.SubElement(root, "entry")
        _add(element, "id", uuid.uuid5(identity, f"{entry.name} {date}").urn)
        _add(element, "title", entry.name)
        _add(element, "updated", date)
        ElementTree.SubElement(element, "link", rel="alternate", type="text/html", href=entry.address)
        _add(element, "summary", entry.summary)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def moment(date: str) -> datetime:
    """A point in time; a date without a zone is in UTC.

    >>> moment("2026-11-15").isoformat()
    '2026-11-15T00:00:00+00:00'
    """
    time = datetime.fromisoformat(date)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _add(parent: ElementTree.Element, name: str, text: str) -> None:
    ElementTree.SubElement(parent, name).text = clean(text)
