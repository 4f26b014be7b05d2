"""Numbers of one run that contradict each other are noticed when the run is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countenance as ct
from countenance.run import evaluate
from countenance.run.invariants import RowChecks, contradictions
from countenance.tasks import Reduced, load_task
from countenance.tasks.results import Axis, Curve, Line, Matrix, Number
from countenance.testing import DiscDetector, small_dataset


def curve(name: str, y: list[float], x: list[float] | None = None, **band: Any) -> Curve:
    line = Line(x=x or [float(k + 1) for k in range(len(y))], y=y, **band)
    return Curve(name=name, x=Axis(label="x"), y=Axis(label="y"), lines=[line])


BROKEN = {
    "outside its interval": [Number(name="EER", value=0.5, low=0.1, high=0.4)],
    "FNMR@FMR=0.01 (0.3) is above FNMR@FMR=0.001 (0.2)": [
        Number(name="FNMR@FMR=0.01", value=0.3),
        Number(name="FNMR@FMR=0.001", value=0.2),
    ],
    "rank-5 (0.800) is below rank-1 (0.900)": [Number(name="rank-5", value=0.8), Number(name="rank-1", value=0.9)],
    "rank-1 is 0.9000 and the CMC at rank 1 is 0.8000": [Number(name="rank-1", value=0.9), curve("CMC", [0.8, 0.9])],
    "CMC falls": [curve("CMC", [0.9, 0.8])],
    "ROC falls": [curve("ROC", [0.9, 0.8])],
    "DET rises": [curve("DET", [0.1, 0.2])],
    "miss rate rises": [curve("miss rate", [0.1, 0.2])],
    "FNIR by FPIR rises": [curve("FNIR by FPIR", [0.1, 0.3, 0.2])],
    "ROC and DET do not add up to 1": [curve("DET", [0.3, 0.2]), curve("ROC", [0.6, 0.8])],
    "different lengths": [curve("CMC", [0.1, 0.2], x=[1.0])],
    "leaves its own band": [curve("precision", [0.5], low=[0.6], high=[0.7])],
    "are not 2 × 1": [Matrix(name="FMR by group", rows=["a", "b"], columns=["c"], values=[[0.1]])],
}


@pytest.mark.parametrize("sentence", BROKEN)
def test_a_contradiction_between_results_is_a_sentence(sentence: str) -> None:
    assert sentence in "; ".join(contradictions(BROKEN[sentence]))


def test_sound_results_are_not_complained_about() -> None:
    sound = [
        Number(name="rank-1", value=0.8, low=0.7, high=0.9),
        Number(name="rank-5", value=0.9),
        Number(name="FNMR@FMR=0.001", value=0.2),
        Number(name="FNMR@FMR=0.01", value=0.2),
        Number(name="FNMR@FMR=0.1", value=float("nan")),
        # a bound is no estimate: nobody refused among 10 pairs is "below 0.3"
        Number(name="FNMR@FMR=1", value=0.3, low=0, high=0.3, bound="<"),
        curve("CMC", [0.8, 0.85, 0.85, 0.87, 0.9]),
        curve("DET", [0.3, 0.03]),
        curve("ROC", [0.7, 1.0]),
    ]
    assert contradictions(sound) == []


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30),
    st.lists(st.sampled_from([0.3, 0.5, 0.75, 0.9]), min_size=2, max_size=4, unique=True),
)
def test_rows_scored_at_thresholds_are_sound_and_each_swap_is_counted(
    overlaps: list[tuple[float, float]], thresholds: list[float]
) -> None:
    best = np.array([max(pair) for pair in overlaps])
    columns = {f"m.recall@{t}": (best >= t).astype(float) for t in thresholds}
    sound = RowChecks()
    sound.add(pa.table(columns))
    assert sound.sentences() == []
    low, high = min(thresholds), max(thresholds)
    swapped = RowChecks()
    swapped.add(
        pa.table({f"m.recall@{low}": columns[f"m.recall@{high}"], f"m.recall@{high}": columns[f"m.recall@{low}"]})
    )
    wrong = int(((best >= low) & (best < high)).sum())
    assert (swapped.sentences() == []) == (wrong == 0)
    assert not wrong or f" in {wrong} row" in swapped.sentences()[0]


def test_metrics_of_a_row_that_must_agree() -> None:
    checks = RowChecks()
    checks.add(
        pa.table(
            {
                "m.found": [1.0, 0.0, None],
                "m.found_at_all": [0.0, 1.0, 1.0],
                "m.missed": [0.0, 0.0, 1.0],
                "m.recall": [0.5, 0.5, 3.0],
                "m.miss_rate": [0.5, 0.4, 3.0],
                "m.PCK@0.1": [1.0, 0.0, 0.0],
                "m.PCK@0.2": [0.0, 1.0, 0.0],
            }
        )
    )
    assert checks.sentences() == [
        "PCK@0.1 is above PCK@0.2 in 1 row",
        "found is above found_at_all in 1 row",
        "recall and miss_rate do not add up to 1 in 1 row",
        "found and missed do not add up to 1 in 1 row",
    ]
    assert checks.mean("found") == 0.5 and checks.mean("nothing") is None


def test_a_number_that_is_the_mean_of_a_column() -> None:
    checks = RowChecks()
    checks.add(pa.table({"m.rank_1": [1.0, 0.0, None], "m.identified": [1.0, 0.0, None]}))
    assert contradictions([Number(name="rank-1", value=0.5), Number(name="FNIR", value=0.5)], checks) == []
    assert contradictions([Number(name="rank-1", value=0.6), Number(name="FNIR", value=0.4)], checks) == [
        "rank-1 is 0.6000 but the mean of the rows' rank_1 is 0.5000",
        "FNIR is 0.4000 but the mean of the rows' identified is 0.5000",
    ]


@pytest.mark.contradicting
def test_a_run_whose_task_contradicts_itself_says_so_first(tmp_path: Path) -> None:
    import dataclasses

    wrong = ct.Reduce(lambda shard: {}, lambda state, whole: Reduced([Number(name="EER", value=2.0, low=0, high=1)]))
    task = dataclasses.replace(load_task("face_localization"), reduce=wrong)
    run = evaluate(DiscDetector(), task, small_dataset(6), out=tmp_path / "run")
    assert run.manifest.notes[0].startswith(
        "numbers of this run contradict each other: EER (2) lies outside its interval [0, 1]. This is an error"
    )
