"""Which failures are shown."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from countenance.errors import InputError
from countenance.report.gallery import about_row, choose, mode_for, worst_rows
from countenance.tasks import Metric


@dataclass
class Told:
    """The part of a source that the choice needs."""

    scores: Any
    metrics: list[Metric]
    task: Any = None
    names: Any = field(default_factory=lambda: SimpleNamespace(by=["tone"]))
    audit: Any = field(default_factory=lambda: SimpleNamespace(findings=[]))


def told(better: str = "higher", **columns: list[float | None]) -> Any:
    n = len(next(iter(columns.values())))
    table = pa.table(
        {"sample": [f"s{i}" for i in range(n)], "subject": ["0"] * n} | {f"m.{k}": v for k, v in columns.items()}
    )
    return Told(table, [Metric(name, "", better) for name in columns])  # type: ignore[arg-type]


def test_of_a_rate_every_miss_is_a_failure_and_no_hit_is() -> None:
    rows, name, total = worst_rows(told(found=[1.0, 0.0, None, 1.0, 0.0]))
    assert (name, total) == ("found", 2)
    assert [row["sample"] for row in rows] == ["s1", "s4"]


def test_ties_are_broken_by_the_next_metric() -> None:
    rows, _, _ = worst_rows(told(found=[0.0, 0.0, 0.0, 1.0], overlap=[0.4, 0.1, 0.3, 0.9]))
    assert [row["sample"] for row in rows] == ["s1", "s2", "s0"]


def test_of_a_mean_the_worst_tenth_are_failures() -> None:
    rows, _, total = worst_rows(told(overlap=[i / 100 for i in range(100)]))
    assert total == 10 and rows[0]["sample"] == "s0"


def test_of_a_metric_that_is_better_when_lower_the_highest_are_failures() -> None:
    rows, _, _ = worst_rows(told("lower", alarms=[0.0] * 30 + [1.0, 5.0, 2.0]))
    assert [row["sample"] for row in rows] == ["s31", "s32", "s30"]


@pytest.mark.parametrize("values", [[1.0, 1.0], [None, None], [0.7, 0.7, 0.7]])
def test_where_nothing_failed_nothing_is_shown(values: list[float | None]) -> None:
    assert worst_rows(told(found=values))[0] == []


def row(number: int, tone: str, identity: str) -> dict[str, Any]:
    return {"sample": f"s{number}", "subject": "0", "identity": identity, "attr.tone": tone}


def test_every_group_has_its_turn_and_nobody_is_shown_too_often() -> None:
    rows = [row(i, "light", "one") for i in range(20)] + [row(20 + i, "dark", f"p{i}") for i in range(5)]
    chosen = choose(rows, told(found=[0.0]), most=8)
    assert [r["identity"] for r in chosen].count("one") == 3  # two in their turn, one to fill up
    assert [r["attr.tone"] for r in chosen].count("dark") == 5
    assert chosen == sorted(chosen, key=lambda r: int(r["sample"][1:]))


def test_a_mode_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="expected one of"):
        mode_for("yes", real_people=False)


def test_a_caption_begins_with_the_person_and_stays_short() -> None:
    row = {"attr.light": "sun", "attr.gender": "female", "attr.skin_tone": "monk_10", "attr.pose": "turned"}
    about = about_row(row, ["light", "pose", "gender", "skin_tone"])
    assert [value for _, value in about][:2] == ["Monk 10 (darkest)", "female"] and len(about) == 4
