"""The options for reading a dataset in a folder, as an object and as the end of its name: `bafmd:FOLDER?split=test`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from countenance.data.categories import parse_classes
from countenance.data.reading.box_readings import YOLO
from countenance.errors import DataError
from countenance.metrics.readings import Reading
from countenance.settings.box_words import form_named, units_named

OPTIONS = ("form", "units", "classes", "attributes", "only_present", "split")


@dataclass(frozen=True)
class ReadingOptions:
    """The options for reading a dataset."""

    reading: Reading = YOLO
    """What the four numbers of a box are in annotated BAFMD and in YOLO files."""
    classes: Mapping[int, str] | None = None
    """Which class number is mask and which no_mask, in YOLO files without a classes.txt and in COCO files."""
    attributes: Path | None = None
    """A CSV of attributes."""
    only_present: bool = False
    """FairFace: leave out rows whose pictures are not there."""
    split: str | None = None

    def options(self, folder: Path) -> dict[str, str] | None:
        """The options in the form of a dataset's name; None where the attributes are outside of its folder.

        >>> ReadingOptions(split="test").options(Path("faces"))
        {'form': 'cxcywh', 'units': 'rel', 'split': 'test'}
        """
        result = {"form": str(self.reading.form), "units": str(self.reading.units)}
        if self.attributes is not None:
            if not self.attributes.resolve().is_relative_to(folder.resolve()):
                return None
            result["attributes"] = str(self.attributes.resolve().relative_to(folder.resolve()))
        result |= {"classes": ",".join(f"{k}={v}" for k, v in self.classes.items())} if self.classes else {}
        result |= {"only_present": "yes"} if self.only_present else {}
        return result | ({"split": self.split} if self.split else {})

    @classmethod
    def of_options(cls, folder: Path, options: Mapping[str, str], place: str) -> "ReadingOptions":
        """The settings for the options in a dataset's name."""
        try:
            reading = Reading(form_named(options.get("form", YOLO.form)), units_named(options.get("units", YOLO.units)))
        except ValueError as error:
            raise DataError(f"{place}: {error}") from None
        return cls(
            reading,
            parse_classes(options["classes"], place) if "classes" in options else None,
            folder / options["attributes"] if "attributes" in options else None,
            is_yes(options, "only_present"),
            options.get("split"),
        )


def folder_and_options(scheme: str, part: str | None, known: Sequence[str]) -> tuple[Path, dict[str, str]]:
    """The folder and the options of a dataset's name; `part` is what follows the scheme.

    >>> folder_and_options("uccs", "data?set=test", ["set"])
    (PosixPath('data'), {'set': 'test'})
    >>> folder_and_options("uccs", "data?sett=test", ["set"])
    Traceback (most recent call last):
    countenance.errors.DataError: uccs:data?sett=test: no option 'sett'; there are set
    """
    folder, _, query = (part or "").partition("?")
    if not folder:
        raise DataError(f"{scheme}: name its folder, as in {scheme}:FOLDER")
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    wrong = next((name for name, value in pairs if not value or [item for item, _ in pairs].count(name) > 1), None)
    if wrong is not None and wrong in known:
        raise DataError(f"{scheme}:{part}: expected one value of {wrong}, as in {scheme}:FOLDER?{wrong}=VALUE")
    unknown = next((name for name in options if name not in known), None)
    if unknown is not None:
        raise DataError(f"{scheme}:{part}: no option {unknown!r}; there are {', '.join(known)}")
    return Path(folder), options


def is_yes(options: Mapping[str, str], name: str) -> bool:
    """Whether an option says yes; anything but yes and no is refused.

    >>> is_yes({"only_present": "yes"}, "only_present"), is_yes({"only_present": "no"}, "only_present")
    (True, False)
    """
    words = options.get(name, "no").lower()
    if words not in ("yes", "no"):
        raise DataError(f"option {name}={options[name]}: expected yes or no")
    return words == "yes"
