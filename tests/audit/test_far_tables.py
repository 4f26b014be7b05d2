"""An audit of Parquet tables in an object store: the numbers of the same table on a disk, and errors in one line."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("duckdb", reason="the extra large is not installed")

from countenance.auditing import condensed_rows
from countenance.cli.app import run as command
from countenance.storage import open_storage
from s3_servers import DENIED, Fault, Proxy

ROWS = 400


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in one file, and the same in three of a folder."""
    place = tmp_path_factory.mktemp("tables")
    table = pa.table(
        {
            "identity": [f"p{i % 90}" for i in range(ROWS)],
            "attr.sex": ["female" if i % 90 < 40 else "male" for i in range(ROWS)],
            "m.found": [float(i % 7 > 1 + (i % 90 < 40)) for i in range(ROWS)],
        }
    )
    pq.write_table(table, place / "one.parquet")
    (place / "many" / "deep").mkdir(parents=True)
    for number, start in enumerate(range(0, ROWS, 150)):
        name = ("a.parquet", "b.pq", "deep/c.parquet")[number]
        pq.write_table(table.slice(start, 150), place / "many" / name)
    return place


@pytest.fixture
def far(s3: str, folder: Path) -> str:
    """The same in a store."""
    storage = open_storage("s3://tests/tables")
    for path in folder.rglob("*.p*"):
        if path.is_file():
            storage.write(str(path.relative_to(folder)), path.read_bytes())
    return storage.place


def numbers(words: list[str], out: Path) -> object:
    """What an audit of these words writes."""
    assert command(["audit", *words, "--by", "sex", "--json", str(out)]) == 0
    return json.loads(out.read_text())["findings"]


@pytest.mark.parametrize("name", ["one.parquet", "many"])
@pytest.mark.parametrize("large", [False, True])
def test_a_table_in_a_store_is_audited_as_one_on_a_disk(far, folder, tmp_path, monkeypatch, name, large):
    made = []
    monkeypatch.setattr(condensed_rows, "LARGE", 1 if large else condensed_rows.LARGE)
    monkeypatch.setattr(condensed_rows.CondensedRows, "__init__", _told(condensed_rows.CondensedRows.__init__, made))
    found = numbers([f"{far}/{name}"], tmp_path / "far.json")
    assert found == numbers([str(folder / name)], tmp_path / "near.json")
    assert found and len(made) == (2 if large else 0)


def _told(init, made):
    def counted(self, *arguments):
        made.append(self)
        init(self, *arguments)

    return counted


def test_a_page_is_made_of_a_table_in_a_store(far, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert command(["audit", f"{far}/one.parquet", "--by", "sex", "--report", str(page)]) == 0
    first = page.read_text()
    assert "female" in first and "one.parquet" in first and "countenance-table" not in first
    assert command(["audit", f"{far}/one.parquet", "--by", "sex", "--report", str(page)]) == 0
    assert page.read_text() == first
    capsys.readouterr()
    assert command(["audit", f"{far}/many", "--by", "sex", "--report", str(page)]) == 2
    assert "several files; a page shows one" in capsys.readouterr().err


def test_nothing_is_left_on_this_machine(far, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert command(["audit", f"{far}/many", "--by", "sex"]) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tables/none.parquet", "s3://tests/tables/none.parquet: no such table there"),
        ("nothing/here", "no run"),
        ("tables/one.csv", "s3://tests/tables/one.csv"),
        ("../other", "empty parts"),
    ],
)
def test_what_is_not_there_is_one_line(far, capsys, name, said):
    assert command(["audit", f"s3://tests/{name}", "--by", "sex"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and said in told


@pytest.mark.parametrize("name", ["one.parquet", "many"])
def test_wrong_credentials_are_one_line(proxy: Proxy, capsys, name):
    proxy.faults.append(Fault(status=403, body=DENIED))
    assert command(["audit", f"s3://tests/tables/{name}", "--by", "sex"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "refuses the credentials; check AWS_ACCESS_KEY_ID" in told


def test_a_damaged_table_is_named_by_its_url(s3, capsys):
    open_storage("s3://tests/damaged").write("bad.parquet", b"PAR1 is not enough")
    assert command(["audit", "s3://tests/damaged/bad.parquet", "--by", "sex"]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "s3://tests/damaged/bad.parquet" in told and "/tmp" not in told
