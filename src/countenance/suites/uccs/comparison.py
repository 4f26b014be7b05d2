"""Many submissions on the same images: one page with shared axes, and a ranking by paired differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import countenance
from countenance.auditing.ranking import Ranking, effective_df, rank_paired
from countenance.data.adapters.uccs_protocol import real_people
from countenance.metrics.curves import ImageScores, resampled_rates
from countenance.report import render
from countenance.report.draw.svg.curves import drawn
from countenance.suites.uccs.evaluation import UccsEvaluation
from countenance.suites.uccs.operating import default_targets, operating_points
from countenance.suites.uccs.plot import chart_of

ROUNDS = 500


@dataclass(frozen=True)
class SubmissionComparison:
    """Submissions ranked at one operating point."""

    target: float
    """False alarms over all images, the same for every submission; each has its own threshold for them."""
    ranking: Ranking
    rounds: int = ROUNDS
    """How many times images were drawn again, n: a p cannot be smaller than 1 / (n + 1)."""

    @property
    def least(self) -> float:
        """The smallest p that these draws can give."""
        return 1 / (self.rounds + 1)

    def probability(self, p: float) -> str:
        """A p as text, not below the smallest that the draws can give.

        >>> comparison = SubmissionComparison(1, Ranking((), (), (), (), 0.05))
        >>> comparison.probability(1e-34), comparison.probability(0.04321)
        ('< 0.002', '0.0432')
        """
        return f"< {self.least:.1g}" if p < self.least else f"{p:.3g}"

    @property
    def what(self) -> str:
        return "1 false alarm" if self.target == 1 else f"{self.target:g} false alarms"

    def to_dict(self) -> dict[str, Any]:
        return {
            "false_alarms": self.target,
            "ranks": dict(zip(self.ranking.names, self.ranking.ranks, strict=True)),
            "rates": dict(zip(self.ranking.names, self.ranking.estimates, strict=True)),
            "pairs": [
                vars(pair) | {name: max(getattr(pair, name), self.least) for name in ("p", "adjusted")}
                for pair in self.ranking.pairs
            ],
            "smallest_p": self.least,
        }

    def lines(self) -> list[str]:
        """The differences in words."""
        return [
            f"{pair.better} − {pair.worse} at {self.what}: {pair.difference:+.3f} "
            f"[{pair.low:+.3f}, {pair.high:+.3f}], adjusted p {self.probability(pair.adjusted)}"
            for pair in self.ranking.pairs
        ]


def names_of(evaluations: Sequence[UccsEvaluation]) -> list[str]:
    """The labels, made unique."""
    labels = [evaluation.label for evaluation in evaluations]
    return [f"{label} ({k + 1})" if labels.count(label) > 1 else label for k, label in enumerate(labels)]


def compare(
    evaluations: Sequence[UccsEvaluation],
    targets: Sequence[float] | None = None,
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> list[SubmissionComparison]:
    """Submissions compared at the same numbers of false alarms (default: powers of ten that all reach, and the most).

    Images are resampled, the same for every submission, and every draw chooses its own thresholds, so the intervals
    include the uncertainty of the thresholds.
    """
    if targets is None:
        fewest = min(evaluations, key=lambda evaluation: len(evaluation.negatives))
        targets = [round(target * fewest.scale, 6) for target in default_targets(fewest) if target > 0]
    images = len(evaluations[0].protocol.images)
    df = effective_df(np.bincount(evaluations[0].unit_image, minlength=images))
    drawn = [
        resampled_rates(
            ImageScores(evaluation.units, evaluation.unit_image),
            ImageScores(evaluation.negatives, evaluation.negative_image),
            images=images,
            targets=np.array(targets, dtype=np.float64),
            rounds=rounds,
            seed=seed,
        )
        for evaluation in evaluations
    ]
    comparisons = []
    for k, target in enumerate(targets):
        rates = np.array(
            [operating_points(evaluation, (), [target / evaluation.scale])[0].rate for evaluation in evaluations]
        )
        ranking = rank_paired(names_of(evaluations), rates, np.column_stack([rates[:, k] for rates in drawn]), df=df)
        comparisons.append(SubmissionComparison(float(target), ranking, rounds))
    return comparisons


def write_comparison(
    evaluations: Sequence[UccsEvaluation],
    compared: Sequence[SubmissionComparison],
    pages: Sequence[Path],
    data: Path,
    path: Path,
) -> None:
    """Write the page that shows all submissions together and links to the page of each."""
    first = evaluations[0]
    content = render.page(
        render.template(Path(__file__).parent, "comparison.html.j2"),
        title=f"{first.kind} of {len(evaluations)} submissions",
        real=real_people(data),
        plot=drawn(chart_of(evaluations, band=first.settings.bootstrap > 0), "curve"),
        entries=list(zip(names_of(evaluations), evaluations, [page.name for page in pages], strict=True)),
        compared=[
            (
                comparison,
                list(
                    zip(comparison.ranking.names, comparison.ranking.ranks, comparison.ranking.estimates, strict=True)
                ),
            )
            for comparison in compared
        ],
        rounds=ROUNDS,
        version=countenance.__version__,
        protocol=first.protocol.path.name,
    )
    render.write(path, content)
