"""Score files against a protocol: the curves of version 2 (FROC, DIR) and version 3 (FROC, O-ROC)."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from pathlib import Path
from typing import ParamSpec

from countenance.answers.formats.uccs_scores import file_version, on_protocol, read_scores
from countenance.data.adapters.uccs_protocol import detect_version, protocol_path, read_protocol
from countenance.errors import InputError, OptionError
from countenance.suites.uccs.evaluation import CurveSettings, Submission, UccsEvaluation
from countenance.suites.uccs.readings import reading_warnings
from countenance.suites.uccs.rules import evaluated

Arguments = ParamSpec("Arguments")


def shown_name(path: Path) -> str:
    """The label of a file without a label: its name, without .gz.

    >>> shown_name(Path("results/mine.txt.gz"))
    'mine.txt'
    """
    return path.name.removesuffix(".gz")


def read_submissions(
    data: Path,
    result_files: Sequence[Path],
    *,
    recognition: bool,
    labels: Sequence[str] | None = None,
    which: str = "validation",
    version: int | None = None,
    settings: CurveSettings | None = None,
    attributes: bool = False,
) -> list[Submission]:
    """The protocol and every result file, each read once and checked.

    The version is recognised from the files unless `version` is set; `attributes` reads the further columns of the
    protocol, to group by.
    """
    files, settings = result_files, settings or CurveSettings()
    if not files:
        raise InputError("no result file given; name at least one with result_files=")
    labels = list(labels) if labels else [shown_name(path) for path in files]
    if len(labels) != len(files):
        raise InputError(
            f"{len(labels)} labels for {len(files)} result files; give one label for each, in the same order"
        )
    if not 0 < settings.overlap <= 1:
        raise OptionError(
            "overlap_threshold", f"overlap_threshold is {settings.overlap:g}, expected more than 0 and at most 1"
        )
    if settings.rank < 1:
        raise OptionError("rank", f"rank is {settings.rank}, expected 1 or more")
    version = version or _common_version(files)
    if not protocol_path(data, which, version).is_file():
        other = detect_version(data, which)
        raise InputError(
            f"{files[0]} is a version {version} file, but {data} holds a version {other} protocol only; "
            f"{protocol_path(data, which, version)} is missing (or give version={other})"
        )
    protocol = read_protocol(data, which, version, attributes=attributes, exclude=settings.exclude)
    if not protocol.truth:
        raise InputError(
            f"{protocol.path}: names images only, so there is no truth to compare with; "
            'evaluate on which="validation" (the truth of the test set stays with the organisers)'
        )
    submissions = []
    for path, label in zip(files, labels, strict=True):
        scores = read_scores(path, version, top=settings.rank + 1 if recognition else 0)
        if recognition and scores.kind == "detection":
            what = (
                "SUBJECT_ID,SCORE pairs after the first six fields" if version == 2 else "columns S_0001, S_0002, ..."
            )
            raise InputError(
                f"{path}: detections only; a recognition curve needs {what} (use evaluate-detector for this file)"
            )
        image, warnings = on_protocol(scores, protocol.images, protocol.path.name)
        submission = Submission(label, protocol, scores, image, settings, recognition=recognition)
        reading = reading_warnings(submission, data)
        warnings = (*protocol.warnings, *scores.warnings, *warnings, *reading)
        submissions.append(replace(submission, warnings=warnings, reading=reading))
    return submissions


def _curves(read: Callable[Arguments, list[Submission]]) -> Callable[Arguments, list[UccsEvaluation]]:
    """The curve of every result file that `read` returns: FROC, or for recognition DIR (version 2) and O-ROC."""

    @wraps(read)
    def evaluations(*arguments: Arguments.args, **options: Arguments.kwargs) -> list[UccsEvaluation]:
        return [evaluated(submission) for submission in read(*arguments, **options)]

    own = signature(read).replace(return_annotation=list[UccsEvaluation])
    evaluations.__signature__ = own  # type: ignore[attr-defined]
    return evaluations


evaluate_detector = partial(_curves(read_submissions), recognition=False)
evaluate_recognizer = partial(_curves(read_submissions), recognition=True)


def _common_version(files: Sequence[Path]) -> int:
    versions = [file_version(path) for path in files]
    if len(set(versions)) > 1:
        other = next(k for k, version in enumerate(versions) if version != versions[0])
        raise InputError(
            f"{files[0]} is a version {versions[0]} file and {files[other]} a version {versions[other]} file; "
            "their curves have different axes, so evaluate them separately"
        )
    return versions[0]
