"""The public functions that serve runs and tables alike: `audit`, `compare` and `leaderboard`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from countenance import auditing, comparing
from countenance.auditing import Audit
from countenance.auditing.source import Source
from countenance.comparing import Comparison, Leaderboard
from countenance.errors import InputError
from countenance.prediction_tables import prediction_table
from countenance.run import Run
from countenance.run.file_names import MANIFEST
from countenance.storage import is_url
from countenance.table_files import is_plain, table_columns

OWN = ("source", "by", "metrics", "truth", "pred", "score", "positive")
"""Arguments of `audit` that are not settings of the comparison."""


def audit(
    source: Any,
    by: Sequence[str] | str | None = None,
    metrics: Sequence[str] | str | None = None,
    *,
    truth: str | None = None,
    pred: str | None = None,
    score: str | None = None,
    positive: str | None = None,
    cluster: str | Sequence[str] | None = "auto",
    comparison: str = "rest",
    reference: Any = None,
    depth: int | None = None,
    alpha: float = 0.05,
    delta: float | Mapping[str, float] | str | None = None,
    better: Mapping[str, str | None] | str | None = None,
    h0: float = 0.2,
    r0: float = 0.2,
    min_n: int = 20,
    adjust: str = "minp",
    families: Any = None,
    seed: int = 0,
    replicates: int = 2000,
    pair: str | Sequence[str] | None = None,
    denominators: Mapping[str, str] | None = None,
    answered: Mapping[str, str] | None = None,
    ordered: Mapping[str, Sequence[str]] | None = None,
    roles: Mapping[str, str] | None = None,
    paired_by: Mapping[str, str] | None = None,
    poor: float = 0.2,
    where: Any = None,
    given: str | Sequence[str] | None = None,
    max_groups: int = 1000,
    power: float = 0.8,
    kinds: Mapping[str, str] | None = None,
    filled: Mapping[str, str] | None = None,
    equity: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Compare groups of people; returns an `Audit`, which says what the evidence shows; the audit of a run is stored in
    the run.

    `source` is a run (or where it is) or any table with a row for each unit that can fail: a mapping of columns, a
    DataFrame, an Arrow table, a file (CSV with any separator, Parquet, JSON; `.gz`). Wrong input is an `InputError`.

    >>> import countenance as ct
    >>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "found": [1, 0] * 200 + [1] * 380 + [0] * 20}
    >>> ct.audit(rows, by="sex", metrics="found").verdict
    'disparity'

    For a table with predictions, `truth`, `pred` and `score` name its columns, from which the measures are computed:

    >>> rows = {"sex": ["f"] * 400 + ["m"] * 400, "hired": [1, 0] * 400, "advice": [0, 0, 1, 0] * 100 + [1, 0] * 200}
    >>> result = ct.audit(rows, by="sex", truth="hired", pred="advice")
    >>> next(round(f.difference, 2) for f in result.findings if f.metric == "true_positive_rate")
    -0.5

    Arguments:
        truth, pred, score: columns of the truth, the prediction and its score. They give accuracy, true and false
            positive rate, false negative rate, precision, selection rate and ratio, AUC and calibration; for numbers
            the errors and the bias; for a score alone the scoring rate and the impact ratio.
        positive: the positive class, where the values of truth and prediction do not show it.
        by: attributes: names, "age:18,40,65" and "age:quantiles4" (bins), "skin_tone*masked" (an intersection);
            default: every column of text or true/false with 2 to 30 values.
        metrics: the columns to compare; default: a run's headline metrics, every number of a table.
        cluster: what is independent: "auto" (people and pictures), one or two columns, or None (rows).
        comparison, reference: rest, pairs, reference (the group named), spread, or paired (with `pair`).
        depth: how many attributes an intersection may have (default: 2 where `by` names attributes).
        alpha, adjust, families: the error rate of all comparisons together; minp, holm or bh; smaller families.
        delta: the smallest difference that matters: a number, or by metric.
        better: "higher", "lower" or None by metric; default: from the task, or from a word of the metric's name.
        h0, r0: Cohen's h (rates) and rank-biserial r (other metrics) above which a disparity is severe.
        min_n: fewest independent units that a side must have.
        seed, replicates: the seed of everything random, and the number of permutations.
        pair: column(s) that say which rows belong together.
        denominators: by metric, the column that must be true for a row to count.
        answered: by metric, the 0/1 column that is 0 where a row has no score although it should have one.
        ordered: by attribute, its values in order.
        roles: by attribute, "person" or "condition".
        paired_by: the columns of twins, {"base": COLUMN, "change": COLUMN}.
        poor: the share of failures above which the headline begins with the failures of everyone.
        where: rows to keep: {"change": ["none", "mask"]} or "change=none,mask".
        given: conditions to hold equal, at most six: names, "size:quantiles4"; adds findings of kind "given".
        max_groups, power: the most groups of an attribute, and the power at which sample sizes are computed.
        kinds, filled: how metrics that are differences of two scores are treated.
        equity: add equity measures, each with an interval and the value that a fair system would show.
        progress: called with the steps done and their number.
    """
    settings = {name: value for name, value in locals().items() if name not in OWN}
    run = _run(source)
    if truth or pred or score:
        if run is not None:
            raise InputError(f"{run.place}: a run has its own metrics; truth, pred and score are for tables")
        table = prediction_table(
            source, by, metrics, truth=truth, pred=pred, score=score, positive=positive, settings=settings
        )
        answer = auditing.audit(
            table.columns, by=table.by, metrics=table.metrics, computed=table.computed, **table.settings
        )
        return answer.of(table.columns)
    if run is None and isinstance(source, str | Path) and not is_plain(Path(source)):
        rows = table_columns(Path(source))
        return auditing.audit(Source(rows, str(source)), by=by, metrics=metrics, **settings).of(rows)
    if run is None:
        return auditing.audit(source, by=by, metrics=metrics, **settings).of(source)
    return run.audit(by=by, metrics=metrics, **settings)


def compare(
    *entries: Any,
    by: Sequence[str] | str | None = None,
    metrics: Sequence[str] | str | None = None,
    pair: str | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = "auto",
    depth: int | None = None,
    alpha: float = 0.05,
    delta: float | Mapping[str, float] | str | None = None,
    better: Mapping[str, str | None] | str | None = None,
    min_n: int = 20,
    adjust: str = "minp",
    families: Any = None,
    where: Any = None,
    seed: int = 0,
    max_groups: int = 1000,
    power: float = 0.8,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison | Leaderboard:
    """Compare two runs or tables (returns a `Comparison`), or rank more (a `Leaderboard`), on the rows that all have.

    Differences are those of the second entry from the first. Wrong input is an `InputError`.

    >>> import countenance as ct
    >>> rows = {"sample": list(range(400)), "sex": ["f", "m"] * 200}
    >>> first, second = rows | {"correct": [1, 0] * 200}, rows | {"correct": [1, 1] * 200}
    >>> ct.compare(first, second, by=["sex"], metrics=["correct"]).overall[0].verdict
    'better'

    Arguments:
        entries: runs (or where they are) or tables; tables are mappings of columns, DataFrames, Arrow tables or files.
        by, metrics: attributes and metrics, as in `audit`; default: those of the runs.
        pair: the columns that say which rows belong together (default: sample and subject).
        names: what the entries are called, in order.
        cluster, alpha, delta, better, min_n, adjust, families, where, seed, max_groups, power, progress: as in `audit`.
        depth: how many attributes an intersection may have (default: 1).
    """
    settings = {name: value for name, value in locals().items() if name != "entries"}
    if len(entries) == 2:
        return comparing.compare(*entries, **settings)
    return comparing.leaderboard(entries, against_first=True, **settings)


def leaderboard(
    entries: Sequence[Any],
    by: Sequence[str] | str | None = None,
    metrics: Sequence[str] | str | None = None,
    *,
    against_first: bool = False,
    pair: str | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = "auto",
    depth: int | None = None,
    alpha: float = 0.05,
    delta: float | Mapping[str, float] | str | None = None,
    better: Mapping[str, str | None] | str | None = None,
    min_n: int = 20,
    adjust: str = "minp",
    families: Any = None,
    where: Any = None,
    seed: int = 0,
    max_groups: int = 1000,
    power: float = 0.8,
    progress: Callable[[int, int], None] | None = None,
) -> Leaderboard:
    """Rank runs or tables on the rows that all of them have; returns a `Leaderboard`.

    Models whose difference is not shown share a rank. Wrong input is an `InputError`.

    >>> import countenance as ct
    >>> rows = {"sample": list(range(300))}
    >>> models = [rows | {"ok": [1] * k + [0] * (300 - k)} for k in (200, 205, 280)]
    >>> board = ct.leaderboard(models, metrics="ok", names=["x", "y", "z"])
    >>> [(standing.model, standing.rank, standing.tied) for standing in board.ranking]
    [('z', 1, False), ('y', 2, True), ('x', 2, True)]

    Arguments:
        entries: runs (or where they are) or tables, two or more.
        by, metrics: attributes and metrics, as in `audit`; default: those of the runs.
        pair: the columns that say which rows belong together (default: sample and subject).
        names: what the entries are called, in order.
        cluster, alpha, delta, better, min_n, adjust, families, where, seed, max_groups, power, progress: as in `audit`.
        depth: how many attributes an intersection may have (default: 1).
        against_first: also compare the groups and gaps of every model with those of the first.
    """
    settings = {name: value for name, value in locals().items() if name != "entries"}
    return comparing.leaderboard(entries, **settings)


def _run(source: Any) -> Run | None:
    """The run that a source is, or that is stored at the source's place; None for a table."""
    if isinstance(source, Run):
        return source
    if isinstance(source, str | Path) and (is_url(source) or (Path(source) / MANIFEST).is_file()):
        return Run(source)
    return None
