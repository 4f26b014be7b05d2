"""The independent units: people, images or rows; which column defines them, and whether two columns nest or cross."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from countenance.auditing.codes import firsts_of, size_of
from countenance.auditing.table import Array, is_text
from countenance.errors import InputError
from countenance.person_columns import person_column

AUTO = "auto"
IMAGE = "sample"
NO_PERSON = {"yes", "no", "true", "false", "0", "1", "none"}
"""Values that say that there is a person, but not who."""
NOUNS = {
    name: (name, f"{name}s") for name in ("image", "photo", "picture", "scene", "speaker", "patient", "participant")
} | {IMAGE: ("image", "images"), "user_id": ("user", "users")}


@dataclass(frozen=True)
class Unnamed:
    """Rows without a person's name: their number, the unit used instead, and how many values the others have."""

    rows: int
    known: int
    by: str = ""
    """The column that is used instead, such as that of images; empty: each row is its own unit."""
    joined: int = 0
    """Those of the rows that are counted with the only person of their image."""

    @property
    def nouns(self) -> tuple[str, str]:
        """The noun for what stands for the rows, singular and plural."""
        return nouns([self.by]) if self.by else ("row", "rows")


@dataclass(frozen=True)
class Units:
    """The units of an audit: no codes where every row is one, one array, or two that cross.

    `ways` names the columns that were used, `cluster` those that were looked for; `detected` says why a column that
    nobody named was taken.
    """

    codes: tuple[Array, ...]
    ways: tuple[str, ...]
    cluster: Any = AUTO
    detected: str = ""
    unnamed: tuple[Unnamed | None, ...] = ()
    """For each way of clustering, the rows without a value; None if all rows have one."""
    layouts: list[Any] = field(default_factory=list)
    """The orders of rows that sums over these units need, cached."""

    @property
    def nouns(self) -> tuple[str, str]:
        """The noun for a unit, singular and plural.

        >>> Units((), ()).nouns, Units((np.array([0]),), ("ward",)).nouns
        (('row', 'rows'), ('ward cluster', 'ward clusters'))
        >>> Units((np.array([0, 1]),), ("identity",), unnamed=(Unnamed(1, 1, "sample"),)).nouns[1]
        'people or unnamed images'
        """
        if not self.codes:
            return nouns(())
        words = [nouns([way]) for way in self.ways]
        for index, unnamed in enumerate(self.unnamed):
            if unnamed is not None and unnamed.by not in self.ways:
                singular, plural_noun = unnamed.nouns
                words[index] = f"{words[index][0]} or unnamed {singular}", f"{words[index][1]} or unnamed {plural_noun}"
        return " or ".join(singular for singular, _ in words), " or ".join(plural_noun for _, plural_noun in words)

    def sentence(self, rows: int) -> str:
        """A sentence on what was taken as independent, and how many units there are.

        >>> Units((np.array([0, 0, 1]),), ("identity",)).sentence(3)
        'person (column identity): 3 rows of 2 people'
        >>> Units((), ()).sentence(3)[:79]
        'row: no column that says whose a row is (identity, person_id, sample …) was fou'
        """
        counted = f"{rows:,} row{'' if rows == 1 else 's'}"
        if not self.codes:
            each = "was taken as independent" if rows == 1 else "were taken as independent"
            if self.cluster is None:
                return f"row: the {counted} {each}, as asked (cluster none)"
            if self.ways:
                return f"row: each of the {counted} has another {' and '.join(self.ways)}"
            return (
                f"row: no column that says whose a row is (identity, person_id, sample …) was found, so the {counted} "
                "are taken as independent; if rows share a person or a picture, the setting cluster names "
                "the column"
            )
        parts = [self._counted(index) for index in range(len(self.ways))]
        singular = " and ".join(nouns((way,))[0] for way in self.ways)
        column = "column" if len(self.ways) == 1 else "columns"
        crossed = ", crossed" if len(self.ways) > 1 else ""
        sentence = f"{singular} ({column} {' and '.join(self.ways)}{crossed}): {counted} of {' and '.join(parts)}"
        return f"{sentence}; {self.detected}" if self.detected else sentence

    def _counted(self, index: int) -> str:
        """How many units a way has; rows that do not name their unit are counted apart.

        >>> Units((np.array([0, 0, 1, 2]),), ("identity",), unnamed=(Unnamed(2, 1, "sample"),))._counted(0)
        '1 person and 2 rows of nobody named (taken as 2 images)'
        """
        count, (singular, many) = size_of(self.codes[index]), nouns([self.ways[index]])
        unnamed = self.unnamed[index] if self.unnamed else None
        if unnamed is None:
            return f"{count:,} {singular if count == 1 else many}"
        ways = [f"taken as {plural(count - unnamed.known, *unnamed.nouns)}"] if unnamed.joined < unnamed.rows else []
        if unnamed.joined:
            ways.insert(0, f"{unnamed.joined:,} counted with the only {singular} of their {unnamed.nouns[0]}")
        taken = ", the others ".join(ways)
        whose = "nobody named" if many == "people" else f"no named {singular}"
        return f"{plural(unnamed.known, singular, many)} and {plural(unnamed.rows, 'row', 'rows')} of {whose} ({taken})"


def plural(count: int, singular: str, many: str) -> str:
    """A count with its noun.

    >>> plural(1, "person", "people"), plural(1200, "person", "people")
    ('1 person', '1,200 people')
    """
    return f"{count:,} {singular if count == 1 else many}"


def too_few(count: int, nouns: tuple[str, str], least: int, group: str = "") -> str:
    """The sentence that a group has too few units for a test.

    >>> too_few(1, ("person", "people"), 20, "no"), too_few(3, ("row", "rows"), 5)
    ('1 person in no, fewer than 20', '3 rows, fewer than 5')
    """
    return f"{plural(count, *nouns)}{f' in {group}' if group else ''}, fewer than {least}"


def nouns(ways: Sequence[str]) -> tuple[str, str]:
    """The noun for the units of some columns, singular and plural; of two columns, the scarcer one counts.

    >>> nouns(["identity"]), nouns(["identity", "sample"])
    (('person', 'people'), ('person or image', 'people or images'))
    """
    if not ways:
        return "row", "rows"
    bare = [way.removeprefix("attr.") for way in ways]
    nouns_of_each = [_nouns(way) for way in bare]
    return " or ".join(singular for singular, _ in nouns_of_each), " or ".join(many for _, many in nouns_of_each)


def row_noun(ways: Sequence[str]) -> str:
    """The noun for one of several rows of a person: a picture in scores of a run, which name people `identity`.

    A table from elsewhere may hold decisions, recordings or visits.

    >>> row_noun(["identity"]), row_noun(["person_id"])
    ('picture', 'row')
    """
    return "picture" if [way.removeprefix("attr.").casefold() for way in ways] == ["identity"] else "row"


def stored_nouns(settings: Mapping[str, Any]) -> tuple[str, str]:
    """The noun for the units of a stored audit or comparison; older files name only the columns.

    >>> stored_nouns({"ways": ["identity"]}), stored_nouns({"nouns": ["person", "people"]}), stored_nouns({})
    (('person', 'people'), ('person', 'people'), ('row', 'rows'))
    """
    stored = settings.get("nouns")
    return (str(stored[0]), str(stored[1])) if stored else nouns(settings.get("ways") or [])


def _nouns(way: str) -> tuple[str, str]:
    known = NOUNS.get(way.casefold())
    if known is not None:
        return known
    if person_column([way]):
        return "person", "people"
    word = way.replace("_", " ")
    return f"{word} cluster", f"{word} clusters"


def columns_of(cluster: Any, names: Sequence[str], resolve: Any) -> list[str]:
    """The columns that say which rows belong together: those named, else the columns of people and pictures."""
    if cluster is None:
        return []
    if cluster == AUTO:
        person = person_column(names)
        return [*([person] if person else []), *([IMAGE] if IMAGE in names else [])]
    listed = [cluster] if isinstance(cluster, str) else list(cluster)
    return [resolve(name, "attr.", "cluster column") for name in dict.fromkeys(listed)]


def units(columns: Sequence[tuple[str, Any]], cluster: Any, detected: str = "") -> Units:
    """Units from columns (name and Arrow array each): of nested columns the coarser is used; two may cross.

    >>> import pyarrow as pa
    >>> person, image = pa.array(["p", "p", "q"]), pa.array(["a", "b", "c"])
    >>> units([("identity", person), ("sample", image)], "auto").ways
    ('identity',)
    """
    if not columns:
        return Units((), (), cluster)
    stated = [(name, codes_of(column)) for name, column in columns]
    coded = _filled(stated)
    last = stated[-1][0]
    lacking = {
        name: _unnamed(codes, filled, "" if name == last else last)
        for (name, codes), (_, filled) in zip(stated, coded, strict=True)
    }
    chosen: list[tuple[str, Array]] = []
    for name, codes in coded:
        chosen = [way for way in chosen if not together(way[1], codes)]
        if not any(together(codes, other) for _, other in chosen):
            chosen.append((name, codes))
    if len(chosen) > 2:
        raise InputError(
            f"cluster: {', '.join(name for name, _ in chosen)} all cross each other; at most two may, name the two "
            "that matter most"
        )
    names = tuple(name for name, _ in chosen)
    single = all(len(codes) == size_of(codes) for _, codes in chosen)
    unnamed = tuple(lacking[name] for name in names)
    return Units(() if single else tuple(codes for _, codes in chosen), names, cluster, detected, unnamed)


def _unnamed(codes: Array, filled: Array, by: str) -> Unnamed | None:
    """The rows of a column without a value, and how they were assigned; None if all have a value."""
    missing = codes < 0
    if not missing.any():
        return None
    named = np.unique(filled[~missing])
    return Unnamed(int(missing.sum()), len(named), by, int(np.isin(filled[missing], named).sum()))


def codes_of(column: Any) -> Array:
    """Codes from 0; null, empty and NaN are -1.

    >>> import pyarrow as pa
    >>> codes_of(pa.array(["p", None, "", "q", "p"])).tolist()
    [0, -1, -1, 1, 0]
    """
    import pyarrow as pa

    encoded = column.dictionary_encode()
    codes = np.asarray(encoded.indices.fill_null(-1)).astype(np.int64)
    values = encoded.dictionary
    empty = np.zeros(len(values) + 1, dtype=bool)
    if is_text(values.type):
        empty[:-1] = np.asarray(pa.compute.equal(values, ""))
    elif pa.types.is_floating(values.type):
        empty[:-1] = np.isnan(np.asarray(values))
    if empty.any():
        place = np.where(empty, -1, np.cumsum(~empty) - 1)
        codes = np.where(codes >= 0, place[codes], -1)
    return codes


def _filled(coded: list[tuple[str, Array]]) -> list[tuple[str, Array]]:
    """Codes with gaps filled: a row without a person takes its image's only person, else its image, else itself."""
    filled = []
    last = coded[-1][1]
    for index, (name, partial) in enumerate(coded):
        codes = partial.copy()
        missing = np.flatnonzero(codes < 0)
        if len(missing) and index < len(coded) - 1:
            only = _only_value(codes, last)
            known = last[missing] >= 0
            codes[missing[known]] = only[last[missing[known]]]
            start = size_of(codes)
            rest = missing[(codes[missing] < 0) & known]
            codes[rest] = start + last[rest]
            missing = np.flatnonzero(codes < 0)
        start = size_of(codes)
        codes[missing] = start + np.arange(len(missing))
        filled.append((name, _dense(codes)))
    return filled


def _only_value(codes: Array, groups: Array) -> Array:
    """For each group the one code its rows have; -1 where there are several or none."""
    size = size_of(groups)
    use = (codes >= 0) & (groups >= 0)
    low = np.full(size, np.iinfo(np.int64).max)
    high = np.full(size, -1, dtype=np.int64)
    np.minimum.at(low, groups[use], codes[use])
    np.maximum.at(high, groups[use], codes[use])
    return np.where(low == high, high, -1)


def _dense(codes: Array) -> Array:
    used = np.zeros(size_of(codes), dtype=bool)
    used[codes] = True
    dense: Array = codes if used.all() else (np.cumsum(used) - 1)[codes]
    return dense


def together(fine: Array, coarse: Array) -> bool:
    """Whether rows that are together in the first are always together in the second.

    >>> together(np.array([0, 0, 1]), np.array([5, 5, 5])), together(np.array([0, 0, 1]), np.array([1, 2, 2]))
    (True, False)
    """
    return bool((coarse[firsts_of(fine)[fine]] == coarse).all())
