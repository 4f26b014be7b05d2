"""The ledger of a run: the different questions that audits have asked of its scores.

Test often enough and chance will produce a finding, and every audit accounts only for its own comparisons. So a run
keeps a line for every different question, in a file that is not a part of the run itself, and says how many there were.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from countenance.auditing import Audit
from countenance.decoding import json_of
from countenance.errors import InputError
from countenance.run.auditing import read_audit
from countenance.run.file_names import (
    ANSWERS,
    EVIDENCE,
    FAILURES,
    FINDINGS,
    MANY_SCORES,
    QUESTIONS,
    RESULTS,
    SCORES,
)
from countenance.run.hashes import digest
from countenance.run.run import Run
from countenance.storage import Missing

AUDITED = (SCORES, FAILURES, RESULTS, EVIDENCE)
"""Files that an audit is computed from, besides run.json, the answers and the parts of a large score table."""
QUESTION = (
    "by",
    "metrics",
    "where",
    "given",
    "comparison",
    "reference",
    "depth",
    "alpha",
    "delta",
    "better",
    "h0",
    "r0",
    "min_n",
    "adjust_asked",
    "families",
    "pair",
    "denominators",
    "cluster",
    "ordered",
    "equity",
    "paired_by",
)
"""The settings that make two questions different; the seed and the number of permutations do not."""


def noted(run: Run, audit: Audit) -> Audit:
    """Record the question of an audit; from the second different question on, the audit says how many there were."""
    questions = _read(run)
    key = _key(audit.settings)
    if key not in questions:
        questions[key] = {"comparisons": len(audit.findings)} | {
            name: audit.settings[name] for name in ("by", "metrics")
        }
        _write(run, questions)
    settings = audit.settings | {"questions": len(questions)}
    if len(questions) > 1:
        settings["notes"] = [*audit.notes, sentence(questions)]
    return audit.model_copy(update={"settings": settings})


def question_of(run: Run, by: Any, metrics: Any, settings: Mapping[str, Any]) -> str:
    """A hash of what an audit is asked, of the rows and facts that it is computed from, and of this version.

    Empty where this cannot be said: for settings that are not plain values, and for files that are read without their
    hashes being compared.
    """
    from countenance import __version__

    if not run.store.verified:
        return ""
    sealed = run.store.sealed()
    rows = {name: value for name, value in sealed.items() if name in AUDITED or name.startswith((ANSWERS, MANY_SCORES))}
    setting = {name: value for name, value in settings.items() if name != "progress"}
    question = [__version__, run.manifest.model_dump_json(), rows, by, metrics, setting]
    try:
        return digest(json.dumps(question, sort_keys=True).encode())
    except TypeError:
        return ""


def stored_answer(run: Run, question: str) -> Audit | None:
    """The stored audit where it answers a question of `question_of`; None where it must be computed."""
    if not question or run.unstored is not None or not run.complete:
        return None
    try:
        if run.store.audit().get("question") != question:
            return None
        run.store.read(FINDINGS)  # refused if somebody edited it
        audit = read_audit(run)
    except (InputError, Missing, ValueError, TypeError):
        return None
    return audit if audit.settings.get("questions") == len(_read(run)) else None


def sentence(questions: dict[str, dict[str, Any]]) -> str:
    """A sentence on how many questions a run was asked.

    >>> sentence({"a": {"comparisons": 4}, "b": {"comparisons": 10}})
    'this run was asked 2 different questions, 14 comparisons in all; each is adjusted for its own comparisons only'
    """
    total = sum(int(question.get("comparisons", 0)) for question in questions.values())
    return (
        f"this run was asked {len(questions)} different questions, {total:,} comparisons in all; each is adjusted for "
        "its own comparisons only"
    )


def note_of(run: Run) -> str:
    """A sentence on how many questions a run was asked; empty for one question or none."""
    questions = _read(run)
    return sentence(questions) if len(questions) > 1 else ""


def _key(settings: dict[str, Any]) -> str:
    question = {name: settings.get(name) for name in QUESTION}
    return digest(json.dumps(question, sort_keys=True, default=str).encode())[:16]


def _read(run: Run) -> dict[str, dict[str, Any]]:
    """The questions so far; a file that is damaged counts as none."""
    try:
        content = json_of(run.store.storage.read(QUESTIONS), QUESTIONS)
        return {str(key): dict(question) for key, question in content["questions"].items()}
    except Missing:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write(run: Run, questions: dict[str, dict[str, Any]]) -> None:
    """Store the questions; a run that cannot be written is audited all the same."""
    with suppress(OSError, InputError):
        run.store.storage.write(QUESTIONS, json.dumps({"questions": questions}, indent=1).encode())
