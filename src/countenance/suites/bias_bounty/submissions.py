"""What is handed in: one folder for each entry on the board.

BOARD/NAME/submission.json  test.csv  [holdout.csv]  [timing.json]  [entry/entry.json and networks]

With the entry itself the leaderboard can time it. A timing that is handed in is a claim: it is checked and shown, and
earns nothing.
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from countenance.errors import InputError
from countenance.files import write_json
from countenance.suites.bias_bounty.entry import EntryCard, entry_files, entry_folder, entry_hash
from countenance.suites.bias_bounty.files import NONFACES_FILE, Table, read_labels, read_names, read_predictions
from countenance.suites.bias_bounty.scoring import Score, score_files
from countenance.suites.bias_bounty.timing import read_timing
from countenance.suites.bias_bounty.writing import new_folder

KINDS = ("supervised", "semi-supervised", "unsupervised")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
SUBMISSION, TIMING, ENTRY = "submission.json", "timing.json", "entry"


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
) -> Score:
    """Check predictions whole, score the public test, and put the submission on the board."""
    if not NAME.fullmatch(name):
        raise InputError(f"name {name!r}: expected 1 to 64 letters, digits, spaces, dots, dashes or underscores")
    if kind not in KINDS:
        raise InputError(f"kind {kind!r}: expected one of {', '.join(KINDS)}")
    if board.is_file():
        raise InputError(f"{board}: a file; --board is a folder of submissions (it is made where there is none)")
    if (board / name).exists() and not replace:
        raise InputError(f"{board / name}: an entry of this name is there; give --replace or another name")
    score = score_files(data / "test" / "labels.csv", test)
    if holdout is not None:
        checked_holdout(data, holdout)
    model = None if entry is None else entry_folder(entry)
    card = None if model is None else _card(model, kind)
    measured = None if timing is None else read_timing(timing, model)
    with new_folder(board / name, replace=replace) as folder:
        labels_used = card.labels_used if card else ""
        write_json(folder / SUBMISSION, score.submission(name) | {"kind": kind, "labels_used": labels_used})
        (folder / "test.csv").write_bytes(test.read_bytes())
        if holdout is not None:
            (folder / "holdout.csv").write_bytes(holdout.read_bytes())
        if measured is not None:
            write_json(folder / TIMING, measured.model_dump())
        if model is not None:
            _copy_entry(model, folder / ENTRY)
    return score


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


def checked_holdout(data: Path, predictions: Path) -> Table:
    """The holdout's predictions, refused with every problem when they are not whole."""
    names = read_labels(data / "holdout" / "labels.csv").names
    listed = data / "holdout" / NONFACES_FILE
    outside = read_names(listed) if listed.exists() else ()
    return read_predictions(predictions, dict.fromkeys((*names, *outside)))


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
