"""The opening times of a contest, and which submission of each entry counts.

BOARD/contest.json has the title and the two dates. Without it a board is always open. Only the latest submission that
was handed in while the contest was open counts; later ones stay in the folder and are named.
"""

import datetime
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from countenance.data.record import read_record
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.files import write_json

CONTEST = "contest.json"


CLOCK = datetime.timedelta(minutes=1)
"""How far the clock of the machine may go back between two submissions."""


INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Letters and marks that are not drawn; characters of the category Cf are not drawn either."""
LOOK_LATIN = (
    ("АВЕЅІЈКМНОРСТУХаеѕіјорсухһӏԁԛԝ", "ABESIJKMHOPCTYXaesijopcyxhldqw"),  # Cyrillic
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧορ", "ABEZHIKMNOPTYXop"),  # Greek
)
ALIKE = str.maketrans(
    {letter.casefold(): latin.casefold() for pair in LOOK_LATIN for letter, latin in zip(*pair, strict=True)}
)
"""Letters that look like a Latin one, in either case."""
LATIN = re.compile("[A-Za-z]")


def folded(name: str) -> str:
    """What names that look alike have in common.

    Case, width and invisible characters do not count, and Cyrillic and Greek letters that look Latin in one of their
    cases are Latin.

    >>> folded("Ｒed") == folded("RE\u200dD"), folded("red") == folded("reed")
    (True, False)
    """
    plain = unicodedata.normalize("NFKC", name)
    if LATIN.search(plain):
        plain = plain.replace("ν", "v")  # the small letter of Ν, which looks like N
    plain = plain.casefold().translate(ALIKE)
    shown = INVISIBLE.sub("", "".join(c for c in plain if unicodedata.category(c) != "Cf"))
    return unicodedata.normalize("NFKC", shown)


def known_spelling(name: str, names: Iterable[str]) -> str:
    """The one of some names that looks like a name; the name itself if none does.

    >>> known_spelling("RED", ["blue", "Red"]), known_spelling("green", ["Red"])
    ('Red', 'green')
    """
    return next((other for other in names if folded(other) == folded(name)), name)


def parse_time(text: str, name: str) -> datetime.datetime:
    """A date (its first second) or a time; without an offset it is UTC.

    >>> parse_time("2026-11-15", "opens").isoformat()
    '2026-11-15T00:00:00+00:00'
    """
    try:
        time = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{name} {text!r}: expected a date or time such as 2026-11-15 or 2026-11-15T18:00") from None
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def parse_close(text: str) -> datetime.datetime:
    """The closing time of a contest: a time, or the end of a date, since entries are accepted on that day.

    >>> parse_close("2026-11-15").isoformat(), parse_close("2026-11-15T12:00").isoformat()
    ('2026-11-15T23:59:59.999999+00:00', '2026-11-15T12:00:00+00:00')
    """
    time = parse_time(text, "closes")
    return datetime.datetime.combine(time, datetime.time.max, time.tzinfo) if _is_date(text) else time


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


class Contest(BaseModel):
    """The content of `contest.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str = ""
    opens: str | None = None
    closes: str | None = None
    crews: tuple[str, ...] = ()
    """Who may take part; empty: everybody."""
    entries_per_crew: int | None = None
    """How many entries a crew may have on the board; None: any number."""

    @classmethod
    def read(cls, board: Path) -> "Contest":
        """The contest of a board; without dates if none were set."""
        path = board / CONTEST
        return read_record(cls, path, missing="").checked() if path.exists() else cls()

    def checked(self) -> "Contest":
        """The contest itself; InputError for impossible dates or names of crews."""
        opens = parse_time(self.opens, "opens") if self.opens else None
        closes = parse_close(self.closes) if self.closes else None
        if opens and closes and not opens < closes:
            raise InputError(f"opens {self.opens}, closes {self.closes}: expected a contest that closes after it opens")
        for crew in self.crews:
            if not crew.strip() or crew != crew.strip():
                raise InputError(f"crew {crew!r}: expected a name without spaces at its ends")
            same = [other for other in self.crews if folded(other) == folded(crew)]
            if len(same) > 1:
                spelled = "" if len(set(same)) == 1 else f" ({', '.join(map(repr, same))})"
                raise InputError(f"crew {crew!r} is named {len(same)} times{spelled}; name each once")
        return self

    def sentence(self) -> str:
        """The contest in words.

        >>> Contest(closes="2026-11-30", crews=("red", "blue"), entries_per_crew=2).sentence()
        'open until 2026-11-30, for red and blue, at most 2 entries each'
        >>> Contest().sentence()
        'always open, for everybody'
        """
        ends = [f"{word} {date}" for word, date in (("from", self.opens), ("until", self.closes)) if date]
        most = self.entries_per_crew
        limit = "" if most is None else f", at most {most} {'entry' if most == 1 else 'entries'} each"
        dates = " ".join(["open", *ends]) if ends else "always open"
        return f"{dates}, for {' and '.join(self.crews) or 'everybody'}{limit}"

    def why_closed(self, when: datetime.datetime) -> str:
        """The reason why a submission of that time does not count; empty if it counts."""
        if self.opens and when < parse_time(self.opens, "opens"):
            return f"the contest opens at {self.opens}"
        if self.closes and when >= parse_close(self.closes):
            return f"the contest closed at {'the end of ' if _is_date(self.closes) else ''}{self.closes}"
        return ""

    def why_not(self, crew: str, others: int) -> str:
        """The reason why a crew may not submit an entry when it has `others` more; empty if it may.

        >>> Contest(crews=("red",)).why_not("blue", 0), Contest(entries_per_crew=1).why_not("red", 1)
        ("crew 'blue' is not registered; there are red", "crew 'red' has 1 of 1 entries on the board; replace one")
        """
        if self.crews and crew not in self.crews:
            return f"crew {crew!r} is not registered; there are {', '.join(self.crews)}{near(crew, self.crews)}"
        if self.entries_per_crew is not None and others >= self.entries_per_crew:
            return f"crew {crew!r} has {others} of {self.entries_per_crew} entries on the board; replace one"
        return ""


def open_contest(board: Path, contest: Contest) -> Path:
    """Write the dates of a board."""
    contest.checked()
    if board.exists() and not board.is_dir():
        raise InputError(f"{board}: a file; name a folder for the board")
    board.mkdir(parents=True, exist_ok=True)
    write_json(board / CONTEST, contest.model_dump())
    return board / CONTEST


@dataclass(frozen=True)
class Counted:
    """The folder of the counted submission, and notes for the organiser."""

    folder: Path | None
    note: str = ""


def counting(folder: Path, submitted: dict[Path, str], contest: Contest) -> Counted:
    """The latest of an entry's submissions (folders with their times, oldest first) that counts."""
    valid = [place for place, time in submitted.items() if not contest.why_closed(parse_time(time, f"{place}: time"))]
    if not valid:
        why = contest.why_closed(parse_time(list(submitted.values())[-1], f"{folder}: time"))
        return Counted(None, f"{folder.name} does not count: {why}")
    if valid[-1] != folder:
        return Counted(valid[-1], f"{folder.name}: what was handed in after the contest closed does not count")
    return Counted(folder)
