"""Version 2 score files: FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE[,SUBJECT_ID_1,SCORE_1,...]."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO

import numpy as np

from countenance.errors import InputError
from countenance.metrics.curves import Labels
from countenance.suites.uccs.files import write_text
from countenance.suites.uccs.rows import integer, number, positive_area, rows
from countenance.suites.uccs.scores import COLUMNS_V2, MOST_LABELS, Kind, Scores, _Parts, collected, data_blocks
from countenance.suites.uccs.tokens import Tokens, chosen, columns, names, numbers, tokenize

FIXED = len(COLUMNS_V2)


def read(path: Path, *, labels: bool) -> Scores:
    """Read a detection or recognition file; a recognition file is a valid detection file."""
    parts = _Parts()
    for start, block in data_blocks(path):
        tokens = tokenize(block, start)
        if tokens is None or not _fast(tokens, parts, labels):
            _slow(block, start, path, parts)
    listed = np.concatenate(parts.label_count) if parts.label_count else np.empty(0, np.int64)
    warnings = []
    if listed.max(initial=0) > MOST_LABELS:
        rows_over = np.flatnonzero(listed > MOST_LABELS)
        line = np.concatenate(parts.line)[rows_over[0]]
        warnings.append(
            f"{path} line {line}: {listed[rows_over[0]]} labels, the challenge allows {MOST_LABELS} a face "
            f"({len(rows_over)} such lines); all of them are used"
        )
    table = None
    if labels:
        count = listed
        identity = np.concatenate(parts.identity) if parts.identity else np.empty(0, np.int64)
        score = np.concatenate(parts.label_score) if parts.label_score else np.empty(0)
        table = Labels(np.cumsum(count) - count, count, identity, score)
    kind: Kind = "recognition" if listed.any() else "detection"
    return collected(parts, path, 2, kind, labels=table, warnings=tuple(warnings))


def _fast(tokens: Tokens, parts: _Parts, labels: bool) -> bool:
    """Add a block of ordinary lines; False, adding nothing, when some line is not."""
    count = tokens.count
    if not count.size:
        return True
    if count.min() < FIXED or (count % 2).any():
        return False
    wanted = np.ones(len(tokens.end), dtype=bool)
    wanted[tokens.first] = False
    values = numbers(tokens, wanted)
    if values is None:
        return False
    table = columns(tokens, values, range(1, FIXED))
    if not np.isfinite(table).all() or (table[:, 2:4] <= 0).any():
        return False
    pairs = np.empty((0, 2))
    if count.max() > FIXED:
        pairs = values[~chosen(tokens, range(FIXED))].reshape(-1, 2)
        identity = pairs[:, 0]
        if not np.isfinite(pairs).all() or (identity != np.floor(identity)).any() or (np.abs(identity) >= 2**53).any():
            return False
    before = len(parts.known)
    image = names(tokens, 0, parts.known)
    if image is None:
        for name in list(parts.known)[before:]:
            del parts.known[name]
        return False
    parts.image.append(image)
    parts.line.append(tokens.line)
    parts.table.append(table)
    parts.label_count.append((count - FIXED) // 2)
    if labels:
        parts.identity.append(pairs[:, 0].astype(np.int64))
        parts.label_score.append(pairs[:, 1])
    return True


def parse(fields: Sequence[str], place: str) -> tuple[str, list[float], list[int], list[float]]:
    """Name, box and score, identities and their scores of one line, or an error that names its place.

    >>> parse(["a.jpg", "1", "2", "3", "4", "0.5", "7", "0.9"], "scores.txt line 3")
    ('a.jpg', [1.0, 2.0, 3.0, 4.0, 0.5], [7], [0.9])
    """
    if fields[0].upper() == "FILE" and (len(fields) == 1 or fields[1][:1].isalpha()):
        raise InputError(f"{place}: a header line without '#'; begin it with '# ' or remove it")
    if len(fields) < FIXED:
        raise InputError(f"{place}: {len(fields)} fields, expected at least {FIXED} ({','.join(COLUMNS_V2)})")
    if len(fields) % 2:
        raise InputError(
            f"{place}: {len(fields)} fields; after the first {FIXED} come pairs SUBJECT_ID,SCORE, "
            "and the last pair is not complete"
        )
    if not fields[0]:
        raise InputError(f"{place}: FILE is empty, expected an image's name")
    box = [number(text, column, place) for text, column in zip(fields[1:FIXED], COLUMNS_V2[1:], strict=True)]
    positive_area(COLUMNS_V2[3:5], box[2:4], place)
    identity, score = [], []
    for k in range(FIXED, len(fields), 2):
        rank = (k - FIXED) // 2 + 1
        identity.append(integer(fields[k], f"SUBJECT_ID_{rank}", place))
        score.append(number(fields[k + 1], f"SCORE_{rank}", place))
    return fields[0], box, identity, score


def _slow(block: bytes, start: int, path: Path, parts: _Parts) -> None:
    image, line, table, count = [], [], [], []
    identities: list[int] = []
    scores: list[float] = []
    for n, fields in rows(block, start, path):
        name, box, identity, score = parse(fields, f"{path} line {n}")
        identities += identity
        scores += score
        image.append(parts.known.setdefault(name, len(parts.known)))
        line.append(n)
        table.append(box)
        count.append(len(identity))
    parts.image.append(np.array(image, dtype=np.int64))
    parts.line.append(np.array(line, dtype=np.int64))
    parts.table.append(np.array(table, dtype=np.float64).reshape(-1, FIXED - 1))
    parts.label_count.append(np.array(count, dtype=np.int64))
    parts.identity.append(np.array(identities, dtype=np.int64))
    parts.label_score.append(np.array(scores, dtype=np.float64))


Row = tuple[Sequence[float], float, Sequence[tuple[int, float]]]
"""A detection: box (left, top, width, height), detection score, and identities with their scores."""


def write(
    path: Path, found: Iterable[tuple[str, Iterable[Row]]], *, recognition: bool, command: str | None = None
) -> None:
    """Write a score file whole or not at all: two comment lines, images sorted, boxes with two decimals."""

    def content(stream: IO[str]) -> None:
        columns = ",".join(COLUMNS_V2) + (",SUBJECT_ID_1,SCORE_1,..." if recognition else "")
        made_by = " ".join(command.split()) if command else " ".join(["countenance", *sys.argv[1:]])
        stream.write(f"# Created using command line: {made_by}\n# {columns}\n")
        for name, detections in sorted(found, key=lambda item: item[0]):
            shown = f'"{name}"' if "," in name else name
            for box, score, listed in detections:
                line = f"{shown}," + ",".join(f"{value:.2f}" for value in (*box, score))
                stream.write(line + "".join(f",{identity},{value:.6f}" for identity, value in listed) + "\n")

    write_text(path, content)
