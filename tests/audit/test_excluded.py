"""What an audit leaves out is listed with its size and the reason."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from countenance.auditing import audit
from countenance.auditing.parquet import ParquetFiles

N = 60


@pytest.mark.parametrize(("values", "group", "n"), [([None] * N, "(unknown)", 0), (["x"] * N, "x", N)])
def test_an_attribute_with_nothing_to_compare(values: list[str | None], group: str, n: int) -> None:
    random = np.random.default_rng(0)
    rows = {
        "sample": [f"s{k}" for k in range(N)],
        "attr.g": values,
        "attr.h": ["a", "b"] * (N // 2),
        "m.ok": random.integers(0, 2, N).astype(float),
    }
    found = audit(rows, by=["g", "h"])
    last = found.excluded[-1]
    assert (last["attribute"], last["group"], last["n"], last["clusters"]) == ("g", group, n, n)
    assert "nothing to compare with" in last["why"] and last["untested"] is True


def test_rows_that_are_about_none_of_some_columns_are_left_out(tmp_path: Path) -> None:
    rows = {"a": [1, None, None, None], "b": [None, 2, None, None], "c": [None, None, 3, None], "n": [0, 1, 2, 3]}
    pq.write_table(pa.table(rows), tmp_path / "one.parquet")
    for about, left in (((), [0, 1, 2, 3]), (("a",), [0]), (("b", "a"), [0, 1]), (("a", "b", "c"), [0, 1, 2])):
        found = ParquetFiles((tmp_path / "one.parquet",), about)
        assert found.read(["n"])["n"].to_pylist() == left
        assert [n for batch in found.batches("n") for n in batch["n"].to_pylist()] == left
