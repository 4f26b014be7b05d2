"""Exports of a run in other projects' formats: the Hugging Face hub's results and Every Eval Ever's records."""

from pathlib import Path

from countenance.report.exports.eval_results import write_eval_results
from countenance.report.exports.every_eval_ever import write_every_eval_ever
from countenance.report.exports.published import source_of
from countenance.report.exports.summary import write_summary
from countenance.run import Run

WRITERS = {
    "eval-results": write_eval_results,
    "every-eval-ever": write_every_eval_ever,
    "summary": write_summary,
}


def write(what: str, run: Run | Path | str, out: Path) -> None:
    """Write an audited run in one of the formats of `WRITERS`; a run that was not audited is audited first."""
    WRITERS[what](source_of(run), out)
