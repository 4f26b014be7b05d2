"""An audit of a table too large for memory: duckdb's sums give the numbers that the rows give."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb", reason="the extra large is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from countenance.auditing import audit, condensed_rows
from countenance.auditing.condensed_rows import CondensedRows
from countenance.auditing.source import Source
from countenance.cli.app import run as command
from countenance.errors import InputError

METRICS = ["ok", "ms"]


def table(seed: int, *, crossed: bool = False, missing: bool = False, split: bool = True, people: int = 60) -> pa.Table:
    random = np.random.default_rng(seed)
    n = 600
    person = random.integers(0, people, n)

    def gaps(values: list[Any], share: float) -> pa.Array:
        return pa.array([None if missing and random.random() < share else value for value in values])

    own = n if split else people
    pick = np.arange(n) if split else person
    race = [["a"], ["a", "b"], ["b", "c"], []]
    return pa.table(
        {
            "identity": gaps([f"p{i}" for i in person], 0.1),
            "sample": gaps([f"s{random.integers(0, 200) if crossed else k}" for k in range(n)], 0.05),
            "attr.tone": gaps([f"t{k}" for k in random.integers(0, 3, people)[person]], 0.2 if split else 0.0),
            "attr.light": pa.array([f"l{k}" for k in random.integers(0, 2, own)[pick]]),
            "attr.age": pa.array(random.integers(10, 80, own)[pick].astype(float)),
            "attr.race": pa.array([race[k] for k in random.integers(0, 4, own)[pick]]),
            "m.ok": pa.array([None if random.random() < 0.1 else float(random.random() < 0.8) for _ in range(n)]),
            "m.ms": pa.array(np.round(random.lognormal(0, 1, n), 2)),
        }
    )


def differences(one: Any, two: Any, place: str = "") -> list[str]:
    """Where two audits differ by more than rounding."""
    if isinstance(one, dict):
        assert one.keys() == two.keys(), place
        return [found for key in one for found in differences(one[key], two[key], f"{place}/{key}")]
    if isinstance(one, list | tuple):
        assert len(one) == len(two), place
        return [
            found for i, pair in enumerate(zip(one, two, strict=True)) for found in differences(*pair, f"{place}/{i}")
        ]
    if isinstance(one, float) and isinstance(two, float):
        same = math.isnan(one) and math.isnan(two)
        return [] if same or math.isclose(one, two, rel_tol=1e-9, abs_tol=1e-12) else [f"{place}: {one} and {two}"]
    if isinstance(one, str) and isinstance(two, str) and place.endswith("reason"):  # 0.7115 may be told as 0.711
        words, others = (re.sub(r"\d+\.\d+", "#", text) for text in (one, two))
        numbers, more = ([float(n) for n in re.findall(r"\d+\.\d+", text)] for text in (one, two))
        near = len(numbers) == len(more) and np.allclose(numbers, more, rtol=0.02)
        return [] if words == others and near else [f"{place}: {one} and {two}"]
    return [] if one == two else [f"{place}: {one} and {two}"]


def both(path: Path, by: list[str] | None, metrics: list[str], **asked: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The audit from rows, and that from sums."""
    found, made = [], []
    into = condensed_rows._Making.into
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(condensed_rows._Making, "into", lambda self, rows: (made.append(self), into(self, rows))[1])
        for large in (10**9, 0):
            patch.setattr(condensed_rows, "LARGE", large)
            found.append(audit(path, by, metrics, **asked).to_dict())
            assert bool(made) == (large == 0), "which of the two made the numbers"
    return found[0], found[1]


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(0, 10**6),
    st.booleans(),
    st.booleans(),
    st.sampled_from([{}, {"cluster": None}, {"cluster": "identity"}, {"where": "light=l0"}, {"depth": 1}]),
)
def test_sums_give_what_rows_give(
    tmp_path_factory: pytest.TempPathFactory, seed: int, crossed: bool, missing: bool, asked: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("large") / "scores.parquet"
    pq.write_table(table(seed, crossed=crossed, missing=missing), path)
    by = ["tone", "light", "age:18,40,65", "race"]
    assert differences(*both(path, by, METRICS, adjust="holm", min_n=5, **asked)) == []


def test_rates_of_crossed_people_and_images_with_missing_scores(tmp_path: Path) -> None:
    pq.write_table(table(3, crossed=True, missing=True), tmp_path / "s.parquet")
    rows, sums = both(tmp_path / "s.parquet", ["tone", "light", "race"], ["ok"], adjust="holm")
    assert differences(rows, sums) == [] and rows["missing"]
    counts = [[(f["n"], f["clusters"], f["estimate"], f["p"]) for f in one["findings"]] for one in (rows, sums)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("by", "asked"),
    [
        (["tone", "light"], {"adjust": "minp"}),
        (["tone", "light"], {"comparison": "spread", "replicates": 200}),
        (["age:quantiles4*tone", "light"], {"adjust": "holm"}),
        (None, {"adjust": "holm"}),
        (["tone"], {"adjust": "holm", "denominators": {"ms": "ok"}}),
    ],
)
def test_every_kind_of_comparison_that_sums_can_make(
    tmp_path: Path, by: list[str] | None, asked: dict[str, Any]
) -> None:
    """Labels are shuffled in the same order, so that adjusted p values are equal too."""
    pq.write_table(table(5, split=False), tmp_path / "s.parquet")
    assert differences(*both(tmp_path / "s.parquet", by, METRICS, **asked)) == []


def test_rates_of_pairs_and_a_metric_that_is_always_the_same(tmp_path: Path) -> None:
    """Ranks are what needs rows: rates have none, and values that are all equal have no kurtosis."""
    rows = table(6, split=False)
    pq.write_table(rows.append_column("m.same", pa.array([2.5] * 600)), tmp_path / "s.parquet")
    assert differences(*both(tmp_path / "s.parquet", ["tone"], ["ok"], comparison="pairs", adjust="holm")) == []
    assert differences(*both(tmp_path / "s.parquet", ["tone"], ["same"], adjust="holm")) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"comparison": "pairs"},
        {"comparison": "reference"},
        {"equity": True},
        {"cluster": ["identity", "sample", "light"]},
    ],
)
def test_what_needs_the_rows_reads_them(tmp_path: Path, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(table(7), tmp_path / "s.parquet")
    one = audit(tmp_path / "s.parquet", ["tone"], METRICS, **asked).to_dict()
    monkeypatch.setattr(condensed_rows, "LARGE", 0)
    assert audit(tmp_path / "s.parquet", ["tone"], METRICS, **asked).to_dict() == one


def test_bad_values_are_told_as_they_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(condensed_rows, "LARGE", 0)
    good = table(1)
    for name, column, message in (
        ("m.ms", pa.array([1.0, math.inf] * 300), "infinite in row 2"),
        ("m.ms", pa.array(["1", "x"] * 300), "found the text 'x' in row 2"),
    ):
        changed = good.set_column(good.column_names.index(name), name, column)
        pq.write_table(changed, tmp_path / "bad.parquet")
        with pytest.raises(InputError, match=message):
            audit(tmp_path / "bad.parquet", ["tone"], ["ms"])
    pq.write_table(good, tmp_path / "good.parquet")
    with pytest.raises(InputError, match="no row has light = dark; there are l0, l1"):
        audit(tmp_path / "good.parquet", ["tone"], ["ms"], where="light=dark")


def test_a_folder_of_files_is_one_table_for_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = table(9)
    folder = tmp_path / "parts [a*]"
    folder.mkdir()
    pq.write_table(whole, tmp_path / "whole.parquet")
    for number, start in enumerate(range(0, 600, 250)):
        pq.write_table(whole.slice(start, 250), folder / f"{number}.parquet")
    told = []
    for place, large in ((tmp_path / "whole.parquet", 10**9), (folder, 10**9), (folder, 0)):
        monkeypatch.setattr(condensed_rows, "LARGE", large)
        assert command(["audit", str(place), "--by", "tone,light", "--metric", "ok", "--adjust", "holm", "-q"]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2] and "600 rows" in told[0]
    assert command(["audit", str(folder), "--metric", "ok", "--report", str(tmp_path / "r.html")]) == 2
    assert "need a single .parquet" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert command(["audit", str(tmp_path / "empty"), "--metric", "ok"]) == 2


def test_memory_follows_units_and_groups_not_rows(tmp_path: Path) -> None:
    """10,000 rows of 50 people in three groups that do not change are 50 elements."""
    random = np.random.default_rng(0)
    person = random.integers(0, 50, 10_000)
    rows = pa.table(
        {"identity": person, "attr.g": [f"g{k}" for k in person % 3], "m.ok": random.integers(0, 2, 10_000)}
    )
    pq.write_table(rows, tmp_path / "s.parquet")
    from countenance.auditing.settings import AuditSettings

    found = CondensedRows(Source(tmp_path / "s.parquet"), ["g"], ["ok"], AuditSettings(adjust="holm"))
    assert (found.size, found.total) == (50, 10_000)
    alone = CondensedRows(Source(tmp_path / "s.parquet"), ["g"], ["ok"], AuditSettings(adjust="holm", cluster=None))
    assert (alone.size, alone.total) == (3, 10_000)


def test_too_little_memory_is_one_sentence(tmp_path, monkeypatch):
    """duckdb's own error would be a traceback; what helps is fewer columns."""
    rng = np.random.default_rng(0)
    rows = 200_000
    table = pa.table(
        {
            "identity": pa.array(rng.integers(0, 150_000, rows)).cast(pa.string()),
            "attr.g": pa.array(rng.integers(0, 3, rows)).cast(pa.string()),
            "m.found": pa.array(rng.random(rows)),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    monkeypatch.setattr("countenance.auditing.database.MEMORY", "8MB")
    monkeypatch.setattr(condensed_rows, "LARGE", 1)
    with pytest.raises(InputError, match=r"t\.parquet: adding up the rows takes more than the 8MB"):
        audit(tmp_path / "t.parquet", ["g"], ["found"])


def test_the_shape_of_a_metric_is_that_of_scipy(tmp_path: Path) -> None:
    from scipy import stats

    from countenance.auditing.settings import AuditSettings

    rows = table(8)
    pq.write_table(rows, tmp_path / "s.parquet")
    found = CondensedRows(Source(tmp_path / "s.parquet"), ["tone"], ["ms"], AuditSettings(adjust="holm"))
    (shape,), values = [column.shape for column in found.columns], np.array(rows["m.ms"])
    assert shape is not None
    assert (shape.kurtosis, shape.skewness) == pytest.approx((stats.kurtosis(values, fisher=False), stats.skew(values)))
