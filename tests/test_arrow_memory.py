"""What Arrow's threads hold is Arrow's own, so that a program that ends is not ended by a signal."""

import subprocess
import sys

import pyarrow as pa
import pytest

from countenance.run.shard_store import arrow_reader
from countenance.run.store import RunStore

ENDS = """
import sys
from countenance.run.store import RunStore
for _ in range(3):
    RunStore(sys.argv[1]).table("scores.parquet")
"""


def test_a_reader_holds_no_object_of_python():
    content = bytes(1000)
    before = sys.getrefcount(content)
    reader = arrow_reader(content)
    assert sys.getrefcount(content) == before
    assert reader.read() == content and arrow_reader(b"").read() == b""


def test_tables_of_a_run_are_read_from_such_memory(tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    store.write_table("scores.parquet", pa.table({"sample": ["a"], "m.x": [1.0]}))
    asked = []
    counted = lambda content: asked.append(1) or arrow_reader(content)  # noqa: E731
    monkeypatch.setattr("countenance.run.shard_store.arrow_reader", counted)
    assert store.table("scores.parquet").to_pylist() == [{"sample": "a", "m.x": 1.0}]
    assert store.table("scores.parquet", columns=["m.x", "m.y"]).column_names == ["m.x"] and len(asked) == 2


@pytest.mark.slow
def test_a_program_that_ends_right_after_reading_ends_well(tmp_path):
    rows = {f"m.{i}": [float(j) for j in range(2000)] for i in range(30)}
    RunStore(tmp_path).write_table("scores.parquet", pa.table(rows))
    codes = [subprocess.run([sys.executable, "-c", ENDS, str(tmp_path)]).returncode for _ in range(40)]
    assert set(codes) == {0}
