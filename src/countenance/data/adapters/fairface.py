"""FairFace: one face per picture, no boxes, no masks; label files damaged by a spreadsheet are repaired."""

import re
from pathlib import Path

from countenance.data.card import AttributeCard, DatasetCard
from countenance.data.image import LazyImage
from countenance.data.paths import inside
from countenance.data.reading import cells
from countenance.data.reading.options import folder_and_options, is_yes
from countenance.data.sample import Dataset, Sample, Subject
from countenance.data.tables import near, read_csv
from countenance.errors import DataError
from countenance.person_columns import person_column

AGES = ("0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "more than 70")
COLUMNS = ("file", "age", "gender", "race")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

CARD = DatasetCard(
    name="fairface",
    description="FairFace: photographs of one face each, with age, gender and race as annotators saw them.",
    licence="CC BY 4.0 (labels); the photographs are from YFCC-100M, each under its own licence",
    consent="none recorded: photographs from the web",
    citation="Kärkkäinen and Joo, FairFace, WACV 2021",
    attributes={
        "age_group": AttributeCard(assigned_by="annotated", meaning="age in nine groups", values=AGES),
        "gender": AttributeCard(assigned_by="annotated", meaning="as annotators saw it", values=("Female", "Male")),
        "race": AttributeCard(assigned_by="annotated", meaning="race as annotators saw it, seven groups"),
        "service_test": AttributeCard(assigned_by="unknown", meaning="subset on which services were tested"),
        "masked": AttributeCard(assigned_by="annotated", meaning="no face wears a mask", values=("no", "yes")),
    },
)


def load(part: str | None) -> Dataset:
    """The dataset behind `fairface:FOLDER?only_present=yes`."""
    folder, options = folder_and_options("fairface", part, ("only_present", "split"))
    return read_fairface(folder, only_present=is_yes(options, "only_present")).split(options.get("split"))


def repaired_age(text: str, place: str) -> str:
    """The age group, also where a spreadsheet turned it into a date.

    >>> [repaired_age(text, "row 2") for text in ("03-Sep", "9-Mar", "Oct-19", "19-Oct", "20-29", "more than 70")]
    ['3-9', '3-9', '10-19', '10-19', '20-29', 'more than 70']
    """
    plain = text.strip()
    if plain in AGES:
        return plain
    parts = re.fullmatch(r"(\d{1,2}|[A-Za-z]{3,9})[-/ .](\d{1,2}|[A-Za-z]{3,9})", plain)
    if parts:
        numbers = [_number(part) for part in parts.groups()]
        if None not in numbers:
            low, high = sorted(number for number in numbers if number is not None)
            if f"{low}-{high}" in AGES:
                return f"{low}-{high}"
    raise DataError(f"{place}: age {text!r} is not one of {', '.join(AGES)}{near(plain, AGES)}")


def _number(part: str) -> int | None:
    if part.isdigit():
        return int(part)
    month = part[:3].lower()
    return MONTHS.index(month) + 1 if month in MONTHS else None


def _table(source: Path) -> Path:
    if source.is_file():
        return source
    if not source.is_dir():
        raise DataError(f"{source}: no such folder; name the one with FairFace's label file")
    named = [source / name for name in ("fairface_label_val.csv", "fairface_label_train.csv")]
    result = next((path for path in named if path.is_file()), None)
    if result is None:
        raise DataError(f"{source}: holds no fairface_label_val.csv; or name the label file itself")
    return result


def _picture_root(table: Path) -> Path:
    """The folder that holds train/ and val/: beside the label file, or the only unpacked archive there."""
    if any((table.parent / split).is_dir() for split in ("train", "val")):
        return table.parent
    unpacked = [path for path in sorted(table.parent.glob("fairface-img-*")) if path.is_dir()]
    if len(unpacked) > 1:
        names = ", ".join(path.name for path in unpacked)
        raise DataError(f"{table.parent}: holds {names}; move the label file into the one whose pictures are meant")
    return unpacked[0] if unpacked else table.parent


def read_fairface(source: Path, *, only_present: bool = False) -> Dataset:
    """Read a FairFace folder (or its label file); rows without their picture are refused, or left out and counted."""
    table = _table(source)
    header, rows = read_csv(table, needed=COLUMNS)
    person = person_column(header)
    root = _picture_root(table)
    samples: list[Sample] = []
    seen: set[Path] = set()
    repaired = 0
    missing: list[str] = []
    for line, row in rows:
        place = f"{table} line {line}"
        path = inside(root, row["file"], place)
        if path in seen:
            raise DataError(f"{place}: {row['file']} has a row already")
        seen.add(path)
        age = repaired_age(row["age"], place)
        repaired += age != row["age"].strip()
        if not path.is_file():
            missing.append(f"{place}: {row['file']}")
            continue
        image = LazyImage(path)
        about = {"age_group": age, **{name: row[name].strip() or None for name in ("gender", "race")}, "masked": "no"}
        if row.get("service_test"):
            about["service_test"] = row["service_test"]
        who = cells.identity(row[person], place) if person else None
        samples.append(Sample(row["file"], image, subjects=(Subject("0", who, attributes=about),)))
    if missing and not only_present:
        more = f" and {len(missing) - 1} more pictures" if len(missing) > 1 else ""
        remedy = f"only_present=True assesses the {len(samples)} that are (in a name ?only_present=yes)"
        raise DataError(f"{missing[0]}{more} not there; {remedy}")
    if not samples:
        raise DataError(f"{table}: no row has its picture in {root}")
    notes = []
    if repaired:
        notes.append(f"a spreadsheet had turned {repaired} ages into dates; they were repaired (03-Sep is 3-9)")
    if missing:
        notes.append(f"{len(missing)} of {len(seen)} pictures are not there and are left out")
    return Dataset(CARD, samples, notes=[f"{table.name}: {note}" for note in notes])
