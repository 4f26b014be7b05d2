"""A participant's submission as one file: the entry, its predictions and the hash of its code."""

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from countenance.data.record import read_record
from countenance.decoding import decoding
from countenance.errors import InputError
from countenance.files import to_json
from countenance.scratch import temporary_folder
from countenance.suites.bias_bounty.contest import folded
from countenance.suites.bias_bounty.entry import EntryCard, entry_files, entry_folder
from countenance.suites.bias_bounty.scoring import Score
from countenance.suites.bias_bounty.submissions import BountySubmission, code_hash, hand_in

ABOUT = "bundle.json"
MOST_BYTES = 2**31
"""The largest unpacked size of a bundle."""


class Bundle(BaseModel):
    """The content of `bundle.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    crew: str = ""
    code_sha256: str = ""


def write_bundle(
    out: Path, entry: str | Path, test: Path, holdout: Path | None, code: str | Path | None, crew: str = ""
) -> Path:
    """Write the zip file; refused if a part is missing."""
    folder = entry_folder(entry)
    files = {f"entry/{name}": folder / name for name in entry_files(folder)}
    files |= {f"{split}.csv": path for split, path in (("test", test), ("holdout", holdout)) if path is not None}
    for path in files.values():
        if not path.is_file():
            raise InputError(f"{path}: no such file; a bundle has the entry and its predictions")
    about = Bundle(crew=crew, code_sha256="" if code is None else code_hash(code))
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(ABOUT, to_json(about.model_dump()))
        for name, path in files.items():
            archive.write(path, name)
    return out


def hand_in_bundle(
    file: Path, board: Path, data: Path, *, name: str | None = None, replace: bool = False, crew: str = ""
) -> tuple[str, Score]:
    """Submit a bundle under its entry's name or another; returns that name and the score.

    `crew` is the sender; a bundle that names another crew is refused.
    """
    with temporary_folder("bundle") as folder, _named(file, folder):
        _unpack(file, folder)
        about = read_record(Bundle, folder / ABOUT, missing="`countenance bias-bounty bundle` writes it")
        if crew and about.crew and folded(crew) != folded(about.crew):
            raise InputError(f"{file}: names the crew {about.crew!r}, but was sent by {crew!r}")
        card = EntryCard.read(folder / "entry")
        holdout = folder / "holdout.csv"
        submission = BountySubmission(
            name or card.name,
            card.kind,
            folder / "test.csv",
            holdout if holdout.exists() else None,
            folder / "entry",
            code=about.code_sha256 or None,
            crew=crew or about.crew,
        )
        return submission.name, hand_in(board, data, submission, replace=replace)


@contextmanager
def _named(file: Path, folder: Path) -> Iterator[None]:
    """Errors name the bundle instead of the folder into which it is unpacked, which does not stay."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(f"{folder}/", f"{file}: ")) from None


def _unpack(file: Path, folder: Path) -> None:
    """Unpack the files that a bundle may have, and no others."""
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    with decoding(str(file), "bundle"), zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        wrong = [m.filename for m in members if not _is_part(m.filename)]
        if wrong:
            raise InputError(
                f"{file}: {wrong[0]!r} is not a part of a bundle; `countenance bias-bounty bundle` writes one"
            )
        names = [member.filename for member in members]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise InputError(
                f"{file}: {repeated!r} is in it {names.count(repeated)} times, expected once; "
                "`countenance bias-bounty bundle` writes a bundle"
            )
        if sum(member.file_size for member in members) > MOST_BYTES:
            raise InputError(f"{file}: unpacks to more than {MOST_BYTES // 2**20} MiB")
        for member in members:
            place = folder / member.filename
            place.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, place.open("wb") as target:
                shutil.copyfileobj(source, target)


def _is_part(name: str) -> bool:
    inner = name.removeprefix("entry/")
    plain = bool(inner) and "\\" not in inner and not any(part in ("", "..", ".") for part in inner.split("/"))
    return name in (ABOUT, "test.csv", "holdout.csv") or (name.startswith("entry/") and plain)
