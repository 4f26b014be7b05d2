"""Checks a submission line by line, and summarises its content: `countenance uccs check FILE`."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from countenance.answers.formats.uccs_scores import ScoreFile, file_version, layout_of, on_protocol, read_scores
from countenance.data.adapters.uccs_protocol import detect_version, protocol_path, read_gallery, read_protocol
from countenance.data.reading.lines import data_blocks, rows
from countenance.errors import InputError
from countenance.suites.uccs.evaluation import CurveSettings, Submission
from countenance.suites.uccs.readings import reading_warnings

MOST_PROBLEMS = 20


@dataclass
class Check:
    """The outcome of a check: problems make the file unusable, notices do not."""

    path: Path
    version: int
    problems: list[str] = field(default_factory=list)
    more_problems: bool = False
    notices: list[str] = field(default_factory=list)
    summary: dict[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        return not self.problems


def check_file(path: Path, *, data: Path | None = None, which: str = "validation", version: int | None = None) -> Check:
    """Check a score file; with a data directory also against the protocol's images and gallery."""
    version = version or file_version(path)
    check = Check(path, version)
    try:
        scores = read_scores(path, version, top=1)
    except InputError as error:
        check.problems = _problems(path, version) or [str(error)]
        check.more_problems = len(check.problems) > MOST_PROBLEMS
        del check.problems[MOST_PROBLEMS:]
        return check
    check.notices += scores.warnings
    check.summary = _summary(scores)
    _suspicions(scores, check)
    if data is not None:
        _against_protocol(scores, data, which, check)
    return check


def _problems(path: Path, version: int) -> list[str]:
    """Every wrong line, up to one more than are shown."""
    problems: list[str] = []
    try:
        layout, _ = layout_of(path, version, top=1)
        for start, block in data_blocks(path, layout.header_line):
            for line, text in enumerate(block.split(b"\n")[:-1], start):
                try:
                    for _, fields in rows(text + b"\n", line, path):
                        layout.parse(fields, f"{path} line {line}")
                except InputError as error:
                    problems.append(str(error))
                if len(problems) > MOST_PROBLEMS:
                    return problems
    except InputError as error:  # the file cannot be read any further
        problems.append(str(error))
    return problems


def _summary(scores: ScoreFile) -> dict[str, str]:
    per_image = np.bincount(scores.image)
    summary = {
        "version": f"{scores.version} ({scores.kind})",
        "images": f"{len(scores.images):,}",
        "detections": f"{len(scores):,} ({per_image.mean():.1f} an image, at most {per_image.max()})",
        "detection scores": f"{scores.score.min():g} to {scores.score.max():g}, "
        f"{len(np.unique(scores.score)):,} different",
        "box sides": f"{scores.box[:, 2:].min():g} to {scores.box[:, 2:].max():g} pixels",
    }
    labels = scores.labels
    if scores.version == 2 and scores.kind == "recognition":
        unknown = np.count_nonzero(labels.identity == -1)
        summary["labels"] = (
            f"{labels.identity.size:,} ({labels.count.mean():.1f} a detection, at most {labels.count.max()}), "
            f"{unknown:,} of them -1, {len(np.unique(labels.identity[labels.identity > 0])):,} subjects"
        )
        summary["recognition scores"] = f"{labels.score.min():g} to {labels.score.max():g}"
    if len(scores.subjects):
        summary["gallery subjects"] = f"{len(scores.subjects):,}"
        summary["largest similarities"] = f"{labels.score.min():g} to {labels.score.max():g}"
    return summary


def _suspicions(scores: ScoreFile, check: Check) -> None:
    """Add notices on lines that are allowed but look like mistakes."""
    path = scores.path
    if len(scores) > 1 and scores.score.min() == scores.score.max():
        check.notices.append(f"{path}: every detection score is {scores.score[0]:g}; the curve will be a single step")
    rows_ = np.column_stack([scores.image, scores.box, scores.score])
    order = np.lexsort(rows_.T)
    same = np.flatnonzero((rows_[order[1:]] == rows_[order[:-1]]).all(axis=1))
    if same.size:
        line = max(scores.line[order[same[0]]], scores.line[order[same[0] + 1]])
        check.notices.append(
            f"{path} line {line}: the same box and score as an earlier line ({same.size} such lines); "
            "all but one of each are false alarms"
        )
    labels = scores.labels
    if scores.version == 3 or not labels.identity.size:
        return
    odd = np.flatnonzero((labels.identity < -1) | (labels.identity == 0))
    if odd.size:
        row = int(np.searchsorted(labels.start, odd[0], side="right")) - 1
        check.notices.append(
            f"{path} line {scores.line[row]}: SUBJECT_ID {labels.identity[odd[0]]} ({odd.size} such labels); "
            "subjects are numbered from 1, and -1 is the unknown"
        )
    several = labels.count > 1
    if several.any() and not (labels.identity == -1).any():
        check.notices.append(
            f"{path}: no label is -1; every label on a background region is a false identification, "
            "so mark what is nobody's face with -1"
        )


def _against_protocol(scores: ScoreFile, data: Path, which: str, check: Check) -> None:
    if not protocol_path(data, which, scores.version).is_file():
        other = detect_version(data, which)
        check.problems.append(
            f"{scores.path} is a version {scores.version} file, but {data} holds a version {other} protocol only"
        )
        return
    protocol = read_protocol(data, which, scores.version)
    try:
        image, warnings = on_protocol(scores, protocol.images, protocol.path.name)
    except InputError as error:
        check.problems.append(str(error))
        return
    check.notices += warnings
    if protocol.truth:
        check.notices += reading_warnings(Submission("", protocol, scores, image, CurveSettings()), data)
    covered = len(np.unique(image[image >= 0]))
    check.summary["protocol"] = f"{covered:,} of the {len(protocol.images):,} images of {protocol.path}"
    if covered < len(protocol.images):
        seen = set(image.tolist())
        absent = next(name for k, name in enumerate(protocol.images) if k not in seen)
        check.notices.append(
            f"{scores.path}: {len(protocol.images) - covered} images of the protocol have no detection "
            f"({absent!r} is the first); their faces count as missed"
        )
    if len(scores.subjects) and (data / "gallery.csv").is_file():
        enrolled = {entry.subject for entry in read_gallery(data)}
        missing = sorted(enrolled - set(scores.subjects.tolist()))
        if missing:
            check.problems.append(
                f"{scores.path} line 1: no similarity column for gallery subject {missing[0]} "
                f"({len(missing)} missing); write one column S_{missing[0]:04d} for each subject of gallery.csv"
            )
