"""Mask fairness as a value: its datasets, its two tasks, its audit, its section of the report, its tables."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from countenance.data import Dataset
from countenance.data.adapters.mask_fairness import BOXES, ONE_FACE, MaskData, compared_by
from countenance.errors import InputError
from countenance.run import Run, read_audit
from countenance.run.suite import Suite, SuiteRequest, SuiteTask
from countenance.suites.mask_fairness.assessment import (
    assessable_metrics,
    assessment_of,
    store_tables,
    tables_again,
)
from countenance.suites.mask_fairness.citation import CITATION, CONSENT, LICENCE
from countenance.suites.mask_fairness.detectors import weights_and_settings
from countenance.suites.mask_fairness.notes import assessment_notes
from countenance.suites.mask_fairness.report import sections


def _has_boxes(dataset: Dataset) -> bool:
    """Whether faces have boxes; without boxes each picture shows one face."""
    return any(subject.face_box is not None for sample in dataset for subject in sample.subjects)


def _prepare(request: SuiteRequest) -> SuiteRequest:
    """The attributes to compare by, the notes of an assessment, and the settings for a detector's weights."""
    by = request.by or compared_by(request.dataset)
    if not by:
        known = ", ".join(request.dataset.attribute_names())
        raise InputError(f"nothing to compare by; name attributes with by ({known})")
    own = MaskData(request.dataset, request.task.name, by)
    weights, settings = weights_and_settings(request.model, request.arguments.get("weights"))
    arguments: dict[str, Any] = {"notes": assessment_notes(own, request.model), **request.arguments}
    arguments |= {"weights": weights, "settings": {**(arguments.get("settings") or {}), **settings} or None}
    return replace(request, by=tuple(by), arguments=arguments)


def _publish(run: Run) -> Sequence[str]:
    return store_tables(run, assessment_of(run, read_audit(run)))


MASK_FAIRNESS = Suite(
    name="mask_fairness",
    question="Do mask detectors find and judge faces of every group alike?",
    citation=CITATION,
    licence=LICENCE,
    consent=CONSENT,
    datasets=("fairface", "bafmd", "mask_fairness", "people"),
    tasks=(
        SuiteTask(BOXES, fits=lambda dataset, model: _has_boxes(dataset)),
        SuiteTask(ONE_FACE, fits=lambda dataset, model: not _has_boxes(dataset)),
    ),
    audit={"depth": 1, "adjust": "holm"},
    metrics=assessable_metrics,
    prepare=_prepare,
    publish=_publish,
    sections=sections,
    files=tables_again,
)
