"""Submissions: one folder for each entry on the board.

BOARD/NAME/submission.json  test.csv  [holdout.csv]  [timing.json]  [entry/entry.json and networks]
BOARD/NAME/history/0001/... what was handed in under the same name before; only the latest counts

With the entry itself the leaderboard can time it. A submitted timing is only a claim: it is checked and shown, but
earns no multiplier.
"""

import datetime
import filecmp
import re
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

from countenance.data.adapters.bias_bounty_files import Truth
from countenance.data.record import read_record
from countenance.data.tables import near
from countenance.errors import InputError
from countenance.files import staged, write_json
from countenance.models.model import code_sha256
from countenance.suites.bias_bounty.contest import CLOCK, Contest, folded, known_spelling, parse_time
from countenance.suites.bias_bounty.entry import KINDS, EntryCard, Kind, entry_files, entry_folder, entry_hash
from countenance.suites.bias_bounty.scoring import Score, score_files
from countenance.suites.bias_bounty.timing import ENTRY, read_timing
from countenance.tasks.results import NAN, Real

LONGEST_NAME, LONGEST_FILE_NAME = 64, 200
"""Characters of a name, and bytes: file systems count bytes, and many scripts need three for a letter."""
JOINERS = "\u200c\u200d"
"""Invisible, and part of the spelling of names in Persian and the scripts of India."""
SUBMISSION, TIMING, HISTORY = "submission.json", "timing.json", "history"
HASH = re.compile(r"[0-9a-f]{64}")


def checked_name(name: str) -> str:
    """A name on the leaderboard, in any script, in composed Unicode form; InputError names what is allowed.

    >>> checked_name("Zoë 2"), checked_name("面部-v1")
    ('Zoë 2', '面部-v1')
    """
    name = unicodedata.normalize("NFC", name)
    allowed = all(c in f" ._-{JOINERS}" or unicodedata.category(c)[0] in "LMN" for c in name)
    starts = bool(name) and unicodedata.category(name[0])[0] in "LN"
    fits = len(name) <= LONGEST_NAME and len(name.encode()) <= LONGEST_FILE_NAME
    if not (allowed and starts and fits) or name != name.rstrip(" ."):
        raise InputError(
            f"name {name!r}: expected 1 to {LONGEST_NAME} letters, digits, spaces, dots, dashes or underscores, "
            "beginning with a letter or a digit"
        )
    return name


def code_hash(code: str | Path) -> str:
    """The sha256 of an entry's code: of a file, of a folder, or the sha256 itself.

    With it the organiser can check later whether given code made the predictions.
    """
    if HASH.fullmatch(str(code)):
        return str(code)
    path = Path(code)
    if not path.is_file() and not path.is_dir():
        raise InputError(f"code={str(code)!r}: no such file or folder, and no sha256 (64 digits and letters a to f)")
    return code_sha256(path)


class Handed(BaseModel):
    """One submission under a name, from `submission.json`."""

    model_config = ConfigDict(frozen=True)
    kind: Kind
    crew: str = ""
    """Who takes part; an entry without a crew is its own."""
    number: int = 1
    submitted: str = ""
    """When the participant handed it in; what the organiser adds later does not change it."""
    score: Real = NAN
    """Score₁ on the public test, as it was computed then."""
    code_sha256: Annotated[str, BeforeValidator(lambda value: value or "")] = ""
    labels_used: str = ""
    entry_added: str = ""
    """When the entry was added to a submission that had none; empty where it came with it."""

    @classmethod
    def read(cls, folder: Path) -> "Handed":
        return read_record(cls, folder / SUBMISSION, missing="`countenance bias-bounty submit` writes it")


def earlier(folder: Path) -> tuple[Handed, ...]:
    """The earlier submissions under a name, oldest first."""
    return tuple(
        Handed.read(place).model_copy(update={"number": number}) for number, place in enumerate(_places(folder), 1)
    )


def times(folder: Path) -> dict[Path, str]:
    """The folders of all submissions under a name with their times, oldest first."""
    return {place: Handed.read(place).submitted for place in (*_places(folder), folder)}


def _places(folder: Path) -> list[Path]:
    return sorted(file.parent for file in folder.glob(f"{HISTORY}/*/{SUBMISSION}"))


def same_code(board: Path, name: str, code: str | Path) -> list[Handed]:
    """The submissions under a name that were made by this code; InputError if none has a hash."""
    folder = board / checked_name(name)
    if not (folder / SUBMISSION).exists():
        there = sorted(path.parent.name for path in board.glob(f"*/{SUBMISSION}"))
        raise InputError(
            f"{folder}: no submission of this name{near(name, there)}; there are {', '.join(there) or 'none'}"
        )
    handed = [*earlier(folder), Handed.read(folder)]
    if not any(submission.code_sha256 for submission in handed):
        raise InputError(f"{folder}: no submission recorded a hash of its code; `submit --code` does")
    digest = code_hash(code)
    return [submission for submission in handed if submission.code_sha256 == digest]


@dataclass(frozen=True)
class BountySubmission:
    """The files of a participant's submission."""

    name: str
    kind: str
    test: Path
    """Predictions of the public test."""
    holdout: Path | None = None
    entry: str | Path | None = None
    """The entry itself, a folder or a shipped one, so that it can be timed."""
    timing: Path | None = None
    """What the participant measured; it is shown but not used."""
    code: str | Path | None = None
    """A file, a folder or a sha256; its hash is recorded."""
    crew: str = ""


def hand_in(
    board: Path,
    data: Path,
    submission: BountySubmission,
    *,
    replace: bool = False,
    now: datetime.datetime | None = None,
) -> Score:
    """Check all predictions, score the public test, and put the submission on the board while its contest is open.

    With `replace` it replaces an entry of the same name, which is kept in the history. With the same predictions of the
    test it stays the same submission, with its old time: the organiser may add the entry or the holdout after the
    contest has closed. An entry stays with its crew.
    """
    place = board / checked_name(submission.name)
    now = now or datetime.datetime.now(datetime.UTC)
    others = _others(board, place.name)
    if (other := known_spelling(place.name, others)) != place.name:
        raise InputError(f"{place.name}: the entry {other!r} is on the board and looks the same; give another name")
    latest = Handed.read(place) if (place / SUBMISSION).exists() else None
    same = place.exists() and _same_predictions(place, submission.test)
    contest = Contest.read(board)
    closed = contest.why_closed(now)
    if closed and not same:
        raise InputError(f"{submission.name} is not handed in: {closed}")
    _check_clock({**others, **({place.name: latest} if latest else {})}, now)
    crew = _crew(submission, latest, [*contest.crews, *(handed.crew for handed in others.values())])
    if why := contest.why_not(crew or place.name, sum(bool(crew) and o.crew == crew for o in others.values())):
        raise InputError(f"{submission.name} is not handed in: {why}")
    if submission.kind not in KINDS:
        raise InputError(f"kind {submission.kind!r}: expected one of {', '.join(KINDS)}")
    if board.is_file():
        raise InputError(f"{board}: a file; board= is a folder of submissions (it is made where there is none)")
    if place.exists() and not replace:
        raise InputError(f"{place}: an entry of this name is there; give replace=True or another name")
    score = score_files(data / "test" / "labels.csv", submission.test)
    if submission.holdout is not None:
        Truth.of_split(data, "holdout").predictions(submission.holdout)
    model = None if submission.entry is None else entry_folder(submission.entry)
    files = {} if model is None else {f"{ENTRY}/{file}": model / file for file in entry_files(model)}
    card = None if model is None else EntryCard.read(model)
    if card is not None and card.kind != submission.kind:
        raise InputError(f"kind={submission.kind!r}: {model}/entry.json says {card.kind}; hand it in as what it is")
    if closed and latest is not None:
        _check_late(submission, latest, place, model, closed)
    files |= {f"{split}.csv": file for split in ("test", "holdout") if (file := getattr(submission, split)) is not None}
    timing = None if submission.timing is None else read_timing(submission.timing, model)
    before = latest if same else None
    added = before is not None and model is not None and not (place / ENTRY).is_dir()
    about = {
        "kind": submission.kind,
        "crew": crew,
        "labels_used": card.labels_used if card else "",
        "submitted": before.submitted if before else now.isoformat(timespec="seconds"),
        "entry_added": now.isoformat(timespec="seconds") if added else before.entry_added if before else "",
        "code_sha256": code_hash(submission.code)
        if submission.code is not None
        else before.code_sha256
        if before
        else None,
    }
    with staged(place, replace=replace) as folder:
        number = _keep_history(place, folder, same=before)
        write_json(folder / SUBMISSION, score.submission(place.name) | about | {"number": number})
        for name, source in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, folder / name)
        if timing is not None:
            write_json(folder / TIMING, timing.model_dump())
    return score


def _crew(submission: BountySubmission, latest: Handed | None, known: Sequence[str]) -> str:
    """The crew of a submission, spelled as before; refused if the entry of this name belongs to another crew."""
    crew = known_spelling(checked_name(submission.crew), known) if submission.crew else ""
    if latest is not None and latest.crew and crew and folded(crew) != folded(latest.crew):
        raise InputError(
            f"{submission.name}: the entry of this name belongs to crew {latest.crew!r}, not to {submission.crew!r}; "
            "give another name"
        )
    return latest.crew if latest is not None and latest.crew else crew


def _others(board: Path, name: str) -> dict[str, Handed]:
    """The other entries on the board by name, in the order in which they were handed in."""
    folders = (file.parent for file in board.glob(f"*/{SUBMISSION}") if file.parent.name != name)
    handed = {folder.name: Handed.read(folder) for folder in folders}
    return dict(sorted(handed.items(), key=lambda entry: (entry[1].submitted, entry[0])))


def _check_clock(handed: Mapping[str, Handed], now: datetime.datetime) -> None:
    """Refuse a submission while the clock is behind one on the board: dates and the order of copies rest on it."""
    for name, entry in handed.items():
        if entry.submitted and now < parse_time(entry.submitted, f"{name}: time") - CLOCK:
            raise InputError(
                f"the clock of this machine says {now.isoformat(timespec='seconds')}, but {name} was handed in at "
                f"{entry.submitted}; set the clock"
            )


def _check_late(submission: BountySubmission, latest: Handed, place: Path, model: Path | None, closed: str) -> None:
    """Check that files are only added, not replaced, after a contest has closed."""
    if submission.kind != latest.kind:
        raise InputError(f"{submission.name}: {closed}; it was handed in as {latest.kind}, not as {submission.kind}")
    if model is not None and (place / ENTRY).is_dir() and entry_hash(model) != entry_hash(place / ENTRY):
        raise InputError(f"{submission.name}: {closed}, and another entry was handed in with these predictions")


def _same_predictions(place: Path, test: Path) -> bool:
    return (place / "test.csv").is_file() and test.is_file() and filecmp.cmp(place / "test.csv", test, shallow=False)


def _keep_history(old: Path, folder: Path, same: Handed | None) -> int:
    """Copy the earlier submission into the history below the new folder; returns the number of the new submission.

    `same` is a submission that only gets further files: it keeps its files and its number, and adds no history.
    """
    if not old.exists():
        return 1
    before = old / HISTORY
    if before.exists():
        shutil.copytree(before, folder / HISTORY)
    if same is not None:
        shutil.copytree(old, folder, ignore=shutil.ignore_patterns(HISTORY, SUBMISSION), dirs_exist_ok=True)
        return same.number
    number = len(list(before.glob("*"))) + 1
    shutil.copytree(old, folder / HISTORY / f"{number:04d}", ignore=shutil.ignore_patterns(HISTORY))
    return number + 1
