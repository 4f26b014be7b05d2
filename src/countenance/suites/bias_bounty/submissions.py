"""What is handed in: one folder for each entry on the board.

BOARD/NAME/submission.json  test.csv  [holdout.csv]  [timing.json]  [entry/entry.json and networks]
BOARD/NAME/history/0001/... what was handed in under the same name before; only the latest counts

With the entry itself the leaderboard can time it. A timing that is handed in is a claim: it is checked and shown, and
earns nothing.
"""

import datetime
import hashlib
import json
import math
import re
import shutil
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countenance.data.tables import near
from countenance.errors import InputError
from countenance.files import staged, write_json
from countenance.suites.bias_bounty.entry import EntryCard, entry_files, entry_folder, entry_hash
from countenance.suites.bias_bounty.files import Truth
from countenance.suites.bias_bounty.scoring import Score, score_files
from countenance.suites.bias_bounty.timing import read_timing

KINDS = ("supervised", "semi-supervised", "unsupervised")
LONGEST_NAME, LONGEST_FILE_NAME = 64, 200
"""Characters of a name, and bytes: file systems count bytes, and many scripts need three for a letter."""
JOINERS = "\u200c\u200d"
"""Invisible, and part of the spelling of names in Persian and the scripts of India."""
SUBMISSION, TIMING, ENTRY, HISTORY = "submission.json", "timing.json", "entry", "history"
HASH = re.compile(r"[0-9a-f]{64}")


def checked_name(name: str) -> str:
    """A name on the leaderboard, in any script, composed as file systems expect it; refused where it is none.

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
    """The sha256 of an entry's code: of a file, of a folder (names and contents, sorted), or as it is given.

    With it the organiser can tell later whether code that is handed over is the code that made the predictions. What a
    folder gathers by itself (`__pycache__`, names that begin with a dot) is left out.
    """
    if HASH.fullmatch(str(code)):
        return str(code)
    path = Path(code)
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if not path.is_dir():
        raise InputError(f"--code {code}: no such file or folder, and no sha256 (64 digits and letters a to f)")
    found = hashlib.sha256()
    files = {file.relative_to(path).as_posix(): file for file in path.rglob("*") if file.is_file()}
    for name in sorted(name for name, file in files.items() if not file.is_symlink() and not _gathered(name)):
        found.update(f"{name}\0".encode() + hashlib.sha256(files[name].read_bytes()).digest())
    return found.hexdigest()


def _gathered(name: str) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in name.split("/"))


@dataclass(frozen=True)
class Handed:
    """One submission under a name, as it was handed in."""

    number: int
    submitted: str
    score: float
    """Score₁ on the public test, as it was computed then."""
    code_sha256: str

    @classmethod
    def read(cls, folder: Path, number: int) -> "Handed":
        said = read_object(folder / SUBMISSION)
        score = said.get("score")
        shown = float(score) if isinstance(score, int | float) else math.nan
        return cls(number, str(said.get("submitted") or ""), shown, str(said.get("code_sha256") or ""))


def earlier(folder: Path) -> tuple[Handed, ...]:
    """What was handed in under a name before the latest, oldest first."""
    found = sorted(path.parent for path in folder.glob(f"{HISTORY}/*/{SUBMISSION}"))
    return tuple(Handed.read(path, number) for number, path in enumerate(found, 1))


def same_code(board: Path, name: str, code: str | Path) -> list[Handed]:
    """The submissions under a name that were made by this code; InputError where none recorded a hash."""
    folder = board / checked_name(name)
    if not (folder / SUBMISSION).exists():
        there = sorted(path.parent.name for path in board.glob(f"*/{SUBMISSION}"))
        raise InputError(
            f"{folder}: no submission of this name{near(name, there)}; there are {', '.join(there) or 'none'}"
        )
    before = earlier(folder)
    handed = [*before, Handed.read(folder, len(before) + 1)]
    if not any(one.code_sha256 for one in handed):
        raise InputError(f"{folder}: no submission recorded a hash of its code; `submit --code` does")
    found = code_hash(code)
    return [one for one in handed if one.code_sha256 == found]


def hand_in(
    board: Path,
    name: str,
    kind: str,
    data: Path,
    *,
    test: Path,
    holdout: Path | None = None,
    entry: str | Path | None = None,
    timing: Path | None = None,
    replace: bool = False,
    code: str | Path | None = None,
) -> Score:
    """Check predictions whole, score the public test, and put the submission on the board.

    With `replace` an entry of the same name counts from now on; what was handed in before is kept in its history.
    """
    name = checked_name(name)
    if kind not in KINDS:
        raise InputError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
    if board.is_file():
        raise InputError(f"{board}: a file; --board is a folder of submissions (it is made where there is none)")
    if (board / name).exists() and not replace:
        raise InputError(f"{board / name}: an entry of this name is there; give --replace or another name")
    score = score_files(data / "test" / "labels.csv", test)
    if holdout is not None:
        Truth.of_split(data, "holdout").predictions(holdout)
    model = None if entry is None else entry_folder(entry)
    card = None if model is None else _card(model, kind)
    measured = None if timing is None else read_timing(timing, model)
    about: dict[str, Any] = {
        "kind": kind,
        "labels_used": card.labels_used if card else "",
        "submitted": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "code_sha256": None if code is None else code_hash(code),
    }
    with staged(board / name, replace=replace) as folder:
        about["number"] = _keep_history(board / name, folder)
        write_json(folder / SUBMISSION, score.submission(name) | about)
        (folder / "test.csv").write_bytes(test.read_bytes())
        if holdout is not None:
            (folder / "holdout.csv").write_bytes(holdout.read_bytes())
        if measured is not None:
            write_json(folder / TIMING, measured.model_dump())
        if model is not None:
            _copy_entry(model, folder / ENTRY)
    return score


def _keep_history(old: Path, folder: Path) -> int:
    """Copy what was handed in before below the new folder; returns the number of the new submission."""
    if not old.exists():
        return 1
    earlier = old / HISTORY
    if earlier.exists():
        shutil.copytree(earlier, folder / HISTORY)
    number = len(list(earlier.glob("*"))) + 1
    shutil.copytree(old, folder / HISTORY / f"{number:04d}", ignore=shutil.ignore_patterns(HISTORY))
    return number + 1


def _card(model: Path, kind: str) -> EntryCard:
    card = EntryCard.read(model)
    if card.kind != kind:
        raise InputError(f"--kind {kind}: {model / 'entry.json'} says {card.kind}; hand it in as what it is")
    entry_hash(model)  # refuses an entry whose networks are missing
    return card


def _copy_entry(model: Path, target: Path) -> None:
    for file in entry_files(model):
        place = target / file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(model / file, place)


def read_object(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    if not isinstance(found, dict):
        raise InputError(f"{path}: a {type(found).__name__}, expected an object")
    return found
