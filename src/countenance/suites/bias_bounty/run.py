"""A score that leaves a run."""

from pathlib import Path

from countenance.data.adapters.bias_bounty import read_truth, source_of
from countenance.files import file_hash
from countenance.models import ModelCard
from countenance.run import Run, evaluate
from countenance.settings.engine import Say
from countenance.suites.bias_bounty.scoring import Score
from countenance.suites.bias_bounty.task import BIAS_BOUNTY


def write_run(
    out: Path, predictions: Path, truth: tuple[Path, Path | None, Path | None], score: Score, name: str, say: Say
) -> Run:
    """The run of a file of predictions, scored as `score` was, against files of labels, non-faces and identities.

    No picture is opened.
    """
    return evaluate(
        f"predictions:{predictions}",
        BIAS_BOUNTY,
        read_truth(*truth, sizes=False),
        out=out,
        options=score.draws.model_dump(),
        settings={"format": "bias_bounty"},
        card=ModelCard(name=name, description="predictions file", content=file_hash(predictions), hashed=True),
        source=source_of(*truth),
        suite="bias_bounty",
        about={"clustered": score.clustered, "nonfaces": score.nonfaces},
        say=say,
    )
