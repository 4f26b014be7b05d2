"""The roles of a label table's columns: the picture, the person, the box, the class, the split, attributes."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from countenance.data.adapters.folder import SUBJECT_COLUMNS
from countenance.data.categories import kind_of, says_masked
from countenance.data.labels import aliases
from countenance.data.labels.aliases import plain_name, squashed
from countenance.data.labels.rows import LabelTable
from countenance.data.tables import near
from countenance.data.vocabulary import NUMERIC, VOCABULARIES
from countenance.errors import DataError
from countenance.settings.box_words import Form
from countenance.words import is_missing, is_no_number_known, is_number

ROLES = ("file", "person", "box", "face_box", "person_box", "class", "split", "face", "annotation")
TRUTH = ("keypoints", "landmarks", "mask", "face_parts", "body_parts")
"""Columns of our own format that hold JSON (or run lengths)."""
ENOUGH = 0.5
"""The share of a column's cells that must name pictures where its name does not say that they do."""
LIST_OF_NUMBERS = re.compile(r"\[\s*[-+\d.eE]+([\s,;]+[-+\d.eE]+)+\s*\]|\(\s*[-+\d.eE]+([\s,;]+[-+\d.eE]+)+\s*\)")
AGES = ("age", "age_group", "age_range")
FEWEST_POINTS = 3
SAMPLED = 200
"""How many cells of a column are tried."""
EASILY_MISTYPED = tuple(
    name for name in (*SUBJECT_COLUMNS, *VOCABULARIES, "filename") if "_" in name or name in ("identity", "filename")
)


@dataclass(frozen=True)
class BoxColumns:
    """The columns that hold a box: four of them, or one."""

    names: tuple[str, ...]
    form: Form | None
    """None: one column whose name does not say what its four numbers are."""
    kind: str | None
    """face, person, or None where the name does not say which."""


@dataclass
class LabelColumns:
    """The roles of a table's columns."""

    file: str | None = None
    person: str | None = None
    index: str | None = None
    """The number of a person in the picture."""
    annotation: str | None = None
    boxes: list[BoxColumns] = field(default_factory=list)
    category: str | None = None
    split: str | None = None
    truth: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    """Each attribute with its column."""
    guessed_person: bool = False

    def sentence(self, pictures: int, people: int, named: bool) -> str:
        """A line on how the columns were understood.

        >>> boxes = [BoxColumns(("x", "y", "w", "h"), "xywh", None)]
        >>> LabelColumns(boxes=boxes, attributes={"sex": "Sex"}).sentence(4, 2, True)
        'read 4 pictures of 2 people; boxes from x, y, w, h; attributes sex'
        """
        shown = "1 picture" if pictures == 1 else f"{pictures:,} pictures"
        who = "1 person" if people == 1 else f"{people:,} people"
        parts = [f"read {shown} of {who}{'' if named else ' whom nothing names'}"]
        parts += [f"people from {self.person}"] if self.guessed_person else []
        if self.boxes:
            parts.append(f"boxes from {', '.join(name for box in self.boxes for name in box.names)}")
        parts += [f"{', '.join(self.truth)} as written"] if self.truth else []
        parts += [f"split from {self.split}"] if self.split else []
        parts.append(f"attributes {', '.join(self.attributes)}" if self.attributes else "no attributes")
        return "; ".join(parts)


def parse_columns(text: str | None) -> dict[str, str]:
    """The columns that the user named, by role or by the name of an attribute.

    >>> parse_columns("file=img, person=who")
    {'file': 'img', 'person': 'who'}
    """
    pairs = [part.partition("=") for part in (text or "").split(",") if part.strip()]
    if any(not (equals and role.strip() and name.strip()) for role, equals, name in pairs):
        raise DataError(f"columns={text!r}: expected ROLE=COLUMN, such as file=img,person=who,box=x+y+w+h")
    return {role.strip(): name.strip() for role, _, name in pairs}


def understand(
    table: LabelTable, names_picture: Callable[[str], bool], stated: Mapping[str, str], *, categories: bool = False
) -> LabelColumns:
    """The roles of the columns; what is ambiguous becomes a problem of the table, with the option that decides it.

    `stated` are the columns that the user named (`parse_columns`); with `categories` the user also chooses classes.
    """
    reader = _RoleReader(table, dict(stated), {squashed(name): name for name in reversed(table.names)})
    columns = LabelColumns(split=reader.stated_column("split"), index=reader.stated_column("face"))
    columns.file = reader.stated_column("file") or _file_column(reader, names_picture)
    columns.person = reader.stated_column("person")
    columns.annotation = reader.stated_column("annotation") or reader.free("annotationid")
    columns.boxes = _boxes(reader)
    columns.category = reader.stated_column("class") or _class_column(reader, columns, categories)
    columns.split = columns.split or next((name for word in aliases.SPLIT if (name := reader.free(word))), None)
    if columns.split is not None and not _is_split(table.columns[columns.split]):
        columns.split = None
    _set_person(reader, columns)
    columns.truth = [name for name in TRUTH if name in table.columns and _is_written(table.columns[name])]
    _set_attributes(reader, columns)
    _refuse_several_boxes(reader, columns)
    return columns


@dataclass
class _RoleReader:
    """A table whose columns are given roles one after the other."""

    table: LabelTable
    stated: dict[str, str]
    squashed: dict[str, str]

    def free(self, word: str) -> str | None:
        """The column of that name, unless the user has given it a role."""
        name = self.squashed.get(word)
        return None if name in self._stated_names() else name

    def _stated_names(self) -> set[str]:
        return {part for text in self.stated.values() for part in text.split("+")}

    def stated_column(self, role: str) -> str | None:
        """The column that the user named for a role."""
        return self.checked(self.stated[role]) if role in self.stated else None

    def checked(self, name: str) -> str:
        """A column that the user named, in any spelling; an unknown one is refused."""
        if name in self.table.columns:
            return name
        if squashed(name) in self.squashed:
            return self.squashed[squashed(name)]
        hint = near(name, self.table.names)
        raise DataError(
            f"{self.table.path}: columns= names {name!r}{hint}, which is not a column; there are "
            f"{', '.join(self.table.names)}"
        )


def _file_column(reader: _RoleReader, names_picture: Callable[[str], bool]) -> str | None:
    """The column that names pictures: by its name, else the only one whose cells name pictures."""
    table = reader.table
    shares = {}
    for name, cells in table.columns.items():
        known = [cell for cell in cells if not is_missing(cell)]
        some = known[:: max(1, len(known) // SAMPLED)]
        shares[name] = sum(map(names_picture, some)) / len(some) if some else 0.0
    by_name = [name for name in table.names if squashed(name) in aliases.FILE and reader.free(squashed(name)) == name]
    perhaps = [name for name in table.names if squashed(name) in aliases.PERHAPS_FILE]
    others = [name for name in table.names if name not in perhaps]
    for candidates, least, doubtful in (
        (by_name, ENOUGH, False),
        (others, ENOUGH, True),
        (perhaps, ENOUGH, True),
        (by_name, 0.0, False),
        (perhaps, 0.0, False),
    ):
        fitting = [name for name in candidates if shares[name] >= least]
        if not fitting:
            continue
        best = max(shares[name] for name in fitting)
        leaders = [name for name in fitting if shares[name] == best]
        same = all(table.columns[name] == table.columns[leaders[0]] for name in leaders)
        if len(leaders) > 1 and not same and doubtful:
            table.problems.add_whole(
                f'columns {" and ".join(leaders)} both name pictures; say which one: columns="file={leaders[0]}"'
            )
        return leaders[0]
    return None


def _boxes(reader: _RoleReader) -> list[BoxColumns]:
    """The columns of boxes, at most one set for each kind."""
    chosen: dict[str | None, BoxColumns] = {}
    for role in ("box", "face_box", "person_box"):
        if role in reader.stated:
            names = tuple(reader.checked(name) for name in reader.stated[role].split("+"))
            if len(names) not in (1, 4):
                raise DataError(f"columns='{role}={reader.stated[role]}': expected one column, or four: x+y+w+h")
            kind = None if role == "box" else role.removesuffix("_box")
            chosen[kind] = BoxColumns(names, _form_of(names), kind)
    if chosen:
        return list(chosen.values())
    for prefix in aliases.PREFIXES:
        kind = _kind_of_prefix(prefix)
        for form, words in aliases.SETS:
            names = tuple(reader.free(prefix + word) or "" for word in words)
            if all(names) and kind not in chosen:
                chosen[kind] = BoxColumns(names, form, kind)
        numbered = tuple(reader.free(f"{prefix}{i}") or "" for i in range(4))
        if prefix and all(numbered) and kind not in chosen:
            chosen[kind] = BoxColumns(numbered, None, kind)
    for word in reader.squashed:
        kind = _kind_of_prefix(word)
        bare = _without_owner(word)
        cells = reader.table.columns[reader.squashed[word]]
        named = bare in aliases.ONE_BOX or (word in aliases.FACE_PREFIXES and _is_written(cells))
        if named and kind not in chosen and _is_boxes(cells):
            chosen[kind] = BoxColumns((reader.squashed[word],), None, kind)
    outlines = (name for word in aliases.OUTLINES if (name := reader.free(word)) and _is_lists(reader, name))
    if not chosen and (name := next(outlines, None)):
        chosen[None] = BoxColumns((name,), None, None)
    return list(chosen.values())


def _is_lists(reader: _RoleReader, name: str) -> bool:
    """Whether the cells of a column are lists, and not run lengths."""
    known = [cell for cell in reader.table.columns[name] if not is_missing(cell)]
    return bool(known) and all(cell.startswith("[") for cell in known)


def _form_of(names: Sequence[str]) -> Form | None:
    """The form of a box in four columns, by their names; None where the names do not tell."""
    words = tuple(squashed(name) for name in names)
    return next((form for form, known in aliases.SETS if words == known), None)


def _kind_of_prefix(prefix: str) -> str | None:
    if prefix.startswith(aliases.FACE_PREFIXES):
        return "face"
    return "person" if prefix.startswith(aliases.PERSON_PREFIXES) else None


def _without_owner(word: str) -> str:
    for owner in (*aliases.FACE_PREFIXES, *aliases.PERSON_PREFIXES):
        if word.startswith(owner) and word != owner:
            return word.removeprefix(owner)
    return word


def _is_boxes(cells: Sequence[str]) -> bool:
    """Whether the cells of a column hold several numbers each."""
    known = [cell for cell in cells if not is_missing(cell)]
    return bool(known) and sum(sum(letter.isdigit() for letter in cell) >= 4 for cell in known) * 2 >= len(known)


def _class_column(reader: _RoleReader, columns: LabelColumns, chosen: bool) -> str | None:
    """The column that says what a box shows: some of its words are people or faces, or the user chooses among them."""
    for word in reader.squashed:
        name = reader.free(word)
        if word not in aliases.CLASS or name is None or name == columns.file or not columns.boxes:
            continue
        values = {cell for cell in reader.table.columns[name] if not is_missing(cell)}
        masks = [cell for cell in values if "mask" in cell.casefold() and says_masked(cell)]
        if masks or any(kind_of(value) for value in values) or chosen:
            return name
        shown = ", ".join(sorted(values)[:3])
        reader.table.notes.append(
            f"{reader.table.path.name}: {name} ({shown}{', …' if len(values) > 3 else ''}) is read as an attribute; if "
            f'it says what a box shows, choose: categories="face={next(iter(sorted(values)), "WORD")}"'
        )
    return None


def _is_split(cells: Sequence[str]) -> bool:
    words = {cell.casefold() for cell in cells if not is_missing(cell)}
    return bool(words) and (words <= set(aliases.SPLIT_WORDS) or words <= {"0", "1", "2"})


def _set_person(reader: _RoleReader, columns: LabelColumns) -> None:
    """Set the column of identities; `subject` unless it numbers people, `name` and `id` only where values repeat."""
    table = reader.table
    strong = next((name for word in aliases.PERSON if (name := reader.free(word)) and name != columns.file), None)
    subject = reader.free("subject")
    if columns.person is None:
        columns.person = strong
    if subject is not None and (columns.person is not None or _numbers_people(table, columns.file, subject)):
        columns.index = columns.index or subject
    faces = reader.free("face")
    if columns.index is None and faces is not None and all(cell.isdecimal() for cell in table.columns[faces] if cell):
        columns.index = faces
    if columns.person is not None or "person" in reader.stated:
        return
    for word in aliases.PERHAPS_PERSON:
        name = reader.free(word)
        if name is None or name in (columns.file, columns.category, columns.index):
            continue
        known = [cell for cell in table.columns[name] if not is_missing(cell)]
        if word == "subject" or len(set(known)) < len(known):
            columns.person, columns.guessed_person = name, word != "subject"
            return


def _numbers_people(table: LabelTable, file: str | None, subject: str) -> bool:
    """Whether a column numbers the people of each picture: 0, 1, 2, … in each."""
    by_file: dict[str, list[str]] = {}
    files = table.columns[file] if file else [str(i) for i in range(len(table))]
    for name, cell in zip(files, table.columns[subject], strict=True):
        by_file.setdefault(name, []).append(cell)
    return all(cells in ([str(i) for i in range(len(cells))], [""]) for cells in by_file.values())


def _is_written(cells: Sequence[str]) -> bool:
    """Whether a column named after a truth holds that truth: JSON, or run lengths (no words of the vocabulary)."""
    known = [cell for cell in cells if not is_missing(cell)]
    return bool(known) and all(cell.startswith(("[", "{")) for cell in known)


def _set_attributes(reader: _RoleReader, columns: LabelColumns) -> None:
    """Make every other column an attribute, except sizes, row numbers and empty columns; refuse mistyped names."""
    table = reader.table
    used = {columns.file, columns.person, columns.index, columns.annotation, columns.category, columns.split}
    used |= {name for box in columns.boxes for name in box.names} | set(columns.truth)
    for role, column in reader.stated.items():
        if role not in ROLES:
            columns.attributes[role] = name = reader.checked(column)
            used.add(name)
    own_names = _attribute_names([name for name in table.names if name not in used])
    points = _points(table, used)
    for name in table.names:
        word, own = squashed(name), own_names.get(name, name)
        is_attribute = name.startswith("attr.")
        if name in used or (not is_attribute and word in (*aliases.SIZES, *aliases.FILE, *aliases.PERHAPS_FILE)):
            continue
        cells = table.columns[name]
        if all(map(is_missing, cells)):
            table.notes.append(f"{table.path.name}: column {name} is empty")
            continue
        whole = [cell for cell in cells if cell.isdecimal()]
        counting = word in aliases.NUMBERING or name.casefold().startswith("unnamed") or word.endswith("id")
        if counting and len(set(cells)) == len(cells) and (len(whole) == len(cells) or word.endswith("id")):
            continue  # it numbers the rows
        if table.headless:
            table.problems.add_whole(_headless(table, columns))
            return
        if name in points:
            continue
        if word in aliases.OUTLINES and _is_written(cells):
            table.notes.append(f"{table.path.name}: {name} holds outlines and is left out")
            continue
        if not is_attribute and own not in AGES and _is_lists_of_numbers(cells):
            table.notes.append(
                f"{table.path.name}: {name} holds lists of numbers ({next(cell for cell in cells if cell)}) and is "
                f'left out; of boxes it has to hold all four numbers: columns="box={name}"'
            )
            continue
        typo = _typo(name, own)
        if typo:
            table.problems.add_whole(f"unknown column {name!r}{typo}; rename it, or write attr.{name}")
        if own in columns.attributes:
            table.problems.add_whole(f"columns {columns.attributes[own]} and {name} are both called {own}; rename one")
        columns.attributes[own] = name
    if points:
        shown = ", ".join(points[:4])
        table.notes.append(
            f"{table.path.name}: {shown}{', …' if len(points) > 4 else ''} are points of a picture and are left out; "
            "five points of a face are read from a column landmarks: [[x, y], …] (eyes, nose, corners of the mouth)"
        )


def _attribute_names(names: Sequence[str]) -> dict[str, str]:
    """The names of attributes, by column; words for an age are `age`, and equal names keep their brackets.

    >>> _attribute_names(["Alter", "Score (left)", "Score (right)", "Beard (y/n)"])
    {'Alter': 'age', 'Score (left)': 'score_(left)', 'Score (right)': 'score_(right)', 'Beard (y/n)': 'beard'}
    """
    short = {name: "age" if squashed(name) in aliases.AGE else plain_name(name) for name in names}
    often = Counter(short.values())
    return {name: own if often[own] == 1 else plain_name(name, whole=True) for name, own in short.items()}


def _points(table: LabelTable, used: Collection[str | None]) -> list[str]:
    """The columns of points such as nose_x, nose_y, where a table has at least three of them."""
    free = {squashed(name): name for name in table.names if name not in used and not name.startswith("attr.")}
    stems = [word[:-1] for word in free if word.endswith("x") and word[:-1] + "y" in free]
    names = [free[stem + end] for stem in stems for end in "xy"]
    numbers = all(is_number(cell) for name in names for cell in table.columns[name] if not is_no_number_known(cell))
    return names if len(stems) >= FEWEST_POINTS and numbers else []


def _is_lists_of_numbers(cells: Sequence[str]) -> bool:
    """Whether all cells are lists such as (12, 20) or [1.5, 2, 3], which are not words of an attribute.

    >>> _is_lists_of_numbers(["(12, 20)", "[3.5 4]", ""]), _is_lists_of_numbers(["[18, 30)", "[30, 40)"])
    (True, False)
    """
    known = [cell.strip() for cell in cells if not is_missing(cell)]
    return bool(known) and all(LIST_OF_NUMBERS.fullmatch(cell) for cell in known)


def _refuse_several_boxes(reader: _RoleReader, columns: LabelColumns) -> None:
    """A problem where columns of attributes are the corners of boxes (face1_x1, …): one row is for one person."""
    ends = sorted({word for _, words in aliases.SETS for word in words}, key=len, reverse=True)
    by_prefix: dict[str, dict[str, str]] = {}
    for name in columns.attributes.values():
        word = squashed(name)
        end = next((end for end in ends if word.endswith(end) and word != end), None)
        if end is not None:
            by_prefix.setdefault(word.removesuffix(end), {})[end] = name
    sets = [
        [own[word] for word in words]
        for own in by_prefix.values()
        for _, words in aliases.SETS
        if all(word in own for word in words)
    ]
    if sets and not columns.boxes:
        shown = "; ".join(", ".join(names) for names in sets[:2])
        reader.table.problems.add_whole(
            f"columns look like boxes ({shown}{'; …' if len(sets) > 2 else ''}): write a row for each person with one "
            f'box, or choose one: columns="box={"+".join(sets[0])}"'
        )


def _headless(table: LabelTable, columns: LabelColumns) -> str:
    others = [name for name in table.names if name != columns.file]
    roles = ",".join(["file=" + (columns.file or "1"), *(f"NAME={name}" for name in others[:3])])
    return (
        f"no header line, and nothing says what its {len(table.names)} columns are; add one, or say "
        f'columns="{roles}" (person=… says who it is)'
    )


def _typo(name: str, own: str) -> str:
    """A hint where a name is almost one of ours (skin_tne), and so probably mistyped."""
    import difflib

    if name.startswith("attr.") or own in VOCABULARIES or own in NUMERIC or own in SUBJECT_COLUMNS:
        return ""
    if squashed(own) in {squashed(known) for known in EASILY_MISTYPED} or own.rstrip("s") in EASILY_MISTYPED:
        return ""
    alike = difflib.get_close_matches(own, EASILY_MISTYPED, n=1, cutoff=0.88)
    return f" (did you mean {alike[0]}?)" if alike else ""
